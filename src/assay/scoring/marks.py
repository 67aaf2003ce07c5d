"""What is each hit of one ranking: the answer, a trap, a repetition? As the measures see it, for people to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from assay.scoring.match import Level, Match, Projection, assign_targets, hit_span, project, target_span, touches
from assay.types import Hit, Query, Span, Target


@dataclass(frozen=True, slots=True)
class HitMark:
    """What one hit is; both numbers None: nobody judged it, or another hit has claimed what it touches."""

    rank: int | None  # among distinct hits, from 1; None: it repeats one above
    target: int | None = None  # index into the query's targets of what it claims
    adversary: int | None = None  # index into the query's adversaries


class HitMarker:
    """Marks the hits of rankings of one query at one level; made once for all engines."""

    def __init__(self, query: Query, level: Level) -> None:
        self.query = query
        self.level = level
        self._targets = project(query.targets, level)
        self._numbers = tuple(_number(query, target, level) for target in self._targets.targets)
        self._rivals = _numbered_rivals(query, self._targets)

    def __call__(self, hits: Sequence[Hit]) -> tuple[HitMark, ...]:
        """Mark every hit, claims one-to-one in rank order."""
        found = assign_targets(hits, self._targets)
        ranked = enumerate(zip(found.positions, found.claims, strict=True), start=1)
        placed = {at: (rank, taken) for rank, (at, taken) in ranked}
        return tuple(self._mark(hit, *placed[at]) if at in placed else HitMark(None) for at, hit in enumerate(hits))

    def judged(self, hits: Sequence[Hit], found: Match) -> Iterator[tuple[int, HitMark]]:
        """Give the hits that are an answer or a trap, by their position, where claims were made already."""
        for rank, (position, taken) in enumerate(zip(found.positions, found.claims, strict=True), start=1):
            if taken is not None or hits[position].path in self._rivals:
                mark = self._mark(hits[position], rank, taken)
                if mark.target is not None or mark.adversary is not None:
                    yield position, mark

    def _mark(self, hit: Hit, rank: int, taken: int | None) -> HitMark:
        if taken is not None:
            return HitMark(rank, target=self._numbers[taken])
        rivals = self._rivals.get(hit.path)
        if not rivals:
            return HitMark(rank)
        span = hit_span(hit, self.level)
        if touches(span, self._targets):
            return HitMark(rank)
        return HitMark(rank, adversary=next((at for at, rival in rivals if span.common_lines(rival) > 0), None))


def is_beside(hit: Hit, targets: Sequence[Target]) -> bool:
    """Tell whether a hit shares no line with any target: what it claims at file level it claims by its file alone."""
    return not any(hit.span.common_lines(target.span) for target in targets)


def visible_negatives(query: Query, targets: Projection) -> Projection:
    """See adversaries at the level of the targets, without those wholly inside one: no hit can tell them apart."""
    seen = project([adversary.target for adversary in query.adversaries], targets.level)
    return project([rival for rival in seen.targets if not _inside(rival.span, targets)], "lines")


def _number(query: Query, seen: Target, level: Level) -> int:
    return next(
        at
        for at, target in enumerate(query.targets)
        if target_span(target, level) == seen.span and target.grade == seen.grade
    )


def _numbered_rivals(query: Query, targets: Projection) -> dict[str, list[tuple[int, Span]]]:
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
    return [hits[position] for position in assign_targets(hits, project((), level)).positions]


def _equal(one: Hit, other: Hit) -> bool:
    return one.span == other.span


def _sharing(level: Level) -> Callable[[Hit, Hit], bool]:
    return lambda one, other: hit_span(one, level).common_lines(hit_span(other, level)) > 0
