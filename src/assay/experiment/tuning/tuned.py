"""What tuning found: the honest worth of the choice, how much seeing the data flatters it, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.experiment.tuning.grid import GridPoint
from assay.experiment.tuning.halving import Field, Halved, HalvingConfig, halve
from assay.stats import compare, means
from assay.stats.config import settings_of
from assay.stats.distributions import t_quantile, t_sf
from assay.stats.family import decide
from assay.stats.records import ComparisonRow, Interval, MeanRow, Range, Verdict
from assay.stats.slices import RepositoryChange, by_repository
from assay.stats.tables import column, headline
from assay.types import Claim, Scores

TUNED, APPARENT = "tuned, unseen", "tuned, seen"


@dataclass(frozen=True, slots=True)
class Tried:
    """A point of the grid: its mean on all of the data, and how often a half chose it."""

    name: str
    moved: tuple[str, ...]  # settings in which it differs from the default
    mean: float
    chosen: int


@dataclass(frozen=True, slots=True)
class Tuned:
    """The outcome of tuning; `best` is the point that all of the data choose."""

    engine: str
    measure: str
    tried: tuple[Tried, ...]  # the default first
    best: int
    partitions: int
    clusters: int
    label: str  # what was halved
    queries: int
    honest: MeanRow
    default: MeanRow
    gain: ComparisonRow  # honest − default, judged alone
    optimism: ComparisonRow  # apparent − honest
    repositories: tuple[RepositoryChange, ...]

    @property
    def worthwhile(self) -> bool:
        """Whether the honest difference shows a gain, and there is something to change."""
        return self.best != 0 and self.gain.verdict is Verdict.BETTER


def tune_scores(scores: Scores, default: str, points: Sequence[GridPoint], claim: Claim, partitions: int) -> Tuned:
    """Compute all that tuning says from the scores of the default and of every point."""
    table, measure = headline(scores, claim.cluster), column(scores, claim.primary)
    names = (default, *(point.change.name for point in points))
    values = np.stack([table.row(name, measure) for name in names])
    kept = ~np.isnan(values).any(axis=0)
    units = tuple(table.units[at] for at in np.flatnonzero(kept))
    changes = (0, *(len(point.moved) for point in points))
    field = Field(values[:, kept], changes, higher_is_better=measure.bounds.higher_is_better)
    found = halve(field, units, HalvingConfig(partitions, claim.seed, claim.cluster))
    unseen = Scores(
        (default, TUNED, APPARENT),
        (claim.primary,),
        units,
        np.stack([field.values[0], found.honest, found.apparent])[:, None, :],
    )
    gain = _widened(_row(unseen, TUNED, default, claim), found.gain_se, measure.bounds, claim)
    optimism = _widened(_row(unseen, APPARENT, TUNED, claim), found.optimism_se, measure.bounds, claim)
    rows = {row.engine: row for row in means(unseen, alpha=claim.alpha, cluster=claim.cluster)}
    return Tuned(
        engine=default,
        measure=claim.primary,
        tried=_tried(default, points, field, found),
        best=found.best,
        partitions=partitions,
        clusters=found.clusters,
        label=found.label,
        queries=len(units),
        honest=rows[TUNED],
        default=rows[default],
        gain=gain,
        optimism=optimism,
        repositories=by_repository(unseen, TUNED, default, claim.primary),
    )


def _row(scores: Scores, engine: str, baseline: str, claim: Claim) -> ComparisonRow:
    """Compare two columns of one procedure; it is a single comparison, however many points were tried on the way."""
    found = compare(
        scores,
        baseline=baseline,
        primary=claim.primary,
        family=(engine,),
        **settings_of(claim),
    )
    return next(row for row in found.rows if row.engine == engine)


def _widened(row: ComparisonRow, se: float, bounds: Range, claim: Claim) -> ComparisonRow:
    """Judge a difference by the larger of two standard errors, that of its clusters and the jackknife's.

    The sign-flip test takes the choices for fixed, and so has too small a p; Student's t of the wider error does not.
    """
    if row.se is None or row.p is None or se <= row.se:
        return row
    levels = [1 - claim.alpha, 1 - 2 * claim.alpha]
    wide, narrow = (_interval(row, se, bounds, level) for level in levels)
    p = min(1.0, 2.0 * t_sf(abs(row.difference) / se, float(row.df)))
    verdict = decide(
        row.difference,
        p,
        narrow,
        row.clusters,
        higher_is_better=row.higher_is_better,
        margin=claim.margin,
        alpha=claim.alpha,
    )
    within = narrow.inside(claim.margin)
    changed = replace(row, se=se, interval=wide, equivalence=narrow, p=p, p_adjusted=p, verdict=verdict)
    return replace(changed, within_margin=within)


def _interval(row: ComparisonRow, se: float, bounds: Range, level: float) -> Interval:
    """Give difference ± t · SE, inside what differences can be."""
    half, limit = t_quantile(0.5 + level / 2.0, float(row.df)) * se, bounds.differences
    low, high = max(row.difference - half, limit.low), min(row.difference + half, limit.high)
    return Interval(low, high, level, "cluster jackknife")


def _tried(default: str, points: Sequence[GridPoint], field: Field, found: Halved) -> tuple[Tried, ...]:
    """Tell of every point what it scored and how often it was chosen."""
    moved = ((), *(tuple(point.moved) for point in points))
    names = (default, *(point.change.name for point in points))
    averages = field.values.mean(axis=1).tolist()
    return tuple(Tried(*one) for one in zip(names, moved, averages, found.chosen, strict=True))
