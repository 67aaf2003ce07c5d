"""Whether a plausible wrong answer stood above the right one.

P is the best rank of a primary target, A the best rank of an adversary, both censored at k + 1, over all queries that
have adversaries: Karta dropped the queries that missed, and the best of its settings became the one that missed most.
A hit that touches a target is never the adversary, and an adversary that lies wholly inside a target (at file level: in
its file) cannot be told from it, so it does not count at that level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.scoring.evaluate import Scorer, as_scorer
from assay.scoring.grid import Grid, IntArray
from assay.scoring.measure import Bounds, Measure
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


def signed(measure: Measure) -> Bounds:
    """Ranks apart: from k below to k above, below is worse."""
    k = float(cutoff_of(measure))
    return Bounds(-k, k, -k)


def inverse(_: Measure) -> Bounds:
    """A share of failures: 1 is worst."""
    return Bounds(0.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class _Ranks:
    """The best ranks of a primary and of an adversary, censored one past the cut-off."""

    primary: IntArray
    adversary: IntArray
    applies: FloatArray  # 0 where there are both, NaN elsewhere


def _ranks(grid: Grid, measure: Measure) -> _Ranks:
    """Find the best ranks in every ranking."""
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
    """List the adversaries of a suite."""
    return [a for gold in suite.golds for query in gold.queries for a in query.adversaries]


def _sort_of(by: By, label: str) -> Callable[[Adversary], bool]:
    """Make the test for one sort of adversary."""
    return lambda adversary: getattr(adversary, by) == label
