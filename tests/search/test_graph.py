"""Which file uses which, by hand."""

from __future__ import annotations

from math import log2

import numpy as np

from assay.search.table import ReferenceTable
from assay.search.view import GraphConfig, ReferenceGraph, build_graph


def mentions(*pairs: tuple[int, int]) -> ReferenceTable:
    ordered = sorted(pairs)
    return ReferenceTable(np.array([f for f, _ in ordered], np.int32), np.array([n for _, n in ordered], np.uint64))


def edges(graph: ReferenceGraph) -> list[tuple[int, int]]:
    source = np.repeat(np.arange(len(graph.begin) - 1), np.diff(graph.begin))
    return list(zip(source.tolist(), graph.target.tolist(), strict=True))


def test_edge_leads_from_the_user_to_the_definer() -> None:
    graph = build_graph(mentions((0, 7)), mentions((1, 7), (2, 9), (0, 7)), 3, GraphConfig())
    assert edges(graph) == [(1, 0)], "nobody defines 9, and a file does not vote for itself"
    assert graph.incoming.tolist() == [1, 0, 0]


def test_name_that_many_define_is_no_tie() -> None:
    defined = mentions(*((file, 7) for file in range(4)))
    assert edges(build_graph(defined, mentions((5, 7)), 6, GraphConfig(definers=3, strength=0))) == []
    assert len(edges(build_graph(defined, mentions((5, 7)), 6, GraphConfig(definers=4, strength=0)))) == 4


def test_ties_add_up_to_the_strength_that_is_needed() -> None:
    # A name with one definer and three mentioners weighs 1 / log2(5) = 0.43; two such names weigh twice that.
    one, two = mentions((0, 7)), mentions((0, 7), (0, 8))
    used = [(f, n) for f in (1, 2, 3) for n in (7, 8)]
    limit = GraphConfig(strength=1.5 / log2(5))
    assert edges(build_graph(one, mentions(*used), 4, limit)) == []
    assert edges(build_graph(two, mentions(*used), 4, limit)) == [(1, 0), (2, 0), (3, 0)]


def test_votes_are_scores_over_the_root_of_how_many_use_a_file() -> None:
    graph = build_graph(mentions((0, 7), (1, 8)), mentions((1, 7), (2, 7), (2, 8)), 3, GraphConfig(strength=0))
    votes = graph.votes(np.array([0.1, 0.5, 1.0]), 0.3)
    np.testing.assert_allclose(votes, [1.5 / np.sqrt(2 + 3), 1.0 / np.sqrt(1 + 3), 0.0])
    assert graph.votes(np.zeros(3), 0.3).tolist() == [0, 0, 0]


def test_graph_of_nothing_has_no_edge() -> None:
    empty = mentions()
    assert edges(build_graph(empty, empty, 0, GraphConfig())) == []
    assert edges(build_graph(empty, mentions((0, 1)), 2, GraphConfig())) == []
