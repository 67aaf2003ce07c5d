"""Mark the hits of a ranking as target, adversary or repetition, as the measures count them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.scoring.match import Level, Match, Projection, assign_targets, hit_span, project, target_span, touches
from assay.types import Hit, Query, Span, Target


@dataclass(frozen=True, slots=True)
class HitMark:
    """The mark of a hit; without target and adversary it is unjudged, or its target is claimed by another hit."""

    rank: int | None  # among distinct hits, from 1; None for a repetition
    target: int | None = None  # index into the query's targets
    adversary: int | None = None  # index into the query's adversaries


class HitMarker:
    """Marks hits of one query at one level, for rankings of any engine."""

    def __init__(self, query: Query, level: Level) -> None:
        self.query = query
        self.level = level
        self._targets = project(query.targets, level)
        self._numbers = tuple(_number(query, target, level) for target in self._targets.targets)
        self._adversaries = _index_adversaries(query, self._targets)

    def __call__(self, hits: Sequence[Hit]) -> tuple[HitMark, ...]:
        """Mark every hit; targets are assigned one-to-one in rank order."""
        found = assign_targets(hits, self._targets)
        ranked = enumerate(zip(found.positions, found.claims, strict=True), start=1)
        placed = {at: (rank, taken) for rank, (at, taken) in ranked}
        return tuple(self._mark(hit, *placed[at]) if at in placed else HitMark(None) for at, hit in enumerate(hits))

    def judged(self, hits: Sequence[Hit], found: Match) -> Iterator[tuple[int, HitMark]]:
        """Yield the positions and marks of hits that are a target or an adversary, given their match."""
        for rank, (position, taken) in enumerate(zip(found.positions, found.claims, strict=True), start=1):
            if taken is not None or hits[position].path in self._adversaries:
                mark = self._mark(hits[position], rank, taken)
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
        return HitMark(
            rank, adversary=next((at for at, adversary in adversaries if span.common_lines(adversary) > 0), None)
        )


def is_beside(hit: Hit, targets: Sequence[Target]) -> bool:
    """Return whether a hit shares no line with any target, so that it matches at file level only."""
    return not any(hit.span.common_lines(target.span) for target in targets)


def visible_adversaries(query: Query, targets: Projection) -> Projection:
    """Project adversaries to the level of the targets, without those inside a target, which no hit can distinguish."""
    seen = project([adversary.target for adversary in query.adversaries], targets.level)
    return project([adversary for adversary in seen.targets if not _inside(adversary.span, targets)], "lines")


def _number(query: Query, seen: Target, level: Level) -> int:
    return next(
        at
        for at, target in enumerate(query.targets)
        if target_span(target, level) == seen.span and target.grade == seen.grade
    )


def _index_adversaries(query: Query, targets: Projection) -> dict[str, list[tuple[int, Span]]]:
    found: dict[str, list[tuple[int, Span]]] = {}
    for at, adversary in enumerate(query.adversaries):
        span = target_span(adversary.target, targets.level)
        if not _inside(span, targets):
            found.setdefault(span.path, []).append((at, span))
    return found


def _inside(span: Span, targets: Projection) -> bool:
    for index in targets.by_path.get(span.path, ()):
        other = targets.targets[index].span
        if other.start is None or other.end is None:
            return True
        if span.start is not None and span.end is not None and other.start <= span.start and span.end <= other.end:
            return True
    return False


def match_distinct(before: Sequence[Hit], after: Sequence[Hit], level: Level) -> dict[int, int]:
    """Match the distinct hits of two rankings by rank, as in `match_hits`."""
    return match_hits(_distinct(before, level), _distinct(after, level), level)


def match_hits(before: Sequence[Hit], after: Sequence[Hit], level: Level) -> dict[int, int]:
    """Map ranks (from 1) of the second ranking to the rank of the same place in the first, one-to-one.

    Equal spans match first. Then, because chunk boundaries may differ, hits that share a line match, or at file level
    the file; of several the first unmatched one.
    """
    free = dict(enumerate(before, start=1))
    found: dict[int, int] = {}

    def overlap(one: Hit, other: Hit) -> bool:
        return hit_span(one, level).common_lines(hit_span(other, level)) > 0

    for same in (lambda one, other: one.span == other.span, overlap):
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
    return [hits[position] for position in assign_targets(hits, project((), level)).positions]
