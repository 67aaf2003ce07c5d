"""Put a piece of a range on lines of a new file: on its counterpart, or on the lines that stayed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from assay.gold.reanchor.aligning import align
from assay.gold.reanchor.counterparts import Counterpart, in_file, shown, unknown
from assay.gold.reanchor.edges import Edges, fitted
from assay.gold.reanchor.framing import Piece
from assay.gold.reanchor.likeness import squeezed
from assay.gold.reanchor.pair import Pair
from assay.gold.reanchor.sheets import Part, Sheet
from assay.types import Span

#: What a place was found by. Lines: those that stayed, in file order. Scattered: those that turned up somewhere.
#: Words: none of its lines did. Around: the definition it lay in is there, and nothing of it.
Evidence = Literal["name", "new name", "lines", "scattered", "words", "around"]


@dataclass(frozen=True, slots=True)
class Placed:
    """New lines for a piece of a range, and what speaks for them."""

    start: int
    end: int
    by: Evidence
    reason: str


def place(pair: Pair, path: str, piece: Piece, other: str) -> Placed | None:
    """Find the new lines of a piece: those of its counterpart, or those that stayed inside its holder's."""
    if piece.whole is None:
        return _on_lines(pair, path, piece, piece.holder, other)
    mate = in_file(pair, path, piece.whole, other)
    if mate is None:
        return _on_lines(pair, path, piece, pair.before(path).around(piece.whole), other)
    placed = on_part(pair, path, piece, mate)
    if piece.whole.kind != "section":
        return _split_up(pair, path, piece, placed, other)
    closer = _fitted(pair, path, piece, other, aligned(pair, path, piece.whole, mate))
    if closer is None or not _is_closer(pair, Span(path, piece.start, piece.end), other, placed, closer):
        return placed
    return replace(closer, by=placed.by, reason=f"{placed.reason}, its part that stayed")


def around(pair: Pair, path: str, piece: Piece, other: str) -> Placed | None:
    """Find what a piece lay in, for want of the piece."""
    mate = in_file(pair, path, piece.holder, other) if piece.holder is not None else None
    return Placed(mate.part.start, mate.part.end, "around", "what it lay in") if mate is not None else None


def on_part(pair: Pair, path: str, piece: Piece, mate: Counterpart) -> Placed:
    """Place a piece that is a whole part on its counterpart; comments above that it left out stay out."""
    assert piece.whole is not None
    start = mate.part.start
    if piece.start > piece.whole.start:
        start = _past_comments(pair.after(mate.path), mate.part)
        start = min(start, aligned(pair, path, piece.whole, mate).get(piece.start, start))
    return Placed(start, mate.part.end, "name" if mate.named else "new name", mate.reason)


def aligned(pair: Pair, path: str, part: Part, mate: Counterpart) -> dict[int, int]:
    """Pair the lines of a part with those of its counterpart."""
    old = [squeezed(line) for line in pair.before(path).text(part.start, part.end)]
    new = [squeezed(line) for line in pair.after(mate.path).text(mate.part.start, mate.part.end)]
    return {part.start + a: mate.part.start + b for a, b in align(old, new, pair.config.compared)}


def _on_lines(pair: Pair, path: str, piece: Piece, holder: Part | None, other: str) -> Placed | None:
    """Place a piece by its lines that stayed, inside the counterpart of what holds it if there is one."""
    mate = in_file(pair, path, holder, other) if holder is not None else None
    if holder is None or mate is None:
        return _fitted(pair, path, piece, other, pair.line_map(path, other))
    found = _fitted(pair, path, piece, other, aligned(pair, path, holder, mate))
    return replace(found, reason=f"lines that stayed in {shown(mate.part)}") if found else None


def _fitted(pair: Pair, path: str, piece: Piece, other: str, stayed: dict[int, int]) -> Placed | None:
    """Place a piece on lines that stayed."""
    found = fitted(Edges(pair.before(path), pair.after(other), stayed), piece.start, piece.end, pair.config)
    return Placed(found.start, found.end, "lines", "lines that stayed") if found else None


def _is_closer(pair: Pair, old: Span, other: str, part: Placed, lines: Placed) -> bool:
    """Tell whether the lines that stayed are more of the old text than the whole definition is."""
    whole, some = Span(other, part.start, part.end), Span(other, lines.start, lines.end)
    nearer = pair.alike(old, some) >= pair.alike(old, whole) + pair.config.closer
    return nearer and pair.kept(old, some) >= pair.config.held * pair.kept(old, whole)


def _split_up(pair: Pair, path: str, piece: Piece, placed: Placed, other: str) -> Placed:
    """Take in the new parts beside a place that hold more of the old text: a body that was split up."""
    old = Span(path, piece.start, piece.end)
    free = unknown(pair.before(path), pair.after(other))
    grown = placed
    while wider := [one for new in free if (one := _with(pair, old, grown, new, other)) is not None]:
        grown = max(wider, key=lambda one: (pair.kept(old, Span(other, one.start, one.end)), -one.start))
    return grown


def _with(pair: Pair, old: Span, placed: Placed, new: Part, other: str) -> Placed | None:
    """Widen a place by a part that lies directly beside it, if it adds enough."""
    sheet = pair.after(other)
    below = new.start > placed.end and sheet.is_filler(placed.end + 1, new.start - 1)
    above = new.end < placed.start and sheet.is_filler(new.end + 1, placed.start - 1)
    if not (below or above):
        return None
    wider = replace(placed, start=min(placed.start, new.start), end=max(placed.end, new.end))
    gain = pair.kept(old, Span(other, wider.start, wider.end)) - pair.kept(old, Span(other, placed.start, placed.end))
    return replace(wider, reason="same name, split up") if gain >= pair.config.split_off else None


def _past_comments(sheet: Sheet, part: Part) -> int:
    """Give the first line of a part that is no comment."""
    return next((line for line in range(part.start, part.end) if not sheet.is_filler(line, line)), part.start)
