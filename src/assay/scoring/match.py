from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Literal, NamedTuple

from assay.types import Hit, Query, Span, Target

Level = Literal["file", "symbol", "lines"]
LEVELS: tuple[Level, ...] = ("file", "symbol", "lines")
#: Path, and path and lines, of a hit, three times as fast as indexing in a list comprehension.
PATH, PLACE = itemgetter(0), itemgetter(0, 1, 2)

#: Overlap of a hit's and a target's span; 0 is no match.
Overlap = Callable[[Span, Span], float]

#: Version of the matching rule, stored with scores. 1: any common line; 2: with a limit on the size of a hit.
MATCHING_RULE = 2
#: Longer hits must fit the target: a whole file is not an answer to a question about ten lines.
MAX_HIT_LINES = 100
MIN_IOU = 0.3


@dataclass(frozen=True, slots=True)
class Projection:
    level: Level
    targets: tuple[Target, ...]
    by_path: Mapping[str, tuple[int, ...]]


class Match(NamedTuple):  # created twice as fast as a dataclass, like the other records of a single ranking
    """The assignment of targets to the distinct hits of a ranking; sparse, because most hits match no target."""

    targets: tuple[Target, ...]  # projected to the level, in gold order
    positions: Sequence[int]  # of each distinct hit in the returned list, from 0; a range without repetitions
    found: tuple[tuple[int, int], ...]  # rank (from 0) and target index of each matched hit, best first

    @property
    def distinct(self) -> int:
        return len(self.positions)

    @property
    def claims(self) -> tuple[int | None, ...]:
        """Index of the target of each distinct hit; None without a target."""
        claims: list[int | None] = [None] * len(self.positions)
        for rank, target in self.found:
            claims[rank] = target
        return tuple(claims)

    @property
    def ranks(self) -> tuple[int | None, ...]:
        """Rank (from 1) of the hit assigned to each target; None for a target that was not found."""
        by_target = {target: rank + 1 for rank, target in self.found}
        return tuple(by_target.get(index) for index in range(len(self.targets)))


def target_span(target: Target, level: Level) -> Span:
    if level == "file":
        return Span(target.span.path)
    return target.unit or target.span if level == "symbol" else target.span


def project(targets: Sequence[Target], level: Level) -> Projection:
    """Project targets to a level; of targets with the same span, keep the best grade at the first position."""
    merged: dict[Span, Target] = {}
    for target in targets:
        span = target_span(target, level)
        known = merged.get(span)
        if known is None or known.grade < target.grade:
            merged[span] = replace(target, span=span)
    by_path: dict[str, list[int]] = {}
    for index, span in enumerate(merged):
        by_path.setdefault(span.path, []).append(index)
    return Projection(level, tuple(merged.values()), {path: tuple(indices) for path, indices in by_path.items()})


def hit_span(hit: Hit, level: Level) -> Span:
    """Return the span of a hit at a level; hits with equal spans are repetitions."""
    return Span(hit.path) if level == "file" else Span(hit.path, hit.start, hit.end)


def match(hits: Sequence[Hit], targets: Sequence[Target], level: Level) -> Match:
    """Match distinct hits to targets, each at most once."""
    return assign_targets(hits, project(targets, level))


def overlap_of(hit: Span, target: Span) -> float:
    """Return the number of common lines, or 0 if the hit has more than 100 lines and an IoU below 0.3.

    Any part of a whole-file target matches it, and the file itself does so best (infinite overlap). A hit without
    lines matches no other target.
    """
    if target.start is None or target.end is None:
        return math.inf if hit.start is None and hit.path == target.path else hit.common_lines(target)
    if hit.start is None or hit.end is None:
        return 0
    common = hit.common_lines(target)
    lines = hit.end - hit.start + 1
    if lines > MAX_HIT_LINES and common / (lines + target.end - target.start + 1 - common) < MIN_IOU:
        return 0
    return common


def assign_targets(hits: Sequence[Hit], projection: Projection, overlap: Overlap = overlap_of) -> Match:
    """Assign each distinct hit, in rank order, the best free target it overlaps: by grade, overlap, then gold order."""
    level, by_path, targets = projection.level, projection.by_path, projection.targets
    paths = [*map(PATH, hits)]
    identities: Sequence[object] = paths if level == "file" else [*map(PLACE, hits)]
    positions: Sequence[int] = range(len(hits))
    distinct = set(identities)
    if len(distinct) < len(identities):
        first: dict[object, int] = {}
        for at, identity in enumerate(identities):
            first.setdefault(identity, at)
        positions = tuple(first.values())
        paths = [paths[at] for at in positions]
    found: list[tuple[int, int]] = []
    taken: set[int] = set()
    if level == "file":  # a lookup per target is faster than one per hit, and any hit of the file matches
        ranks = sorted([paths.index(path) for path in by_path if path in distinct])
        if overlap is overlap_of:
            return Match(targets, positions, tuple([(rank, by_path[paths[rank]][0]) for rank in ranks]))
    else:
        ranks = [rank for rank, path in enumerate(paths) if path in by_path]
    for rank in ranks:
        span = hit_span(hits[positions[rank]], level)
        best: int | None = None
        best_key = (0, 0.0)
        for index in by_path[span.path]:  # in gold order, so the first of equals wins
            common = 0.0 if index in taken else overlap(span, targets[index].span)
            key = (targets[index].grade, common)
            if common > 0 and (best is None or key > best_key):
                best, best_key = index, key
        if best is not None:
            found.append((rank, best))
            taken.add(best)
    return Match(targets, positions, tuple(found))


def touches(span: Span, projection: Projection) -> bool:
    candidates = projection.by_path.get(span.path, ())
    return any(span.common_lines(projection.targets[index].span) > 0 for index in candidates)


def matches_any(span: Span, projection: Projection) -> bool:
    """Return whether a hit with this span can be assigned any of the targets."""
    candidates = projection.by_path.get(span.path, ())
    return any(overlap_of(span, projection.targets[index].span) > 0 for index in candidates)


@dataclass(frozen=True, slots=True)
class HitMark:
    """The rank of a hit, and the target or adversary that it matches, if any."""

    rank: int | None  # among distinct hits, from 1; None for a repetition
    target: int | None = None  # index into the query's targets
    adversary: int | None = None  # index into the query's adversaries


class HitMarker:
    def __init__(self, query: Query, level: Level) -> None:
        self.query = query
        self.level = level
        self._targets = project(query.targets, level)
        numbers: dict[tuple[Span, int], int] = {}
        for at, target in enumerate(query.targets):
            numbers.setdefault((target_span(target, level), target.grade), at)
        self._numbers = [numbers[target.span, target.grade] for target in self._targets.targets]
        self._adversaries: dict[str, list[tuple[int, Span]]] = {}
        for at, adversary in enumerate(query.adversaries):
            span = target_span(adversary.target, level)
            if not _inside(span, self._targets):
                self._adversaries.setdefault(span.path, []).append((at, span))

    def __call__(self, hits: Sequence[Hit]) -> tuple[HitMark, ...]:
        matched = assign_targets(hits, self._targets)
        taken = dict(matched.found)
        placed = {at: (rank + 1, taken.get(rank)) for rank, at in enumerate(matched.positions)}
        return tuple(self._mark(hit, *placed[at]) if at in placed else HitMark(None) for at, hit in enumerate(hits))

    def judged(self, hits: Sequence[Hit], matched: Match) -> Iterator[tuple[int, HitMark]]:
        """Yield the position and mark of each hit with a target or an adversary; `matched` is the match of `hits`."""
        targets = dict(matched.found)
        for rank, position in enumerate(matched.positions):
            taken = targets.get(rank)
            if taken is not None or hits[position].path in self._adversaries:
                mark = self._mark(hits[position], rank + 1, taken)
                if mark.target is not None or mark.adversary is not None:
                    yield position, mark

    def _mark(self, hit: Hit, rank: int, taken: int | None) -> HitMark:
        if taken is not None:
            return HitMark(rank, target=self._numbers[taken])
        adversaries = self._adversaries.get(hit.path)
        if not adversaries:
            return HitMark(rank)
        span = hit_span(hit, self.level)
        if touches(span, self._targets):
            return HitMark(rank)
        number = next((at for at, adversary in adversaries if overlap_of(span, adversary) > 0), None)
        return HitMark(rank, adversary=number)


def is_beside(hit: Hit, targets: Sequence[Target]) -> bool:
    """Return whether a hit shares no line with any target."""
    return not any(hit.span.common_lines(target.span) for target in targets)


def visible_adversaries(query: Query, targets: Projection) -> Projection:
    """Project adversaries to the level of the targets, without those that lie inside a target."""
    projected = project([adversary.target for adversary in query.adversaries], targets.level)
    return project([adversary for adversary in projected.targets if not _inside(adversary.span, targets)], "lines")


def _inside(span: Span, targets: Projection) -> bool:
    for index in targets.by_path.get(span.path, ()):
        other = targets.targets[index].span
        if other.start is None or other.end is None:
            return True
        if span.start is not None and span.end is not None and other.start <= span.start and span.end <= other.end:
            return True
    return False


def match_distinct(before: Sequence[Hit], after: Sequence[Hit], level: Level) -> dict[int, int]:
    first, second = (
        [hits[position] for position in assign_targets(hits, project((), level)).positions] for hits in (before, after)
    )
    return match_hits(first, second, level)


def match_hits(before: Sequence[Hit], after: Sequence[Hit], level: Level) -> dict[int, int]:
    """Map ranks (from 1) in the second ranking to ranks of the same hit in the first, one-to-one.

    Equal spans match first. Chunk boundaries may differ, so hits that share a line (at file level: a file) match next,
    each with the first unmatched hit.
    """
    free = dict(enumerate(before, start=1))
    matches: dict[int, int] = {}

    def overlap(first: Hit, second: Hit) -> bool:
        return hit_span(first, level).common_lines(hit_span(second, level)) > 0

    for same in (lambda first, second: first.span == second.span, overlap):
        by_path: dict[str, list[int]] = {}
        for rank, hit in free.items():
            by_path.setdefault(hit.path, []).append(rank)
        for rank, hit in enumerate(after, start=1):
            if rank in matches:
                continue
            taken = next((old for old in by_path.get(hit.path, ()) if old in free and same(free[old], hit)), None)
            if taken is not None:
                matches[rank] = taken
                del free[taken]
    return matches
