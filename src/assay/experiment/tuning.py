"""Grid search over engine settings, with a split-half estimate of the gain."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.errors import ConfigError, GoldError
from assay.experiment.spec.engines import canonical, declared_engines, settings_table
from assay.experiment.spec.model import Spec, check, with_engines
from assay.experiment.spec.variants import SettingChange, Sweep, Variant, own_value, points
from assay.settings import setting
from assay.stats import compare, means
from assay.stats.clustered import ClusterTable, cluster_table
from assay.stats.compare import RepositoryChange, by_repository
from assay.stats.config import DEFAULT, compare_options
from assay.stats.distributions import t_quantile, t_sf
from assay.stats.records import ComparisonRow, Interval, MeanRow, ValueRange, Verdict
from assay.stats.selection import draw_halves
from assay.stats.tables import column, headline, partition
from assay.stats.verdicts import choose_verdict
from assay.types import AnalysisPlan, Scores, Unit

if TYPE_CHECKING:
    from assay.stats.tables import IntArray
    from assay.types import FloatArray

TUNED, APPARENT = "tuned, unseen", "tuned, seen"
_FEWEST_CLUSTERS = 4  # two per half: a choice by the mean of one cluster would be meaningless


@dataclass(frozen=True, slots=True)
class BaseEngine:
    """The engine to vary, alone in its specification."""

    spec: Spec
    name: str
    settings: Mapping[str, Any]


def find_base(spec: Spec, name: str | None) -> BaseEngine:
    """Return the named engine; by default the only one, or builtin if none is declared."""
    if name is None and len(spec.engines) > 1:
        raise ConfigError(f"expected one engine, got {', '.join(spec.engines)}", hint="name one of them")
    alone = with_engines(spec, [name or next(iter(spec.engines), "builtin")])
    label, engine = next(iter(declared_engines(alone).items()))
    alone = replace(alone, references=False, baseline=label, family=(), only=(), tables=())
    return BaseEngine(alone, label, settings_table(engine.settings))


def spec_with(base: BaseEngine, variants: Sequence[SettingChange]) -> Spec:
    """Return a specification of an engine and its variants, timed only if the file sets `times = true`."""
    declared = {variant.name: Variant(base.name, dict(variant.changes)) for variant in variants}
    return check(replace(base.spec, variants=declared, times=base.spec.times or False))


@dataclass(frozen=True, slots=True)
class TuneSettings:
    """Keys of the [tune] table."""

    engine: str = setting("", "the engine to tune; default: the only one")
    params: Mapping[str, tuple[object, ...]] = setting({}, "dotted setting -> the values to try")
    # Each is used in both directions; on 50 queries the honest mean then varies by about .002 between seeds.
    partitions: int = setting(20, "random split halves of the data")
    measure: str = setting("", "the measure to maximize; default: the primary measure")
    # More points select from noise: each query would be used hundreds of times for one choice.
    most: int = setting(500, "maximum number of grid points")

    def __post_init__(self) -> None:
        for key in ("partitions", "most"):
            if getattr(self, key) < 1:
                raise ConfigError(f"{key} = {getattr(self, key)}", hint=f"set {key} to 1 or more", keys=[key])


def parse_param(text: str) -> tuple[str, tuple[object, ...]]:
    """Parse `KEY=V1,V2` into a setting and its values, which are TOML or texts without quotes."""
    key, equals, rest = text.partition("=")
    if not equals or not key.strip() or not rest.strip():
        raise ConfigError(f"expected --param KEY=V1,V2, got {text!r}", hint="such as search.stem.files=0.2,0.4")
    try:
        values = tomllib.loads(f"v = [{rest}]")["v"]
    except tomllib.TOMLDecodeError:
        values = [value.strip() for value in rest.split(",")]
    return key.strip(), tuple(values)


@dataclass(frozen=True, slots=True)
class GridPoint:
    """A point of a grid, and the settings in which it differs from the engine."""

    change: SettingChange
    moved: Mapping[str, object]


def grid_points(
    params: Mapping[str, tuple[object, ...]], settings: Mapping[str, Any], most: int
) -> tuple[GridPoint, ...]:
    """Return every combination of values, except the one that equals the engine's settings."""
    if not params:
        raise ConfigError("no parameters to tune", hint="add --param search.stem.files=0.2,0.4, or params in [tune]")
    size = prod(len(values) for values in params.values())
    if size > most:
        hint = "reduce the values or params, or increase most"
        message = f"params: expected at most {most} grid points, got {size}"
        raise ConfigError(message, hint=hint, keys=["params"])
    own = partial(own_value, settings)
    found = []
    for change in points("", Sweep("", params=params), centre=own, template=False):
        moved = {key: value for key, value in change.changes.items() if canonical(value) != canonical(own(key))}
        if moved:
            found.append(GridPoint(change, moved))
    if not found:
        message = "params: the only point equals the engine's settings"
        raise ConfigError(message, hint="add other values", keys=["params"])
    return tuple(found)


@dataclass(frozen=True, slots=True)
class GridScore:
    """Mean of a grid point on all queries, and the number of halves on which it was best."""

    name: str
    moved: tuple[str, ...]  # settings in which it differs from the default
    mean: float
    chosen: int


@dataclass(frozen=True, slots=True)
class TuneOutcome:
    """Result of tuning; `best` is the index in `tried` of the best point on all queries."""

    engine: str
    measure: str
    tried: tuple[GridScore, ...]  # the default first
    best: int
    partitions: int
    clusters: int
    label: str  # what was split in halves
    queries: int
    honest: MeanRow  # of points chosen without the scored query
    default: MeanRow
    gain: ComparisonRow  # honest − default, as a family of one
    optimism: ComparisonRow  # apparent − honest
    repositories: tuple[RepositoryChange, ...]

    @property
    def worthwhile(self) -> bool:
        """Whether the best point differs from the default and the honest gain is significant."""
        return self.best != 0 and self.gain.verdict is Verdict.BETTER


def tune_scores(
    scores: Scores, default: str, points: Sequence[GridPoint], plan: AnalysisPlan, partitions: int
) -> TuneOutcome:
    """Compute the result of tuning from the scores of the unchanged engine and of every point."""
    table, measure = headline(scores, plan.cluster), column(scores, plan.primary)
    names = (default, *(point.change.name for point in points))
    moved = ((), *(tuple(point.moved) for point in points))
    values = np.stack([table.row(name, measure) for name in names])
    complete = ~np.isnan(values).any(axis=0)
    values = values[:, complete]
    units = tuple(table.units[index] for index in np.flatnonzero(complete))
    found = split_half(
        values,
        tuple(map(len, moved)),
        units,
        partitions=partitions,
        seed=plan.seed,
        cluster=plan.cluster,
        higher_is_better=measure.bounds.higher_is_better,
    )
    stacked = np.stack([values[0], found.honest, found.apparent])[:, None, :]
    unseen = Scores((default, TUNED, APPARENT), (plan.primary,), units, stacked)
    rows = {row.engine: row for row in means(unseen, alpha=plan.alpha, cluster=plan.cluster)}
    scored = zip(names, moved, values.mean(axis=1).tolist(), found.chosen, strict=True)
    return TuneOutcome(
        engine=default,
        measure=plan.primary,
        tried=tuple(GridScore(*point) for point in scored),
        best=found.best,
        partitions=partitions,
        clusters=found.clusters,
        label=found.label,
        queries=len(units),
        honest=rows[TUNED],
        default=rows[default],
        gain=_widen(_compare(unseen, TUNED, default, plan), found.gain_se, measure.bounds, plan),
        optimism=_widen(_compare(unseen, APPARENT, TUNED, plan), found.optimism_se, measure.bounds, plan),
        repositories=by_repository(unseen, TUNED, default, plan.primary),
    )


def _compare(scores: Scores, engine: str, baseline: str, plan: AnalysisPlan) -> ComparisonRow:
    found = compare(scores, baseline=baseline, primary=plan.primary, family=(engine,), **compare_options(plan))
    return next(row for row in found.rows if row.engine == engine)


def _widen(row: ComparisonRow, se: float, bounds: ValueRange, plan: AnalysisPlan) -> ComparisonRow:
    """Use the larger of two standard errors: that of the clusters and that of the jackknife.

    The sign-flip test treats the choices as fixed, so its p is too small; Student's t with the larger error is not.
    """
    if row.se is None or row.p is None or se <= row.se:
        return row

    def interval(level: float) -> Interval:
        half, limit = t_quantile(0.5 + level / 2.0, float(row.df)) * se, bounds.differences
        low, high = max(row.difference - half, limit.low), min(row.difference + half, limit.high)
        return Interval(low, high, level, "cluster jackknife")

    narrow = interval(1 - 2 * plan.alpha)
    p = min(1.0, 2.0 * t_sf(abs(row.difference) / se, float(row.df)))
    verdict = choose_verdict(
        row.difference,
        p,
        narrow,
        row.clusters,
        higher_is_better=row.higher_is_better,
        margin=plan.margin,
        alpha=plan.alpha,
    )
    return replace(
        row,
        se=se,
        interval=interval(1 - plan.alpha),
        equivalence=narrow,
        p=p,
        p_adjusted=p,
        verdict=verdict,
        within_margin=narrow.inside(plan.margin),
    )


@dataclass(frozen=True, slots=True)
class SplitHalfScores:
    """Scores per query over all split halves, and how often each point was chosen."""

    honest: FloatArray  # (queries,) of points that were chosen without the query
    apparent: FloatArray  # (queries,) of points that were chosen with the query
    chosen: tuple[int, ...]  # per point, of 2 × partitions
    best: int  # the best point on all data
    clusters: int
    label: str  # what was split in halves
    gain_se: float  # jackknife standard error of honest mean − default mean
    optimism_se: float  # jackknife standard error of apparent mean − honest mean


def split_half(
    values: FloatArray,
    changes: Sequence[int],
    units: Sequence[Unit],
    *,
    partitions: int,
    seed: int = 0,
    cluster: str = "auto",
    higher_is_better: bool = True,
) -> SplitHalfScores:
    """Choose the best point on each half and score it on the other.

    `values` has one row per point, the default first, and one column per query; `changes` is the number of settings in
    which each point differs from the default.
    """
    parts = partition(units, cluster)
    if parts.count < _FEWEST_CLUSTERS:
        raise GoldError(
            f"cannot halve {parts.nouns}: expected at least {_FEWEST_CLUSTERS}",
            hint="tune on more queries; `assay plan` estimates how many",
        )
    table = cluster_table((values if higher_is_better else -values).T, parts)
    first = draw_halves(table, np.random.default_rng(seed), partitions)
    halves = np.stack([first, ~first]).astype(np.float64)  # (2, partitions, clusters)
    preferred = sorted(range(len(changes)), key=lambda point: (changes[point], point))
    order = np.array(preferred, dtype=np.intp)
    sums, sizes = halves @ table.sums, halves @ table.sizes
    chosen = _best(sums / sizes[..., None], order)  # (2, partitions)
    inside = first[:, parts.clusters]  # (partitions, queries): whether a query is in the first half
    seen = np.where(inside, chosen[0][:, None], chosen[1][:, None])
    unseen = np.where(inside, chosen[1][:, None], chosen[0][:, None])
    queries = np.arange(values.shape[1])
    gain_se, optimism_se = _jackknife(table, halves, sums, sizes, order)
    return SplitHalfScores(
        honest=values[unseen, queries].mean(axis=0),
        apparent=values[seen, queries].mean(axis=0),
        chosen=tuple(np.bincount(chosen.ravel(), minlength=len(values)).tolist()),
        best=int(_best(table.sums.sum(axis=0) / table.n, order)),
        clusters=parts.count,
        label=parts.nouns,
        gain_se=gain_se,
        optimism_se=optimism_se,
    )


def _best(means: FloatArray, order: IntArray) -> IntArray:
    """Return the best point along the last axis; ties go to the point that is first in `order`."""
    ordered = means[..., order]
    near = ordered >= ordered.max(axis=-1, keepdims=True) - DEFAULT.tie
    chosen: IntArray = order[near.argmax(axis=-1)]
    return chosen


def _jackknife(
    table: ClusterTable, halves: FloatArray, sums: FloatArray, sizes: FloatArray, order: IntArray
) -> tuple[float, float]:
    """Estimate standard errors by leaving out one cluster at a time, including its choices: (G − 1)/G · Σ(θ_g − θ̄)²."""
    estimates = np.array(
        [
            _differences(
                sums - halves[:, :, g, None] * table.sums[g], sizes - halves[:, :, g] * float(table.sizes[g]), order
            )
            for g in range(table.clusters)
        ]
    )
    spread = ((estimates - estimates.mean(axis=0)) ** 2).sum(axis=0) * (table.clusters - 1) / table.clusters
    gain, optimism = np.sqrt(spread).tolist()
    return gain, optimism


def _differences(sums: FloatArray, sizes: FloatArray, order: IntArray) -> FloatArray:
    """Return honest − default and apparent − honest, averaged over the partitions."""
    chosen = _best(sums / sizes[..., None], order)
    rows = np.arange(sums.shape[1])
    honest = sums[1, rows, chosen[0]] + sums[0, rows, chosen[1]]
    apparent = sums[0, rows, chosen[0]] + sums[1, rows, chosen[1]]
    default = sums[0, :, 0] + sums[1, :, 0]
    n = sizes[0] + sizes[1]
    return np.array([((honest - default) / n).mean(), ((apparent - honest) / n).mean()])
