"""Queries that share targets: correlated evidence, which the statistics count as one unit.

An engine that ranks a target well does so for every query that asks for it. Counted as independent, 40 pairs of queries
with differences correlated .3 to .6 give a type I error of .08 to .12 instead of .05 (tests/stats/leader_worlds.py).

Queries of one repository that have a primary target in common form one unit, and so do queries that are linked by such
steps. In sets with many targets per query those links would join everything, so a unit is linked further only while it
holds at most a tenth of the repository's queries; beyond that, the queries that share the most common targets stay
together and other links are ignored. Queries with equal targets are always one unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from assay.digests import digest_of
from assay.types import Query, Run, Target

#: Linked units hold at most this share of a repository's queries. Simulated on pairs, rings, mined commits and
#: TREC-like sets: a twentieth leaves rings at .07, a fifth leaves too few units for a p-value.
LARGEST = 0.1
_DIGITS = 12
#: Kinds of synthetic sets whose corpus is a copy (`gold.synth.sets`).
_ON_A_COPY = ("doc", "keyword")


def shared_targets(run: Run) -> dict[tuple[str, str], str]:
    """Name the unit of each query (gold, id) that shares targets with another; queries that share none are left out."""
    homes: dict[str, list[tuple[tuple[str, str], frozenset[str]]]] = {}
    repositories = gold_repositories(run)
    for gold in run.suite.golds:
        queries = homes.setdefault(repositories[gold.name], [])
        queries += [((gold.name, query.id), _keys(query)) for query in gold.queries]
    return {query: name for queries in homes.values() for query, name in _units(queries)}


def gold_repositories(run: Run) -> dict[str, str]:
    """Name the repository of each gold set, as the run recorded it.

    Synthetic sets made from one repository belong to it, though some are asked on a copy without comments.
    """
    facts = run.header.corpora
    found = {g.name: facts[g.name].repository if g.name in facts else g.corpus.repository for g in run.suite.golds}
    origins: dict[str, str] = {}
    for gold in sorted(run.suite.golds, key=lambda gold: gold.provenance.get("synthetic") in _ON_A_COPY):
        if gold.synthetic and "from" in gold.provenance:
            found[gold.name] = origins.setdefault(gold.provenance["from"], found[gold.name])
    return found


def _keys(query: Query) -> frozenset[str]:
    return frozenset(map(_key, query.primaries))


def _key(target: Target) -> str:
    """Identify a target by its lines once they are known, so that a symbol and its lines are the same target."""
    return target.anchor if target.symbol and target.span.start is None else str(target.span)


def _units(queries: Sequence[tuple[tuple[str, str], frozenset[str]]]) -> Iterator[tuple[tuple[str, str], str]]:
    counts = Counter(keys for _, keys in queries if keys)
    names = _names(_link(counts, LARGEST * len(queries)), counts)
    return ((query, names[keys]) for query, keys in queries if keys in names)


def _link(counts: Mapping[frozenset[str], int], most: float) -> list[list[frozenset[str]]]:
    nodes = sorted(counts, key=sorted)
    holders: dict[str, list[int]] = {}
    for at, keys in enumerate(nodes):
        for key in keys:
            holders.setdefault(key, []).append(at)
    popularity = {key: sum(counts[nodes[at]] for at in held) for key, held in holders.items()}
    group = list(range(len(nodes)))
    members = [[at] for at in group]
    sizes = [counts[keys] for keys in nodes]
    for key in sorted(holders, key=lambda key: (-popularity[key], key)):
        touched = sorted({group[at] for at in holders[key]})
        if sum(sizes[at] for at in touched) > most:
            touched = [at for at in touched if len(members[at]) == 1]
        if len(touched) < 2:
            continue
        into = max(touched, key=lambda at: (len(members[at]), -at))
        for at in touched:
            if at != into:
                for node in members[at]:
                    group[node] = into
                members[into] += members[at]
                sizes[into] += sizes[at]
    return [[nodes[node] for node in members[at]] for at in sorted(set(group))]


def _names(
    groups: Sequence[Sequence[frozenset[str]]], counts: Mapping[frozenset[str], int]
) -> dict[frozenset[str], str]:
    names = {}
    for group in groups:
        if sum(counts[keys] for keys in group) > 1:
            name = digest_of(sorted(frozenset().union(*group)))[:_DIGITS]
            names.update(dict.fromkeys(group, name))
    return names
