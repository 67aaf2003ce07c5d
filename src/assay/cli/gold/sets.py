"""The commands gold split, access-log, synth and agreement."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from assay.cli.console import emit_blocks, info, pluralize
from assay.cli.gold.vote import open_review, warn_truncated
from assay.cli.options import default_set, split_list
from assay.corpus import open_corpus, parse_spec
from assay.errors import GoldError, InputError
from assay.gold import split as splits
from assay.gold.access_log import log_division, read_access_log
from assay.gold.code_index import SampleSize
from assay.gold.load import load_gold, save
from assay.gold.review.acceptance import read_acceptance_times
from assay.gold.review.agreement import Coefficient, KindAgreement, Resampling, compute_agreement
from assay.gold.review.votes import read_all_votes, read_decisions
from assay.gold.split import access_log_path
from assay.gold.synth import KINDS, check_directory, synthesize, write_sets
from assay.report.render.document import Block, Heading, Paragraph, table
from assay.stats.paired import mde_from_se
from assay.types import CorpusSpec, Suite

_OFF = 0.1  # a larger deviation from a share noticeably changes what the split can show


def split_command(args: Namespace) -> None:
    args.set = default_set(args, args.set)
    if not Path(args.set).exists():
        raise GoldError("no such file or directory", file=args.set, hint="pass a gold file; shipped sets are read-only")
    suite = load_gold(args.set)
    shares = splits.SplitShares.of(dev=args.dev, test=args.test, sealed=args.sealed)
    before = splits.read_split_method(suite)
    usual = before or splits.SplitMethod(splits.SplitOptions().by)
    method = splits.SplitMethod(args.by, args.depth) if args.by else replace(usual, depth=args.depth or usual.depth)
    options = splits.SplitOptions(method.by, shares, args.seed, method.depth, reassign=args.force)
    split, options = _assign(args, suite, options, fixed=before is not None)
    warnings = [*_save(args, suite, split, options), *_split_warnings(options, split, before)]
    smallest = {
        name: mde_from_se(args.sd / math.sqrt(size), size - 1) if size > 1 else math.inf
        for name, size in split.sizes.items()
    }
    data = {
        "schema": "assay/gold-split/1",
        "by": options.by,
        "seed": args.seed,
        "groups": split.groups,
        "kept": split.already_split,
        "sizes": dict(split.sizes),
        "shows": {name: None if math.isinf(value) else value for name, value in smallest.items()},
        "strata": {name: dict(counts) for name, counts in split.strata.items()},
        "warnings": warnings,
    }
    emit_blocks(args, f"{suite.name} split", _split_blocks(args, split, options.by, smallest, warnings), data)


def _assign(
    args: Namespace, suite: Suite, options: splits.SplitOptions, *, fixed: bool
) -> tuple[splits.SplitSuite, splits.SplitOptions]:
    """Split by the given unit; without one, by module, then by file, then by query, until there are enough groups."""
    units: tuple[splits.SplitUnit, ...] = ("module", "file", "query")
    if args.by or args.depth or fixed:
        units = (options.by,)
    for unit in units:
        try:
            return splits.assign_splits(suite, replace(options, by=unit)), replace(options, by=unit)
        except GoldError as error:
            if unit == units[-1]:
                raise
            info(args, f"by {unit}: {error.message}; splitting into smaller groups instead")
    raise AssertionError("no unit")


def _save(args: Namespace, suite: Suite, split: splits.SplitSuite, options: splits.SplitOptions) -> Iterator[str]:
    for old, new in zip(suite.golds, split.suite.golds, strict=True):
        if old == new:
            continue
        changed = log_division(old, new, "gold split --force") if args.force else ""
        if changed:
            log = access_log_path(Path(old.source or args.set)).name
            yield f"{old.name}: sealed results were seen before this split; {changed}. See {log}."
        yield from save(old, splits.store_split_method(new, options)).notes


def _split_warnings(
    options: splits.SplitOptions, split: splits.SplitSuite, before: splits.SplitMethod | None
) -> list[str]:
    total = sum(split.sizes.values())
    if split.already_split == total:
        method = splits.SplitMethod(options.by, options.depth)
        other = f" It is split {before}; --force splits it {method}." if before and before != method else ""
        return [f"Every query already has a split: nothing changed.{other}"]
    wanted = dict(zip(split.sizes, options.shares.values(), strict=True))
    off = [name for name, size in split.sizes.items() if abs(size / total - wanted[name]) > _OFF]
    if not off:
        return []
    shares = ", ".join(f"{name} has {split.sizes[name] / total:.0%} instead of {wanted[name]:.0%}" for name in off)
    return [f"{shares}, because groups stay together: {splits.more_groups_hint(options.by)}."]


def _split_blocks(
    args: Namespace, split: splits.SplitSuite, unit: str, smallest: dict[str, float], warnings: list[str]
) -> Iterator[Block | str]:
    total = sum(split.sizes.values())
    kept = f"; {pluralize(split.already_split, 'query', 'queries')} kept their split" if split.already_split else ""
    yield f"{total} queries in {pluralize(split.groups, 'group')} by {unit}, seed {args.seed}{kept}."
    rows = [
        [name, str(size), f"{size / total:.0%}", f"{smallest[name]:.1g}" if smallest[name] <= 1 else "–"]
        for name, size in split.sizes.items()
    ]
    note = f"MDE: with 80% power and a standard deviation of paired differences of {args.sd:g}."
    yield table(["Split", ">Queries", ">Share", ">MDE"], rows, note)
    if split.strata:
        rows = [[name, *map(str, counts.values())] for name, counts in split.strata.items()]
        yield table(["Stratum", *(f">{name.capitalize()}" for name in split.sizes)], rows)
    yield from (Paragraph(text, "warning") for text in warnings)


def access_log_command(args: Namespace) -> None:
    path = Path(default_set(args, args.set))
    if not path.is_file() and not access_log_path(path).is_file():
        problem = "expected a file, got a directory" if path.is_dir() else "no such file"
        raise GoldError(problem, file=path, hint="pass one gold file")
    log = read_access_log(path)
    rows = [[row.when, row.who, row.command, row.divided or ", ".join(row.engines), str(row.sealed)] for row in log]
    accesses = sum(not row.divided for row in log)
    again = f"; split again {pluralize(len(log) - accesses, 'time')} since" if accesses < len(log) else ""
    blocks: list[Block | str] = [
        f"{pluralize(accesses, 'access', 'accesses')} to the sealed queries of {path.name}{again}."
    ]
    if rows:
        blocks.append(table(["Date", "User", "Command", "Engines", ">Sealed queries"], rows))
    data = {"schema": "assay/gold-access-log/1", "file": str(path), "accesses": [asdict(row) for row in log]}
    emit_blocks(args, "Access log", blocks, data)


def synth_command(args: Namespace) -> None:
    directory = check_directory(Path(args.out))
    kinds = split_list(args.kinds) or KINDS
    size = SampleSize(args.count, args.max_per_file, args.seed)
    spec = parse_spec(args.repo)
    info(args, f"reading {args.repo}")
    sets = synthesize(open_corpus(spec), name=_set_name(spec), kinds=kinds, wanted=size)
    if not sets.golds:
        raise InputError("; ".join(sets.notes), file=args.repo, hint="pass another repository; nothing was written")
    rows = [
        {"kind": gold.provenance["synthetic"], "name": gold.name, "queries": len(gold.queries), "file": str(file)}
        for gold, file in zip(sets.golds, write_sets(sets, directory), strict=True)
    ]
    blocks: Sequence[Block | str] = (
        table(["Kind", ">Queries", "File"], [[str(row[key]) for key in ("kind", "queries", "file")] for row in rows]),
        *(Paragraph(note, "warning") for note in sets.notes),
        Paragraph(f"{directory}/ has a .gitignore and an .assayignore: Git and searches ignore it.", "quiet"),
        f"Then: assay run --gold {directory}",
    )
    data = {"schema": "assay/gold-synth/2", "directory": str(directory), "sets": rows, "notes": list(sets.notes)}
    emit_blocks(args, "Synthetic gold sets", blocks, data)


def _set_name(spec: CorpusSpec) -> str:
    repository = spec.repository.partition(":")[2] if spec.kind != "path" else Path(spec.value).resolve().name
    last = repository.removesuffix(f"/{spec.root}").rstrip("/").rpartition("/")[2]
    return "-".join(last.split()) or spec.kind


def agreement_command(args: Namespace) -> None:
    workspace = open_review(Path(default_set(args, args.set)), None)
    warn_truncated(workspace)
    queue = workspace.queue
    votes = read_all_votes(queue)
    if not votes:
        raise GoldError("no votes yet", file=queue.directory, hint=f"assay gold review {workspace.path}")
    resampling, accepted = Resampling(seed=args.seed), read_acceptance_times(queue)
    kinds = compute_agreement(workspace.items(), votes, read_decisions(queue), resampling, accepted)
    blocks = [block for kind in kinds for block in _agreement_blocks(kind)]
    data = {"schema": "assay/gold-agreement/1", "kinds": [asdict(kind) for kind in kinds]}
    emit_blocks(args, f"Agreement on {workspace.path.name}", blocks, data)


def _agreement_blocks(kind: KindAgreement) -> Iterator[Block | str]:
    yield Heading(kind.kind)
    items, votes = pluralize(kind.items, "item"), pluralize(kind.votes, "vote")
    agree = "" if kind.percent is None else f"; {kind.percent:.0%} of the pairs of votes agree"
    yield f"{items} with two votes or more, {votes}, {kind.unsure} unsure{agree}."
    if kind.changed:
        yield f"{pluralize(kind.changed, 'vote')} cast again after seeing other votes: the earlier votes count."
    rows = [[f"Krippendorff's α ({metric})", *_coefficient_cells(value)] for metric, value in kind.alpha.items()]
    for pair in kind.pairs:
        names = f"{pair.first}, {pair.second}"
        rows.append([f"Cohen's κ: {names}", *_coefficient_cells(pair.kappa)])
        if pair.weighted:
            rows.append([f"κ with squared weights: {names}", *_coefficient_cells(pair.weighted)])
    note = "CI: bootstrap over items. –: all votes are equal, so agreement beyond chance is undefined."
    yield table(["Coefficient", ">Value", ">95% CI", ">Items"], rows, note)
    for pair in kind.pairs:
        columns = [f"{pair.first} ↓ {pair.second} →", *(f">{value}" for value in kind.values)]
        yield table(columns, [[value, *map(str, row)] for value, row in zip(kind.values, pair.table, strict=True)])


def _coefficient_cells(value: Coefficient) -> list[str]:
    if value.value is None:
        return ["–", "", str(value.items)]
    return [f"{value.value:.3f}", f"[{value.low:.3f}, {value.high:.3f}]", str(value.items)]
