"""Make gold sets, and look after them.

assay gold lint gold.yaml                     what is wrong with a set; --fix repairs what is certain
assay gold mine . --set gold.yaml             propose queries, wrong answers and phrasings
assay gold review gold.yaml --as ann          vote on proposals, settle them, accept them
assay gold split gold.yaml                    dev, test and sealed parts
assay gold reanchor gold.yaml --to HEAD       follow the code from one commit to another

docs/first-hour.md goes through all of it on a real repository.
"""

from __future__ import annotations

import argparse

from assay.cli.gold import agreement, convert, lint, looks, mine, pool, reanchor, review, split, synth

_ACTIONS = (lint, mine, review, agreement, pool, split, looks, reanchor, convert, synth)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions, one module each."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for module in _ACTIONS:
        about = (module.__doc__ or "").strip()
        action = actions.add_parser(
            module.__name__.rpartition(".")[2],
            help=about.partition("\n")[0],
            description=about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(action)
        for flag, help_ in (("--json", "print the result as JSON on stdout"), ("--quiet", "no progress on stderr")):
            # suppressed, or it would undo the same flag before the action
            action.add_argument(flag, action="store_true", default=argparse.SUPPRESS, help=help_)
        action.set_defaults(act=module.handle)


def handle(args: argparse.Namespace) -> int:
    """Do what was asked."""
    code: int = args.act(args)
    return code
