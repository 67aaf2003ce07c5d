"""Match hits to targets one-to-one in rank order (rule 1): a target and a hit count once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from assay.types import Hit, Span, Target

Level = Literal["file", "symbol", "lines"]
LEVELS: tuple[Level, ...] = ("file", "symbol", "lines")

#: Overlap of a hit's and a target's span; 0 is no match.
Overlap = Callable[[Span, Span], float]


@dataclass(frozen=True, slots=True)
class Projection:
    """The targets of one query at one level, in gold order, with an index by path."""

    level: Level
    targets: tuple[Target, ...]
    by_path: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Match:
    """The target that each distinct hit claimed, in rank order."""

    targets: tuple[Target, ...]  # projected to the level, in gold order
    positions: tuple[int, ...]  # of each distinct hit in the returned list, from 0
    claims: tuple[int | None, ...]  # index into `targets` of each distinct hit

    @property
    def distinct(self) -> int:
        """Number of distinct hits."""
        return len(self.positions)

    @property
    def grades(self) -> tuple[int, ...]:
        """Grade at each rank, 0 without a target."""
        return tuple(0 if claim is None else self.targets[claim].grade for claim in self.claims)

    @property
    def ranks(self) -> tuple[int | None, ...]:
        """Rank (from 1) at which each target was claimed."""
        found = {claim: rank for rank, claim in enumerate(self.claims, 1) if claim is not None}
        return tuple(found.get(index) for index in range(len(self.targets)))


def target_span(target: Target, level: Level) -> Span:
    """Return the span of a target at a level."""
    if level == "file":
        return Span(target.span.path)
    return target.unit or target.span if level == "symbol" else target.span


def project(targets: Sequence[Target], level: Level) -> Projection:
    """Project targets to a level; those with the same span become one with the highest grade, in the first position."""
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
    """Return the span of a hit at a level; hits with equal spans are the same."""
    return Span(hit.path) if level == "file" else Span(hit.path, hit.start, hit.end)


def match(hits: Sequence[Hit], targets: Sequence[Target], level: Level) -> Match:
    """Match distinct hits to targets, each at most once."""
    return assign_targets(hits, project(targets, level))


def overlap_of(hit: Span, target: Span) -> float:
    """Return the number of common lines; two whole files overlap without limit."""
    if hit.start is None and target.start is None and hit.path == target.path:
        return math.inf
    return hit.common_lines(target)


def assign_targets(hits: Sequence[Hit], projection: Projection, overlap: Overlap = overlap_of) -> Match:
    """Assign in rank order: the highest grade, then the largest overlap, then gold order, of unclaimed targets."""
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
    for index in candidates:  # in gold order, so the first of equals wins
        common = 0.0 if index in taken else overlap(span, targets[index].span)
        key = (targets[index].grade, common)
        if common > 0 and (best is None or key > best_key):
            best, best_key = index, key
    return best


def touches(span: Span, projection: Projection) -> bool:
    """Return whether a span shares a line with any of the targets, claimed or not."""
    candidates = projection.by_path.get(span.path, ())
    return any(span.common_lines(projection.targets[index].span) > 0 for index in candidates)
