"""Which files of a corpus a run remembers, with the bytes of each of their lines: those that somebody names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assay.types import EngineRun, Gold, Query, Ranking, Suite

Lines = Mapping[str, tuple[int, ...]]  # path -> bytes of each line
LinesBySet = Mapping[str, Lines]  # gold name -> those of its corpus
_Table = dict[str, tuple[int, ...]]


def query_paths(queries: Iterable[Query]) -> set[str]:
    """Give the files that targets and adversaries name."""
    targets = (target for query in queries for target in (*query.targets, *(a.target for a in query.adversaries)))
    return {target.span.path for target in targets}


def hit_paths(rankings: Iterable[Ranking]) -> set[str]:
    """Give the files that results name."""
    return {hit.path for ranking in rankings for hit in ranking.hits}


def join_lines(tables: Iterable[Lines]) -> _Table:
    """Put tables of one corpus together, in the order of paths."""
    found: _Table = {}
    for table in tables:
        found.update(table)
    return dict(sorted(found.items()))


def join_sets(first: LinesBySet, second: LinesBySet) -> dict[str, _Table]:
    """Put the tables of two runs together, set by set."""
    return {gold: join_lines((first.get(gold, {}), second.get(gold, {}))) for gold in {**first, **second}}


def named_lines(tables: LinesBySet, suite: Suite, engines: Iterable[EngineRun]) -> dict[str, _Table]:
    """Keep of the tables what a target, an adversary or a result names; sets that the suite lacks go."""
    rankings = [ranking for engine in engines for ranking in engine.rankings]
    return {gold.name: _named(tables.get(gold.name, {}), gold, rankings) for gold in suite.golds}


def _named(table: Lines, gold: Gold, rankings: Iterable[Ranking]) -> _Table:
    """Keep what is named on one set."""
    named = query_paths(gold.queries) | hit_paths(ranking for ranking in rankings if ranking.gold == gold.name)
    return {path: table[path] for path in sorted(named) if path in table}
