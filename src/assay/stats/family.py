"""Multiplicity and verdicts: rows that are judged as a family, or explored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from assay.stats.config import DEFAULT, Settings, StatsConfig
from assay.stats.power import observed_mde, raise_for_ties
from assay.stats.records import ComparisonRow, Interval, ValueRange, Verdict


def decide(
    difference: float,
    p: float | None,
    equivalence: Interval,
    clusters: int,
    *,
    higher_is_better: bool = True,
    margin: float = DEFAULT.margin,
    alpha: float = DEFAULT.alpha,
    config: StatsConfig = DEFAULT,
    confirmed: bool = True,
) -> Verdict:
    """Return the first verdict that holds; `p` is adjusted for the family, `equivalence` is the 1 − 2α interval.

    `confirmed` is false for skewed differences that do not confirm the test, which assumes symmetry.
    """
    gain = difference if higher_is_better else -difference
    if p is not None and p <= alpha and gain != 0.0 and confirmed:
        return Verdict.BETTER if gain > 0.0 else Verdict.WORSE
    if equivalence.inside(margin) and clusters >= config.equivalence_clusters:
        return Verdict.EQUIVALENT
    worst_gain = equivalence.low if higher_is_better else -equivalence.high
    return Verdict.NOT_INFERIOR if worst_gain > -margin else Verdict.INCONCLUSIVE


def holm(p: Sequence[float]) -> tuple[float, ...]:
    """Return adjusted p-values that control the family-wise error rate (Holm 1979): max over j ≤ i of (m − j)·p₍ⱼ₎."""
    order = np.argsort(p, kind="stable")
    scaled = np.asarray(p, dtype=np.float64)[order] * np.arange(len(p), 0, -1)
    return _back(order, np.minimum(np.maximum.accumulate(scaled), 1.0))


def benjamini_hochberg(p: Sequence[float]) -> tuple[float, ...]:
    """Return adjusted p-values that control the false discovery rate (BH 1995): min over j ≥ i of m·p₍ⱼ₎/j."""
    order = np.argsort(p, kind="stable")
    scaled = np.asarray(p, dtype=np.float64)[order] * len(p) / np.arange(1, len(p) + 1)
    return _back(order, np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0))


def _back(order: np.ndarray[tuple[int, ...], np.dtype[np.intp]], values: np.ndarray) -> tuple[float, ...]:
    result = np.empty(len(order))
    result[order] = values
    return tuple(result.tolist())


def can_decide(smallest_p: float | None, family: int, alpha: float) -> bool:
    """Return whether the smallest attainable p, times the size of the family, can reach α."""
    return smallest_p is not None and smallest_p * family <= alpha


def judge(rows: Sequence[ComparisonRow], bounds: ValueRange, settings: Settings) -> tuple[ComparisonRow, ...]:
    """Judge rows of one measure as a family: adjusted p, verdict, and the MDE at the level each must reach."""
    adjusted = _adjust(rows, holm)
    return tuple(_judge_row(row, p, len(rows), bounds, settings) for row, p in zip(rows, adjusted, strict=True))


def explore(rows: Sequence[ComparisonRow]) -> tuple[ComparisonRow, ...]:
    """Adjust p-values over all rows by Benjamini–Hochberg, without verdicts."""
    adjusted = _adjust(rows, benjamini_hochberg)
    return tuple(replace(row, p_adjusted=p) for row, p in zip(rows, adjusted, strict=True))


def _adjust(
    rows: Sequence[ComparisonRow], method: Callable[[Sequence[float]], tuple[float, ...]]
) -> tuple[float | None, ...]:
    adjusted = method([1.0 if row.p is None else row.p for row in rows])
    return tuple(None if row.p is None else p for row, p in zip(rows, adjusted, strict=True))


def _judge_row(row: ComparisonRow, p: float | None, size: int, bounds: ValueRange, settings: Settings) -> ComparisonRow:
    verdict = decide(
        row.difference,
        p,
        row.equivalence,
        row.clusters,
        higher_is_better=row.higher_is_better,
        margin=settings.margin,
        alpha=settings.alpha,
        config=settings.config,
        confirmed=row.confirmed,
    )
    mde = family_mde(row, bounds, size, settings)
    judged = replace(row, p_adjusted=p, in_family=True, verdict=verdict, mde=mde)
    return replace(judged, notes=(*row.notes, *judgment_notes(judged, size, settings.alpha)))


def judgment_notes(row: ComparisonRow, size: int, alpha: float) -> tuple[str, ...]:
    """Return notes on what limits the verdict on a row of a family of this size."""
    return tuple(note for note in (undecidable(row, size, alpha), _disagreement(row, alpha)) if note)


def _disagreement(row: ComparisonRow, alpha: float) -> str:
    p, verdict = row.p_adjusted, row.verdict
    decided = verdict in (Verdict.BETTER, Verdict.WORSE)
    excludes = not row.interval.low <= 0.0 <= row.interval.high
    if p is None or (decided == excludes and (decided or p > alpha)):
        return ""
    tested = f"p = {p:.2g}" + ("" if row.p is None or p <= row.p else f" ({row.p:.2g} before Holm's adjustment)")
    if decided:
        return f"the interval includes 0, but the sign-flip test gives {tested}"
    if p <= alpha:
        return f"not called better or worse: {tested} assumes symmetric differences, and skewed ones do not confirm it"
    return (
        "not called better or worse: the interval excludes 0, but the sign-flip test over "
        f"{row.clusters} clusters gives {tested}"
    )


def undecidable(row: ComparisonRow, size: int, alpha: float) -> str:
    """Return a note if this many clusters cannot decide this family, else an empty string."""
    if row.smallest_p is None or can_decide(row.smallest_p, size, alpha):
        return ""
    return (
        f"{row.clusters} clusters cannot decide a family of {size}: the smallest p they can give is "
        f"{row.smallest_p:.3g}, times {size} is above {alpha:g}"
    )


def family_mde(row: ComparisonRow, bounds: ValueRange, size: int, settings: Settings) -> float | None:
    """Return the MDE of a row in a family of this size; None if no difference could be shown.

    At α over the size, the level of the first step of Holm, so it does not depend on the other rows.
    """
    if not row.se or not can_decide(row.smallest_p, size, settings.alpha):
        return None
    if row.differing < settings.config.p_value_clusters:
        return None
    mde = observed_mde(
        row.se,
        row.df,
        row.clusters,
        alpha=settings.alpha / size,
        power=settings.config.power,
        config=settings.config,
    )
    return min(raise_for_ties(mde * row.unequal, 1.0 - row.ties / row.queries, row.typical_size), bounds.width)
