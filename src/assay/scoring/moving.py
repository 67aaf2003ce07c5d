"""Which hit of one ranking is which of another? One rule for all who show how ranks moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.scoring.match import Level, claim, hit_span, project
from assay.types import Hit


def match_distinct(before: Sequence[Hit], after: Sequence[Hit], level: Level) -> dict[int, int]:
    """Match the hits that count: ranks are those of distinct hits, as scores have them."""
    return match_hits(_distinct(before, level), _distinct(after, level), level)


def match_hits(before: Sequence[Hit], after: Sequence[Hit], level: Level) -> dict[int, int]:
    """Give for ranks of the second ranking the rank of the same place in the first, both from 1; each is taken once.

    The same lines are the same place. Where an index was cut otherwise, those that share what the level counts are: a
    line, or at file level the file. Of several the first that is free.
    """
    free = dict(enumerate(before, start=1))
    found: dict[int, int] = {}
    for same in (_equal, _sharing(level)):
        by_path: dict[str, list[int]] = {}
        for rank, hit in free.items():
            by_path.setdefault(hit.path, []).append(rank)
        for rank, hit in enumerate(after, start=1):
            if rank in found:
                continue
            taken = next((old for old in by_path.get(hit.path, ()) if old in free and same(free[old], hit)), None)
            if taken is not None:
                found[rank] = taken
                del free[taken]
    return found


def _distinct(hits: Sequence[Hit], level: Level) -> list[Hit]:
    """Leave out what repeats a hit above it."""
    return [hits[position] for position in claim(hits, project((), level)).positions]


def _equal(one: Hit, other: Hit) -> bool:
    """Tell the same lines."""
    return one.span == other.span


def _sharing(level: Level) -> Callable[[Hit, Hit], bool]:
    """Make the test for hits that share something at a level."""
    return lambda one, other: hit_span(one, level).common_lines(hit_span(other, level)) > 0
