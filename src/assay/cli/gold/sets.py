from __future__ import annotations

import argparse
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.gold.vote import open_review, warn_truncated
from assay.cli.output import emit, info, pluralize
from assay.errors import ConfigError, GoldError, InputError

if TYPE_CHECKING:
    from assay.gold.review.agreement import Coefficient, KindAgreement, PairAgreement
    from assay.gold.split import SplitMethod, SplitOptions, SplitSuite
    from assay.gold.synth import SyntheticSets
    from assay.report.render.document import Block, Document, Table
    from assay.types import CorpusSpec, Suite


def split_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("set", metavar="SET", help="gold file or folder; its files are changed")
    ways = ("repository", "module", "file", "query")
    parser.add_argument("--by", choices=ways, help="what is never torn apart (as before, else module)")
    parser.add_argument("--depth", type=int, metavar="N", help="folders that name a module (all of a path)")
    for name, share in (("dev", 0.5), ("test", 0.25), ("sealed", 0.25)):
        parser.add_argument(f"--{name}", type=float, metavar="X", help=f"its share ({share:g})")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the draw (0)")
    parser.add_argument("--sd", type=float, default=0.3, metavar="X", help="spread of paired differences (0.3)")
    parser.add_argument("--force", action="store_true", help="divide all anew, sealed queries too")


def split_command(args: argparse.Namespace) -> int:
    """Split a set into dev, test and sealed queries.

    assay gold split gold.yaml                          by module: no folder of answers is in two parts
    assay gold split gold.yaml --by file                where all code lies in a few folders
    assay gold split gold/ --by repository              whole repositories of a suite
    assay run --split dev                               then: tune on dev; sealed queries are left out unless asked for

    Queries that share an answer stay together. Queries that have a part keep it, and new ones are placed as the others
    were; --force divides all anew. Shares that are not named divide what the named ones leave: --sealed 0.
    """
    from assay.gold import load_gold
    from assay.gold.split import SplitMethod, SplitOptions, SplitShares, assign_splits, read_split_method

    _check(args)
    suite = load_gold(args.set)
    shares = SplitShares.of(dev=args.dev, test=args.test, sealed=args.sealed)
    before = read_split_method(suite)
    usual = before or SplitMethod(SplitOptions().by)
    way = SplitMethod(args.by, args.depth) if args.by else replace(usual, depth=args.depth or usual.depth)
    division = SplitOptions(way.by, shares, args.seed, way.depth, reassign=args.force)
    divided = assign_splits(suite, division)
    warnings = [*_save(args, suite, divided, division), *_remarks(division, divided, before)]
    emit(args, _split_document(args, suite, divided, division, warnings), _data(args, divided, division, warnings))
    return 0


def _save(args: argparse.Namespace, suite: Suite, divided: SplitSuite, division: SplitOptions) -> list[str]:
    from assay.gold.access_log import access_log_path, log_division
    from assay.gold.formats.registry import save
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
    from assay.gold.split import SplitMethod, more_groups_hint

    total = sum(divided.sizes.values())
    if divided.already_split == total:
        asked = SplitMethod(division.by, division.depth)
        other = f" It is divided {before}; --force divides it {asked}." if before and before != asked else ""
        return [f"Every query has its part already: nothing was changed.{other}"]
    wanted = dict(zip(divided.sizes, division.shares.values(), strict=True))
    off = [name for name, size in divided.sizes.items() if abs(size / total - wanted[name]) > _OFF]
    if not off:
        return []
    shares = ", ".join(f"{name} has {divided.sizes[name] / total:.0%} instead of {wanted[name]:.0%}" for name in off)
    return [f"{shares}, since groups are not torn apart: {more_groups_hint(division.by)}."]


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
        "kept": divided.already_split,
        "sizes": dict(divided.sizes),
        "shows": {part: None if math.isinf(value) else value for part, value in shows.items()},
        "strata": {name: dict(parts) for name, parts in divided.strata.items()},
        "warnings": warnings,
    }


def _split_document(
    args: argparse.Namespace, suite: Suite, divided: SplitSuite, division: SplitOptions, warnings: list[str]
) -> Document:
    from assay.report.render.document import Document, Paragraph, table

    total = sum(divided.sizes.values())
    rows = [
        [part, str(size), f"{size / total:.0%}", _worth(_shows(size, args.sd))] for part, size in divided.sizes.items()
    ]
    note = f"shows: the smallest difference found with 80 % power when paired differences spread by {args.sd:g}."
    strata = [[name, *(str(count) for count in parts.values())] for name, parts in divided.strata.items()]
    count = divided.already_split
    kept = f"; {count} {'query' if count == 1 else 'queries'} kept their part" if count else ""
    groups = pluralize(divided.groups, "group")
    blocks: list[Block] = [
        Paragraph(f"{total} queries in {groups} by {division.by}, seed {args.seed}{kept}."),
        table(["part", ">queries", ">share", ">shows"], rows, note),
        *([table(["stratum", *(f">{part}" for part in divided.sizes)], strata)] if strata else []),
        *(Paragraph(text, "warning") for text in warnings),
    ]
    return Document(f"{suite.name} divided", tuple(blocks))


def looks_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("set", metavar="SET", help="the gold file")


def looks_command(args: argparse.Namespace) -> int:
    """List accesses to the sealed queries of a set."""
    from assay.gold.access_log import access_log_path, read_access_log
    from assay.report.render.document import Document, Paragraph, table

    path = Path(args.set)
    if not path.is_file() and not access_log_path(path).is_file():
        wrong = "is a folder" if path.is_dir() else "there is no such file"
        raise GoldError(wrong, file=path, hint="name the gold file")
    looks = read_access_log(path)
    rows = [
        [look.when, look.who, look.command, look.divided or ", ".join(look.engines), str(look.sealed)] for look in looks
    ]
    seen = sum(not look.divided for look in looks)
    again = f"; divided anew {pluralize(len(looks) - seen, 'time')} since" if seen < len(looks) else ""
    many = f"{pluralize(seen, 'look')} at the sealed queries of {path.name}{again}."
    listed = (table(["when", "who", "command", "engines", ">sealed"], rows),) if rows else ()
    data = {"schema": "assay/gold-looks/1", "file": str(path), "looks": [asdict(look) for look in looks]}
    emit(args, Document("Looks", (Paragraph(many), *listed)), data)
    return 0


def synth_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("repo", metavar="REPO", help="folder, pypi:NAME==V, git:URL@REV, ... (a corpus)")
    parser.add_argument("--out", default="gold-synth", metavar="DIR", help="where the sets go (gold-synth)")
    parser.add_argument("--kinds", metavar="LIST", help="kinds to make, by commas (all)")
    parser.add_argument("--count", type=int, default=40, metavar="N", help="most queries of a kind (40)")
    parser.add_argument("--max-per-file", type=int, default=4, metavar="N", help="most queries about one file (4)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the draw (0)")


def synth_command(args: argparse.Namespace) -> int:
    """Generate synthetic gold sets from a repository.

    The repository asks about itself: seconds, no labels, line spans.

      symbol    a name that is defined once            -> its definition
      doc       the first sentence of a doc comment    -> what it documents
      keyword   the rarest three words of the sentence -> the same
      commit    the subject of a commit                -> the definitions it changed

    doc and keyword are asked on a copy of the corpus in which those comments are blank, so any engine can be measured.
    Synthetic sets tell engines apart; they do not replace questions that people ask. They are marked in every report.
    """
    from assay.corpus import open_corpus, parse_spec
    from assay.gold.code_index import SampleSize
    from assay.gold.synth import KINDS, check_directory, synthesize, write_sets

    folder = check_directory(Path(args.out))
    kinds = tuple(kind.strip() for kind in args.kinds.split(",")) if args.kinds else KINDS
    wanted = SampleSize(args.count, args.max_per_file, args.seed)
    spec = parse_spec(args.repo)
    info(args, f"reading {args.repo}")
    sets = synthesize(open_corpus(spec), name=_name(spec), kinds=kinds, wanted=wanted)
    if not sets.golds:
        raise InputError("; ".join(sets.notes), file=args.repo, hint="nothing was written; name another repository")
    files = write_sets(sets, folder)
    rows = [
        {"kind": gold.provenance["synthetic"], "name": gold.name, "queries": len(gold.queries), "file": str(file)}
        for gold, file in zip(sets.golds, files, strict=True)
    ]
    data = {"schema": "assay/gold-synth/1", "folder": str(folder), "sets": rows, "notes": list(sets.notes)}
    emit(args, _synth_document(sets, files, folder), data)
    return 0


def _name(spec: CorpusSpec) -> str:
    repository = spec.repository.partition(":")[2] if spec.kind != "path" else Path(spec.value).resolve().name
    last = repository.removesuffix(f"/{spec.root}").rstrip("/").rpartition("/")[2]
    return "-".join(last.split()) or spec.kind


def _synth_document(sets: SyntheticSets, files: tuple[Path, ...], folder: Path) -> Document:
    from assay.report.render.document import Document, Paragraph, table

    rows = [
        [gold.provenance["synthetic"], str(len(gold.queries)), str(file)]
        for gold, file in zip(sets.golds, files, strict=True)
    ]
    notes = [Paragraph(note, "warning") for note in sets.notes]
    hidden = Paragraph(f"{folder}/ has a .gitignore and an .assayignore: neither git nor a search finds it.", "quiet")
    then = Paragraph(f"Then: assay run --gold {folder}")
    return Document("Synthetic gold", (table(["kind", ">queries", "file"], rows), *notes, hidden, then))


_NOTE = "Intervals: 95 %, bootstrap over items. A dash: everybody said the same, which chance would have done as well."


def agreement_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("set", metavar="SET", help="the gold file that was reviewed")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the intervals (0)")


def agreement_command(args: argparse.Namespace) -> int:
    """Report inter-reviewer agreement beyond chance.

    Cohen's κ for two reviewers, Krippendorff's α for any number; votes that say unsure count as missing. Only votes
    that were cast before an item was decided or accepted are taken: after that nobody is blind. Of a reviewer who
    voted again after looking at what others said, the vote from before is.
    """
    from assay.gold.review.acceptance import read_acceptance_times
    from assay.gold.review.agreement import Resampling, compute_agreement
    from assay.gold.review.votes import read_all_votes, read_decisions
    from assay.report.render.document import Document

    desk = open_review(Path(args.set), None)
    warn_truncated(desk)
    votes = read_all_votes(desk.queue)
    if not votes:
        raise GoldError("nobody voted yet", file=desk.queue.directory, hint="vote: assay gold review SET --as NAME")
    taken = read_acceptance_times(desk.queue)
    found = compute_agreement(desk.items(), votes, read_decisions(desk.queue), Resampling(seed=args.seed), taken)
    blocks = tuple(block for kind in found for block in _blocks(kind))
    data = {"schema": "assay/gold-agreement/1", "kinds": [asdict(kind) for kind in found]}
    emit(args, Document(f"Agreement on {desk.path.name}", blocks), data)
    return 0


def _blocks(kind: KindAgreement) -> list[Block]:
    from assay.report.render.document import Heading, Paragraph, table

    many = (
        f"{pluralize(kind.items, 'item')} with two votes or more, {pluralize(kind.votes, 'vote')}, {kind.unsure} unsure"
    )
    share = "" if kind.percent is None else f"; {kind.percent:.0%} of the pairs of votes agree"
    anew = (
        f" {pluralize(kind.changed, 'vote')} cast anew after a look at those of others: the ones from before are taken."
    )
    rows = [[f"Krippendorff's α ({metric})", *_cells(value)] for metric, value in kind.alpha.items()]
    for pair in kind.pairs:
        rows.append([f"Cohen's κ: {pair.first}, {pair.second}", *_cells(pair.kappa)])
        rows += (
            [[f"κ with squared weights: {pair.first}, {pair.second}", *_cells(pair.weighted)]] if pair.weighted else []
        )
    blocks: list[Block] = [
        Heading(kind.kind),
        Paragraph(f"{many}{share}.{anew if kind.changed else ''}"),
        table(_COLUMNS, rows, _NOTE),
    ]
    return [*blocks, *(_confusion(kind, pair) for pair in kind.pairs)]


_COLUMNS = ["", ">value", ">interval", ">items"]


def _cells(value: Coefficient) -> list[str]:
    if value.value is None:
        return ["–", "", str(value.items)]
    return [f"{value.value:.3f}", f"[{value.low:.3f}, {value.high:.3f}]", str(value.items)]


def _confusion(kind: KindAgreement, pair: PairAgreement) -> Table:
    from assay.report.render.document import table

    columns = [f"{pair.first} ↓ {pair.second} →", *(f">{value}" for value in kind.values)]
    rows = [[value, *map(str, row)] for value, row in zip(kind.values, pair.table, strict=True)]
    return table(columns, rows)
