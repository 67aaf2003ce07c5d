"""Queries that share targets are correlated, so the statistics count them as one unit.

An engine that ranks a target well does so for every query that has it. Counted as independent, 40 pairs of queries
with differences correlated .3 to .6 have a type I error of .08 to .12 instead of .05 (tests/stats/leader_worlds.py).

Queries of one repository with a common primary target form one unit, transitively. In sets with many targets per query
this would join everything, so a unit grows only while it holds at most a tenth of the repository's queries; beyond
that, queries that share the most common targets stay together and other links are ignored. Queries with equal targets
are always one unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from assay.digests import digest_of
from assay.types import Run, Target

#: Linked units hold at most this share of a repository's queries. Simulated on pairs, rings, mined commits and
#: TREC-like sets: a twentieth leaves rings at .07, a fifth leaves too few units for a p-value.
LARGEST = 0.1
_DIGITS = 12
#: Kinds of synthetic sets whose corpus is a copy (`gold.synth.sets`).
_ON_A_COPY = ("doc", "keyword")


def shared_targets(run: Run) -> dict[tuple[str, str], str]:
    """Return the unit name of each query (gold, id) that shares targets with another; omit other queries."""
    homes: dict[str, list[tuple[tuple[str, str], frozenset[str]]]] = {}
    repositories = gold_repositories(run)
    for gold in run.suite.golds:
        queries = homes.setdefault(repositories[gold.name], [])
        queries += [((gold.name, query.id), frozenset(map(_key, query.primaries))) for query in gold.queries]
    return {query: name for queries in homes.values() for query, name in _name_units(queries)}


def gold_repositories(run: Run) -> dict[str, str]:
    """Return the repository of each gold set, as recorded in the run.

    Synthetic sets belong to the repository they were made from, though some use a copy without comments.
    """
    facts = run.header.corpora
    found = {g.name: facts[g.name].repository if g.name in facts else g.corpus.repository for g in run.suite.golds}
    origins: dict[str, str] = {}
    for gold in sorted(run.suite.golds, key=lambda gold: gold.provenance.get("synthetic") in _ON_A_COPY):
        if gold.synthetic and "from" in gold.provenance:
            found[gold.name] = origins.setdefault(gold.provenance["from"], found[gold.name])
    return found


def _key(target: Target) -> str:
    """Identify a resolved target by its lines, so that a symbol and its lines are the same target."""
    return target.anchor if target.symbol and target.span.start is None else str(target.span)


def _name_units(queries: Sequence[tuple[tuple[str, str], frozenset[str]]]) -> Iterator[tuple[tuple[str, str], str]]:
    counts = Counter(keys for _, keys in queries if keys)
    names: dict[frozenset[str], str] = {}
    for group in _link(counts, LARGEST * len(queries)):
        if sum(counts[keys] for keys in group) > 1:
            name = digest_of(sorted(frozenset().union(*group)))[:_DIGITS]
            names.update(dict.fromkeys(group, name))
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
