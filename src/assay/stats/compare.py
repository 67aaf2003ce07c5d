"""Comparisons of engines: pairs, rows, the family and its verdicts, notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import TYPE_CHECKING

from assay.errors import ConfigError
from assay.stats.config import DEFAULT, Settings
from assay.stats.family import judge
from assay.stats.means import table_means
from assay.stats.records import AllPairs, Comparison, ComparisonRow, MeanRow, Verdict
from assay.stats.rows import EnginePair, comparison_rows
from assay.stats.tables import MeasureColumn, ScoreTable, check_engine, column, columns, headline

if TYPE_CHECKING:
    from assay.stats.records import MeasureLike
    from assay.types import Scores


UNADJUSTED = "Intervals are not adjusted for multiplicity."
SECONDARY = "Measures other than the primary are not in the family: no adjusted p-value, no verdict."
OUTWEIGHED = "One cluster holds {share} of the queries and dominates the mean; more queries elsewhere would balance it."
OUTSIDE = "Engines outside the declared family get no adjusted p-value and no verdict: {names}."


def compare(
    scores: Scores,
    *,
    baseline: str,
    primary: MeasureLike | str,
    margin: float = DEFAULT.margin,
    alpha: float = DEFAULT.alpha,
    seed: int = DEFAULT.seed,
    measures: Sequence[MeasureLike | str] | None = None,
    B: int = DEFAULT.resamples,
    family: Sequence[str] | None = None,
    cluster: str = "auto",
) -> Comparison:
    """Compare every other engine with the baseline.

    `family` has the engines whose comparisons on the primary measure were declared beforehand [default: all],
    `measures` the further measures to report [default: all that were scored], `cluster` the unit of sampling.
    """
    settings = Settings(margin, alpha, seed, B, cluster=cluster)
    check_engine(scores, baseline, "baseline")
    declared = _check_family(scores, baseline, family)
    chosen = columns(scores, primary, measures)
    table = headline(scores, cluster)
    pairs = [
        _pair(table, engine, baseline, measure) for measure in chosen for engine in scores.engines if engine != baseline
    ]
    rows = comparison_rows(pairs, table.units, settings)
    return assemble(rows, table_means(table, chosen, alpha, cluster), chosen[0], baseline, settings, declared)


def means_only(
    scores: Scores,
    *,
    baseline: str,
    primary: MeasureLike | str,
    alpha: float = DEFAULT.alpha,
    cluster: str = "auto",
) -> Comparison:
    """Return the means of a run without a second engine."""
    chosen = columns(scores, primary, None)
    found = table_means(headline(scores, cluster), chosen, alpha, cluster)
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
        means=found,
        label=found[0].label if found else "",
        notes=("There is no second engine to compare with.",),
    )


def all_pairs(
    scores: Scores,
    primary: MeasureLike | str,
    *,
    margin: float = DEFAULT.margin,
    alpha: float = DEFAULT.alpha,
    seed: int = DEFAULT.seed,
    measures: Sequence[MeasureLike | str] | None = None,
    B: int = DEFAULT.resamples,
    cluster: str = "auto",
) -> AllPairs:
    """Compare every engine with every other, and find the leader and the engines not shown to be worse."""
    settings = Settings(margin, alpha, seed, B, cluster=cluster)
    if len(scores.engines) < 2:
        raise ConfigError("all pairs need at least two engines", hint="run a second engine on the same gold set")
    chosen = columns(scores, primary, measures)
    table = headline(scores, cluster)
    pairs = [_pair(table, b, a, measure) for measure in chosen for a, b in combinations(scores.engines, 2)]
    rows = comparison_rows(pairs, table.units, settings)
    means = table_means(table, chosen, alpha, cluster)
    found = assemble(rows, means, chosen[0], "", settings, None)
    shared = {field.name: getattr(found, field.name) for field in fields(found)}
    sign = -1.0 if chosen[0].bounds.higher_is_better else 1.0
    primary_means = [row for row in means if row.measure == chosen[0].name]
    leader = min(primary_means, key=lambda row: (sign * row.mean, row.engine)).engine
    return with_leader(AllPairs(**shared, leader="", leaders=()), leader)


def with_leader(found: AllPairs, leader: str) -> AllPairs:
    """Return the comparison with another leader; `leaders` are the engines that no verdict places below it."""
    beaten = {row.engine for row in found.rows if row.baseline == leader and row.verdict is Verdict.WORSE}
    beaten |= {row.baseline for row in found.rows if row.engine == leader and row.verdict is Verdict.BETTER}
    engines = [row.engine for row in found.means if row.measure == found.primary]
    return replace(found, leader=leader, leaders=tuple(engine for engine in engines if engine not in beaten))


def assemble(
    rows: Sequence[ComparisonRow],
    means: Sequence[MeanRow],
    primary: MeasureColumn,
    baseline: str,
    settings: Settings,
    declared: Sequence[str] | None,
) -> Comparison:
    """Judge the declared family and add the notes."""
    first = [row for row in rows if row.measure == primary.name]
    if not first:
        raise ConfigError(
            f"{primary.name} applies to no query that the engines share", hint="choose another primary measure"
        )
    judged = judge([row for row in first if declared is None or row.engine in declared], primary.bounds, settings)
    outside = [row for row in first if declared is not None and row.engine not in declared]
    secondary = tuple(row for row in rows if row.measure != primary.name)
    return Comparison(
        baseline=baseline,
        primary=primary.name,
        alpha=settings.alpha,
        margin=settings.margin,
        seed=settings.seed,
        resamples=settings.resamples,
        family_size=len(judged),
        rows=(*judged, *outside),
        secondary=secondary,
        means=tuple(means),
        label=first[0].label,
        notes=_notes(judged, outside, secondary, settings),
    )


def _pair(table: ScoreTable, engine: str, baseline: str, measure: MeasureColumn) -> EnginePair:
    new, old = table.row(engine, measure), table.row(baseline, measure)
    return EnginePair(engine, baseline, measure.name, measure.bounds, new, old)


def _check_family(scores: Scores, baseline: str, family: Sequence[str] | None) -> tuple[str, ...]:
    names = tuple(engine for engine in scores.engines if engine != baseline) if family is None else tuple(family)
    for name in names:
        check_engine(scores, name, "family member")
    if not names or baseline in names:
        raise ConfigError(
            "the family needs at least one engine other than the baseline",
            hint=f"baseline is {baseline!r}; there are: {', '.join(scores.engines)}",
        )
    return names


def _notes(
    judged: Sequence[ComparisonRow],
    outside: Sequence[ComparisonRow],
    secondary: Sequence[ComparisonRow],
    settings: Settings,
) -> tuple[str, ...]:
    size, power = len(judged), f"{settings.config.power:.0%} power"
    if size == 1:
        notes = [f"One comparison was declared; its MDE is for {power} at α = {settings.alpha:g}."]
    else:
        notes = [f"The family has {size} comparisons: p-values are adjusted by Holm, MDEs are for {power} at α/{size}."]
    notes.append(UNADJUSTED)
    if secondary:
        notes.append(SECONDARY)
    if outside:
        notes.append(OUTSIDE.format(names=", ".join(sorted({row.engine for row in outside}))))
    fewest = min(row.queries for row in judged)
    if fewest < settings.config.small_set:
        notes.append(f"Only {fewest} queries: below {settings.config.small_set} little can be told apart.")
    heaviest = [
        row.heaviest for row in judged if row.heaviest > max(settings.config.heaviest_cluster, 2 / row.clusters)
    ]
    if heaviest:
        notes.append(OUTWEIGHED.format(share=f"{max(heaviest):.0%}"))
    return tuple(notes)


@dataclass(frozen=True, slots=True)
class PairSpec:
    """An engine and its baseline."""

    engine: str
    baseline: str


def compare_pairs(
    scores: Scores,
    pairs: Sequence[PairSpec],
    *,
    primary: MeasureLike | str,
    margin: float = DEFAULT.margin,
    alpha: float = DEFAULT.alpha,
    seed: int = DEFAULT.seed,
    B: int = DEFAULT.resamples,
    cluster: str = "auto",
) -> Comparison:
    """Compare each pair on the primary measure as one family; rows have the order of the pairs."""
    settings = Settings(margin, alpha, seed, B, cluster=cluster)
    for name in dict.fromkeys(name for pair in pairs for name in (pair.engine, pair.baseline)):
        check_engine(scores, name)
    measure, table = column(scores, primary), headline(scores, cluster)
    aligned = [_pair(table, pair.engine, pair.baseline, measure) for pair in pairs]
    rows = comparison_rows(aligned, table.units, settings)
    return assemble(rows, table_means(table, [measure], alpha, cluster), measure, "", settings, None)
