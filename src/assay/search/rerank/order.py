"""The stage itself: which candidates a re-ranker may move, and where."""

from __future__ import annotations

from collections.abc import Sequence

from assay.errors import ConfigError
from assay.search.rerank.base import Passage, Reranker, checked


def rerank(
    query: str, passages: Sequence[Passage], scores: Sequence[float], reranker: Reranker, depth: int
) -> tuple[int, ...]:
    """Give the passages' indices in their new order.

    The old order is by score, ties by position. Its first `depth` are ordered anew, ties as before; the rest stay
    behind them. How many results are wanted plays no part, so that the top 5 stays a prefix of the top 10.
    """
    if depth < 0:
        raise ConfigError(f"re-ranking depth {depth}", hint="a number of candidates, 0 or more")
    ranks = sorted(range(len(passages)), key=lambda index: (-scores[index], index))
    head, tail = ranks[:depth], ranks[depth:]
    if len(head) < 2:
        return tuple(ranks)
    chosen = tuple(passages[index] for index in head)
    fresh = checked(reranker.order(query, chosen), chosen, reranker.identity)
    places = sorted(range(len(head)), key=lambda place: (-fresh[place], place))
    return (*(head[place] for place in places), *tail)
