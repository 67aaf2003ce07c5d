"""Divide a set into dev, test and sealed queries: tune on one part, claim on another.

assay gold split gold.yaml                          by module: no folder of answers is in two parts
assay gold split gold.yaml --by file                where all code lies in a few folders
assay gold split gold/ --by repository              whole repositories of a suite
assay run --split dev                               then: tune on dev; sealed queries are left out unless asked for

Queries that share an answer stay together. Queries that have a part keep it; --force divides all anew.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import emit
from assay.errors import ConfigError, GoldError

if TYPE_CHECKING:
    from assay.gold.split.dividing import Divided
    from assay.report.document import Block, Document
    from assay.types import Suite

#: What paired differences are like before anything was measured, as in the example of `assay plan`.
_SD = 0.3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this action."""
    parser.add_argument("set", metavar="SET", help="gold file or folder; its files are changed")
    ways = ("repository", "module", "file", "query")
    parser.add_argument("--by", choices=ways, default="module", help="what is never torn apart (module)")
    parser.add_argument("--depth", type=int, metavar="N", help="folders that name a module (all of a path)")
    for name, share in (("dev", 0.5), ("test", 0.25), ("sealed", 0.25)):
        parser.add_argument(f"--{name}", type=float, default=share, metavar="X", help=f"its share ({share:g})")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the draw (0)")
    parser.add_argument("--sd", type=float, default=_SD, metavar="X", help=f"spread of paired differences ({_SD:g})")
    parser.add_argument("--force", action="store_true", help="divide all anew, sealed queries too")


def handle(args: argparse.Namespace) -> int:
    """Divide, write the parts into the files, say what each could show."""
    from assay.gold import load_gold
    from assay.gold.native.editing import save
    from assay.gold.split.dividing import Division, Shares, divide

    _check(args)
    suite = load_gold(args.set)
    shares = Shares(args.dev, args.test, args.sealed)
    division = Division(args.by, shares, args.seed, args.depth, fresh=args.force)
    divided = divide(suite, division)
    lost = [
        note
        for old, new in zip(suite.golds, divided.suite.golds, strict=True)
        if old != new
        for note in save(old, new).lost
    ]
    emit(args, _document(args, suite, divided, lost), _data(args, divided, lost))
    return 0


def _check(args: argparse.Namespace) -> None:
    """Refuse numbers that mean nothing."""
    if args.depth is not None and args.depth < 1:
        raise ConfigError(f"--depth {args.depth}", hint="at least one folder names a module")
    if not Path(args.set).exists():  # nor is a set that ships with Assay to be changed
        raise GoldError("there is no such file or folder", file=args.set, hint="name a gold file of your own")
    if not args.sd > 0:
        raise ConfigError(f"--sd {args.sd:g}", hint="a standard deviation is above 0")


def _shows(queries: int, sd: float) -> float:
    """Give the smallest difference that so many queries of one repository could show."""
    from assay.stats.power import minimal_difference

    return minimal_difference(sd / math.sqrt(queries), queries - 1) if queries > 1 else math.inf


def _data(args: argparse.Namespace, divided: Divided, lost: list[str]) -> dict[str, object]:
    """Give the division as data."""
    shows = {part: _shows(size, args.sd) for part, size in divided.sizes.items()}
    return {
        "schema": "assay/gold-split/1",
        "by": args.by,
        "seed": args.seed,
        "groups": divided.groups,
        "kept": divided.kept,
        "sizes": dict(divided.sizes),
        "shows": {part: None if math.isinf(value) else value for part, value in shows.items()},
        "strata": {name: dict(parts) for name, parts in divided.strata.items()},
        "lost": lost,
    }


def _document(args: argparse.Namespace, suite: Suite, divided: Divided, lost: list[str]) -> Document:
    """Show the parts."""
    from assay.report.document import Document, Paragraph, table

    total = sum(divided.sizes.values())
    rows = [
        [part, str(size), f"{size / total:.0%}", "–" if size < 2 else f"{_shows(size, args.sd):.1g}"]
        for part, size in divided.sizes.items()
    ]
    note = f"shows: the smallest difference found with 80 % power when paired differences spread by {args.sd:g}."
    strata = [[name, *(str(count) for count in parts.values())] for name, parts in divided.strata.items()]
    kept = f"; {divided.kept} queries kept their part" if divided.kept else ""
    blocks: list[Block] = [
        Paragraph(f"{total} queries in {divided.groups} groups by {args.by}, seed {args.seed}{kept}."),
        table(["part", ">queries", ">share", ">shows"], rows, note),
        *([table(["stratum", *(f">{part}" for part in divided.sizes)], strata)] if strata else []),
        *(Paragraph(text, "warning") for text in lost),
    ]
    return Document(f"{suite.name} divided", tuple(blocks))
