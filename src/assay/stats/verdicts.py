from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from assay.stats.config import DEFAULT, CompareSettings
from assay.stats.paired import can_decide, family_mde
from assay.stats.records import ComparisonRow, Interval, ValueRange, Verdict


def choose_verdict(
    difference: float,
    p: float | None,
    equivalence: Interval,
    clusters: int,
    *,
    higher_is_better: bool = True,
    margin: float = DEFAULT.margin,
    alpha: float = DEFAULT.alpha,
    confirmed: bool = True,
) -> Verdict:
    """Return better or worse if the test is significant, else equivalent, not inferior or inconclusive.

    `p` is adjusted for the family, `equivalence` is the 1 − 2α interval. `confirmed` is false if the differences are
    skewed and do not confirm the test, which assumes symmetry.
    """
    gain = difference if higher_is_better else -difference
    if p is not None and p <= alpha and gain != 0.0 and confirmed:
        return Verdict.BETTER if gain > 0.0 else Verdict.WORSE
    if equivalence.inside(margin) and clusters >= DEFAULT.equivalence_clusters:
        return Verdict.EQUIVALENT
    worst_gain = equivalence.low if higher_is_better else -equivalence.high
    return Verdict.NOT_INFERIOR if worst_gain > -margin else Verdict.INCONCLUSIVE


def holm(p: Sequence[float]) -> tuple[float, ...]:
    """Control the family-wise error rate (Holm 1979): p₍ᵢ₎ of m becomes max (m − j + 1)·p₍ⱼ₎ for j ≤ i."""
    order = np.argsort(p, kind="stable")
    scaled = np.asarray(p, dtype=np.float64)[order] * np.arange(len(p), 0, -1)
    return tuple(np.minimum(np.maximum.accumulate(scaled), 1.0)[np.argsort(order)].tolist())


def benjamini_hochberg(p: Sequence[float]) -> tuple[float, ...]:
    """Control the false discovery rate (Benjamini & Hochberg 1995): p₍ᵢ₎ of m becomes min m·p₍ⱼ₎/j for j ≥ i."""
    order = np.argsort(p, kind="stable")
    scaled = np.asarray(p, dtype=np.float64)[order] * len(p) / np.arange(1, len(p) + 1)
    return tuple(np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)[np.argsort(order)].tolist())


def adjust(
    rows: Sequence[ComparisonRow], method: Callable[[Sequence[float]], tuple[float, ...]]
) -> list[ComparisonRow]:
    """Return the rows with p-values adjusted by `method`; rows without a p-value count as p = 1."""
    adjusted = method([1.0 if row.p is None else row.p for row in rows])
    pairs = zip(rows, adjusted, strict=True)
    return [replace(row, p_adjusted=None if row.p is None else p) for row, p in pairs]


def judge(
    rows: Sequence[ComparisonRow], bounds: ValueRange, settings: CompareSettings, untested: int = 0
) -> tuple[ComparisonRow, ...]:
    """Judge the rows of one measure as a family: set adjusted p-values, verdicts, MDEs and notes.

    `untested` comparisons of the family without a row count as p = 1, which never makes another p-value smaller.
    """
    judged, size = [], len(rows) + untested
    for row in adjust(rows, lambda p: holm([*p, *[1.0] * untested])[: len(p)]):
        verdict = choose_verdict(
            row.difference,
            row.p_adjusted,
            row.equivalence,
            row.clusters,
            higher_is_better=row.higher_is_better,
            margin=settings.margin,
            alpha=settings.alpha,
            confirmed=row.confirmed,
        )
        mde = family_mde(row, bounds, size, settings)
        made = replace(row, in_family=True, verdict=verdict, mde=mde)
        judged.append(replace(made, notes=(*row.notes, *judgment_notes(made, size, settings.alpha))))
    return tuple(judged)


def judgment_notes(row: ComparisonRow, size: int, alpha: float) -> list[str]:
    notes = [note] if (note := undecidable(row, size, alpha)) else []
    p, decided = row.p_adjusted, row.verdict in (Verdict.BETTER, Verdict.WORSE)
    excludes = not row.interval.low <= 0.0 <= row.interval.high
    if p is None or (decided == excludes and (decided or p > alpha)):
        return notes
    tested = f"p = {p:.2g}" + ("" if row.p is None or p <= row.p else f" ({row.p:.2g} before Holm's adjustment)")
    if decided:
        notes.append(f"the interval includes 0, but the sign-flip test gives {tested}")
    elif p <= alpha:
        notes.append(f"not significant: {tested} assumes symmetry; bounds for skewed differences include 0")
    else:
        test = f"the sign-flip test over {row.clusters} clusters gives {tested}"
        notes.append(f"not significant: the interval excludes 0, but {test}")
    return notes


def undecidable(row: ComparisonRow, size: int, alpha: float) -> str:
    """Return a note if the smallest attainable p-value times the size of the family exceeds α, else an empty string."""
    if row.smallest_p is None or can_decide(row.smallest_p, size, alpha):
        return ""
    return (
        f"{row.clusters} clusters may be too few for a family of {size}: the smallest attainable p, "
        f"{row.smallest_p:.3g}, times {size} is above {alpha:g}"
    )
