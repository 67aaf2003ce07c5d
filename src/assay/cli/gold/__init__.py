"""Make gold sets, and look after them.

assay gold synth .                            names, doc sentences, keywords and commits of this repository
assay gold synth ../repo --kinds symbol,doc --count 80 --out gold-repo
assay run --gold gold-synth                   then: measure engines on what was made
"""

from __future__ import annotations

import argparse

from assay.cli.gold import agreement, convert, lint, looks, mine, pool, reanchor, review, split, synth

_ACTIONS = (synth, convert, pool, review, agreement, split, looks, lint, mine, reanchor)


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
