"""Where may a range have gone? All places that something speaks for, best first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.gold.reanchor.counterparts import elsewhere
from assay.gold.reanchor.framing import Piece, frame, holder_of
from assay.gold.reanchor.likeness import squeezed
from assay.gold.reanchor.pair import Pair
from assay.gold.reanchor.placing import Evidence, Placed, around, on_part, place
from assay.gold.reanchor.records import Range
from assay.gold.reanchor.voting import voted
from assay.types import Span


@dataclass(frozen=True, slots=True)
class Found:
    """A place that a range may have gone to, and what speaks for it."""

    span: Span
    likeness: float
    kept: float  # share of the old text that is there
    by: Evidence
    exact: bool
    reason: str


def find(pair: Pair, old: Range) -> list[Found]:
    """List where a range may have gone, best first."""
    pieces = frame(pair.before(old.path), old.start, old.end, pair.config.slack)
    here = [found for other in pair.successors(old.path) for found in _in_file(pair, old, pieces, other)]
    if not any(found.exact or found.likeness >= pair.config.sure for found in here):
        here += _away(pair, old, pieces)
    ordered = sorted(here, key=lambda found: _order(found, old, pair.config.better))
    best: dict[Span, Found] = {}
    for found in ordered:
        best.setdefault(found.span, found)
    return list(best.values())


def _order(found: Found, old: Range, better: float) -> tuple[bool, float, bool, Span]:
    """Order what was found: exact ones, then the most alike; more than chance is worth some likeness."""
    worth = found.likeness + better * (found.by in ("name", "new name", "lines"))
    return (not found.exact, -worth, found.span.path != old.path, found.span)


def _in_file(pair: Pair, old: Range, pieces: Sequence[Piece], other: str) -> Iterator[Found]:
    """Look in one file that follows the old one."""
    stayed = pair.line_map(old.path, other)
    first, last = stayed.get(old.start), stayed.get(old.end)
    if (
        first is not None
        and last is not None
        and _is_block(stayed, old)
        and _is_own(pair, old, Span(other, first, last))
    ):
        yield _compared(pair, old, Span(other, first, last), "lines", "its lines stayed")
        return
    yield from _identical(pair, old, other)
    placed = [(piece, new) for piece in pieces if (new := place(pair, old.path, piece, other)) is not None]
    if not placed:
        placed = [(piece, new) for piece in pieces if (new := around(pair, old.path, piece, other)) is not None]
    if placed:
        yield _joined(pair, old, placed, other)


def _is_block(stayed: dict[int, int], old: Range) -> bool:
    """Tell whether all lines of a range stayed, one below the other."""
    return all(stayed.get(line + 1, -1) == stayed.get(line, -2) + 1 for line in range(old.start, old.end))


def _is_own(pair: Pair, old: Range, new: Span) -> bool:
    """Tell whether lines that stayed are the range's own: what is said twice must be in the same definition still."""
    before, after = pair.before(old.path), pair.after(new.path)
    if before.distinct(old.start, old.end):
        return True
    around = (holder_of(before.parts, old.start, old.end), holder_of(after.parts, new.start or 1, new.end or 1))
    here, there = (part.plain if part else None for part in around)
    return here == there


def _identical(pair: Pair, old: Range, other: str) -> Iterator[Found]:
    """Find the one other place of a file that says the same, word for word."""
    wanted = [line.rstrip() for line in pair.before(old.path).text(old.start, old.end)]
    if sum(len(squeezed(line)) for line in wanted) < pair.config.distinctive:
        return
    lines = [line.rstrip() for line in pair.after(other).lines]
    starts = [at for at, line in enumerate(lines) if line == wanted[0] and lines[at : at + len(wanted)] == wanted]
    if len(starts) == 1:
        yield _compared(pair, old, Span(other, starts[0] + 1, starts[0] + len(wanted)), "lines", "the same text")


def _joined(pair: Pair, old: Range, placed: Sequence[tuple[Piece, Placed]], other: str) -> Found:
    """Put the pieces of a range together again; of pieces that were torn apart, those that held most of it."""
    groups: list[list[tuple[Piece, Placed]]] = []
    for piece, new in sorted(placed, key=lambda one: (one[1].start, one[1].end)):
        if groups and new.start - max(p.end for _, p in groups[-1]) <= pair.config.grown_lines:
            groups[-1].append((piece, new))
        else:
            groups.append([(piece, new)])
    best = max(groups, key=lambda group: sum(piece.end - piece.start + 1 for piece, _ in group))
    span = Span(other, min(p.start for _, p in best), max(p.end for _, p in best))
    main = max(best, key=lambda one: one[0].end - one[0].start)[1]
    return _compared(pair, old, span, main.by, main.reason)


def _away(pair: Pair, old: Range, pieces: Sequence[Piece]) -> Iterator[Found]:
    """Look in all changed files: by name where the range is a definition, and by its lines."""
    whole = pieces[0].whole if len(pieces) == 1 else None
    mate = elsewhere(pair, old.path, whole) if whole is not None else None
    if mate is not None:
        new = on_part(pair, old.path, pieces[0], mate)
        yield _compared(pair, old, Span(mate.path, new.start, new.end), new.by, new.reason)
    for span in voted(pair, old, whole=whole is not None):
        yield _compared(pair, old, span, "scattered", "some of its lines stand there")
    for span in pair.by_words.nearest(pair.before(old.path), old, pair.config.listed) if whole is not None else ():
        yield _compared(pair, old, span, "words", "it speaks most like it")


def _compared(pair: Pair, old: Range, new: Span, by: Evidence, reason: str) -> Found:
    """Compare a range with where it may have gone."""
    before = [line.rstrip() for line in pair.before(old.path).text(old.start, old.end)]
    after = [line.rstrip() for line in pair.after(new.path).text(new.start or 1, new.end or 1)]
    return Found(new, pair.alike(old.span, new), pair.kept(old.span, new), by, before == after, reason)
