from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from assay.errors import ConfigError
from assay.report.render.formatting import plain
from assay.report.scored_run import FAILED_SHARE, level_of
from assay.scoring import Level, parse_measure
from assay.stats.config import DEFAULT
from assay.stats.paired import mde_from_se
from assay.stats.records import Comparison, ComparisonRow, Verdict
from assay.types import Scores

Outcome = Literal[
    "better",
    "slightly better",
    "slightly worse",
    "worse",
    "equivalent",
    "not inferior",
    "inconclusive",
    "identical rankings",
    "same scores",
    "failed",
    "single engine",
]
SILENT: Final = "returned no results for any query"
FOREIGN: Final = "returned no path that exists in the corpus, such as "
#: The difference that a set should detect.
_DETECT: Final = 0.05
_MAX_LOSSES: Final = 3


@dataclass(frozen=True, slots=True)
class DecidedEngine:
    name: str
    mean: float | None
    low: float | None = None  # of the mean
    high: float | None = None
    failed: int = 0  # queries
    median_ms: float | None = None
    p95_ms: float | None = None
    outcome: str = ""  # of its comparison between two runs


@dataclass(frozen=True, slots=True)
class QueryLoss:
    """A query on which the candidate is worse than the baseline."""

    gold: str
    query: str
    difference: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What a comparison shows, with the numbers that support it."""

    suite: str
    measure: str
    granularity: Level
    queries: int
    repositories: int
    scope: str
    outcome: Outcome
    reason: str  # set if outcome and interval seem to disagree, or if there is no comparison
    candidate: DecidedEngine
    baseline: DecidedEngine | None
    difference: float | None  # candidate − baseline
    low: float | None  # of the confidence interval
    high: float | None
    level: float
    p: float | None  # adjusted for the family
    comparisons: int  # in the family
    margin: float
    wins: int
    ties: int
    losses: int
    mde: float | None
    needed: int | None  # queries to detect a difference of 0.05, to two digits
    largest_losses: tuple[QueryLoss, ...]
    others: tuple[DecidedEngine, ...]  # best first
    warnings: tuple[str, ...]
    report: str  # a file of the run directory; empty without one
    drafts: int = 0  # queries

    @property
    def drafts_only(self) -> bool:
        return 0 < self.queries <= self.drafts

    def to_json(self) -> dict[str, Any]:
        return cast(dict[str, Any], plain(self))


def decide(
    comparison: Comparison,
    candidate: str,
    engines: Iterable[DecidedEngine],
    *,
    suite: str,
    losses: Sequence[QueryLoss] = (),
    failures: Mapping[str, tuple[int, int]] | None = None,
    silent: Mapping[str, str] | None = None,
    warnings: Sequence[str] = (),
    report: str = "",
    drafts: int = 0,
) -> Decision:
    """Decide on one engine of a comparison.

    `failures` has the failed and all queries of engines that failed; `silent` has engines without
    results (an empty string), or whose results are not in the corpus (an example).
    """
    row = next((row for row in comparison.rows if row.engine == candidate and row.in_family), None)
    baseline = row.baseline if row else comparison.baseline
    known = {engine.name: engine for engine in engines}
    means = [mean for mean in comparison.means if mean.measure == comparison.primary]
    mine = next((mean for mean in means if mean.engine == candidate), None)
    outcome, reason = _outcome(row, candidate, baseline, comparison, failures or {}, silent or {})
    others = [engine for engine in known.values() if engine.name not in (candidate, baseline)]
    sign = -1.0 if _higher_is_better(comparison.primary) else 1.0
    others.sort(key=lambda engine: (engine.mean is None, sign * (engine.mean or 0.0), engine.name))
    numbers = row or mine
    return Decision(
        suite=suite,
        measure=comparison.primary,
        granularity=_granularity(comparison.primary),
        queries=numbers.queries if numbers else 0,
        repositories=numbers.repositories if numbers else 0,
        scope=_scope(comparison.label),
        outcome=outcome,
        reason=reason,
        candidate=known.get(candidate) or DecidedEngine(candidate, mine.mean if mine else None),
        baseline=(known.get(baseline) or DecidedEngine(baseline, None)) if row or baseline != candidate else None,
        difference=row.difference if row else None,
        low=row.interval.low if row else None,
        high=row.interval.high if row else None,
        level=1 - comparison.alpha,
        p=(row.p if row.p_adjusted is None else row.p_adjusted) if row else None,
        comparisons=comparison.family_size,
        margin=comparison.margin,
        wins=row.wins if row else 0,
        ties=row.ties if row else 0,
        losses=row.losses if row else 0,
        mde=row.mde if row else None,
        needed=_needed(row) if row else None,
        largest_losses=tuple(losses[:_MAX_LOSSES]),
        others=tuple(others),
        warnings=tuple(warnings),
        report=report,
        drafts=drafts,
    )


#: Verdicts, the worst first.
_SEVERITY: Final = (Verdict.WORSE, Verdict.INCONCLUSIVE, Verdict.NOT_INFERIOR, Verdict.EQUIVALENT, Verdict.BETTER)


def decide_comparison(
    comparison: Comparison,
    *,
    suite: str,
    losses: Callable[[ComparisonRow], Sequence[QueryLoss]],
    worst: bool = False,
    blamed: Collection[str] = (),
    failures: Mapping[str, tuple[int, int]] | None = None,
    silent: Mapping[str, str] | None = None,
    warnings: Sequence[str] = (),
) -> Decision:
    """Decide on the engine of a family with the largest gain; with `worst`, on the one with the worst outcome.

    The worst outcome is that of an engine in `blamed` (a failed check), then of one whose scores changed.
    """
    rows = [row for row in comparison.rows if row.verdict is not None]
    means = [row for row in comparison.means if row.measure == comparison.primary]

    scores = {mean.engine: mean.mean for mean in means}

    def severity(row: ComparisonRow) -> tuple[bool, bool, int, float, float]:
        sign = 1.0 if row.higher_is_better else -1.0
        gain, score = sign * row.difference, -sign * scores.get(row.engine, 0.0)  # the best of unchanged engines
        if not worst:
            return False, False, 0, -gain, score
        unchanged = row.identical or not row.differing
        return row.engine not in blamed, unchanged, _SEVERITY.index(row.verdict) if row.verdict else 0, gain, score

    row = min(rows, key=severity, default=None)
    names = (name for name in (*comparison.failed, *(mean.engine for mean in means)) if name != comparison.baseline)
    if worst and comparison.failed:
        row = None
    candidate = row.engine if row else next(names, comparison.baseline)
    outcomes = {row.engine: _outcome(row, row.engine, row.baseline, comparison, {}, {})[0] for row in rows if worst}
    shown = {candidate, comparison.baseline, *(row.engine for row in rows), *([row.baseline] if row else [])}
    engines = [
        DecidedEngine(
            mean.engine,
            mean.mean,
            mean.interval.low,
            mean.interval.high,
            (failures or {}).get(mean.engine, (0,))[0],
            outcome=outcomes.get(mean.engine, ""),
        )
        for mean in means
        if mean.engine in shown
    ]
    return decide(
        comparison,
        candidate,
        engines,
        suite=suite,
        losses=losses(row) if row else (),
        failures=failures,
        silent=silent,
        warnings=warnings,
    )


def _higher_is_better(measure: str) -> bool:
    try:
        return parse_measure(measure).higher_is_better
    except ConfigError:  # a column of a CSV file
        return True


def _granularity(measure: str) -> Level:
    try:
        return level_of(measure)
    except ConfigError:
        return "file"


def _scope(label: str) -> str:
    """Return the scope of a verdict from its label: `on this repository` becomes `this repository only`."""
    if not label.startswith("on "):
        return label.removeprefix("over ")
    place, comma, rest = label.removeprefix("on ").partition(",")
    return f"{place.removesuffix(' only')} only{comma}{rest}"


def _needed(row: ComparisonRow) -> int | None:
    """Return the queries that detect the difference `_DETECT`, to two digits: an MDE shrinks with the square root."""
    mde = row.mde
    if mde is None and row.se and row.df >= 1:
        mde = mde_from_se(row.se, row.df)
    if not mde or not row.differing:
        return None
    enough_differ = DEFAULT.p_value_clusters / min(row.differing, DEFAULT.p_value_clusters)
    needed = math.ceil(row.queries * max((mde / _DETECT) ** 2, enough_differ))
    step = int(10 ** max(0, len(str(needed)) - 2))
    return math.ceil(needed / step) * step


def _outcome(
    row: ComparisonRow | None,
    candidate: str,
    baseline: str,
    comparison: Comparison,
    failures: Mapping[str, tuple[int, int]],
    silent: Mapping[str, str],
) -> tuple[Outcome, str]:
    for name in (candidate, baseline):
        failed, asked = failures.get(name, (0, 0))
        if failed > FAILED_SHARE * asked or name in comparison.failed:
            return "failed", f"{name} failed on {f'{failed} of {asked} queries' if failed < asked else 'every query'}"
        if name in silent:
            return "failed", f"{name} {FOREIGN if silent[name] else SILENT}{silent[name]}"
    if row is None or row.verdict is None:
        return "single engine", "there is no second engine"
    if row.identical:
        return "identical rankings", "is the setting connected?"
    if not row.differing:
        return "same scores", ""
    small = row.within_margin and row.verdict in (Verdict.BETTER, Verdict.WORSE)
    outcome = cast(Outcome, f"slightly {row.verdict}" if small else row.verdict.value)
    return outcome, _reason(row, comparison)


def _reason(row: ComparisonRow, comparison: Comparison) -> str:
    """Return why the verdict is not the one that the interval suggests; empty if it is."""
    excludes_zero = not row.interval.low <= 0.0 <= row.interval.high
    decided = row.verdict in (Verdict.BETTER, Verdict.WORSE)
    if decided:
        return "" if excludes_zero else "the interval includes 0, but the sign-flip test is significant"
    if excludes_zero:
        return _not_significant(row, comparison)
    margin, level = comparison.margin, f"{row.equivalence.level:.0%} CI"
    worst = row.interval.low if row.higher_is_better else -row.interval.high
    if row.verdict is Verdict.EQUIVALENT and not row.interval.inside(margin):
        return f"the {level} is within the margin"
    if row.verdict is Verdict.NOT_INFERIOR and worst <= -margin:
        return f"the {level} excludes a loss of {margin:g}"
    if row.verdict is not Verdict.EQUIVALENT and row.equivalence.inside(margin):
        return f"fewer than {DEFAULT.equivalence_clusters} clusters cannot show equivalence"
    return ""


def _not_significant(row: ComparisonRow, comparison: Comparison) -> str:
    if row.p is None:
        return f"no p-value: fewer than {DEFAULT.p_value_clusters} clusters"
    if row.differing < DEFAULT.p_value_clusters:
        return f"fewer than {DEFAULT.p_value_clusters} differing clusters"
    if row.p > comparison.alpha:
        return "the sign-flip test is not significant"
    if row.p_adjusted is not None and row.p_adjusted > comparison.alpha:
        return f"not significant after correcting for {comparison.family_size} comparisons"
    return "the differences are too skewed to confirm the sign-flip test"


def find_losses(scores: Scores, candidate: str, baseline: str, measure: str) -> list[QueryLoss]:
    """Return the headline queries on which the candidate is worse than the baseline, largest loss first."""
    if not {candidate, baseline} <= set(scores.engines):
        return []
    sign, at = (1.0 if _higher_is_better(measure) else -1.0), scores.measures.index(measure)
    values = scores.values[:, at, :]
    changes = values[scores.engines.index(candidate)] - values[scores.engines.index(baseline)]
    losses = [
        QueryLoss(unit.gold, unit.query, float(change))
        for unit, change in zip(scores.units, changes, strict=True)
        if unit.headline and sign * change < -DEFAULT.tie
    ]
    return sorted(losses, key=lambda loss: (sign * loss.difference, loss.gold, loss.query))
