"""List the engines there are, show how one is set up, and check that one works.

assay engines                                 kinds and presets, what is installed and how to get the rest
assay engines show semble > mine.toml         a preset to copy and change: --engine ./mine.toml
assay engines check semble                    one index, three queries, and what was understood of the answers
assay engines ask semble "parse the config"   one query, and the ranking as it came
"""

from __future__ import annotations

import argparse

from assay.cli.engines import ask, check, listing, show

_ACTIONS = {"list": listing, "show": show, "check": check, "ask": ask}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the actions, one module each; without one, engines are listed."""
    parser.set_defaults(act=listing.handle)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    for name, module in _ACTIONS.items():
        about = (module.__doc__ or "").strip()
        action = actions.add_parser(
            name,
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
