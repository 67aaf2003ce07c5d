"""Measures of ranked lists, computed from arrays of grades."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from assay.scoring.grid import BoolArray, FloatArray, Grid, IntArray
from assay.scoring.match import Level

if TYPE_CHECKING:
    from assay.scoring.measures import Measure


class MeasureRange(NamedTuple):
    """The lowest and highest value of a measure, and the value of a failed query."""

    low: float
    high: float
    worst: float


#: Rules of nDCG.
RULES = ("assay", "semble")


def share_range(_: Measure) -> MeasureRange:
    """Return the range of a share: 0 is worst, 1 is best."""
    return MeasureRange(0.0, 1.0, 0.0)


def level_of(measure: Measure) -> Level:
    return cast("Level", measure["level"])


def cutoff_of(measure: Measure) -> int:
    """Return the cutoff; raise ConfigError without one."""
    return measure.complete().k or 0


def grades_at(grid: Grid, measure: Measure) -> IntArray:
    """Return the grades inside the cutoff; 0 for repeated and missing hits."""
    k, level = cutoff_of(measure), level_of(measure)
    return np.where(grid.within(level, k), grid.graded(level).grades[..., :k], 0)


def first_rank(found: BoolArray) -> IntArray:
    """Return the first true rank, from 1; k + 1 if there is none (rule 3: censored, never dropped)."""
    k = found.shape[-1]
    return np.asarray(np.where(found.any(axis=-1), found.argmax(axis=-1) + 1, k + 1))


def _relevant(grid: Grid, measure: Measure) -> tuple[BoolArray, FloatArray]:
    """Return whether each rank has a counted target, and the number of counted targets; NaN (not applicable) for 0."""
    least = cast("int", measure["grade"])
    total = (grid.graded(level_of(measure)).ideal >= least).sum(axis=-1).astype(np.float64)
    return grades_at(grid, measure) >= least, np.where(total > 0, total, np.nan)


def ndcg(grid: Grid, measure: Measure) -> FloatArray:
    """Discounted gain of the ranking over that of the ideal one; the gain is the grade, the discount log2(1 + rank).

    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20(4), 2002; the linear-gain form
    that trec_eval computes as ndcg_cut. With one-to-one claims (rule 1) it lies between 0 and 1.
    """
    k = cutoff_of(measure)
    discounts: FloatArray = 1.0 / np.log2(np.arange(2, k + 2))
    if measure["rule"] == "semble":
        return _semble_ndcg(grid, discounts)
    # both sums are over rows of equal length, so an ideal ranking is exactly 1
    ideal = (grid.graded(level_of(measure)).ideal[:, :k] * discounts).sum(axis=-1)
    gained = (grades_at(grid, measure) * discounts).sum(axis=-1)
    return np.asarray(gained / np.where(ideal > 0, ideal, np.nan))


def _semble_ndcg(grid: Grid, discounts: FloatArray) -> FloatArray:
    """Score by semble's published rule (MinishLab/semble, benchmarks/), to reproduce its numbers.

    Every target counts 1, two spans of one file are two targets, a path matches by suffix in either direction,
    repeated results count, and targets found at the same rank share one slot.
    """
    values = grid.blank()
    for cell in grid.cells():
        wanted = [target.span.path for target in grid.queries[cell.unit].targets]
        if wanted:
            paths = [hit.path for hit in cell.hits[: len(discounts)]]
            slots = {_semble_rank(path, paths) for path in wanted} - {len(paths)}
            values[cell.engine, cell.unit] = discounts[sorted(slots)].sum() / discounts[: len(wanted)].sum()
    return values


def _semble_rank(wanted: str, paths: list[str]) -> int:
    for place, path in enumerate(paths):
        if path == wanted or path.endswith("/" + wanted) or wanted.endswith("/" + path):
            return place
    return len(paths)


def reciprocal_rank(grid: Grid, measure: Measure) -> FloatArray:
    """One over the rank of the first relevant result; 0 without one inside the cutoff.

    Kantor and Voorhees, The TREC-5 confusion track, Information Retrieval 2, 2000.
    """
    found, total = _relevant(grid, measure)
    ranks = first_rank(found)
    return np.where(ranks <= found.shape[-1], 1.0 / ranks, 0.0) + 0.0 * total


def hit(grid: Grid, measure: Measure) -> FloatArray:
    """1 if a relevant result is inside the cutoff, else 0; trec_eval's success."""
    found, total = _relevant(grid, measure)
    return found.any(axis=-1) + 0.0 * total


def recall(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the targets that were found inside the cutoff. Cleverdon and Mills, Aslib Proceedings 15(4), 1963."""
    found, total = _relevant(grid, measure)
    return np.asarray(found.sum(axis=-1) / total)


def precision(grid: Grid, measure: Measure) -> FloatArray:
    """Relevant results over the cutoff; the missing results of a short list count as wrong."""
    found, total = _relevant(grid, measure)
    return np.asarray(found.sum(axis=-1) / found.shape[-1] + 0.0 * total)


def average_precision(grid: Grid, measure: Measure) -> FloatArray:
    """Sum of the precision at each relevant result over the number of targets, found or not; trec_eval's map_cut.

    Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000.
    """
    found, total = _relevant(grid, measure)
    precisions = found.cumsum(axis=-1) / np.arange(1, found.shape[-1] + 1)
    return np.asarray((precisions * found).sum(axis=-1) / total)


def judged(grid: Grid, measure: Measure) -> FloatArray:
    """Share of the distinct results inside the cutoff that are judged: targets, adversaries, grade 0."""
    k, level = cutoff_of(measure), level_of(measure)
    within = grid.within(level, k)
    known = (grid.marks(level).judged[..., :k] & within).sum(axis=-1)
    return np.asarray(known / np.maximum(within.sum(axis=-1), 1))  # 0 without results, as for a failure
