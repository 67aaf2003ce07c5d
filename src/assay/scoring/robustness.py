"""What becomes of the score when the same intent is put in other words.

Each looks at another measure's values over the phrasings of one intent and stands at the intent's headline unit. A
phrasing that failed has that measure's worst value. A difference between two failures would be a perfect 0, so where
phrasings are subtracted, one that failed makes the whole the worst it can be (rule 2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.errors import ConfigError
from assay.scoring.evaluate import Scorer, as_scorer, evaluate
from assay.scoring.grid import BoolArray, Grid, IntArray
from assay.scoring.measure import Measure, MeasureRange
from assay.scoring.ranks import cutoff_of, first_rank, grades_at, level_of
from assay.types import PRIMARY, Adversary, Run, Scores, Suite

if TYPE_CHECKING:
    from assay.types import FloatArray


By = Literal["relationship", "strength"]


@dataclass(frozen=True, slots=True)
class Slice:
    """A measure over the queries that have this sort of adversary, with only this sort counted."""

    by: By
    label: str
    adversaries: int  # how many the suite has
    scores: Scores  # NaN for queries without one


def signed(measure: Measure) -> MeasureRange:
    """Ranks apart: from k below to k above, below is worse."""
    k = float(cutoff_of(measure))
    return MeasureRange(-k, k, -k)


def inverse(_: Measure) -> MeasureRange:
    """A share of failures: 1 is worst."""
    return MeasureRange(0.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class _Ranks:
    """The best ranks of a primary and of an adversary, censored one past the cut-off."""

    primary: IntArray
    adversary: IntArray
    applies: FloatArray  # 0 where there are both, NaN elsewhere


def _ranks(grid: Grid, measure: Measure) -> _Ranks:
    k, level = cutoff_of(measure), level_of(measure)
    marks = grid.marks(level)
    has_both = marks.trapped & (grid.graded(level).ideal >= PRIMARY).any(axis=-1)
    return _Ranks(
        first_rank(grades_at(grid, measure) >= PRIMARY),
        first_rank(marks.trap[..., :k] & grid.within(level, k)),
        np.where(has_both, 0.0, np.nan),
    )


def displacement(grid: Grid, measure: Measure) -> FloatArray:
    """1 when an adversary is inside the cut-off and above every primary target, else 0.

    After Karta's displacement_rate (dev.to article on its v2.1), without exclusions.
    """
    ranks = _ranks(grid, measure)
    # censored at k + 1 the adversary is never above a primary, so A < P says A <= k too
    return (ranks.adversary < ranks.primary) + ranks.applies


def rank_gap(grid: Grid, measure: Measure) -> FloatArray:
    """Best adversary rank minus best primary rank, each censored at k + 1; above 0 the right one stands first.

    After Karta's rank_gap (Metrics.java), which averages only over queries where both were retrieved.
    """
    ranks = _ranks(grid, measure)
    return ranks.adversary - ranks.primary + ranks.applies


def breakdown(run: Run | Scorer, measures: Sequence[Measure], by: By) -> tuple[Slice, ...]:
    """Score once for each relationship, or each strength, as if the other adversaries were not there."""
    scorer = as_scorer(run)
    counts = Counter(str(getattr(adversary, by)) for adversary in _adversaries(scorer.run.suite))
    return tuple(
        Slice(by, label, count, scorer.against(_sort_of(by, label)).tabulate(measures))
        for label, count in sorted(counts.items())
    )


def _adversaries(suite: Suite) -> list[Adversary]:
    return [a for gold in suite.golds for query in gold.queries for a in query.adversaries]


def _sort_of(by: By, label: str) -> Callable[[Adversary], bool]:
    return lambda adversary: getattr(adversary, by) == label


ARROW = "→"


@dataclass(frozen=True, slots=True)
class _Intent:
    """The phrasings of one intent: the inner measure's values and what was answered, by engine × form."""

    forms: Mapping[str, int]
    values: FloatArray
    ok: BoolArray


def inner(measure: Measure) -> Measure:
    """The measure that is looked at."""
    if measure.of is None:
        raise ConfigError(f"{measure.name} needs a measure", hint=f"write {measure.name}(Hit@10)")
    return measure.of


def as_inner(measure: Measure) -> MeasureRange:
    """The range of the measure that is looked at."""
    return inner(measure).kind.bounds(inner(measure))


def width(measure: Measure) -> MeasureRange:
    """A distance between two values: 0 is best."""
    of = inner(measure)
    return MeasureRange(0.0, of.high - of.low, of.high - of.low)


def loss(measure: Measure) -> MeasureRange:
    """A loss, or below 0 a gain."""
    of = inner(measure)
    return MeasureRange(of.low - of.high, of.high - of.low, of.high - of.low)


def require_binary(measure: Measure) -> None:
    """Refuse measures whose values are not 0 or 1."""
    if measure.of is not None and not measure.of.kind.binary:
        hint = f"write Worst({measure.of!r}), or {measure.name}(Hit@{measure.of.k or 10})"
        raise ConfigError(f"{measure.name} asks a yes-or-no measure, and {measure.of!r} is none", hint=hint)


def _each(grid: Grid, measure: Measure, value: Callable[[_Intent], FloatArray]) -> FloatArray:
    values, out = evaluate(grid, inner(measure)), grid.blank()
    members: dict[str, list[int]] = {}
    for index, unit in enumerate(grid.units):
        members.setdefault(unit.intent, []).append(index)
    for columns in members.values():
        forms = {grid.units[column].form: place for place, column in enumerate(columns)}
        headline = next(column for column in columns if grid.units[column].headline)
        out[:, headline] = value(_Intent(forms, values[:, columns], grid.ok[:, columns]))
    return out


def any_phrasing(grid: Grid, measure: Measure) -> FloatArray:
    """1 when any phrasing has it. Karta calls it quorum-any."""
    return _each(grid, measure, lambda intent: intent.values.max(axis=1))


def all_phrasings(grid: Grid, measure: Measure) -> FloatArray:
    """1 when every phrasing has it."""
    return _each(grid, measure, lambda intent: intent.values.min(axis=1))


def worst_phrasing(grid: Grid, measure: Measure) -> FloatArray:
    """The value of the phrasing that fared worst."""
    up = inner(measure).higher_is_better
    return _each(grid, measure, lambda intent: intent.values.min(axis=1) if up else intent.values.max(axis=1))


def spread(grid: Grid, measure: Measure) -> FloatArray:
    """The best phrasing's value minus the worst one's; needs two phrasings."""

    def value(intent: _Intent) -> FloatArray:
        apart = intent.values.max(axis=1) - intent.values.min(axis=1)
        apart = apart if len(intent.forms) > 1 else np.full_like(apart, np.nan)
        return _failed_worst(apart, intent.ok, measure)

    return _each(grid, measure, value)


def drop(grid: Grid, measure: Measure) -> FloatArray:
    """How much worse the second phrasing fares than the first; needs both. Karta's human → wrong_terminology drop."""
    before, after = str(measure["forms"]).split(ARROW)
    sign = 1.0 if inner(measure).higher_is_better else -1.0

    def value(intent: _Intent) -> FloatArray:
        if before not in intent.forms or after not in intent.forms:
            return np.full(len(intent.values), np.nan)
        pair = [intent.forms[before], intent.forms[after]]
        lost = sign * (intent.values[:, pair[0]] - intent.values[:, pair[1]])
        return _failed_worst(lost, intent.ok[:, pair], measure)

    return _each(grid, measure, value)


def _failed_worst(values: FloatArray, ok: BoolArray, measure: Measure) -> FloatArray:
    return np.where(ok.all(axis=1) | np.isnan(values), values, measure.worst)
