"""A run with its scores: parts of them, names of measures, and the comparison with the baseline."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar, cast

from assay.errors import ConfigError
from assay.report.family import failed_engines, resolve_baseline
from assay.scoring import RR, Level, identical_rankings, parse_measure, score
from assay.scoring.score import Scorer, as_scorer
from assay.stats import compare, means_only
from assay.stats.compare import means
from assay.stats.config import compare_options
from assay.stats.records import Comparison
from assay.types import AnalysisPlan, Query, Run, Scores, Unit, sort_phrasings

if TYPE_CHECKING:
    from assay.stats.records import MeanRow
    from assay.types import FloatArray

#: With more failures the numbers describe the failures, not the ranking.
FAILED_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """A run with its scores and lookup tables."""

    run: Run
    plan: AnalysisPlan
    scores: Scores
    scorer: Scorer  # for further measures
    queries: dict[tuple[str, str], Query]
    headline: tuple[int, ...]  # columns of the headline units
    pairwise: bool  # whether the baseline is the runner-up

    @property
    def primary(self) -> str:
        return self.plan.primary

    def values(self, engine: str, measure: str) -> FloatArray:
        """Return the values of an engine on a measure over all units."""
        scores = self.scores
        row: FloatArray = scores.values[scores.engines.index(engine), scores.measures.index(measure)]
        return row


def score_run(run: Run, plan: AnalysisPlan) -> ScoredRun:
    """Score a run with the measures of its analysis plan and those that reports need."""
    forms = {ranking.form for engine in run.engines for ranking in engine.rankings}
    names = [*plan.measures, rank_measure(plan.primary, run.k)]
    if len(forms) > 1 and parse_measure(plan.primary).of is None:
        names += [f"Worst({plan.primary})", f"Spread({plan.primary})"]
        names += [f"Drop({plan.primary},human→wrong_terminology)"] if "wrong_terminology" in forms else []
    scorer = as_scorer(run)
    scores = score(scorer, list(dict.fromkeys(parse_measure(name) for name in names)))
    queries = {(gold.name, query.id): query for gold in run.suite.golds for query in gold.queries}
    headline = tuple(i for i, unit in enumerate(scores.units) if unit.headline)
    resolved, pairwise = resolve_baseline(run, plan, scores, failed_engines(run))
    return ScoredRun(run, resolved, scores, scorer, queries, headline, pairwise)


def level_of(primary: str) -> Level:
    """Return the level at which a measure matches results; lines if the measure has no such parameter."""
    return cast("Level", parse_measure(primary).level)


def short_measure(name: str) -> str:
    """Return a measure without its level, or unchanged if it has no level or is unknown."""
    try:
        measure = parse_measure(name)
        default = next((param.default for param in measure.kind.params if param.name == "level"), None)
        return repr(measure(level=default)) if default else name
    except ConfigError:  # also for octocode's rule, which is by lines only
        return name


def measure_text(name: str) -> str:
    """Return a measure in words: nDCG(level=lines)@10 becomes nDCG@10 by lines."""
    short = short_measure(name)
    return name if short == name else f"{short} by {level_of(name)}"


def labeled_measure(name: str) -> str:
    """Return a measure in words, always with its level: Hit@5 by file."""
    return f"{short_measure(name)} by {level_of(name)}"


def rank_measure(primary: str, k: int) -> str:
    """Return the reciprocal rank at the level of the primary measure, by its rule if reciprocal rank has that rule."""
    measure = parse_measure(primary)
    if measure.name == RR.name and measure["rule"] != "assay":
        return repr(measure @ k)
    return repr(RR(level=measure.level) @ k)


def forms_of(units: Iterable[Unit]) -> tuple[str, ...]:
    return sort_phrasings(unit.form for unit in units)


def pick(
    scores: Scores,
    *,
    engines: Sequence[str] | None = None,
    measures: Sequence[str] | None = None,
    columns: Sequence[int] | None = None,
) -> Scores:
    for kind, known, names in (("engine", scores.engines, engines), ("measure", scores.measures, measures)):
        for name in names or ():
            if name not in known:
                raise ConfigError(f"no {kind} {name!r} in this run", hint=f"{kind}s: {', '.join(known)}")
    rows = scores.engines if engines is None else tuple(engines)
    kept = scores.measures if measures is None else tuple(measures)
    units = range(len(scores.units)) if columns is None else columns
    values = scores.values[[scores.engines.index(name) for name in rows]]
    values = values[:, [scores.measures.index(name) for name in kept]][:, :, list(units)]
    return Scores(rows, kept, tuple(scores.units[i] for i in units), values)


def group_means(scored: ScoredRun, columns: Sequence[int], measures: Sequence[str]) -> list[MeanRow]:
    part = pick(scored.scores, measures=measures, columns=columns)
    units = tuple(replace(unit, headline=True) for unit in part.units)
    return list(means(replace(part, units=units), alpha=scored.plan.alpha, cluster=scored.plan.cluster))


def by_tag(scored: ScoredRun, tag: str) -> dict[str, list[int]]:
    """Group the columns of the headline queries by the value of a tag; difficulties are ordered from easy to hard."""
    rest = "standard" if tag == "difficulty" else "untagged"
    values = {i: scored.scores.units[i].tags.get(tag, rest) for i in scored.headline}
    order = {"easy": -2, "standard": -1, "hard": 1}
    names = sorted(set(values.values()), key=lambda value: (order.get(value, 0), value))
    return {name: [i for i in scored.headline if values[i] == name] for name in names}


_Comparison = TypeVar("_Comparison", bound=Comparison)


def mark_identical(comparison: _Comparison, run: Run | Scorer) -> _Comparison:
    same = {frozenset((twins.first, twins.second)) for twins in identical_rankings(run)}
    rows = (replace(row, identical=frozenset((row.engine, row.baseline)) in same) for row in comparison.rows)
    return replace(comparison, rows=tuple(rows))


def compare_with_baseline(
    scores: Scores, plan: AnalysisPlan, family: Sequence[str], dead: Collection[str], *, pairwise: bool = False
) -> Comparison:
    """Compare a family with the baseline; failed engines keep their means but leave the family."""
    left = [] if plan.baseline in dead else [name for name in family if name not in dead]
    failed = [name for name in (plan.baseline, *family) if name in dead]
    if not left:
        return note_failed(compute_means(scores, plan, plan.baseline), failed, plan.baseline)
    comparison = compare(
        pick(scores, engines=[name for name in scores.engines if name not in dead]),
        baseline=plan.baseline,
        primary=plan.primary,
        family=left,
        pairwise=pairwise,
        **compare_options(plan),
    )
    every = means(scores, alpha=plan.alpha, cluster=plan.cluster) if dead else comparison.means
    return note_failed(replace(comparison, means=every), failed, plan.baseline)


def compute_means(scores: Scores, plan: AnalysisPlan, baseline: str) -> Comparison:
    return means_only(scores, baseline=baseline, primary=plan.primary, alpha=plan.alpha, cluster=plan.cluster)


def note_failed(comparison: _Comparison, failed: Sequence[str], baseline: str = "") -> _Comparison:
    if not failed:
        return comparison
    note = f"Failed on every query, not compared: {', '.join(failed)}"
    note += "; without the baseline there is no comparison." if baseline in failed else "."
    notes = comparison.notes if comparison.rows else ()  # "no second engine" would not be the reason
    return replace(comparison, failed=tuple(failed), notes=(note, *notes))


#: The verdict on an engine without any successful query.
NOT_COMPARED = "failed, not compared"
