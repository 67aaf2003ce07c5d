"""The unit of sampling: repositories, intents inside them, or values of a tag. Decided here only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.stats.config import DEFAULT, TAG, check_cluster

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assay.types import FloatArray, Unit

    IntArray = NDArray[np.intp]
    BoolArray = NDArray[np.bool_]

#: The cluster of queries without the tag, one per repository.
NONE = "(none)"


@dataclass(frozen=True, slots=True)
class Partition:
    """Which unit belongs to which cluster, and which cluster to which stratum.

    Standard error, test, bootstrap and degrees of freedom all take the number of clusters from here. The clusters of
    a stratum have consecutive numbers.
    """

    kind: Literal["repository", "intent", "tag"]
    clusters: IntArray  # (units,) number of each unit's cluster
    strata: IntArray  # (clusters,) number of each cluster's stratum, ascending
    repositories: int
    label: str  # the scope of a claim
    shared: str = ""  # a sentence on queries that share targets; empty where none do

    @property
    def count(self) -> int:
        """The number of clusters."""
        return len(self.strata)

    @property
    def nouns(self) -> str:
        """The number of clusters with their noun."""
        if self.kind == "tag":
            return "1 cluster" if self.count == 1 else f"{self.count} clusters"
        if self.shared:
            return "1 unit" if self.count == 1 else f"{self.count} units"
        many = self.kind.removesuffix("y") + "ies" if self.kind.endswith("y") else f"{self.kind}s"
        return f"1 {self.kind}" if self.count == 1 else f"{self.count} {many}"


@dataclass(frozen=True, slots=True)
class Intents:
    """Values with the phrasings of each intent averaged into one column."""

    units: tuple[Unit, ...]
    values: FloatArray  # (..., intents)


def average_phrasings(units: Sequence[Unit], values: FloatArray) -> Intents:
    """Average the phrasings of each intent, without NaN, so that a phrasing never counts as a query."""
    names = [unit.intent for unit in units]
    first = {name: i for i, name in reversed(list(enumerate(names)))}
    kept = sorted(first.values())
    if len(kept) == len(names):
        return Intents(tuple(units), values)
    column = {names[i]: at for at, i in enumerate(kept)}
    members = np.zeros((len(names), len(kept)))
    members[np.arange(len(names)), [column[name] for name in names]] = 1.0
    there = ~np.isnan(values)
    counts = there @ members
    means = np.where(there, values, 0.0) @ members / np.maximum(counts, 1.0)
    return Intents(tuple(units[i] for i in kept), np.where(counts > 0, means, np.nan))


def partition(
    units: Sequence[Unit], cluster: str = "auto", *, at_least: int = DEFAULT.repositories_as_clusters
) -> Partition:
    """Cluster as declared; `auto` is by repository if there are enough of them, else by intent inside each.

    `cluster` is auto, repository, intent or tag:NAME. Values of a tag span repositories, so they have no strata.
    Intents that share targets are one cluster (`scoring.grid.shared_targets`).
    """
    check_cluster(cluster)
    repositories = sorted({unit.repository for unit in units})
    if cluster.startswith(TAG):
        return _by_tag(units, cluster.removeprefix(TAG), len(repositories), at_least)
    if cluster == "repository" or (cluster == "auto" and len(repositories) >= at_least):
        return _whole("repository", [unit.repository for unit in units], len(repositories), at_least)
    label = _label(repositories) + (", by intent" if cluster == "intent" else "")
    names = [(unit.repository, unit.shared, "" if unit.shared else unit.intent) for unit in units]
    keys = sorted(set(names))
    position = {key: i for i, key in enumerate(keys)}
    clusters = np.array([position[name] for name in names], dtype=np.intp)
    numbers = np.searchsorted(repositories, [repository for repository, *_ in keys])
    found = _ordered(clusters, _collapse(numbers), len(repositories), label)
    intents = len({(unit.repository, unit.intent) for unit in units})
    return replace(found, shared=_shared(intents, len(keys))) if len(keys) < intents else found


def _whole(kind: Literal["repository", "tag"], names: Sequence[str], repositories: int, at_least: int) -> Partition:
    known, clusters = np.unique(names, return_inverse=True)
    found = Partition(kind, clusters.astype(np.intp), np.zeros(len(known), dtype=np.intp), repositories, "")
    few = f", fewer than the {at_least} that a p-value needs" if len(known) < at_least else ""
    return replace(found, label=f"over {found.nouns}{few}")


def _by_tag(units: Sequence[Unit], tag: str, repositories: int, at_least: int) -> Partition:
    """Cluster by the values of a tag; queries without it form one cluster per repository.

    An intent is never in two clusters: its first phrasing decides.
    """
    names: dict[str, str] = {}
    for unit in units:
        value = unit.tags.get(tag)
        names.setdefault(unit.intent, f"{NONE}\0{unit.repository}" if value is None else f"={value}")
    found = _whole("tag", [names[unit.intent] for unit in units], repositories, at_least)
    return replace(found, label=found.label.replace(found.nouns, f"{found.nouns} by the tag {tag}", 1))


def group_codes(units: Sequence[Unit], parts: Partition) -> IntArray:
    """Number the groups of units that may be correlated: the values of a declared tag, else repositories."""
    return parts.clusters if parts.kind == "tag" else repository_codes(units)


def repository_codes(units: Sequence[Unit]) -> IntArray:
    """Number the repository of each unit from 0 without gaps."""
    _, codes = np.unique([unit.repository for unit in units], return_inverse=True)
    return codes.astype(np.intp)


def _label(repositories: Sequence[str]) -> str:
    count = len(repositories)
    if count > 1:
        return f"on these {count} repositories only"
    return "on this repository" if any(repositories) else "on these queries"


def _shared(queries: int, units: int) -> str:
    many = "1 unit" if units == 1 else f"{units} units"
    return f"{queries} queries form {many}: queries that share targets count as one"


def _collapse(strata: IntArray) -> IntArray:
    """Merge strata of a single cluster, which have no spread of their own (collapsed strata, Cochran 1977, 5A.12).

    Strata of one cluster form one stratum; a single one is merged with the smallest other stratum.
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


def _ordered(clusters: IntArray, strata: IntArray, repositories: int, label: str) -> Partition:
    """Renumber so that the clusters of a stratum have consecutive numbers."""
    order = np.argsort(strata, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    _, dense = np.unique(strata[order], return_inverse=True)
    return Partition("intent", place[clusters], dense.astype(np.intp), repositories, label)
