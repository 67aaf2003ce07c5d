"""The experiment that a command is about: the flags that name and change it, and how it is read."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.experiment.spec import Spec


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name an experiment, and change any key of it."""
    parser.add_argument("--config", metavar="FILE", help="an assay.toml (default: the one in this folder, if any)")
    parser.add_argument("--preset", metavar="NAME", help="an experiment that ships, instead of an assay.toml")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="TABLE.KEY=VALUE",
        help="change any key of the file: run.k=20 (repeatable)",
    )


def add_questions(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say what is asked, and on what."""
    parser.add_argument("--gold", action="append", metavar="PATH", help="gold file or folder, or 'stdlib' (repeatable)")
    parser.add_argument("--corpus", metavar="SPEC", help="folder, stdlib, git:URL@REV, pypi:NAME==V, npm:NAME@V")
    parser.add_argument("--tag", action="append", metavar="K=V:ROWS", help="tag rows of a CSV: difficulty=hard:101-127")
    parser.add_argument("-k", type=int, metavar="N", help="results asked for and scored (10)")
    parser.add_argument("--forms", metavar="LIST", help="phrasings to ask, by commas (all)")
    parser.add_argument("--allow-missing", action="store_true", help="report targets that are not there and go on")


def config_file(config: str | None) -> Path | None:
    """Find the assay.toml that is named, or this folder's; None where there is none."""
    from assay.experiment.spec import FILE

    if config:
        return Path(config)
    return Path(FILE) if Path(FILE).is_file() else None


def declared(config: str | None) -> Spec:
    """Read the assay.toml that is named, or this folder's; without one, every default."""
    from assay.experiment.spec import load_spec

    return load_spec(config_file(config))


def declared_by(args: argparse.Namespace) -> Spec:
    """Read the experiment that the flags name, changed by --set."""
    from assay.experiment.spec import load_spec

    if args.preset and args.config:
        hint = f'write extends = "preset:{args.preset}" into {args.config}'
        raise ConfigError("--preset and --config are two experiments", hint=hint)
    return load_spec(None if args.preset else config_file(args.config), preset=args.preset, sets=args.set)


def question_flags(args: argparse.Namespace) -> dict[str, Any]:
    """Collect what the flags say of the questions; None where one was not given."""
    return {
        "gold": tuple(args.gold) if args.gold else None,
        "corpus": args.corpus,
        "tags": tuple(args.tag) if args.tag else None,
        "k": args.k,
        "forms": listed(args.forms),
    }


def listed(text: str | None) -> tuple[str, ...] | None:
    """Split a list at its commas; None where none was given."""
    return tuple(part.strip() for part in text.split(",")) if text else None
