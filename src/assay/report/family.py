"""Which engines of a run are compared, which one is the baseline, and which one leads.

Competing engines are all but floor and ceiling, tested engines those that are no reference either; opponents are the
engines compared with a baseline, and judged engines those of them that get a verdict. The leader is chosen among the
tested engines, or the declared family.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from assay.report.render.formatting import SHOWN, clip
from assay.scoring import parse_measure
from assay.types import AnalysisPlan, EngineRole, Run, Scores

#: Digits of a mean; more are rounding errors.
SAME_MEAN = 12


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
    ranked = [name for name in rank_engines(run, possible_leaders(run, plan), gains) if name != engine]
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


class EngineLike(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def role(self) -> EngineRole: ...


class RunLike(Protocol):
    @property
    def engines(self) -> Sequence[EngineLike]: ...


def competing_engines(run: RunLike) -> tuple[str, ...]:
    """Return the competing engines: all but floor and ceiling."""
    return tuple(e.name for e in run.engines if e.role in ("candidate", "reference"))


def tested_engines(run: RunLike) -> tuple[str, ...]:
    """Return the engines under test; without any, the references."""
    return tuple(e.name for e in run.engines if e.role == "candidate") or competing_engines(run)


def opponents_of(run: RunLike, baseline: str) -> tuple[str, ...]:
    """Return the engines compared with the baseline; references only if no engine under test is left."""
    tested = tuple(name for name in tested_engines(run) if name != baseline)
    return tested or tuple(name for name in competing_engines(run) if name != baseline)


def judged_engines(run: RunLike, plan: AnalysisPlan) -> tuple[str, ...]:
    """Return the engines whose comparisons get a verdict: the declared family that ran, else all compared engines."""
    if not plan.family:
        return opponents_of(run, plan.baseline)
    names = {engine.name for engine in run.engines}
    return tuple(name for name in plan.family if name in names and name != plan.baseline)


def possible_leaders(run: RunLike, plan: AnalysisPlan) -> tuple[str, ...]:
    """Return the engines that can lead: the declared family and its baseline, else the engines under test.

    A reference is a candidate only if the family names it or there is no other candidate.
    """
    tested = {engine.name for engine in run.engines if engine.role == "candidate"}
    names = {*plan.family, *(tested & {plan.baseline})} if plan.family else tested
    return tuple(engine.name for engine in run.engines if engine.name in names) or competing_engines(run)


def choose_leader(run: Run, plan: AnalysisPlan, gains: Mapping[str, float]) -> str:
    """Return the candidate with the best mean.

    Ties go to the baseline, then to the engine with the fewest changes, then to the first declared.
    """
    return (
        _best_of(run, possible_leaders(run, plan), gains, plan.baseline) or _best_of(run, gains, gains) or plan.baseline
    )


def choose_challenger(run: Run, plan: AnalysisPlan, gains: Mapping[str, float]) -> str:
    """Return the best engine compared with the baseline; without one, the baseline."""
    family = judged_engines(run, plan) or tuple(name for name in competing_engines(run) if name in gains)
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


def foreign_paths(run: Run) -> dict[str, str]:
    """Return the engines whose results contain no path of the corpora, each with a path as returned."""
    found = {}
    for engine in run.engines if run.lines else ():
        hits = [(ranking.gold, hit.path) for ranking in engine.rankings for hit in ranking.hits]
        if hits and engine.role == "candidate" and not any(path in run.lines.get(gold, ()) for gold, path in hits):
            found[engine.name] = clip(hits[0][1], SHOWN.example)
    return found


def failed_engines(run: Run) -> frozenset[str]:
    return frozenset(engine.name for engine in run.engines if engine.failed_throughout)
