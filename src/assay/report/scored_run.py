from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from assay.errors import ConfigError
from assay.report.render.formatting import count
from assay.scoring import RR, Level, parse_measure, score
from assay.scoring.score import Scorer, as_scorer
from assay.stats.compare import means
from assay.types import AnalysisPlan, EngineRole, Query, Run, Scores, Unit, sort_phrasings

if TYPE_CHECKING:
    from assay.stats.records import MeanRow
    from assay.types import FloatArray

#: Digits of a mean; more are rounding errors.
SAME_MEAN = 12
#: With more failures the numbers describe the failures, not the ranking.
FAILED_SHARE = 0.05
#: With fewer queries a single one changes a mean by more than three points (the limit of the Pyckle guide).
FEW_QUERIES = 30
#: Synthetic gold sets that a sentence names.
_NAMED_SETS = 3


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


def resolve_baseline(
    run: RunLike, plan: AnalysisPlan, scores: Scores, failed: Collection[str], engine: str | None = None
) -> tuple[AnalysisPlan, bool]:
    """Return a plan with a baseline, and whether the baseline was chosen by score.

    Without a declared baseline, the runner-up of the candidates is chosen, or the best candidate other than `engine`.
    With too few candidates, the baseline is a reference.
    """
    if plan.baseline:
        return plan, False
    gains = {name: gain for name, gain in score_gains(scores, plan.primary).items() if name not in failed}
    ranked = [name for name in rank_engines(run, candidates(run, plan), gains) if name != engine]
    place = 0 if engine else 1
    if len(ranked) > place:
        return replace(plan, baseline=ranked[place]), True
    return replace(plan, baseline=reference_baseline(run, engine)), False


def reference_baseline(run: RunLike, engine: str | None = None) -> str:
    """Return the first reference, else the first engine; `engine` only if there is no other."""
    others = [other for other in run.engines if other.name != engine] or run.engines
    return next((other.name for other in others if other.role == "reference"), others[0].name)


def score_gains(scores: Scores, primary: str) -> dict[str, float]:
    """Return the rounded mean of every engine over the headline units, negated if lower is better."""
    sign = 1.0 if parse_measure(primary).higher_is_better else -1.0
    columns = [i for i, unit in enumerate(scores.units) if unit.headline]
    values = scores.values[:, scores.measures.index(primary)][:, columns]
    applies = ~np.isnan(values).all(axis=0)
    if not applies.any():
        return {}
    return {
        name: sign * round(float(mean), SAME_MEAN)
        for name, mean in zip(scores.engines, np.nanmean(values[:, applies], axis=1), strict=True)
    }


def reference_warnings(run: RunLike, scores: Scores, primary: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return a warning if a reference or the floor scores better than the first of `names`."""
    gains = score_gains(scores, primary)
    references = [e.name for e in run.engines if e.role in ("reference", "floor") and e.name not in names]
    best = max((name for name in references if name in gains), key=lambda name: gains[name], default="")
    beaten = [name for name in names if best and name in gains and gains[name] < gains[best]]
    if names[0] not in beaten:
        return ()
    sign = 1.0 if parse_measure(primary).higher_is_better else -1.0
    texts = [f"{name} ({sign * gains[name]:.3f})" for name in (best, *beaten)]
    return (f"The reference {texts[0]} scores better than {' and '.join(texts[1:])}.",)


def few_queries(queries: int, primary: str) -> tuple[str, ...]:
    """Return a warning if a comparison has few queries."""
    if not 0 < queries < FEW_QUERIES:
        return ()
    measure = parse_measure(primary)
    step = (measure.high - measure.low) / queries
    many = count(queries, "query", "queries")
    return (f"Only {many}, fewer than {FEW_QUERIES}: one can change a mean by {step:.2g}.",)


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


class EngineLike(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def role(self) -> EngineRole: ...


class RunLike(Protocol):
    @property
    def engines(self) -> Sequence[EngineLike]: ...


def real_engines(run: RunLike) -> tuple[str, ...]:
    """Return the competing engines: all but floor and ceiling."""
    return tuple(e.name for e in run.engines if e.role in ("candidate", "reference"))


def engines_under_test(run: RunLike) -> tuple[str, ...]:
    """Return the engines under test; without any, the references."""
    return tuple(e.name for e in run.engines if e.role == "candidate") or real_engines(run)


def compared_engines(run: RunLike, baseline: str) -> tuple[str, ...]:
    """Return the engines compared with the baseline; references only if no engine under test is left."""
    tested = tuple(name for name in engines_under_test(run) if name != baseline)
    return tested or tuple(name for name in real_engines(run) if name != baseline)


def family_of(run: RunLike, plan: AnalysisPlan) -> tuple[str, ...]:
    """Return the engines whose comparisons get a verdict: the declared family that ran, else all compared engines."""
    if not plan.family:
        return compared_engines(run, plan.baseline)
    names = {engine.name for engine in run.engines}
    return tuple(name for name in plan.family if name in names and name != plan.baseline)


def competing(run: RunLike, plan: AnalysisPlan) -> tuple[str, ...]:
    """Return the engines to compare pairwise: the candidates; with fewer than two, also the baseline or references."""
    tested = candidates(run, plan)
    with_baseline = tuple(e.name for e in run.engines if e.name in tested or e.name == plan.baseline)
    return next((names for names in (tested, with_baseline) if len(names) > 1), real_engines(run))


def candidates(run: RunLike, plan: AnalysisPlan) -> tuple[str, ...]:
    """Return the engines that can lead: the declared family and its baseline, else the engines under test.

    A reference is a candidate only if the family names it or there is no other candidate.
    """
    tested = {engine.name for engine in run.engines if engine.role == "candidate"}
    names = {*plan.family, *(tested & {plan.baseline})} if plan.family else tested
    return tuple(engine.name for engine in run.engines if engine.name in names) or real_engines(run)


def choose_leader(run: Run, plan: AnalysisPlan, gains: Mapping[str, float]) -> str:
    """Return the candidate with the best mean.

    Ties go to the baseline, then to the engine with the fewest changes, then to the first declared.
    """
    return _best_of(run, candidates(run, plan), gains, plan.baseline) or _best_of(run, gains, gains) or plan.baseline


def choose_challenger(run: Run, plan: AnalysisPlan, gains: Mapping[str, float]) -> str:
    """Return the best engine compared with the baseline; without one, the baseline."""
    family = family_of(run, plan) or tuple(name for name in real_engines(run) if name in gains)
    return _best_of(run, family, gains) or plan.baseline


def _best_of(run: Run, names: Collection[str], gains: Mapping[str, float], first: str = "") -> str:
    ranked, failed = rank_engines(run, names, gains, first), failed_engines(run)
    return next((name for name in ranked if name not in failed), ranked[0] if ranked else "")


def rank_engines(run: RunLike, names: Collection[str], gains: Mapping[str, float], first: str = "") -> list[str]:
    """Rank engines by gain; ties go to `first`, then to the fewest changes, then to the first declared."""

    def key(engine: EngineLike) -> tuple[float, bool, int]:
        variation = getattr(engine, "variation", None)
        return -gains[engine.name], engine.name != first, len(variation.changes) if variation else 0

    known = [engine for engine in run.engines if engine.name in names and engine.name in gains]
    return [engine.name for engine in sorted(known, key=key)]


def absent_notes(run: RunLike, plan: AnalysisPlan) -> tuple[str, ...]:
    names = {engine.name for engine in run.engines}
    absent = [name for name in plan.family if name not in names]
    return (f"Engines of the declared family that were not run: {', '.join(absent)}.",) if absent else ()


def failed_engines(run: Run) -> frozenset[str]:
    return frozenset(engine.name for engine in run.engines if engine.failed_throughout)


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


def synthetic_sets(run: Run) -> tuple[str, ...]:
    return tuple(gold.name for gold in run.suite.golds if gold.synthetic)


def synthetic_notes(run: Run) -> tuple[str, ...]:
    """Return a warning if gold sets of a run are synthetic."""
    return notes_on(synthetic_sets(run), [gold.name for gold in run.suite.golds])


def notes_on(synthetic: Iterable[str], golds: Iterable[str]) -> tuple[str, ...]:
    """Return a warning if some gold sets are synthetic."""
    names = list(dict.fromkeys(synthetic))
    if not names:
        return ()
    total = len(set(golds))
    which = "This gold set is" if total == 1 else f"{len(names)} of {total} gold sets are"
    more = f" and {len(names) - _NAMED_SETS} more" if len(names) > _NAMED_SETS else ""
    return (
        f"{which} synthetic ({', '.join(names[:_NAMED_SETS])}{more}): queries generated from code, not written by "
        "people. They compare engines, but do not show how well an engine answers real queries.",
    )


def mark_synthetic(name: str, synthetic: Collection[str]) -> str:
    """Return the name of a gold set, marked if it is synthetic and the name does not contain the word."""
    return f"{name} (synthetic)" if name in synthetic and "synthetic" not in name else name
