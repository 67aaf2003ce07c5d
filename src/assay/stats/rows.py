"""Pairs of engines → rows. All columns over the same queries share their sign-flips and redraws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from assay.stats.clustered import ClusteredEstimate, ClusterTable, cluster_table, estimate
from assay.stats.config import Settings, StatsConfig
from assay.stats.family import family_mde
from assay.stats.intervals import IntervalEnds, bootstrap_t, difference_interval, widened, widened_by_clusters
from assay.stats.paired import effects, is_lopsided, sign_flip, smallest_p
from assay.stats.power import unequal_factor
from assay.stats.records import ComparisonRow, Interval, ValueRange
from assay.stats.tables import same_queries
from assay.stats.units import Partition, group_codes, partition

if TYPE_CHECKING:
    from assay.stats.units import IntArray
    from assay.types import FloatArray, Unit


@dataclass(frozen=True, slots=True)
class EnginePair:
    """Two engines on one measure, aligned unit by unit; NaN where the measure does not apply."""

    engine: str
    baseline: str
    measure: str
    bounds: ValueRange
    new: FloatArray
    old: FloatArray


def comparison_rows(
    pairs: Sequence[EnginePair], units: Sequence[Unit], settings: Settings
) -> tuple[ComparisonRow, ...]:
    """Compare each pair on the queries both have, in order; a pair that shares none is left out."""
    differences = [pair.new - pair.old for pair in pairs]
    rows: dict[int, ComparisonRow] = {}
    for group in same_queries(differences):
        stacked = np.stack([differences[i][group.kept] for i in group.members], axis=1)
        stacked[np.abs(stacked) <= settings.config.tie] = 0.0
        shared = _compute([pairs[i] for i in group.members], stacked, units, group.kept, settings)
        rows.update((i, _row(pairs[i], at, shared, settings)) for at, i in enumerate(group.members))
    return tuple(rows[i] for i in sorted(rows))


@dataclass(frozen=True, slots=True)
class _Levels:
    """Intervals of all columns at the two levels a row shows."""

    interval: IntervalEnds
    equivalence: IntervalEnds


@dataclass(frozen=True, slots=True)
class _Shared:
    """What pairs over the same queries have in common, and their columns of results."""

    parts: Partition
    groups: IntArray
    kept: IntArray
    left_out: int
    differences: FloatArray  # (queries, pairs)
    differing: IntArray  # clusters with any difference, by pair
    table: ClusterTable
    found: ClusteredEstimate
    p: FloatArray | None
    boot: IntervalEnds
    levels: Mapping[ValueRange, _Levels]


def _compute(
    pairs: Sequence[EnginePair], differences: FloatArray, units: Sequence[Unit], kept: IntArray, settings: Settings
) -> _Shared:
    """Compute all columns over the same queries: one table of cluster sums, one set of resamples.

    The streams start from the seed in each group, so a pair's result does not depend on what else is compared.
    """
    chosen, config = [units[i] for i in kept], settings.config
    parts = partition(chosen, settings.cluster, at_least=config.repositories_as_clusters)
    table = cluster_table(differences, parts)
    found = estimate(table)
    flips, draws = (np.random.default_rng([settings.seed, stream]) for stream in range(2))
    return _Shared(
        parts=parts,
        groups=group_codes(chosen, parts),
        kept=kept,
        left_out=len(units) - len(kept),
        differences=differences,
        differing=np.count_nonzero(cluster_table(np.abs(differences), parts).sums, axis=0),
        table=table,
        found=found,
        p=sign_flip(table, flips, resamples=settings.resamples, config=config),
        boot=bootstrap_t(table, draws, level=1 - settings.alpha, resamples=settings.resamples, config=config),
        levels={bounds: _levels(found, bounds, settings) for bounds in {pair.bounds: None for pair in pairs}},
    )


def _levels(found: ClusteredEstimate, bounds: ValueRange, settings: Settings) -> _Levels:
    return _Levels(
        difference_interval(found, bounds, level=1 - settings.alpha, config=settings.config),
        difference_interval(found, bounds, level=1 - 2 * settings.alpha, config=settings.config),
    )


def _row(pair: EnginePair, at: int, shared: _Shared, settings: Settings) -> ComparisonRow:
    found = shared.found
    differences, se = shared.differences[:, at], float(found.se[at])
    effect = effects(differences, shared.groups, se, higher_is_better=pair.bounds.higher_is_better)
    if shared.parts.kind == "intent":  # queries that share targets are one observation
        effect = replace(effect, effective_n=min(effect.effective_n, shared.parts.count))
    levels, config, differing = shared.levels[pair.bounds], settings.config, int(shared.differing[at])
    sparse = differing < config.p_value_clusters
    bounded = pair.bounds.finite and not sparse
    lopsided = bounded and is_lopsided(differences, pair.bounds.width, times=config.lopsided)
    # How alike queries of one cluster are is chance where clusters agree, and unknown where few differ or few decide.
    independent = len(differences) if shared.parts.kind != "intent" else found.clusters
    effective_n = (
        effect.effective_n if lopsided or found.clusters_differ(at, config.alike_clusters) else float(independent)
    )
    if sparse or (lopsided and found.clusters < config.equivalence_clusters):
        effective_n = min(effective_n, found.clusters)
    interval = levels.interval.at(at, 1 - settings.alpha)
    if sparse or lopsided:
        interval = widened(interval, differences, pair.bounds, effective_n if sparse else effect.effective_n)
    equivalence = _allowing(levels.equivalence.at(at, 1 - 2 * settings.alpha), effective_n, pair, at, shared, config)
    confirmed = not lopsided or _is_confirmed(effect.effective_n, pair, at, shared, settings)
    row = ComparisonRow(
        engine=pair.engine,
        baseline=pair.baseline,
        measure=pair.measure,
        higher_is_better=pair.bounds.higher_is_better,
        mean=float(pair.new[shared.kept].mean()),
        baseline_mean=float(pair.old[shared.kept].mean()),
        difference=float(shared.found.mean[at]),
        se=None if np.isnan(se) else se,
        df=shared.found.df,
        interval=interval,
        equivalence=equivalence,
        cross_check=_cross_check(shared, at, pair.bounds, settings),
        p=None if shared.p is None else float(shared.p[at]),
        p_adjusted=None,
        smallest_p=smallest_p(shared.parts.count, resamples=settings.resamples, config=settings.config),
        in_family=False,
        verdict=None,
        within_margin=equivalence.inside(settings.margin),
        d_z=effect.d_z,
        wins=effect.wins,
        ties=effect.ties,
        losses=effect.losses,
        harmed=effect.harmed,
        icc=effect.icc,
        design_effect=effect.design_effect,
        effective_n=effect.effective_n,
        mde=None,
        queries=len(differences),
        left_out=shared.left_out,
        clusters=shared.parts.count,
        repositories=shared.parts.repositories,
        label=shared.parts.label,
        notes=_notes(shared, at, lopsided, config),
        differing=differing,
        lopsided=lopsided,
        confirmed=confirmed,
        unequal=unequal_factor(shared.table.sizes, effect.icc or 0.0, alpha=settings.alpha, config=config),
        typical_size=float(np.sqrt(np.mean(differences[differences != 0.0] ** 2))) if differing else 0.0,
        heaviest=float(np.bincount(shared.parts.clusters).max() / len(differences)),
    )
    return replace(row, mde=family_mde(row, pair.bounds, 1, settings))


def _allowing(
    given: Interval, effective_n: float, pair: EnginePair, at: int, shared: _Shared, config: StatsConfig
) -> Interval:
    found = widened(given, shared.differences[:, at], pair.bounds, effective_n)
    if shared.found.clusters_differ(at, config.unlike_clusters):
        found = widened_by_clusters(found, shared.table, at, pair.bounds, config)
    return found


def _is_confirmed(effective_n: float, pair: EnginePair, at: int, shared: _Shared, settings: Settings) -> bool:
    """Return whether skewed differences confirm the sign of their mean.

    The sign-flip test assumes symmetry. Its claim is kept if the bound of unseen differences at twice the level, on one
    side, agrees: false claims of 30 to 600 skewed queries fall from .05–.30 to at most .06 (tests/stats/audit.py).
    """
    mean = float(shared.found.mean[at])
    bound = _allowing(Interval(mean, mean, 1 - 4 * settings.alpha, ""), effective_n, pair, at, shared, settings.config)
    return not bound.low <= 0.0 <= bound.high


def _cross_check(shared: _Shared, at: int, bounds: ValueRange, settings: Settings) -> Interval:
    level, limit = 1 - settings.alpha, bounds.differences
    if not shared.found.se[at] > 0.0:
        return shared.levels[bounds].interval.at(at, level)
    raw = shared.boot.at(at, level)
    return replace(raw, low=max(raw.low, limit.low), high=min(raw.high, limit.high))


def _skew_note(differences: FloatArray) -> str:
    if (differences > 0.0).any() and (differences < 0.0).any():
        return "skewed: few large differences against many small ones; the interval allows for more large ones"
    return "skewed: all differences have one direction and are small; the interval allows for large ones in the other"


def _notes(shared: _Shared, at: int, lopsided: bool, config: StatsConfig) -> tuple[str, ...]:
    clusters, differing = shared.parts.count, int(shared.differing[at])
    notes = []
    if shared.parts.shared:
        notes.append(shared.parts.shared)
    if clusters < config.p_value_clusters:
        notes.append(f"no p-value: {shared.parts.nouns}, at least {config.p_value_clusters} are needed")
    if not differing:
        notes.append(f"no query differs: the interval is what {clusters} clusters cannot rule out")
    elif differing < config.p_value_clusters <= clusters:
        least = 2.0 ** (1 - differing)
        notes.append(f"only {differing} of {clusters} clusters differ: p cannot fall below {least:.3g}")
    if lopsided:
        notes.append(_skew_note(shared.differences[:, at]))
    if shared.left_out:
        notes.append(f"{shared.left_out} queries left out: the measure does not apply to them")
    return tuple(notes)
