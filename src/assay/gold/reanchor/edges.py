"""Fit the edges of a range whose lines partly stayed."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher

from assay.gold.reanchor.config import Reanchoring
from assay.gold.reanchor.likeness import squeezed
from assay.gold.reanchor.sheets import Sheet
from assay.syntax.outline import Lines


@dataclass(frozen=True, slots=True)
class Edges:
    """An old and a new file, and the lines that stayed from one to the other."""

    old: Sheet
    new: Sheet
    stayed: dict[int, int]


def fitted(edges: Edges, start: int, end: int, config: Reanchoring) -> Lines | None:
    """Give the new lines of a range; None when no line stayed that stands only there."""
    inside = [line for line in range(start, end + 1) if line in edges.stayed]
    if not any(edges.old.is_distinct(line) for line in inside):
        return None
    inside = _dense(edges, inside, end - start + 1, config)
    first, last = edges.stayed[inside[0]], edges.stayed[inside[-1]]
    new_start = _begin(edges, start, inside[0], first, config)
    new_end = _finish(edges, end, inside[-1], last, config)
    return _tidy(edges, start, end, new_start, new_end)


def _dense(edges: Edges, inside: list[int], length: int, config: Reanchoring) -> list[int]:
    """Keep the lines that stayed near each other: one stray bracket far away would stretch the range."""
    most = int(config.grown * length + config.grown_lines)
    best: list[int] = []
    at = 0
    for to in range(len(inside)):
        while abs(edges.stayed[inside[to]] - edges.stayed[inside[at]]) >= most:
            at += 1
        if to - at + 1 > len(best):
            best = inside[at : to + 1]
    return best


def _begin(edges: Edges, start: int, line: int, image: int, config: Reanchoring) -> int:
    """Find where the new range begins; `line` is its first that stayed, and `image` where that stands now."""
    before = max((old for old in edges.stayed if old < start), default=0)
    floor = edges.stayed.get(before, 0) + 1
    gone = line - start
    if not gone or floor > image:
        return image if not gone else max(1, image - gone)
    if before == start - 1:  # all that was replaced there belongs to the range
        return max(floor, image - int(config.grown * gone) - config.slack)
    like = _most_like(edges, start, range(floor, image), config.like_line)
    return like or max(floor, image - gone)


def _finish(edges: Edges, end: int, line: int, image: int, config: Reanchoring) -> int:
    """Find where the new range ends; `line` is its last that stayed, and `image` where that stands now."""
    total = len(edges.new.lines)
    after = min((old for old in edges.stayed if old > end), default=len(edges.old.lines) + 1)
    ceiling = edges.stayed.get(after, total + 1) - 1
    gone = end - line
    if not gone or ceiling < image:
        return image if not gone else min(total, image + gone)
    if after == end + 1:
        return min(ceiling, image + int(config.grown * gone) + config.slack)
    like = _most_like(edges, end, range(image + 1, ceiling + 1), config.like_line)
    return like or min(ceiling, image + gone)


def _most_like(edges: Edges, line: int, places: range, least: float) -> int | None:
    """Find the new line that is most like an old one, if any is like it."""
    wanted = squeezed(edges.old.lines[line - 1])
    scored = [(SequenceMatcher(None, wanted, squeezed(edges.new.lines[p - 1])).ratio(), -p) for p in places]
    ratio, place = max(scored, default=(0.0, 0))
    return -place if ratio >= least else None


def _tidy(edges: Edges, start: int, end: int, new_start: int, new_end: int) -> Lines:
    """Leave blank lines at the edges out, unless the old range had them."""
    if edges.old.lines[start - 1].strip():
        while new_start < new_end and not edges.new.lines[new_start - 1].strip():
            new_start += 1
    if edges.old.lines[end - 1].strip():
        while new_end > new_start and not edges.new.lines[new_end - 1].strip():
            new_end -= 1
    return Lines(new_start, new_end)
