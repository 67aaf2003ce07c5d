"""How does a range lie in its file? It is a whole definition or section, lies inside one, or is made of pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.gold.reanchor.sheets import Part, Sheet


@dataclass(frozen=True, slots=True)
class Piece:
    """Some lines of a range: a whole part, lines inside the part `holder`, or lines in none."""

    start: int
    end: int
    whole: Part | None
    holder: Part | None


def frame(sheet: Sheet, start: int, end: int, slack: int) -> tuple[Piece, ...]:
    """Take a range apart: one piece where it is a part or holds none, else one for each part in it, and the rest."""
    whole = _whole(sheet, sheet.parts, start, end, slack)
    if whole is not None:
        return (Piece(start, end, whole, None),)
    holder = holder_of(sheet.parts, start, end)
    tops = [part for part in _tops(sheet.parts, holder) if part.start <= end and start <= part.end]
    pieces = list(_pieces(sheet, tops, start, end, slack, holder))
    if not any(piece.whole for piece in pieces) and holder is not None:
        return (Piece(start, end, None, holder),)
    return tuple(pieces)


def _pieces(
    sheet: Sheet, tops: Sequence[Part], start: int, end: int, slack: int, holder: Part | None
) -> Iterator[Piece]:
    """Yield the pieces of a range in file order; lines between parts that say nothing are no piece."""
    line = start
    for part in tops:
        if part.start > line and not sheet.is_filler(line, part.start - 1):
            yield Piece(line, part.start - 1, None, holder)
        first, last = max(line, part.start), min(end, part.end)
        if first <= last:
            whole = part if _is(sheet, part, first, last, slack) else None
            yield Piece(first, last, whole, None if whole else part)
        line = max(line, part.end + 1)
    if line <= end and (line == start or not sheet.is_filler(line, end)):
        yield Piece(line, end, None, holder)


def _whole(sheet: Sheet, parts: Sequence[Part], start: int, end: int, slack: int) -> Part | None:
    """Find the largest part that a range is, comments and brackets at its edges aside."""
    found = [part for part in parts if _is(sheet, part, start, end, slack)]
    return max(found, key=lambda part: (part.length, part), default=None)


def _is(sheet: Sheet, part: Part, start: int, end: int, slack: int) -> bool:
    """Tell whether a range is a part."""
    return _begins(sheet, part, start, slack) and _ends(sheet, part, end, slack)


def holder_of(parts: Sequence[Part], start: int, end: int) -> Part | None:
    """Find the innermost part that holds a range."""
    holders = [part for part in parts if part.start <= start and end <= part.end]
    return min(holders, key=lambda part: (part.length, part), default=None)


def _tops(parts: Sequence[Part], holder: Part | None) -> list[Part]:
    """List the parts directly inside a part, or those in none."""
    inside = [p for p in parts if p != holder and (holder is None or holder.start <= p.start <= p.end <= holder.end)]
    tops: list[Part] = []
    for part in sorted(inside, key=lambda part: (part.start, -part.end, part.name)):
        if not tops or part.start > tops[-1].end:
            tops.append(part)
    return tops


def _begins(sheet: Sheet, part: Part, start: int, slack: int) -> bool:
    """Tell whether a range that begins here begins with the part."""
    if start <= part.start:
        return part.start - start <= slack and sheet.is_filler(start, part.start - 1)
    return start <= part.end and sheet.is_filler(part.start, start - 1)


def _ends(sheet: Sheet, part: Part, end: int, slack: int) -> bool:
    """Tell whether a range that ends here ends with the part."""
    if end >= part.end:
        return end - part.end <= slack and sheet.is_filler(part.end + 1, end)
    return part.end - end <= slack and end >= part.start and sheet.is_filler(end + 1, part.end)
