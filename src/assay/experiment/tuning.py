"""Grid search with an honest estimate of the chosen setting."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.engines.kinds import Component, list_components
from assay.errors import ConfigError, GoldError, did_you_mean
from assay.experiment import spec as specs
from assay.experiment.spec import Spec, Sweep, with_engines
from assay.experiment.spec.model import match_names
from assay.experiment.spec.variants import canonical, declared_engines, own_value, points
from assay.stats import compare, means
from assay.stats.clustered import ClusterTable, cluster_table
from assay.stats.compare import RepositoryChange, by_repository
from assay.stats.config import DEFAULT, settings_of
from assay.stats.distributions import t_quantile, t_sf
from assay.stats.records import ComparisonRow, Interval, MeanRow, ValueRange, Verdict
from assay.stats.selection import draw_halves
from assay.stats.tables import column, headline, partition
from assay.stats.verdicts import decide
from assay.types import AnalysisPlan, Scores, Unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assay.stats.tables import IntArray, Partition
    from assay.types import FloatArray


@dataclass(frozen=True, slots=True)
class HalvingConfig:
    """How the data are halved."""

    partitions: int = 20
    seed: int = 0
    cluster: str = "auto"  # what is drawn independently, as the claim has it
    clusters: int = 4  # two in each half: with one there would be no mean to choose by


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """The values of every point (rows) on every query (columns), the default first, and how far each is from it."""

    values: FloatArray  # (points, queries)
    changes: tuple[int, ...]  # settings in which each point differs from the default; 0 for the first
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True)
class SplitHalfScores:
    """What the halvings gave, query by query, and what was chosen how often."""

    honest: FloatArray  # (queries,) by points that were chosen without the query
    apparent: FloatArray  # (queries,) by points that were chosen with it
    chosen: tuple[int, ...]  # how often each point was, of 2 × partitions
    best: int  # the point that all of the data choose
    clusters: int
    label: str  # what was halved
    gain_se: float  # jackknife standard error of the honest mean less the default's
    optimism_se: float  # ... of the apparent mean less the honest one


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums of the points and numbers of queries in both halves of every halving."""

    first: FloatArray  # (partitions, points)
    second: FloatArray
    first_size: FloatArray  # (partitions,)
    second_size: FloatArray

    def without(self, inside: FloatArray, sums: FloatArray, size: float) -> _Sums:
        own, other = inside[:, None], 1.0 - inside[:, None]
        return _Sums(
            self.first - own * sums,
            self.second - other * sums,
            self.first_size - inside * size,
            self.second_size - (1.0 - inside) * size,
        )


@dataclass(frozen=True, slots=True)
class _Choices:
    """The point that each half chooses, by halving."""

    first: IntArray
    second: IntArray


def split_half(field: ScoreMatrix, units: Sequence[Unit], config: HalvingConfig) -> SplitHalfScores:
    """Choose on each half and score on the other, both ways."""
    parts = partition(units, config.cluster)
    _check(parts, config)
    table = cluster_table((field.values if field.higher_is_better else -field.values).T, parts)
    first = draw_halves(table, np.random.default_rng(config.seed), config.partitions)
    order, sums = _preference(field.changes), _sums(table, first)
    by = _choose(sums, order)
    inside = first[:, parts.clusters]  # (partitions, queries): whether a query is of the first half
    seen = np.where(inside, by.first[:, None], by.second[:, None])
    unseen = np.where(inside, by.second[:, None], by.first[:, None])
    queries = np.arange(field.values.shape[1])
    gain_se, optimism_se = _jackknife(table, first, sums, order)
    return SplitHalfScores(
        honest=field.values[unseen, queries].mean(axis=0),
        apparent=field.values[seen, queries].mean(axis=0),
        chosen=tuple(np.bincount([*by.first, *by.second], minlength=len(field.values)).tolist()),
        best=int(_best(table.sums.sum(axis=0, keepdims=True) / table.n, order)[0]),
        clusters=parts.count,
        label=parts.nouns,
        gain_se=gain_se,
        optimism_se=optimism_se,
    )


def _sums(table: ClusterTable, first: NDArray[np.bool_]) -> _Sums:
    weights = first.astype(np.float64)
    rest = 1.0 - weights
    return _Sums(weights @ table.sums, rest @ table.sums, weights @ table.sizes, rest @ table.sizes)


def _choose(sums: _Sums, order: IntArray) -> _Choices:
    first, second = sums.first / sums.first_size[:, None], sums.second / sums.second_size[:, None]
    return _Choices(_best(first, order), _best(second, order))


def _differences(sums: _Sums, order: IntArray) -> FloatArray:
    by, rows = _choose(sums, order), np.arange(len(sums.first))
    honest = sums.second[rows, by.first] + sums.first[rows, by.second]
    apparent = sums.first[rows, by.first] + sums.second[rows, by.second]
    default = sums.first[:, 0] + sums.second[:, 0]
    n = sums.first_size + sums.second_size
    return np.array([((honest - default) / n).mean(), ((apparent - honest) / n).mean()])


def _jackknife(table: ClusterTable, first: NDArray[np.bool_], sums: _Sums, order: IntArray) -> tuple[float, float]:
    """Estimate standard errors by leaving out one cluster at a time, choices and all: (G − 1)/G · Σ(θ_g − θ̄)²."""
    weights = first.astype(np.float64)
    left = np.array(
        [
            _differences(sums.without(weights[:, g], table.sums[g], float(table.sizes[g])), order)
            for g in range(table.clusters)
        ]
    )
    spread = ((left - left.mean(axis=0)) ** 2).sum(axis=0) * (table.clusters - 1) / table.clusters
    gain, optimism = np.sqrt(spread).tolist()
    return gain, optimism


def _preference(changes: Sequence[int]) -> IntArray:
    return np.array(sorted(range(len(changes)), key=lambda at: (changes[at], at)), dtype=np.intp)


def _best(means: FloatArray, order: IntArray) -> IntArray:
    ordered = means[:, order]
    near = ordered >= ordered.max(axis=1, keepdims=True) - DEFAULT.tie
    chosen: IntArray = order[near.argmax(axis=1)]
    return chosen


def _check(parts: Partition, config: HalvingConfig) -> None:
    if parts.count < config.clusters:
        raise GoldError(
            f"{parts.nouns} cannot be halved: at least {config.clusters} are needed",
            hint="tune on more queries; `assay plan` says how many would show something",
        )


LEAVE_ONE_OUT = "leave-one-out"


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A name, and the dotted settings in which an engine differs."""

    name: str
    changes: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BaseEngine:
    """The engine that is varied, alone in a specification of its own."""

    spec: Spec
    name: str
    settings: Mapping[str, Any]


def find_base(spec: Spec, name: str | None) -> BaseEngine:
    """Find the engine that is meant: the one that is named, else the only one there is."""
    if name is None and len(spec.engines) > 1:
        raise ConfigError(f"there are several engines: {', '.join(spec.engines)}", hint="name the one that is meant")
    alone = with_engines(spec, [name or next(iter(spec.engines), "builtin")])
    called, engine = next(iter(declared_engines(alone).items()))
    alone = replace(alone, references=False, baseline=called, family=(), only=(), tables=())
    return BaseEngine(alone, called, _table(engine.settings))


def _table(settings: Mapping[str, Any] | str) -> Mapping[str, Any]:
    from assay.engines import engine_table

    return engine_table(settings) if isinstance(settings, str) else settings


def spec_with(base: BaseEngine, variants: Sequence[SettingChange]) -> Spec:
    """Put variants beside an engine; what is wrong with one is told before anything runs.

    Nobody asks here how long anything takes, so cells may run side by side unless the file wants times.
    """
    declared = {one.name: specs.Variant(base.name, dict(one.changes)) for one in variants}
    return specs.check(replace(base.spec, variants=declared, times=base.spec.times or False))


@dataclass(frozen=True, slots=True)
class EngineComponents:
    """An engine, and what can be left out of it."""

    base: BaseEngine
    parts: tuple[Component, ...]


def find_parts(spec: Spec, name: str | None) -> EngineComponents:
    """Find what is taken apart: a leave-one-out sweep by its name, or an engine by its own parts or its sweep."""
    sweeps = {key: sweep for key, sweep in spec.sweeps.items() if sweep.way == LEAVE_ONE_OUT}
    if name in sweeps:
        return _of_sweep(spec, sweeps[name])
    if name is not None and name in spec.sweeps:
        raise ConfigError(
            f"the sweep {name!r} goes its way as {spec.sweeps[name].way}", hint=f'way = "{LEAVE_ONE_OUT}"'
        )
    base = find_base(spec, name)
    own = list_components(base.settings)
    of_engine = {key: sweep for key, sweep in sweeps.items() if sweep.engine == base.name}
    if not own and len(of_engine) == 1:
        return _of_sweep(spec, next(iter(of_engine.values())))
    if not own:
        known = did_you_mean(base.name, of_engine) or ", ".join(of_engine)
        hint = (
            f"name one: {known}" if of_engine else f'[sweeps.NAME] with way = "{LEAVE_ONE_OUT}" and parts in assay.toml'
        )
        raise ConfigError(f"nobody says what {base.name} is made of", hint=hint)
    return EngineComponents(base, own)


def only_parts(found: EngineComponents, patterns: Sequence[str]) -> EngineComponents:
    """Keep the parts that names or globs mean; no pattern means all."""
    names = match_names(patterns, [part.name for part in found.parts], "--only", kind="part")
    return replace(found, parts=tuple(part for part in found.parts if part.name in names)) if patterns else found


def _of_sweep(spec: Spec, sweep: Sweep) -> EngineComponents:
    return EngineComponents(
        find_base(spec, sweep.engine), tuple(Component(name, off) for name, off in sweep.parts.items())
    )


@dataclass(frozen=True, slots=True)
class TuneSettings:
    """The keys of [tune]."""

    engine: str = field(default="", metadata={"about": "the engine to tune; by default the only one there is"})
    knobs: Mapping[str, tuple[object, ...]] = field(
        default_factory=dict, metadata={"about": "dotted setting -> the values to try"}
    )
    partitions: int = field(
        # Each is used both ways; the honest mean then moves by some .002 from seed to seed on 50 queries.
        default=20,
        metadata={"about": "random halvings of the data"},
    )
    measure: str = field(default="", metadata={"about": "what is maximised; by default the primary measure"})
    most: int = field(
        # More points than that choose from noise: each query would be asked hundreds of times for one choice.
        default=500,
        metadata={"about": "points that a grid may have"},
    )

    def __post_init__(self) -> None:
        """Refuse what gives no grid."""
        for key in ("partitions", "most"):
            if getattr(self, key) < 1:
                raise ConfigError(f"{key} = {getattr(self, key)}", hint="it must be 1 or more")


@dataclass(frozen=True, slots=True)
class GridPoint:
    """One point of a grid: what it changes, and the settings in which it really differs from the engine."""

    change: SettingChange
    moved: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Knob:
    """A dotted setting and the values to try."""

    key: str
    values: tuple[object, ...]


def parse_knob(text: str) -> Knob:
    """Read `KEY=V1,V2`; values are TOML, and texts need no quotes."""
    key, equals, rest = text.partition("=")
    if not equals or not key.strip() or not rest.strip():
        raise ConfigError(f"--knob {text}", hint="write it like --knob search.stem.files=0.2,0.4")
    try:
        values = tomllib.loads(f"v = [{rest}]")["v"]
    except tomllib.TOMLDecodeError:
        values = [value.strip() for value in rest.split(",")]
    return Knob(key.strip(), tuple(values))


def grid_points(
    knobs: Mapping[str, tuple[object, ...]], settings: Mapping[str, Any], most: int
) -> tuple[GridPoint, ...]:
    """List every combination, the first knob slowest; `settings` are those of the engine.

    A point that is where the engine stands already is the engine itself, and is left out.
    """
    if not knobs:
        raise ConfigError("there is no knob to tune", hint="--knob search.stem.files=0.2,0.4, or knobs under [tune]")
    size = prod(len(values) for values in knobs.values())
    if size > most:
        hint = "name fewer values or knobs, or raise most"
        raise ConfigError(f"knobs: the grid has {size} points, at most {most} are tried", hint=hint)
    centre = partial(own_value, settings)
    made = points("", Sweep("", knobs=knobs), centre=centre, template=False)
    found = [GridPoint(SettingChange(one.name, one.changes), _moved(one.changes, centre)) for one in made]
    kept = tuple(point for point in found if point.moved)
    if not kept:
        raise ConfigError("knobs: the only point is where the engine stands already", hint="name other values")
    return kept


def _moved(changes: Mapping[str, object], centre: Callable[[str], object]) -> Mapping[str, object]:
    return {key: value for key, value in changes.items() if canonical(value) != canonical(centre(key))}


TUNED, APPARENT = "tuned, unseen", "tuned, seen"


@dataclass(frozen=True, slots=True)
class GridScore:
    """A point of the grid: its mean on all of the data, and how often a half chose it."""

    name: str
    moved: tuple[str, ...]  # settings in which it differs from the default
    mean: float
    chosen: int


@dataclass(frozen=True, slots=True)
class TuneOutcome:
    """The outcome of tuning; `best` is the point that all of the data choose."""

    engine: str
    measure: str
    tried: tuple[GridScore, ...]  # the default first
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


def tune_scores(
    scores: Scores, default: str, points: Sequence[GridPoint], claim: AnalysisPlan, partitions: int
) -> TuneOutcome:
    """Compute all that tuning says from the scores of the default and of every point."""
    table, measure = headline(scores, claim.cluster), column(scores, claim.primary)
    names = (default, *(point.change.name for point in points))
    values = np.stack([table.row(name, measure) for name in names])
    kept = ~np.isnan(values).any(axis=0)
    units = tuple(table.units[at] for at in np.flatnonzero(kept))
    changes = (0, *(len(point.moved) for point in points))
    field = ScoreMatrix(values[:, kept], changes, higher_is_better=measure.bounds.higher_is_better)
    found = split_half(field, units, HalvingConfig(partitions, claim.seed, claim.cluster))
    unseen = Scores(
        (default, TUNED, APPARENT),
        (claim.primary,),
        units,
        np.stack([field.values[0], found.honest, found.apparent])[:, None, :],
    )
    gain = _widened(_row(unseen, TUNED, default, claim), found.gain_se, measure.bounds, claim)
    optimism = _widened(_row(unseen, APPARENT, TUNED, claim), found.optimism_se, measure.bounds, claim)
    rows = {row.engine: row for row in means(unseen, alpha=claim.alpha, cluster=claim.cluster)}
    return TuneOutcome(
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


def _row(scores: Scores, engine: str, baseline: str, claim: AnalysisPlan) -> ComparisonRow:
    found = compare(
        scores,
        baseline=baseline,
        primary=claim.primary,
        family=(engine,),
        **settings_of(claim),
    )
    return next(row for row in found.rows if row.engine == engine)


def _widened(row: ComparisonRow, se: float, bounds: ValueRange, claim: AnalysisPlan) -> ComparisonRow:
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


def _interval(row: ComparisonRow, se: float, bounds: ValueRange, level: float) -> Interval:
    half, limit = t_quantile(0.5 + level / 2.0, float(row.df)) * se, bounds.differences
    low, high = max(row.difference - half, limit.low), min(row.difference + half, limit.high)
    return Interval(low, high, level, "cluster jackknife")


def _tried(
    default: str, points: Sequence[GridPoint], field: ScoreMatrix, found: SplitHalfScores
) -> tuple[GridScore, ...]:
    moved = ((), *(tuple(point.moved) for point in points))
    names = (default, *(point.change.name for point in points))
    averages = field.values.mean(axis=1).tolist()
    return tuple(GridScore(*one) for one in zip(names, moved, averages, found.chosen, strict=True))
