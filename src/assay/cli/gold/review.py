"""Review proposals: vote, adjudicate, and write accepted ones to the set.

assay gold review gold.yaml --as ada               item after item on the terminal; each reviewer is blind to the others
assay gold review gold.yaml --browser              the same in the browser, with the code beside it (--port, --open)
assay gold review gold.yaml --as ada --list --json what is open for this reviewer (for agents)
assay gold review gold.yaml --as ada --vote 3f2a91c0d4e5=2 --reason "the rate is decided here"
assay gold review gold.yaml --as ada --votes votes.csv          item,vote,reason
assay gold review gold.yaml --as qwen --endpoint http://localhost:8080/v1/chat/completions --model qwen3
assay gold review gold.yaml --status
assay gold review gold.yaml --as cy --adjudicate   where reviewers did not agree; also --decide ITEM=1 --reason "..."
assay gold review gold.yaml --accept               write what is settled into the set
assay gold review gold.yaml --queue-labels         have the labels that the set has already judged again
"""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.cli.gold import adjudicate as settling
from assay.cli.gold import browsing
from assay.cli.gold import vote as voting
from assay.cli.gold.vote import open_review
from assay.cli.options import add_endpoint, endpoint_of
from assay.cli.serving import add_listening
from assay.errors import ConfigError

#: What the command can do, each by its flag; without any of them it asks for votes on the terminal.
_ACTIONS = {
    "browser": browsing.review_in_browser,
    "status": settling.show_status,
    "adjudicate": settling.adjudicate,
    "decide": settling.take_decisions,
    "accept": settling.accept_settled,
    "queue_labels": settling.queue_labels,
    "list": voting.list_open,
    "vote": voting.vote_by_flags,
    "votes": voting.vote_by_file,
    "endpoint": voting.vote_by_model,
}
#: Flags that mean something for these actions alone; "" is the dialogue on a terminal.
_GOES_WITH = {
    "reason": ("vote", "decide"),
    "most": ("", "list", "endpoint"),
    "show_engines": ("", "list", "vote", "votes", "adjudicate"),
    "port": ("browser",),
    "host": ("browser",),
    "open": ("browser",),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this action."""
    parser.add_argument("set", metavar="SET", help="the gold file; --accept makes one that is not there yet")
    parser.add_argument("--as", dest="reviewer", metavar="NAME", help="who votes or decides")
    parser.add_argument("--corpus", metavar="SPEC", help="the code, where there is no set yet that names it")
    parser.add_argument("--browser", action="store_true", help="review on a page that only this machine can open")
    add_listening(parser)
    votes = parser.add_argument_group("to vote")
    votes.add_argument("--vote", action="append", metavar="ITEM=VALUE", help="vote without a terminal (repeatable)")
    votes.add_argument("--reason", action="append", metavar="TEXT", help="why: one for each --vote or --decide, or all")
    votes.add_argument("--votes", metavar="FILE", help="a CSV with the columns item, vote, reason")
    votes.add_argument("--list", action="store_true", help="show what is open for this reviewer")
    votes.add_argument("--most", type=int, metavar="N", help="stop after so many items")
    votes.add_argument("--show-engines", action="store_true", help="show who returned a place; the vote records that")
    add_endpoint(parser, "to let a model vote")
    settle = parser.add_argument_group("to settle")
    settle.add_argument("--status", action="store_true", help="count the items by state and by reviewer")
    settle.add_argument("--adjudicate", action="store_true", help="decide what is disputed, all votes in sight")
    settle.add_argument("--decide", action="append", metavar="ITEM=VALUE", help="decide without a terminal")
    settle.add_argument("--accept", action="store_true", help="write what is settled into the set")
    settle.add_argument("--least", type=int, metavar="N", help="reviewers that must agree (2)")
    settle.add_argument("--queue-labels", action="store_true", help="queue the labels of the set for an audit")


def handle(args: argparse.Namespace) -> int:
    """Do the one thing that was asked."""
    asked = [name for name in _ACTIONS if getattr(args, name)]
    if len(asked) > 1:
        raise ConfigError(f"{' and '.join(map(_flag, asked))} are two things", hint="do one after the other")
    _check(args, asked[0] if asked else "")
    desk = open_review(Path(args.set), args.corpus)
    action = _ACTIONS[asked[0]] if asked else voting.vote_on_terminal
    return action(args, desk)


def _check(args: argparse.Namespace, action: str) -> None:
    endpoint_of(args)
    for name, actions in _GOES_WITH.items():
        if getattr(args, name) and action not in actions:
            belongs = " or ".join(_flag(one) if one else "the dialogue on a terminal" for one in actions)
            raise ConfigError(f"{_flag(name)} belongs to {belongs}", hint="leave it out, or ask for one of these")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
