"""Commands with subcommands, one module each: `assay gold lint`, `assay engines check`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from types import ModuleType

#: What every command and every action takes, before its name or behind it.
FLAGS = (("--json", "print the result as JSON on stdout"), ("--quiet", "no progress on stderr"))


def add_actions(
    parser: argparse.ArgumentParser, actions: Mapping[str, ModuleType], usual: ModuleType | None = None
) -> None:
    """Add the actions of a command; `usual` is the one that is meant where none is named."""
    if usual is not None:
        parser.set_defaults(act=usual.handle)
    named = parser.add_subparsers(dest="action", metavar="ACTION", required=usual is None)
    for name, module in actions.items():
        about = (module.__doc__ or "").strip()
        action = named.add_parser(
            name,
            help=about.partition("\n")[0],
            description=about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(action)
        for flag, help_ in FLAGS:
            # suppressed, or it would undo the same flag before the action
            action.add_argument(flag, action="store_true", default=argparse.SUPPRESS, help=help_)
        action.set_defaults(act=module.handle)


def dispatch(args: argparse.Namespace) -> int:
    """Do what was asked."""
    code: int = args.act(args)
    return code
