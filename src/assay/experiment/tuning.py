from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np

from assay.errors import ConfigError
from assay.experiment.spec.engine_entries import canonical, declared_engines, settings_table, with_engines
from assay.experiment.spec.experiment_spec import Spec, check
from assay.experiment.spec.variants import SettingChange, Sweep, Variant, own_value, points
from assay.settings import setting
from assay.stats import compare, means
from assay.stats.compare import RepositoryChange, by_repository
from assay.stats.config import compare_options
from assay.stats.distributions import t_quantile, t_sf
from assay.stats.records import ComparisonRow, Interval, MeanRow, ValueRange, Verdict
from assay.stats.score_table import column, headline
from assay.stats.selection import split_half
from assay.stats.verdicts import choose_verdict
from assay.types import AnalysisPlan, Scores

TUNED, APPARENT = "tuned, unseen", "tuned, seen"


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
                message = f"{key}: expected 1 or more, got {getattr(self, key)}"
                raise ConfigError(message, hint=f"remove {key} to use the default", keys=[key])


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
        hint = "reduce the values or params, or increase `most`"
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
