"""Which hit found which target? Rule 1: one-to-one, in rank order; no target pays twice, no hit is paid for two."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from assay.types import Hit, Span, Target

Level = Literal["file", "symbol", "lines"]

#: How much of a hit's span and a target's span agree; 0 is no match.
Overlap = Callable[[Span, Span], float]


@dataclass(frozen=True, slots=True)
class Projection:
    """The targets of one query seen at one level, in gold order, and where each file's are."""

    level: Level
    targets: tuple[Target, ...]
    by_path: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Match:
    """What each distinct hit claimed, in rank order."""

    targets: tuple[Target, ...]  # projected to the level, in gold order
    positions: tuple[int, ...]  # of each distinct hit in the list as it was returned, from 0
    claims: tuple[int | None, ...]  # index into `targets` of what each distinct hit claimed

    @property
    def distinct(self) -> int:
        """How many different results there were."""
        return len(self.positions)

    @property
    def grades(self) -> tuple[int, ...]:
        """The grade at each rank, 0 where nothing was claimed."""
        return tuple(0 if claim is None else self.targets[claim].grade for claim in self.claims)

    @property
    def ranks(self) -> tuple[int | None, ...]:
        """The rank, from 1, at which each target was claimed."""
        found = {claim: rank for rank, claim in enumerate(self.claims, 1) if claim is not None}
        return tuple(found.get(index) for index in range(len(self.targets)))


def _file(target: Target) -> Span:
    return Span(target.span.path)


def _symbol(target: Target) -> Span:
    return target.unit or target.span


def _lines(target: Target) -> Span:
    return target.span


_SPAN_AT: Mapping[Level, Callable[[Target], Span]] = {"file": _file, "symbol": _symbol, "lines": _lines}
LEVELS: tuple[Level, ...] = tuple(_SPAN_AT)


def target_span(target: Target, level: Level) -> Span:
    """See a target at a level."""
    return _SPAN_AT[level](target)


def project(targets: Sequence[Target], level: Level) -> Projection:
    """See targets at a level; those that become one span are one, with the highest grade, at the first one's place."""
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
    """Where a hit points at a level: what makes two hits the same."""
    return Span(hit.path) if level == "file" else Span(hit.path, hit.start, hit.end)


def match(hits: Sequence[Hit], targets: Sequence[Target], level: Level) -> Match:
    """Remove repeated hits, then let each hit claim at most one target and each target be claimed at most once."""
    return assign_targets(hits, project(targets, level))


def overlap_of(hit: Span, target: Span) -> float:
    """Measure an overlap to choose by: two whole files share everything, however long they are."""
    if hit.start is None and target.start is None and hit.path == target.path:
        return math.inf
    return hit.common_lines(target)


def assign_targets(hits: Sequence[Hit], projection: Projection, overlap: Overlap = overlap_of) -> Match:
    """Claim in rank order: the highest grade, then the largest overlap, then gold order, among what is left."""
    level, by_path, targets = projection.level, projection.by_path, projection.targets
    if level == "file" and overlap is overlap_of:
        return _claim_files(hits, projection)
    seen: set[object] = set()
    taken: set[int] = set()
    positions: list[int] = []
    claims: list[int | None] = []
    for position, hit in enumerate(hits):
        key = hit.path if level == "file" else (hit.path, hit.start, hit.end)
        if key in seen:
            continue
        seen.add(key)
        positions.append(position)
        candidates = by_path.get(hit.path)
        best = _best(hit_span(hit, level), candidates, targets, taken, overlap) if candidates else None
        claims.append(best)
        if best is not None:
            taken.add(best)
    return Match(targets, tuple(positions), tuple(claims))


def _claim_files(hits: Sequence[Hit], projection: Projection) -> Match:
    first: dict[str, int] = {}
    for position, hit in enumerate(hits):
        first.setdefault(hit.path, position)
    found = projection.by_path
    claims = tuple([found[path][0] if path in found else None for path in first])
    return Match(projection.targets, tuple(first.values()), claims)


def _best(
    span: Span, candidates: tuple[int, ...], targets: tuple[Target, ...], taken: set[int], overlap: Overlap
) -> int | None:
    best: int | None = None
    best_key = (0, 0.0)
    for index in candidates:  # in gold order, so the first of equals stays
        common = 0.0 if index in taken else overlap(span, targets[index].span)
        key = (targets[index].grade, common)
        if common > 0 and (best is None or key > best_key):
            best, best_key = index, key
    return best


def touches(span: Span, projection: Projection) -> bool:
    """Tell whether a hit shares a line with any of the targets, claimed or not."""
    candidates = projection.by_path.get(span.path, ())
    return any(span.common_lines(projection.targets[index].span) > 0 for index in candidates)
