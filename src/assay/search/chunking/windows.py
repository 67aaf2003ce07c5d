"""Cut a file by size: so many lines, tokens or characters, with overlap; whole lines always."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from assay.search.chunking.unit import Unit
from assay.syntax.tokens import approx4


def cut_lines(lines: int, size: int, overlap: int) -> tuple[Unit, ...]:
    """Lay windows of `size` lines; the last may be shorter, and none lies inside another."""
    starts = range(1, max(lines - overlap, 1) + 1, size - overlap)
    return tuple(Unit(start, min(start + size - 1, lines), "lines") for start in starts)


def cut_weighed(weights: Sequence[int], size: int, overlap: int) -> tuple[Unit, ...]:
    """Lay windows of lines that together weigh at most `size`; one heavier line is a window of its own.

    The next window begins at the first line that leaves at most `overlap` of the last one behind.
    """
    total = [0, *accumulate(weights)]
    units: list[Unit] = []
    start = 0
    while start < len(weights):
        end = max(bisect_left(total, total[start] + size + 1) - 1, start + 1)
        units.append(Unit(start + 1, end, "lines"))
        if end == len(weights):
            break
        start = max(bisect_left(total, total[end] - overlap), start + 1)
    return tuple(units)


def token_weights(lines: Sequence[str]) -> list[int]:
    """Weigh lines in tokens of four bytes."""
    return [approx4(len(line.encode("utf-8", "replace")) + 1) for line in lines]


def character_weights(lines: Sequence[str]) -> list[int]:
    """Weigh lines in characters."""
    return [len(line) + 1 for line in lines]
