from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.gold import vote as voting
from assay.cli.gold.vote import (
    ask_said,
    is_interactive,
    open_review,
    read_flags,
    reviewer_of,
    rules_of,
    show,
    walk,
    warn_truncated,
)
from assay.cli.listen import add_listening, announce, listen
from assay.cli.options import add_endpoint, endpoint_of
from assay.cli.output import emit, info, pluralize, warn
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.gold.anchors import AnchorProblem
    from assay.gold.review.acceptance import Acceptance
    from assay.gold.review.reviewers import VoteInput
    from assay.gold.review.views import ReviewWorkspace
    from assay.gold.review.votes import ItemStatus, ReviewRules
    from assay.types import GoldSet
    from assay.web.server import Route

#: Flags that mean something for these actions alone; "" is the dialogue on a terminal.
_GOES_WITH = {
    "reason": ("vote", "decide"),
    "most": ("", "list", "endpoint"),
    "show_engines": ("", "list", "vote", "votes", "adjudicate"),
    "port": ("browser",),
    "host": ("browser",),
    "open": ("browser",),
}


def review_arguments(parser: argparse.ArgumentParser) -> None:
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


def review_command(args: argparse.Namespace) -> int:
    """Review proposals: vote, adjudicate, and write accepted ones to the set.

    assay gold review gold.yaml --as ada               item after item on the terminal; each reviewer is blinded
    assay gold review gold.yaml --browser              the same in the browser, with the code beside it (--port, --open)
    assay gold review gold.yaml --as ada --list --json what is open for this reviewer (for agents)
    assay gold review gold.yaml --as ada --vote 3f2a91c0d4e5=2 --reason "the rate is decided here"
    assay gold review gold.yaml --as ada --votes votes.csv          item,vote,reason
    assay gold review gold.yaml --as qwen --endpoint http://localhost:8080/v1/chat/completions --model qwen3
    assay gold review gold.yaml --status
    assay gold review gold.yaml --as cy --adjudicate   where reviewers disagree; also --decide ITEM=1 --reason "..."
    assay gold review gold.yaml --accept               write what is settled into the set
    assay gold review gold.yaml --queue-labels         have the labels that the set has already judged again
    """
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


def review_in_browser(args: argparse.Namespace, desk: ReviewWorkspace) -> int:
    """Serve the review of one set until somebody ends it."""
    from assay.web.review import REVIEW
    from assay.web.reviewers import port_file

    desk.items()
    warn_truncated(desk)
    routes = desk_routes(desk, rules_of(args), name=reviewer_of(args) if args.reviewer else "")
    with listen(args, routes, port_file(desk.path)) as server:
        announce(args, server, REVIEW, {"gold": str(desk.path)})
        server.wait()
    info(args, "\nended; every vote that the page calls saved is in its file")
    return 0


def desk_routes(desk: ReviewWorkspace, rules: ReviewRules, *, name: str = "") -> tuple[Route, ...]:
    """Give the addresses of the review of a set, with lint to say what would be accepted."""
    from assay.web.review import review_routes

    return review_routes(desk, lambda gold: set_problems(desk, gold), tell=warn, rules=rules, name=name)


def show_status(args: argparse.Namespace, desk: ReviewWorkspace) -> int:
    """Count the items by state, and the votes by reviewer."""
    from assay.gold.review.acceptance import read_closed
    from assay.gold.review.reviewers import count_progress
    from assay.report.render.document import Document, table

    _note_look(args, desk)
    found = count_progress(_standings(args, desk), read_closed(desk.queue))
    kinds = list(found.kinds)
    rows = [
        [state, str(count), *(str(found.kinds[kind].get(state, 0)) for kind in kinds)]
        for state, count in found.states.items()
    ]
    people = [[one.name, one.readers, str(one.votes), str(one.open)] for one in found.reviewers]
    blocks = (
        table(
            ["state", ">items", *(f">{kind}" for kind in kinds)],
            rows,
            f"Agreed: at least {rules_of(args).least} say the same.",
        ),
        table(
            ["reviewer", "reader", ">votes", ">open"], people, "Open: not voted on by the reviewer, and not settled."
        ),
    )
    data = {
        "schema": "assay/gold-review-status/1",
        "items": found.items,
        "states": found.states,
        "kinds": found.kinds,
        "reviewers": {one.name: one.votes for one in found.reviewers},
        "open": {one.name: one.open for one in found.reviewers},
    }
    emit(args, Document(f"Review of {desk.path.name}", blocks), data)
    return 0


def _standings(args: argparse.Namespace, desk: ReviewWorkspace) -> tuple[ItemStatus, ...]:
    from assay.gold.review.acceptance import read_statuses

    warn_truncated(desk)
    return read_statuses(desk.queue, rules_of(args))


def _note_look(args: argparse.Namespace, desk: ReviewWorkspace, disputed: Sequence[ItemStatus] = ()) -> None:
    from assay.gold.review.votes import VoteLog, log_unblinding

    if args.reviewer:
        log_unblinding(VoteLog(desk.queue, reviewer_of(args)), [standing.item.id for standing in disputed])


def adjudicate(args: argparse.Namespace, desk: ReviewWorkspace) -> int:
    """Show what is disputed with all votes, and take decisions where there is a terminal."""
    disputed = [standing for standing in _standings(args, desk) if standing.state == "disputed"]
    _note_look(args, desk, disputed)
    if args.json or not is_interactive():
        return _list_disputed(args, desk, disputed)
    reviewer = reviewer_of(args)
    others = [standing for standing in disputed if not standing.has_vote_of(reviewer)]
    if len(others) < len(disputed):
        info(args, f"left to a third person, for {reviewer} voted on them: {len(disputed) - len(others)}")
    taken = walk(
        others,
        lambda standing, place: _asked(args, desk, standing, place),
        lambda _, said: _decide(args, desk, reviewer, [said]),
    )
    return _decided(args, taken, len(disputed) - taken)


def _asked(args: argparse.Namespace, desk: ReviewWorkspace, standing: ItemStatus, place: str) -> VoteInput | None:
    from assay.gold.review.views import format_view
    from assay.gold.review.votes import UNSURE, vote_values

    values = [value for value in vote_values(standing.item.kind) if value != UNSURE]
    lines = [*format_view(desk.viewer.view(standing.item), engines=args.show_engines), "", *_vote_lines(standing), ""]
    show(["", f"── {place} " + "─" * 40, *lines])
    return ask_said(args, standing.item.id, f"what holds? {', '.join(values)}", values)


def _vote_lines(standing: ItemStatus) -> list[str]:
    return [f"{vote.reviewer} ({vote.reader}): {vote.value}, {vote.reason}" for vote in standing.votes]


def _list_disputed(args: argparse.Namespace, desk: ReviewWorkspace, disputed: Sequence[ItemStatus]) -> int:
    from assay.gold.review.views import view_mapping
    from assay.gold.review.votes import vote_mapping
    from assay.report.render.document import Document, Paragraph, table

    rows = [[s.item.id, s.item.kind, s.item.query.id, "; ".join(_vote_lines(s))] for s in disputed]
    many = f"{pluralize(len(disputed), 'item')} {'is' if len(disputed) == 1 else 'are'} disputed."
    then = Paragraph(f"{many} One who did not vote decides: --as NAME --decide ITEM=VALUE --reason TEXT.")
    data = [
        view_mapping(desk.viewer.view(s.item), engines=args.show_engines)
        | {"cast": [vote_mapping(vote) for vote in s.votes]}
        for s in disputed
    ]
    document = Document("Disputed", (table(["item", "kind", "query", "votes"], rows), then))
    emit(args, document, {"schema": "assay/gold-review-disputed/1", "items": data})
    return 0


def take_decisions(args: argparse.Namespace, desk: ReviewWorkspace) -> int:
    """Take the decisions that stand on the command line."""
    taken = _decide(args, desk, reviewer_of(args), read_flags(args.decide, args.reason))
    return _decided(args, taken, 0)


def _decide(args: argparse.Namespace, desk: ReviewWorkspace, reviewer: str, said: Sequence[VoteInput]) -> int:
    from assay.gold.review.reviewers import make_decision
    from assay.gold.review.votes import record_decisions

    desk.items()
    found = _standings(args, desk)
    decisions = [make_decision(desk, reviewer, one, found) for one in said]
    record_decisions(desk.queue, decisions)
    return len(decisions)


def _decided(args: argparse.Namespace, taken: int, left: int) -> int:
    from assay.report.render.document import Document, Paragraph

    text = f"{taken} decided" + (f", {left} still disputed." if left else ".")
    data = {"schema": "assay/gold-review-decide/1", "decided": taken, "disputed": left}
    emit(args, Document("Decisions", (Paragraph(text),)), data)
    return 0


def accept_settled(args: argparse.Namespace, desk: ReviewWorkspace) -> int:
    """Write what is settled into the set, and say what that came to."""
    from assay.clock import timestamp
    from assay.gold.review.acceptance import accept

    desk.items()
    made = accept(
        desk.queue,
        desk.load,
        lambda gold: set_problems(desk, gold),
        corpus=desk.given,
        rules=rules_of(args),
        on=timestamp(),
    )
    _tell_accepted(args, desk, made)
    return 0


def set_problems(desk: ReviewWorkspace, gold: GoldSet) -> tuple[AnchorProblem, ...]:
    """Find the errors that lint sees in a set."""
    from assay.cli.gold.lint import lint_dependencies
    from assay.gold.anchors import AnchorProblem
    from assay.gold.lint.registry import lint

    tools = lint_dependencies(gold.name, desk.corpus.spec, desk.path.parent)
    errors = [finding for finding in lint(gold, desk.corpus, tools=tools).findings if finding.severity == "error"]
    return tuple(AnchorProblem(e.code, e.query, e.anchor, e.message, e.file, e.line, e.hint) for e in errors)


def _tell_accepted(args: argparse.Namespace, desk: ReviewWorkspace, made: Acceptance) -> None:
    from assay.report.render.document import Document, Paragraph, table

    turned = len(made.taken) - made.added
    size = f"{desk.path} has {_queries(len(made.gold.queries))}." if made.gold else f"There is no {desk.path} yet."
    done = f"{pluralize(made.added, 'item')} became gold, {turned} {'was' if turned == 1 else 'were'} turned down."
    states = Counter(standing.state for standing in _standings(args, desk))
    left = {name: states[name] for name in ("open", "waiting", "disputed")}
    blocks = [Paragraph(f"{done} {size}"), *([Paragraph(_still(left))] if any(left.values()) else [])]
    if made.whole and made.added:
        blocks.append(Paragraph("The whole file was written anew: comments in it are gone.", "warning"))
    blocks += [Paragraph(lost, "warning") for lost in made.lost]
    rows = [[refusal.item, refusal.query, refusal.reason] for refusal in made.refused]
    refused = (table(["item", "query", "left out because"], rows),) if rows else ()
    data = {
        "schema": "assay/gold-review-accept/1",
        "file": str(desk.path),
        "added": made.added,
        "turned_down": turned,
        "items": {standing.item.id: standing.value for standing in made.taken},
        "refused": [{"item": r.item, "query": r.query, "reason": r.reason} for r in made.refused],
        "queries": len(made.gold.queries) if made.gold else 0,
        "left": left,
        "lost": list(made.lost),
    }
    emit(args, Document("Accepted", (*blocks, *refused)), data)


def _queries(number: int) -> str:
    return "1 query" if number == 1 else f"{number} queries"


def _still(left: Mapping[str, int]) -> str:
    needs = {"open": "without a vote", "waiting": "waiting for another vote", "disputed": "disputed (--adjudicate)"}
    return f"Not settled: {', '.join(f'{left[name]} {needs[name]}' for name in needs if left[name])}."


def queue_labels(args: argparse.Namespace, desk: ReviewWorkspace) -> int:
    """Put the labels that the set has into the queue."""
    from assay.clock import today
    from assay.errors import GoldError
    from assay.gold.review.reviewers import make_label_items
    from assay.report.render.document import Document, Paragraph

    gold = desk.load()
    if gold is None:
        raise GoldError("there is no such file", file=desk.path, hint="check the path")
    added = desk.queue.add(make_label_items(gold, on=today(), commit=desk.commit))
    known = f"{added.known} {'was' if added.known == 1 else 'were'} in the queue already"
    text = f"{pluralize(added.new, 'label')} queued, {known}."
    data = {"schema": "assay/gold-review-queue/1", "new": added.new, "known": added.known}
    emit(args, Document("Labels to judge again", (Paragraph(text),)), data)
    return 0


#: What the command can do, each by its flag; without any of them it asks for votes on the terminal.
_ACTIONS = {
    "browser": review_in_browser,
    "status": show_status,
    "adjudicate": adjudicate,
    "decide": take_decisions,
    "accept": accept_settled,
    "queue_labels": queue_labels,
    "list": voting.list_open,
    "vote": voting.vote_by_flags,
    "votes": voting.vote_by_file,
    "endpoint": voting.vote_by_model,
}
