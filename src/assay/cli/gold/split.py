"""Split a set into dev, test and sealed queries.

assay gold split gold.yaml                          by module: no folder of answers is in two parts
assay gold split gold.yaml --by file                where all code lies in a few folders
assay gold split gold/ --by repository              whole repositories of a suite
assay run --split dev                               then: tune on dev; sealed queries are left out unless asked for

Queries that share an answer stay together. Queries that have a part keep it, and new ones are placed as the others
were; --force divides all anew. Shares that are not named divide what the named ones leave: --sealed 0.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import emit, pluralize
from assay.errors import ConfigError, GoldError

if TYPE_CHECKING:
    from assay.gold.split import SplitMethod, SplitOptions, SplitSuite
    from assay.report.render.document import Block, Document
    from assay.types import Suite


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this action."""
    parser.add_argument("set", metavar="SET", help="gold file or folder; its files are changed")
    ways = ("repository", "module", "file", "query")
    parser.add_argument("--by", choices=ways, help="what is never torn apart (as before, else module)")
    parser.add_argument("--depth", type=int, metavar="N", help="folders that name a module (all of a path)")
    for name, share in (("dev", 0.5), ("test", 0.25), ("sealed", 0.25)):
        parser.add_argument(f"--{name}", type=float, metavar="X", help=f"its share ({share:g})")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the draw (0)")
    parser.add_argument("--sd", type=float, default=0.3, metavar="X", help="spread of paired differences (0.3)")
    parser.add_argument("--force", action="store_true", help="divide all anew, sealed queries too")


def handle(args: argparse.Namespace) -> int:
    """Divide, write the parts into the files, say what each could show."""
    from assay.gold import load_gold
    from assay.gold.split import Shares, SplitMethod, SplitOptions, assign_splits, read_split_method

    _check(args)
    suite = load_gold(args.set)
    shares = Shares.of(dev=args.dev, test=args.test, sealed=args.sealed)
    before = read_split_method(suite)
    usual = before or SplitMethod(SplitOptions().by)
    way = SplitMethod(args.by, args.depth) if args.by else replace(usual, depth=args.depth or usual.depth)
    division = SplitOptions(way.by, shares, args.seed, way.depth, fresh=args.force)
    divided = assign_splits(suite, division)
    warnings = [*_save(args, suite, divided, division), *_remarks(division, divided, before)]
    emit(args, _document(args, suite, divided, division, warnings), _data(args, divided, division, warnings))
    return 0


def _save(args: argparse.Namespace, suite: Suite, divided: SplitSuite, division: SplitOptions) -> list[str]:
    from assay.gold.access_log import access_log_path, log_division
    from assay.gold.formats.native_edit import save
    from assay.gold.split import store_split_method

    warnings = []
    for old, new in zip(suite.golds, divided.suite.golds, strict=True):
        if old == new:
            continue
        changed = log_division(old, new, "gold split --force") if args.force else ""
        if changed:
            log = access_log_path(Path(old.source or args.set)).name
            warnings.append(f"{old.name}: results on sealed queries were seen before this; {changed}. {log} says so.")
        warnings += save(old, store_split_method(new, division)).notes
    return warnings


def _remarks(division: SplitOptions, divided: SplitSuite, before: SplitMethod | None) -> list[str]:
    from assay.gold.split import SplitMethod, looser

    total = sum(divided.sizes.values())
    if divided.kept == total:
        asked = SplitMethod(division.by, division.depth)
        other = f" It is divided {before}; --force divides it {asked}." if before and before != asked else ""
        return [f"Every query has its part already: nothing was changed.{other}"]
    wanted = dict(zip(divided.sizes, division.shares.values(), strict=True))
    off = [name for name, size in divided.sizes.items() if abs(size / total - wanted[name]) > _OFF]
    if not off:
        return []
    shares = ", ".join(f"{name} has {divided.sizes[name] / total:.0%} instead of {wanted[name]:.0%}" for name in off)
    return [f"{shares}, since groups are not torn apart: {looser(division.by)}."]


#: A share that is off by more is told: with it a part shows noticeably less than planned.
_OFF = 0.1


def _check(args: argparse.Namespace) -> None:
    if args.depth is not None and args.depth < 1:
        raise ConfigError(f"--depth {args.depth}", hint="at least one folder names a module")
    if not Path(args.set).exists():  # nor is a set that ships with Assay to be changed
        raise GoldError("there is no such file or folder", file=args.set, hint="name a gold file of your own")
    if not args.sd > 0:
        raise ConfigError(f"--sd {args.sd:g}", hint="a standard deviation is above 0")


def _shows(queries: int, sd: float) -> float:
    from assay.stats.power import mde_from_se

    return mde_from_se(sd / math.sqrt(queries), queries - 1) if queries > 1 else math.inf


def _worth(difference: float) -> str:
    return f"{difference:.1g}" if difference <= 1 else "–"


def _data(
    args: argparse.Namespace, divided: SplitSuite, division: SplitOptions, warnings: list[str]
) -> dict[str, object]:
    shows = {part: _shows(size, args.sd) for part, size in divided.sizes.items()}
    return {
        "schema": "assay/gold-split/1",
        "by": division.by,
        "seed": args.seed,
        "groups": divided.groups,
        "kept": divided.kept,
        "sizes": dict(divided.sizes),
        "shows": {part: None if math.isinf(value) else value for part, value in shows.items()},
        "strata": {name: dict(parts) for name, parts in divided.strata.items()},
        "warnings": warnings,
    }


def _document(
    args: argparse.Namespace, suite: Suite, divided: SplitSuite, division: SplitOptions, warnings: list[str]
) -> Document:
    from assay.report.render.document import Document, Paragraph, table

    total = sum(divided.sizes.values())
    rows = [
        [part, str(size), f"{size / total:.0%}", _worth(_shows(size, args.sd))] for part, size in divided.sizes.items()
    ]
    note = f"shows: the smallest difference found with 80 % power when paired differences spread by {args.sd:g}."
    strata = [[name, *(str(count) for count in parts.values())] for name, parts in divided.strata.items()]
    kept = f"; {divided.kept} {'query' if divided.kept == 1 else 'queries'} kept their part" if divided.kept else ""
    groups = pluralize(divided.groups, "group")
    blocks: list[Block] = [
        Paragraph(f"{total} queries in {groups} by {division.by}, seed {args.seed}{kept}."),
        table(["part", ">queries", ">share", ">shows"], rows, note),
        *([table(["stratum", *(f">{part}" for part in divided.sizes)], strata)] if strata else []),
        *(Paragraph(text, "warning") for text in warnings),
    ]
    return Document(f"{suite.name} divided", tuple(blocks))
