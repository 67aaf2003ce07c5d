from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain, combinations
from typing import TYPE_CHECKING, Unpack

import numpy as np

from assay.errors import ConfigError
from assay.stats.clustered import cluster_table, estimate
from assay.stats.config import DEFAULT, CompareOptions, CompareSettings, check_tag
from assay.stats.intervals import mean_interval
from assay.stats.records import AllPairs, Comparison, ComparisonRow, MeanRow, SliceRow, Verdict
from assay.stats.rows import EnginePair, comparison_rows
from assay.stats.score_table import (
    MeasureColumn,
    ScoreTable,
    check_engine,
    column,
    columns,
    headline,
    part,
    partition,
    repository_codes,
    same_queries,
)
from assay.stats.verdicts import adjust, benjamini_hochberg, judge

if TYPE_CHECKING:
    from assay.scoring import Measure
    from assay.types import Scores

UNADJUSTED = "Intervals are not adjusted for multiplicity."
SECONDARY = "Measures other than the primary are not in the family: no adjusted p-value, no verdict."
OUTWEIGHED = "One cluster has {share} of the queries and dominates the mean; add queries to other clusters."
OUTSIDE = "Engines outside the declared family get no adjusted p-value and no verdict: {names}."
EXPLORATORY = (
    "Slices are exploratory: p-values are adjusted over all slices by Benjamini–Hochberg, and there is no verdict."
)
#: A slice of one query has no spread.
SMALLEST_SLICE = 2


def compare(
    scores: Scores,
    *,
    baseline: str,
    primary: Measure | str,
    margin: float = DEFAULT.margin,
    alpha: float = DEFAULT.alpha,
    seed: int = DEFAULT.seed,
    measures: Sequence[Measure | str] | None = None,
    B: int = DEFAULT.resamples,
    family: Sequence[str] | None = None,
    cluster: str = "auto",
    pairwise: bool = False,
) -> Comparison:
    """Compare all other engines with the baseline.

    `family` lists the engines whose comparisons on the primary measure were declared beforehand [default: all],
    `measures` the measures to report [default: all that were scored]. `cluster` is the unit of sampling: auto,
    repository, intent or tag:NAME. `pairwise` adjusts for all pairs of the family and the baseline, because the
    baseline was chosen by its score.
    """
    settings = CompareSettings(margin, alpha, seed, B, cluster=cluster)
    check_engine(scores, baseline, "baseline")
    others = [engine for engine in scores.engines if engine != baseline]
    declared = others if family is None else family
    for name in declared:
        check_engine(scores, name, "family member")
    if not declared or baseline in declared:
        message = f"the family {'includes' if declared else 'has no engine besides'} the baseline {baseline!r}"
        raise ConfigError(message, hint=f"choose from: {', '.join(others)}" if others else "run a second engine")
    chosen = columns(scores, primary, measures)
    table = headline(scores, cluster)
    rows = compare_table(table, [(engine, baseline) for engine in others], chosen, settings)
    pairs = [(b, a) for a, b in combinations(declared, 2)] if pairwise else []
    tested = pairs if len(pairs) <= DEFAULT.tested_pairs else []
    if tested:
        rows += compare_table(table, tested, chosen[:1], settings)
    means = table_means(table, chosen, alpha, cluster)
    comparison = assemble(rows, means, chosen[0], baseline, settings, declared, len(pairs) - len(tested))
    return replace(comparison, rows=tuple(row for row in comparison.rows if row.baseline == baseline))


def means_only(
    scores: Scores, *, baseline: str, primary: Measure | str, alpha: float = DEFAULT.alpha, cluster: str = "auto"
) -> Comparison:
    """Return a comparison with means but no rows, for a run with one engine."""
    chosen = columns(scores, primary, None)
    rows = table_means(headline(scores, cluster), chosen, alpha, cluster)
    return Comparison(
        baseline=baseline,
        primary=chosen[0].name,
        alpha=alpha,
        margin=DEFAULT.margin,
        seed=DEFAULT.seed,
        resamples=0,
        family_size=0,
        rows=(),
        secondary=(),
        means=rows,
        label=rows[0].label if rows else "",
        notes=("There is no second engine to compare with.",),
    )


def all_pairs(
    scores: Scores,
    primary: Measure | str,
    *,
    measures: Sequence[Measure | str] | None = None,
    B: int = DEFAULT.resamples,
    **options: Unpack[CompareOptions],
) -> AllPairs:
    """Compare all pairs of engines, and find the leader and the engines not shown to be worse than the leader."""
    settings = CompareSettings(resamples=B, **options)
    if len(scores.engines) < 2:
        message = f"expected at least two engines to compare, got {len(scores.engines)}"
        raise ConfigError(message, hint="run a second engine on the same gold set")
    chosen = columns(scores, primary, measures)
    table = headline(scores, settings.cluster)
    rows = compare_table(table, [(b, a) for a, b in combinations(scores.engines, 2)], chosen, settings)
    means = table_means(table, chosen, settings.alpha, settings.cluster)
    comparison = assemble(rows, means, chosen[0], "", settings, None)
    return rank_engines(comparison, higher_is_better=chosen[0].bounds.higher_is_better)


def rank_engines(comparison: Comparison, *, higher_is_better: bool) -> AllPairs:
    """Add the engine with the best mean and the engines not shown to be worse to a comparison of all pairs."""
    shared = {field.name: getattr(comparison, field.name) for field in fields(comparison)}
    sign = -1.0 if higher_is_better else 1.0
    primary_means = [row for row in comparison.means if row.measure == comparison.primary]
    leader = min(primary_means, key=lambda row: (sign * row.mean, row.engine)).engine
    return with_leader(AllPairs(**shared, leader="", leaders=()), leader)


def with_leader(pairs: AllPairs, leader: str) -> AllPairs:
    beaten = {row.engine for row in pairs.rows if row.baseline == leader and row.verdict is Verdict.WORSE}
    beaten |= {row.baseline for row in pairs.rows if row.engine == leader and row.verdict is Verdict.BETTER}
    engines = [row.engine for row in pairs.means if row.measure == pairs.primary]
    return replace(pairs, leader=leader, leaders=tuple(engine for engine in engines if engine not in beaten))


def compare_pairs(
    scores: Scores,
    pairs: Sequence[tuple[str, str]],
    *,
    primary: Measure | str,
    B: int = DEFAULT.resamples,
    **options: Unpack[CompareOptions],
) -> Comparison:
    settings = CompareSettings(resamples=B, **options)
    for name in dict.fromkeys(chain.from_iterable(pairs)):
        check_engine(scores, name)
    measure, table = column(scores, primary), headline(scores, settings.cluster)
    rows = compare_table(table, pairs, [measure], settings)
    return assemble(rows, table_means(table, [measure], settings.alpha, settings.cluster), measure, "", settings, None)


def compare_slices(
    scores: Scores,
    *,
    baseline: str,
    primary: Measure | str,
    B: int = DEFAULT.resamples,
    **options: Unpack[CompareOptions],
) -> tuple[SliceRow, ...]:
    """Compare engines with the baseline by phrasing and tag value; omit values of all units and slices of one query."""
    settings = CompareSettings(resamples=B, **options)
    check_engine(scores, baseline, "baseline")
    check_tag(settings.cluster, (tag for unit in scores.units for tag in unit.tags))
    measure = column(scores, primary)
    pairs = [(engine, baseline) for engine in scores.engines if engine != baseline]
    forms = sorted({unit.form for unit in scores.units})
    tables = [
        ("form", form, part(scores, [unit.form == form for unit in scores.units]))
        for form in (forms if len(forms) > 1 else ())
    ]
    whole = len(headline(scores).units)
    for tag, value in sorted({pair for unit in scores.units if unit.headline for pair in unit.tags.items()}):
        table = part(scores, [unit.headline and unit.tags.get(tag) == value for unit in scores.units])
        if len(table.units) < whole:
            tables.append((tag, value, table))
    rows = [
        SliceRow(by, value, row)
        for by, value, table in tables
        if len(table.units) >= SMALLEST_SLICE
        for row in compare_table(table, pairs, [measure], settings)
    ]
    adjusted = adjust([slice_row.row for slice_row in rows], benjamini_hochberg)
    return tuple(replace(slice_row, row=row) for slice_row, row in zip(rows, adjusted, strict=True))


def compare_table(
    table: ScoreTable, pairs: Sequence[tuple[str, str]], chosen: Sequence[MeasureColumn], settings: CompareSettings
) -> tuple[ComparisonRow, ...]:
    aligned = []
    for measure in chosen:
        for engine, baseline in pairs:
            new, old = table.row(engine, measure), table.row(baseline, measure)
            aligned.append(EnginePair(engine, baseline, measure.name, measure.bounds, new, old))
    return comparison_rows(aligned, table.units, settings)


def assemble(
    rows: Sequence[ComparisonRow],
    means: Sequence[MeanRow],
    primary: MeasureColumn,
    baseline: str,
    settings: CompareSettings,
    declared: Sequence[str] | None,
    untested: int = 0,
) -> Comparison:
    """Judge the rows of the declared engines [default: all] on the primary measure as a family, and add notes."""
    first = [row for row in rows if row.measure == primary.name]
    if not first:
        message = f"{primary.name} applies to no query that the engines share"
        raise ConfigError(message, hint="choose another primary measure")
    members = [row for row in first if declared is None or row.engine in declared]
    judged = judge(members, primary.bounds, settings, untested)
    outside = [row for row in first if declared is not None and row.engine not in declared]
    secondary = tuple(row for row in rows if row.measure != primary.name)
    size, power = len(judged) + untested, f"{DEFAULT.power:.0%} power"
    if size == 1:
        notes = [f"The family has one comparison; its MDE is for {power} at α = {settings.alpha:g}."]
    else:
        notes = [f"The family has {size} comparisons: p-values are adjusted by Holm, MDEs are for {power} at α/{size}."]
    notes.append(UNADJUSTED)
    if secondary:
        notes.append(SECONDARY)
    if outside:
        notes.append(OUTSIDE.format(names=", ".join(sorted({row.engine for row in outside}))))
    fewest = min(row.queries for row in judged)
    if fewest < DEFAULT.small_set:
        notes.append(f"Only {fewest} queries: with fewer than {DEFAULT.small_set}, results are unreliable.")
    heaviest = [row.heaviest for row in judged if row.heaviest > max(DEFAULT.heaviest_cluster, 2 / row.clusters)]
    if heaviest:
        notes.append(OUTWEIGHED.format(share=f"{max(heaviest):.0%}"))
    return Comparison(
        baseline=baseline,
        primary=primary.name,
        alpha=settings.alpha,
        margin=settings.margin,
        seed=settings.seed,
        resamples=settings.resamples,
        family_size=size,
        rows=(*judged, *outside),
        secondary=secondary,
        means=tuple(means),
        label=first[0].label,
        notes=tuple(notes),
    )


def means(
    scores: Scores,
    *,
    measures: Sequence[Measure | str] | None = None,
    alpha: float = DEFAULT.alpha,
    cluster: str = "auto",
) -> tuple[MeanRow, ...]:
    """Return the mean of each engine on each measure over the headline units, ordered by measure.

    A tag in `cluster` is not checked, because a group of queries may have no query with that tag.
    """
    chosen = [column(scores, measure) for measure in (scores.measures if measures is None else measures)]
    return table_means(headline(scores), chosen, alpha, cluster)


def table_means(
    table: ScoreTable, chosen: Sequence[MeasureColumn], alpha: float, cluster: str = "auto"
) -> tuple[MeanRow, ...]:
    cells = [(engine, measure) for measure in chosen for engine in table.engines]
    values = [table.row(engine, measure) for engine, measure in cells]
    rows: dict[int, MeanRow] = {}
    for queries, members in same_queries(values):
        units = [table.units[i] for i in queries]
        stacked = np.stack([values[i][queries] for i in members], axis=1)
        parts, homes = partition(units, cluster), repository_codes(units)
        estimated, sizes = estimate(cluster_table(stacked, parts)), np.bincount(homes)
        independent = parts.count if parts.shared else len(units)
        for at, i in enumerate(members):
            engine, measure = cells[i]
            interval = mean_interval(estimated.column(at), measure.bounds, level=1 - alpha, units=independent)
            se, plain = float(estimated.se[at]), float(estimated.plain_se[at])
            effective_n = estimated.n * min(1.0, (plain / se) ** 2) if se > 0.0 and plain > 0.0 else estimated.n
            rows[i] = MeanRow(
                engine=engine,
                measure=measure.name,
                mean=float(estimated.mean[at]),
                interval=interval.at(0, 1 - alpha),
                repository_mean=float((np.bincount(homes, weights=stacked[:, at]) / sizes).mean()),
                queries=len(units),
                left_out=len(table.units) - len(units),
                clusters=parts.count,
                repositories=parts.repositories,
                effective_n=min(effective_n, independent),
                label=parts.label,
            )
    return tuple(rows[i] for i in sorted(rows))


@dataclass(frozen=True, slots=True)
class RepositoryChange:
    """The mean difference on the queries of one repository, in units of the measure."""

    repository: str
    queries: int
    difference: float  # engine − baseline
    gain: float  # `difference`, negated if lower is better


@dataclass(frozen=True, slots=True)
class RepositoryTally:
    wins: int
    ties: int
    losses: int

    def __str__(self) -> str:
        return f"{self.wins}/{self.ties}/{self.losses}"


def by_repository(scores: Scores, engine: str, baseline: str, measure: Measure | str) -> tuple[RepositoryChange, ...]:
    chosen, table = column(scores, measure), headline(scores)
    differences = table.row(engine, chosen) - table.row(baseline, chosen)
    sign = 1.0 if chosen.bounds.higher_is_better else -1.0
    by_name: dict[str, list[float]] = {}
    for unit, value in zip(table.units, differences.tolist(), strict=True):
        if not np.isnan(value):
            by_name.setdefault(unit.repository, []).append(value)
    changes = []
    for name in sorted(by_name):
        mean = float(np.mean(by_name[name]))
        mean = mean if abs(mean) > DEFAULT.tie else 0.0
        changes.append(RepositoryChange(name, len(by_name[name]), mean, sign * mean + 0.0))
    return tuple(changes)


def tally(changes: Sequence[RepositoryChange]) -> RepositoryTally:
    wins, losses = sum(c.gain > 0.0 for c in changes), sum(c.gain < 0.0 for c in changes)
    return RepositoryTally(wins, len(changes) - wins - losses, losses)


def worst(changes: Sequence[RepositoryChange]) -> RepositoryChange:
    return min(changes, key=lambda c: (c.gain, c.repository))
