"""Score tables: select the headline units, average phrasings per query, and assign queries to clusters.

Standard error, test, bootstrap and degrees of freedom all take the clusters from `partition`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.errors import ConfigError
from assay.scoring import Measure, parse_measure
from assay.scoring.grid import FloatArray
from assay.stats.config import DEFAULT, TAG, check_cluster, check_tag
from assay.stats.records import ValueRange
from assay.types import Scores, Unit

IntArray = NDArray[np.intp]

#: The cluster of queries without the tag, one per repository.
NONE = "(none)"


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    name: str
    at: int
    bounds: ValueRange


@dataclass(frozen=True, slots=True)
class ScoreTable:
    engines: tuple[str, ...]
    units: tuple[Unit, ...]
    values: FloatArray  # (engines, measures, queries)

    def row(self, engine: str, measure: MeasureColumn) -> FloatArray:
        return np.asarray(self.values[self.engines.index(engine), measure.at])


def part(scores: Scores, chosen: Sequence[bool]) -> ScoreTable:
    indexes = np.flatnonzero(chosen)
    units = [scores.units[i] for i in indexes]
    return ScoreTable(scores.engines, *average_phrasings(units, scores.values[:, :, indexes]))


def average_phrasings(units: Sequence[Unit], values: FloatArray) -> tuple[tuple[Unit, ...], FloatArray]:
    """Average the phrasings of each query (last axis), ignoring NaN, so that a phrasing never counts as a query."""
    names = [unit.intent for unit in units]
    first = {name: i for i, name in reversed(list(enumerate(names)))}
    firsts = sorted(first.values())
    if len(firsts) == len(names):
        return tuple(units), values
    column = {names[i]: at for at, i in enumerate(firsts)}
    members = np.zeros((len(names), len(firsts)))
    members[np.arange(len(names)), [column[name] for name in names]] = 1.0
    there = ~np.isnan(values)
    counts = there @ members
    means = np.where(there, values, 0.0) @ members / np.maximum(counts, 1.0)
    return tuple(units[i] for i in firsts), np.where(counts > 0, means, np.nan)


def headline(scores: Scores, cluster: str = "auto") -> ScoreTable:
    """Select the headline units; raise ConfigError if there are none, or if no query has the tag of `cluster`."""
    check_tag(cluster, (tag for unit in scores.units for tag in unit.tags))
    table = part(scores, [unit.headline for unit in scores.units])
    if not table.units:
        raise ConfigError("no queries to compare", hint="score a run with at least one query")
    return table


def range_of(measure: Measure | str) -> ValueRange:
    measure = parse_measure(measure) if isinstance(measure, str) else measure
    return ValueRange(float(measure.low), float(measure.high), measure.higher_is_better)


def column(scores: Scores, measure: Measure | str) -> MeasureColumn:
    measure = parse_measure(measure) if isinstance(measure, str) else measure
    name = repr(measure)
    if name not in scores.measures:
        raise ConfigError(f"{name} was not scored", hint=f"choose from: {', '.join(scores.measures)}")
    return MeasureColumn(name, scores.measures.index(name), range_of(measure))


def columns(
    scores: Scores, primary: Measure | str, measures: Sequence[Measure | str] | None
) -> tuple[MeasureColumn, ...]:
    """Return the column of the primary measure, then those of `measures` [default: all that were scored]."""
    first = column(scores, primary)
    others = [column(scores, measure) for measure in (scores.measures if measures is None else measures)]
    return (first, *(other for other in others if other.name != first.name))


def same_queries(values: Sequence[FloatArray]) -> list[tuple[IntArray, list[int]]]:
    """Group columns that have values for the same queries; return the indexes of queries and of columns per group."""
    groups: dict[bytes, list[int]] = {}
    for at, column_values in enumerate(values):
        groups.setdefault((~np.isnan(column_values)).tobytes(), []).append(at)
    masks = ((np.flatnonzero(np.frombuffer(mask, dtype=np.bool_)), members) for mask, members in groups.items())
    return [(queries, members) for queries, members in masks if len(queries)]


def check_engine(scores: Scores, engine: str, role: str = "engine") -> None:
    if engine not in scores.engines:
        raise ConfigError(f"unknown {role} {engine!r}", hint=f"choose from: {', '.join(scores.engines)}")


@dataclass(frozen=True, slots=True)
class Partition:
    """The cluster of each unit, and the stratum of each cluster; clusters of a stratum have consecutive numbers."""

    kind: Literal["repository", "intent", "tag"]
    clusters: IntArray  # (units,) number of each unit's cluster
    strata: IntArray  # (clusters,) number of each cluster's stratum, ascending
    repositories: int
    label: str  # the scope of a verdict
    shared: str = ""  # a sentence on queries that share targets; empty where none do

    @property
    def count(self) -> int:
        return len(self.strata)

    @property
    def nouns(self) -> str:
        noun = "cluster" if self.kind == "tag" else "unit" if self.shared else self.kind
        if self.count == 1:
            return f"1 {noun}"
        return f"{self.count} {noun.removesuffix('y') + 'ies' if noun.endswith('y') else noun + 's'}"


def partition(units: Sequence[Unit], cluster: str = "auto") -> Partition:
    """Assign units to clusters; `auto` clusters by repository if there are at least six, else by intent.

    `cluster` is auto, repository, intent or tag:NAME. Clusters by intent are stratified by repository, and queries that
    share targets are one cluster (`scoring.grid.shared_targets`).
    """
    check_cluster(cluster)
    repositories = sorted({unit.repository for unit in units})
    if cluster.startswith(TAG):
        tag = cluster.removeprefix(TAG)
        values: dict[str, str] = {}  # the first phrasing decides, so that a query is in one cluster
        for unit in units:
            value = unit.tags.get(tag)
            values.setdefault(unit.intent, f"{NONE}\0{unit.repository}" if value is None else f"={value}")
        parts = _without_strata("tag", [values[unit.intent] for unit in units], len(repositories))
        return replace(parts, label=parts.label.replace(parts.nouns, f"{parts.nouns} by the tag {tag}", 1))
    if cluster == "repository" or (cluster == "auto" and len(repositories) >= DEFAULT.repositories_as_clusters):
        return _without_strata("repository", [unit.repository for unit in units], len(repositories))
    label = "on this repository" if any(repositories) else "on these queries"
    label = f"on these {len(repositories)} repositories only" if len(repositories) > 1 else label
    names = [(unit.repository, unit.shared, "" if unit.shared else unit.intent) for unit in units]
    keys = sorted(set(names))
    position = {key: i for i, key in enumerate(keys)}
    strata = _collapse(np.searchsorted(repositories, [repository for repository, *_ in keys]))
    order = np.argsort(strata, kind="stable")  # the clusters of a stratum get consecutive numbers
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    intents = len({(unit.repository, unit.intent) for unit in units})
    shared = f"{intents} queries form {'1 unit' if len(keys) == 1 else f'{len(keys)} units'}: "
    return Partition(
        kind="intent",
        clusters=number[np.array([position[name] for name in names], dtype=np.intp)],
        strata=np.unique(strata[order], return_inverse=True)[1].astype(np.intp),
        repositories=len(repositories),
        label=label + (", by intent" if cluster == "intent" else ""),
        shared=shared + "queries that share targets count as one" if len(keys) < intents else "",
    )


def _without_strata(kind: Literal["repository", "tag"], names: Sequence[str], repositories: int) -> Partition:
    known, clusters = np.unique(names, return_inverse=True)
    parts = Partition(kind, clusters.astype(np.intp), np.zeros(len(known), dtype=np.intp), repositories, "")
    needed = DEFAULT.repositories_as_clusters
    few = f", fewer than the {needed} that a p-value needs" if len(known) < needed else ""
    return replace(parts, label=f"over {parts.nouns}{few}")


def _collapse(strata: IntArray) -> IntArray:
    """Merge strata of a single cluster, which have no spread (collapsed strata, Cochran 1977, 5A.12).

    Several such strata form one stratum; a single one is merged with the smallest other stratum.
    The variance then includes the spread between the merged strata, which is conservative.
    """
    names, counts = np.unique(strata, return_counts=True)
    lone = names[counts == 1]
    if len(lone) == 0 or len(names) == 1:
        return strata
    others = names[counts > 1]
    if len(lone) > 1 or len(others) == 0:
        return np.where(np.isin(strata, lone), lone[0], strata)
    smallest = others[np.argmin(counts[counts > 1])]
    return np.where(strata == lone[0], smallest, strata)


def group_codes(units: Sequence[Unit], parts: Partition) -> IntArray:
    return parts.clusters if parts.kind == "tag" else repository_codes(units)


def repository_codes(units: Sequence[Unit]) -> IntArray:
    _, codes = np.unique([unit.repository for unit in units], return_inverse=True)
    return codes.astype(np.intp)
