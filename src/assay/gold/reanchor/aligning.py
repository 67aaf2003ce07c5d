"""Which lines of one piece of text became which of another? Patience first, since lines that stand once do not lie."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher


def align(old: Sequence[str], new: Sequence[str], compared: int) -> list[tuple[int, int]]:
    """Pair lines that stayed, in order, as positions from 0; stretches of more than `compared` pairs are left out."""
    return sorted(_align(old, new, 0, 0, compared))


def _align(old: Sequence[str], new: Sequence[str], here: int, there: int, most: int) -> Iterator[tuple[int, int]]:
    """Pair lines that stand once in both, then what lies between two such pairs."""
    fixed = _chain(_unique(old, new))
    if not fixed:
        if len(old) * len(new) > most:
            return
        for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
            yield from ((here + block.a + n, there + block.b + n) for n in range(block.size))
        return
    last_old, last_new = 0, 0
    for a, b in [*fixed, (len(old), len(new))]:
        if a > last_old and b > last_new:
            yield from _align(old[last_old:a], new[last_new:b], here + last_old, there + last_new, most)
        if a < len(old):
            yield here + a, there + b
        last_old, last_new = a + 1, b + 1


def _unique(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Pair the lines that stand once in both, by their place in the old text."""
    once_old = {line for line, count in Counter(old).items() if count == 1}
    once_new = {line for line, count in Counter(new).items() if count == 1}
    place = {line: position for position, line in enumerate(new)}
    return [(at, place[line]) for at, line in enumerate(old) if line in once_old and line in once_new]


def _chain(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Keep the longest run of pairs that are in order on both sides."""
    tails: list[int] = []
    ends: list[int] = []  # position in `pairs` of each tail
    before: list[int] = []
    for position, (_, there) in enumerate(pairs):
        at = bisect_left(tails, there)
        before.append(ends[at - 1] if at else -1)
        tails[at : at + 1] = [there]
        ends[at : at + 1] = [position]
    chain: list[tuple[int, int]] = []
    position = ends[-1] if ends else -1
    while position >= 0:
        chain.append(pairs[position])
        position = before[position]
    return chain[::-1]
