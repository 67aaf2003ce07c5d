from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from assay.scoring.grid import FloatArray
from assay.stats.clustered import ClusteredEstimate, ClusterTable, cluster_table, estimate
from assay.stats.config import DEFAULT, CompareSettings
from assay.stats.intervals import IntervalEnds, bootstrap_t, difference_interval, widen, widen_by_clusters
from assay.stats.paired import Effects, effects, family_mde, is_skewed, sign_flip, smallest_p, unequal_factor
from assay.stats.records import ComparisonRow, Interval, ValueRange
from assay.stats.score_table import IntArray, Partition, group_codes, partition, same_queries
from assay.types import Unit


@dataclass(frozen=True, slots=True)
class EnginePair:
    engine: str
    baseline: str
    measure: str
    bounds: ValueRange
    new: FloatArray
    old: FloatArray


def comparison_rows(
    pairs: Sequence[EnginePair], units: Sequence[Unit], settings: CompareSettings
) -> tuple[ComparisonRow, ...]:
    """Compare the engines of each pair on their common queries; omit pairs without a common query.

    The random streams restart for each set of common queries, so a pair's result does not depend on the other pairs.
    """
    alpha = settings.alpha
    differences = [pair.new - pair.old for pair in pairs]
    rows: dict[int, ComparisonRow] = {}
    for queries, members in same_queries(differences):
        stacked = np.stack([differences[i][queries] for i in members], axis=1)
        stacked[np.abs(stacked) <= DEFAULT.tie] = 0.0
        chosen = [units[i] for i in queries]
        parts = partition(chosen, settings.cluster)
        table = cluster_table(stacked, parts)
        estimated = estimate(table)
        flips, draws = (np.random.default_rng([settings.seed, stream]) for stream in range(2))
        ranges = {pairs[i].bounds for i in members}
        differing = np.count_nonzero(cluster_table(np.abs(stacked), parts).sums, axis=0).tolist()
        shared = _Shared(
            parts=parts,
            groups=group_codes(chosen, parts),
            kept=queries,
            left_out=len(units) - len(queries),
            table=table,
            found=estimated,
            p=sign_flip(table, flips, resamples=settings.resamples),
            boot=bootstrap_t(table, draws, level=1 - alpha, resamples=settings.resamples),
            intervals={bounds: difference_interval(estimated, bounds, level=1 - alpha) for bounds in ranges},
            equivalences={bounds: difference_interval(estimated, bounds, level=1 - 2 * alpha) for bounds in ranges},
        )
        for at, i in enumerate(members):
            row = _PairColumn(
                pairs[i], at, shared, settings, stacked[:, at], differing[at], float(estimated.se[at])
            ).row()
            rows[i] = replace(row, mde=family_mde(row, pairs[i].bounds, 1, settings))
    return tuple(rows[i] for i in sorted(rows))


@dataclass(frozen=True, slots=True)
class _Shared:
    parts: Partition
    groups: IntArray
    kept: IntArray
    left_out: int
    table: ClusterTable
    found: ClusteredEstimate
    p: FloatArray | None
    boot: IntervalEnds
    intervals: Mapping[ValueRange, IntervalEnds]  # at 1 − α
    equivalences: Mapping[ValueRange, IntervalEnds]  # at 1 − 2α


@dataclass(frozen=True)
class _PairColumn:
    pair: EnginePair
    at: int
    shared: _Shared
    settings: CompareSettings
    differences: FloatArray  # by query
    differing: int  # clusters with any difference
    se: float

    def row(self) -> ComparisonRow:
        """Return the row of the pair, without MDE, adjusted p-value and verdict."""
        pair, at, shared, effect = self.pair, self.at, self.shared, self.effect
        differences, parts = self.differences, shared.parts
        bounds, level = pair.bounds, 1 - self.settings.alpha
        interval = cross_check = shared.intervals[bounds].at(at, level)
        if self.sparse or self.skewed:
            interval = widen(interval, differences, bounds, self.independent_n if self.sparse else effect.effective_n)
        if self.se > 0.0:
            raw, limit = shared.boot.at(at, level), bounds.differences
            cross_check = replace(raw, low=max(raw.low, limit.low), high=min(raw.high, limit.high))
        equivalence = shared.equivalences[bounds].at(at, 1 - 2 * self.settings.alpha)
        equivalence = self._allow_unseen(equivalence, self.independent_n)
        return ComparisonRow(
            engine=pair.engine,
            baseline=pair.baseline,
            measure=pair.measure,
            higher_is_better=pair.bounds.higher_is_better,
            mean=float(pair.new[shared.kept].mean()),
            baseline_mean=float(pair.old[shared.kept].mean()),
            difference=float(shared.found.mean[at]),
            se=None if np.isnan(self.se) else self.se,
            df=shared.found.df,
            interval=interval,
            equivalence=equivalence,
            cross_check=cross_check,
            p=None if shared.p is None else float(shared.p[at]),
            p_adjusted=None,
            smallest_p=smallest_p(parts.count, resamples=self.settings.resamples),
            in_family=False,
            verdict=None,
            within_margin=equivalence.inside(self.settings.margin),
            d_z=effect.d_z,
            wins=effect.wins,
            ties=effect.ties,
            losses=effect.losses,
            worse_share=effect.worse_share,
            icc=effect.icc,
            design_effect=effect.design_effect,
            effective_n=effect.effective_n,
            mde=None,
            queries=len(differences),
            left_out=shared.left_out,
            clusters=parts.count,
            repositories=parts.repositories,
            label=parts.label,
            notes=self.notes(),
            differing=self.differing,
            skewed=self.skewed,
            confirmed=self.is_confirmed(),
            unequal=unequal_factor(shared.table.sizes, effect.icc or 0.0, alpha=self.settings.alpha),
            typical_size=float(np.sqrt(np.mean(differences[differences != 0.0] ** 2))) if self.differing else 0.0,
            heaviest=float(np.bincount(parts.clusters).max() / len(differences)),
        )

    @cached_property
    def effect(self) -> Effects:
        higher_is_better = self.pair.bounds.higher_is_better
        effect = effects(self.differences, self.shared.groups, self.se, higher_is_better=higher_is_better)
        if self.shared.parts.kind == "intent":  # queries that share targets are one observation
            effect = replace(effect, effective_n=min(effect.effective_n, self.shared.parts.count))
        return effect

    @cached_property
    def sparse(self) -> bool:
        return self.differing < DEFAULT.p_value_clusters

    @cached_property
    def skewed(self) -> bool:
        bounds = self.pair.bounds
        return not self.sparse and bounds.finite and is_skewed(self.differences, bounds.width)

    @cached_property
    def independent_n(self) -> float:
        """The number of independent queries, for bounds on unseen differences.

        The design effect applies if clusters differ or differences are skewed; the number of clusters is the maximum if
        few clusters have a difference, or for skewed differences in few clusters.
        """
        estimated = self.shared.found
        if self.skewed or estimated.clusters_differ(self.at, DEFAULT.alike_clusters):
            count = self.effect.effective_n
        else:
            count = float(estimated.clusters if self.shared.parts.kind == "intent" else len(self.differences))
        if self.sparse or (self.skewed and estimated.clusters < DEFAULT.equivalence_clusters):
            count = min(count, estimated.clusters)
        return count

    def is_confirmed(self) -> bool:
        """Return whether the differences are symmetric or, if skewed, confirm the sign of their mean.

        The sign-flip test assumes symmetry. Its result is kept if a one-sided bound at level 2α that allows for unseen
        differences has the same sign: false positives with 30 to 600 skewed queries fall from .05–.30 to at most .06
        (tests/stats/audit.py).
        """
        if not self.skewed:
            return True
        mean = float(self.shared.found.mean[self.at])
        bound = self._allow_unseen(Interval(mean, mean, 1 - 4 * self.settings.alpha, ""), self.effect.effective_n)
        return not bound.low <= 0.0 <= bound.high

    def _allow_unseen(self, given: Interval, count: float) -> Interval:
        bounds, shared = self.pair.bounds, self.shared
        widened = widen(given, self.differences, bounds, count)
        if shared.found.clusters_differ(self.at, DEFAULT.unlike_clusters):
            return widen_by_clusters(widened, shared.table, self.at, bounds)
        return widened

    def notes(self) -> tuple[str, ...]:
        parts, differing, needed = self.shared.parts, self.differing, DEFAULT.p_value_clusters
        notes = [parts.shared] if parts.shared else []
        if parts.count < needed:
            notes.append(f"no p-value: {parts.nouns}, at least {needed} are needed")
        if not differing:
            shown = "the interval shows the differences"
            notes.append(f"the scores are equal on every query; {shown} that {parts.count} clusters cannot rule out")
        elif differing < needed <= parts.count:
            least = f"p cannot fall below {2.0 ** (1 - differing):.3g}"
            notes.append(f"only {differing} of {parts.count} clusters differ: {least}")
        if self.skewed and (self.differences > 0.0).any() and (self.differences < 0.0).any():
            others = "the interval allows for more large ones"
            notes.append(f"skewed: few large differences against many small ones; {others}")
        elif self.skewed:
            others = "the interval allows for large ones in the other direction"
            notes.append(f"skewed: all differences have one direction and are small; {others}")
        if self.shared.left_out:
            notes.append(f"{self.shared.left_out} queries left out: the measure does not apply to them")
        return tuple(notes)
