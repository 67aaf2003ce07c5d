"""The commands `compare` (engines of one run, two runs, or tables of values) and `plan` (sample size)."""

from __future__ import annotations

import math
import shlex
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from assay.cli.arguments import reject_flags, require_flag
from assay.cli.console import emit, emit_blocks, paused_gc, pluralize
from assay.cli.options import default_results, given_flags, log_run_access, plan_for, read_results
from assay.corpus_changes import change_sentences
from assay.errors import ConfigError, EngineError
from assay.experiment.spec.analysis_plan import fall_back_to_files
from assay.files import write_atomic
from assay.report.analysis import compared_pair
from assay.report.comparison import (
    compare_all_pairs,
    compare_in_run,
    compare_sides,
    decide_sides,
    require_comparable,
)
from assay.report.comparison_text import card, comparison_document
from assay.report.decision import Decision, QueryLoss, decide_comparison
from assay.report.extra_tables import resample_pairs, resampled_csv, resampled_table
from assay.report.family import failed_engines
from assay.report.query_scores import gather
from assay.report.render.document import Block, Document, Paragraph
from assay.report.scored_run import measure_text
from assay.scoring import parse_measure, score
from assay.stats import RunNames, compare_values, components_of, plan, plan_comparison, read_values
from assay.stats.config import DEFAULT
from assay.stats.records import AllPairs, Comparison, ComparisonRow, QueryValue, SamplePlan, one_digit
from assay.stats.runs import compare_columns, read_engines
from assay.stats.score_table import headline as headline_table

if TYPE_CHECKING:
    from assay.types import FloatArray


@paused_gc()
def compare_command(args: Namespace) -> int:
    require_flag(args, "bootstrap", "out")
    compared = _compare(args)
    comparison, names = compared.comparison, shlex.join(name for name in (args.first, args.second) if name)
    show = "" if _is_table(args.first) else f"assay show {names}"
    details: list[Block] = [
        *(comparison_document(comparison).blocks if args.full else map(Paragraph, compared.changes))
    ]
    data = {"schema": "assay/compare/1", **asdict(comparison), "decision": compared.decision.to_json()}
    if args.bootstrap:
        pairs = list(resample_pairs(comparison.rows, compared.values, comparison))
        details.append(resampled_table(pairs))
        data["bootstrap"] = [asdict(pair) for pair in pairs]
        if args.out:
            means = {row.engine: row.mean for row in comparison.means if row.measure == comparison.primary}
            write_atomic(Path(args.out), resampled_csv(pairs, means))
    emit(
        args,
        Document("", (*details, card(compared.decision, show=show, more=" above" if args.full else " with --full"))),
        data,
    )
    return EngineError.exit_code if comparison.failed else 0


class _Compared(NamedTuple):
    comparison: Comparison | AllPairs
    decision: Decision
    changes: Sequence[str] = ()  # a sentence for each corpus that changed between two runs
    values: Mapping[str, FloatArray] = MappingProxyType({})  # of each engine by query, for the bootstrap


def _is_table(name: str) -> bool:
    return Path(name).suffix.lower() in (".csv", ".json")


def _compare(args: Namespace) -> _Compared:
    tables = [_is_table(name) for name in (args.first, args.second) if name]
    if any(tables):
        if not all(tables):
            message = "cannot compare a CSV or JSON file with a run directory"
            raise ConfigError(message, hint="assay compare old.csv new.csv")
        return _compare_tables(args)
    reject_flags(args, "run directories", "lower_is_better")
    if args.second is None:
        if args.all_pairs:
            reject_flags(args, "--all-pairs", "engine", "baseline")
        run = read_results(args.first)
        plan = plan_for(run, args)
        log_run_access(args, run, "compare")
        side = gather((run,), plan.measures, "")
        pairs = compare_all_pairs(run, plan) if args.all_pairs else None
        compared = compare_in_run(side, replace(plan, baseline="") if pairs else plan, args.engine)
        values = {}
        if args.bootstrap:
            table = headline_table(score(run, [plan.primary]))
            values = dict(zip(table.engines, table.values[:, 0], strict=True))
        return _Compared(pairs or compared, decide_sides(compared, None, side, plan), values=values)
    reject_flags(args, "two runs", "all_pairs", "bootstrap", "baseline")
    old, new = read_results(args.first), read_results(args.second)
    log_run_access(args, new, "compare")
    plan = fall_back_to_files(plan_for(new, args), old, new)
    require_comparable(old, new)
    before, after = gather((old,), plan.measures, args.first), gather((new,), plan.measures, args.second)
    comparison = compare_sides(before, after, plan, args.engine)
    decision = decide_sides(comparison, before, after, plan, worst=True)
    return _Compared(comparison, decision, change_sentences(before.corpora, after.corpora))


def _compare_tables(args: Namespace) -> _Compared:
    reject_flags(args, "CSV files", "measure", "family", "cluster_by")
    settings = given_flags(args, "margin", "alpha", "seed")
    higher = not args.lower_is_better
    with suppress(ConfigError):  # a column may have any name
        higher = parse_measure(args.primary).higher_is_better if args.primary else higher
    paths = [name for name in (args.first, args.second) if name]
    engines: dict[str, Sequence[QueryValue]]
    if len(paths) == 1 or args.all_pairs or args.baseline:
        reject_flags(args, "several engines", "engine")
        read = [(name, values) for path in paths for name, values in read_engines(path, measure=args.primary).items()]
        engines = dict(read)
        if len(engines) < len(read):
            raise ConfigError("duplicate engine name in the two files", hint="rename it in one of the files")
        comparison = compare_columns(
            engines, args.primary or "value", args.baseline, higher_is_better=higher, **settings
        )
        decided: Comparison = comparison
        if isinstance(comparison, AllPairs):
            decided = leading_pair(comparison, higher=higher)
    else:
        names = RunNames(args.first, args.second)
        old, new = (read_values(path, engine=args.engine, measure=args.primary) for path in paths)
        engines = {names.old: old, names.new: new}
        comparison = decided = compare_values(old, new, names=names, higher_is_better=higher, **settings)
    better = f"{'Higher' if higher else 'Lower'} values are better."
    comparison = replace(comparison, notes=(better, *comparison.notes))
    by_query = {name: {row.query: row.value for row in rows} for name, rows in engines.items()}

    def losses(row: ComparisonRow) -> list[QueryLoss]:
        old, new = by_query[row.baseline], by_query[row.engine]
        changes = [QueryLoss("", query, value - old[query]) for query, value in new.items() if query in old]
        return sorted(
            (change for change in changes if (change.difference < 0) == higher and change.difference),
            key=lambda change: change.difference if higher else -change.difference,
        )

    decision = decide_comparison(replace(decided, notes=comparison.notes), suite="", losses=losses)
    shared = [query for query in next(iter(by_query.values())) if all(query in rows for rows in by_query.values())]
    values = {name: np.array([rows[query] for query in shared]) for name, rows in by_query.items()}
    return _Compared(comparison, decision, values=values)


def leading_pair(pairs: AllPairs, *, higher: bool) -> Comparison:
    """Return the comparison of the leader with the runner-up; p-values stay adjusted for all pairs."""
    ranked = sorted(pairs.means, key=lambda row: (-row.mean if higher else row.mean, row.engine != pairs.leader))
    first = {pairs.leader, next(row.engine for row in ranked if row.engine != pairs.leader)}
    row = next(row for row in pairs.rows if {row.engine, row.baseline} == first)
    return replace(pairs, rows=(row,), baseline=row.baseline)


def plan_command(args: Namespace) -> None:
    if not 0 < args.power < 1:
        raise ConfigError(f"expected --power between 0 and 1, got {args.power:g}", hint="--power 0.8")
    if args.sd is None:
        plan, source = _plan_from_pilot(args)
        size = "The pilot's size"
    else:
        plan, source = _plan_from_assumptions(args)
        size = f"{pluralize(args.repositories or 1, 'repository', 'repositories')} of {args.queries or 20:g} queries"
    basis = f"{source}; {100 * plan.power:g}% power at α = {plan.alpha:g}, one comparison."
    shown = "no difference" if plan.mde_now is None else f"differences of {one_digit(plan.mde_now)} or more"
    if args.sd is None and plan.mde_now is not None:
        shown += ", by simulation; the MDE on the card assumes normal means"
    emit_blocks(args, plan.sentence, (basis, f"{size} can detect {shown}."), {"schema": "assay/plan/1", **asdict(plan)})


def _plan_from_assumptions(args: Namespace) -> tuple[SamplePlan, str]:
    reject_flags(args, "a plan from assumptions", "results", "engine", "baseline", "primary", "cluster_by")
    icc = DEFAULT.assumed_icc if args.icc is None else args.icc
    repositories = 1 if args.repositories is None else args.repositories
    components = components_of(args.sd, icc, repositories, 20.0 if args.queries is None else args.queries)
    alpha = DEFAULT.alpha if args.alpha is None else args.alpha
    source: Literal["assumed", "given"] = "assumed" if args.icc is None else "given"
    made = plan(components, args.detect, alpha=alpha, power=args.power, icc_source=source)
    return made, f"Standard deviation of the paired differences: {args.sd:g} per query, as given"


def _plan_from_pilot(args: Namespace) -> tuple[SamplePlan, str]:
    reject_flags(args, "a plan from a pilot", "repositories", "queries")
    directory = args.results or default_results(args)
    run = read_results(directory)
    log_run_access(args, run, "plan")
    plan = plan_for(run, args)
    baseline, challenger = compared_pair(run, plan)
    engine = args.engine or challenger
    if engine == baseline or engine in failed_engines(run):
        raise ConfigError(f"no engine to compare with {baseline}", hint="name one: --engine NAME")
    sample = plan_comparison(
        score(run, [plan.primary]),
        baseline=baseline,
        engine=engine,
        primary=plan.primary,
        delta=args.detect,
        alpha=plan.alpha,
        power=args.power,
        cluster=plan.cluster,
        icc=args.icc,
    )
    pair = f"{engine} − {baseline} on {measure_text(plan.primary)} in {directory}"
    spread = f"{sample.sd:.2g} per query"
    if sample.icc_source != "pilot":  # the assumed variance between repositories is not in the pilot's differences
        spread = f"{sample.sd * math.sqrt(1 - sample.icc):.2g} per query here, {sample.sd:.2g} across repositories"
    return sample, f"From {pair}; standard deviation of the paired differences: {spread}"
