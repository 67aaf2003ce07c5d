"""Find where lines went by asking each where it stands now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from assay.gold.reanchor.likeness import squeezed
from assay.gold.reanchor.pair import Pair
from assay.gold.reanchor.records import Range
from assay.gold.reanchor.sheets import Part, Sheet
from assay.types import Span


def voted(pair: Pair, old: Range, *, whole: bool) -> Iterator[Span]:
    """Yield the stretch of each changed file with most of a range's lines; a whole part where the range was one."""
    sheet = pair.before(old.path)
    lines = {squeezed(line) for line in sheet.text(old.start, old.end)}
    own = sheet.distinct(old.start, old.end)
    votes: dict[str, dict[int, float]] = defaultdict(dict)
    for line in sorted(lines):
        places = pair.by_line.get(line, ())
        for path, number in places:
            votes[path][number] = 1 / len(places)
    length = int(pair.config.grown * old.length)
    for path, weights in sorted(votes.items()):
        stretch = _best(weights, length)
        after = pair.after(path)
        if len(stretch) < min(2, len(lines)) or own.isdisjoint(squeezed(after.lines[n - 1]) for n in stretch):
            continue  # one line of many is chance, and so are lines that the old file has twice
        part = _holding(after, stretch) if whole else None
        if part is not None and part.length <= length + pair.config.grown_lines:
            yield Span(path, part.start, part.end)
        else:
            yield Span(path, stretch[0], stretch[-1])


def _best(weights: dict[int, float], length: int) -> list[int]:
    """Find the lines within some length of each other that have most votes."""
    numbers = sorted(weights)
    best, most, at, total = [numbers[0]], 0.0, 0, 0.0
    for to, number in enumerate(numbers):
        total += weights[number]
        while number - numbers[at] >= length:
            total -= weights[numbers[at]]
            at += 1
        if total > most + 1e-9:
            best, most = numbers[at : to + 1], total
    return best


def _holding(sheet: Sheet, lines: Sequence[int]) -> Part | None:
    """Find the smallest part that holds most of some lines."""
    held = [part for part in sheet.parts if 2 * sum(part.start <= line <= part.end for line in lines) > len(lines)]
    return min(held, key=lambda part: (part.length, part), default=None)
