"""Measures over adversaries, and over the phrasings of one query.

A measure over phrasings combines another measure's values and is stored at the query's headline unit. A failed
phrasing has that measure's worst value. The difference between two failures would be a perfect 0, so Spread and
Drop have their worst value if one of their phrasings failed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ConfigError
from assay.scoring.formulas import MeasureRange, cutoff_of, first_rank, grades_at, matching_level
from assay.scoring.grid import BoolArray, FloatArray, Grid, IntArray
from assay.types import PRIMARY

if TYPE_CHECKING:
    from assay.scoring.measures import Measure

ARROW = "→"


def displacement(grid: Grid, measure: Measure) -> FloatArray:
    """1 if an adversary is inside the cutoff and above every primary target, else 0.

    After Karta's displacement_rate (dev.to article on its v2.1).
    """
    primary, adversary, applies = _best_ranks(grid, measure)
    # censored at k + 1 the adversary is never above a primary, so A < P implies A <= k
    return (adversary < primary) + applies


def rank_gap(grid: Grid, measure: Measure) -> FloatArray:
    """Best adversary rank minus best primary rank, each censored at k + 1; above 0 the primary target ranks first.

    After Karta's rank_gap (Metrics.java), which averages only over queries where both were retrieved.
    """
    primary, adversary, applies = _best_ranks(grid, measure)
    return adversary - primary + applies


def _best_ranks(grid: Grid, measure: Measure) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the best ranks of a primary target and of an adversary, and 0 if the query has both, else NaN."""
    k, level = cutoff_of(measure), matching_level(measure)
    marks = grid.marks(level)
    has_both = marks.has_adversary & (grid.graded(level).ideal >= PRIMARY).any(axis=-1)
    return (
        first_rank(grades_at(grid, measure) >= PRIMARY),
        first_rank(marks.adversary[..., :k] & grid.within(level, k)),
        np.where(has_both, 0.0, np.nan),
    )


def failure_range(_: Measure) -> MeasureRange:
    return MeasureRange(0.0, 1.0, 1.0)


def gap_range(measure: Measure) -> MeasureRange:
    k = float(cutoff_of(measure))
    return MeasureRange(-k, k, -k)


def any_phrasing(grid: Grid, measure: Measure) -> FloatArray:
    """1 if the measure is 1 for any phrasing; Karta's quorum-any."""
    return _combine(grid, measure, lambda values, _ok, _forms: values.max(axis=1))


def all_phrasings(grid: Grid, measure: Measure) -> FloatArray:
    """1 if the measure is 1 for every phrasing."""
    return _combine(grid, measure, lambda values, _ok, _forms: values.min(axis=1))


def worst_phrasing(grid: Grid, measure: Measure) -> FloatArray:
    """The value of the worst phrasing."""
    up = inner(measure).higher_is_better
    return _combine(grid, measure, lambda values, _ok, _forms: values.min(axis=1) if up else values.max(axis=1))


def spread(grid: Grid, measure: Measure) -> FloatArray:
    """Highest minus lowest value of all phrasings; needs two phrasings."""

    def value(values: FloatArray, ok: BoolArray, forms: list[str]) -> FloatArray:
        apart = values.max(axis=1) - values.min(axis=1)
        apart = apart if len(forms) > 1 else np.full_like(apart, np.nan)
        return _penalize_failures(apart, ok, measure)

    return _combine(grid, measure, value)


def drop(grid: Grid, measure: Measure) -> FloatArray:
    """Loss from the first phrasing to the second; needs both. After Karta's human → wrong_terminology drop."""
    before, after = str(measure["forms"]).split(ARROW)
    sign = 1.0 if inner(measure).higher_is_better else -1.0

    def value(values: FloatArray, ok: BoolArray, forms: list[str]) -> FloatArray:
        if before not in forms or after not in forms:
            return np.full(len(values), np.nan)
        pair = [forms.index(before), forms.index(after)]
        lost = sign * (values[:, pair[0]] - values[:, pair[1]])
        return _penalize_failures(lost, ok[:, pair], measure)

    return _combine(grid, measure, value)


def _combine(
    grid: Grid, measure: Measure, value: Callable[[FloatArray, BoolArray, list[str]], FloatArray]
) -> FloatArray:
    """Combine the phrasings of each query by `value(values, ok, forms)`; the arrays are engines × phrasings."""
    values, out = inner(measure).evaluate(grid), grid.blank()
    members: dict[str, list[int]] = {}
    for index, unit in enumerate(grid.units):
        members.setdefault(unit.intent, []).append(index)
    for columns in members.values():
        headline = next(column for column in columns if grid.units[column].headline)
        forms = [grid.units[column].form for column in columns]
        out[:, headline] = value(values[:, columns], grid.ok[:, columns], forms)
    return out


def _penalize_failures(values: FloatArray, ok: BoolArray, measure: Measure) -> FloatArray:
    return np.where(ok.all(axis=1) | np.isnan(values), values, measure.worst)


def inner(measure: Measure) -> Measure:
    if measure.of is None:
        raise ConfigError(f"{measure.name} needs a measure", hint=f"write {measure.name}(Hit@10)")
    return measure.of


def inner_range(measure: Measure) -> MeasureRange:
    return inner(measure).kind.bounds(inner(measure))


def spread_range(measure: Measure) -> MeasureRange:
    of = inner(measure)
    return MeasureRange(0.0, of.high - of.low, of.high - of.low)


def drop_range(measure: Measure) -> MeasureRange:
    of = inner(measure)
    return MeasureRange(of.low - of.high, of.high - of.low, of.high - of.low)


def require_binary(measure: Measure) -> None:
    if measure.of is not None and not measure.of.kind.binary:
        hint = f"write Worst({measure.of!r}), or {measure.name}(Hit@{measure.of.k or 10})"
        raise ConfigError(f"{measure.name} needs a binary measure, got {measure.of!r}", hint=hint)
