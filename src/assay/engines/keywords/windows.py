"""Where the words of a query stand closest together in a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from assay.syntax.lines import count_lines


@dataclass(frozen=True, slots=True)
class Window:
    """Lines of a file, 1-based and inclusive."""

    start: int
    end: int


def densest_window(text: str, words: Sequence[str], size: int) -> Window:
    """Find the `size` lines with the most distinct words, then the most occurrences, then the first such."""
    found = sorted(_occurrences(text, words))
    last = max(1, count_lines(text))  # an empty file is shown as its first line
    best, best_line = (0, 0), 1
    inside: Counter[int] = Counter()
    right = 0
    for left, (line, word) in enumerate(found):
        while right < len(found) and found[right][0] < line + size:
            inside[found[right][1]] += 1
            right += 1
        richness = (len(inside), right - left)
        if richness > best:
            best, best_line = richness, line
        inside[word] -= 1
        if not inside[word]:
            del inside[word]
    return Window(best_line, min(best_line + size - 1, last))


def _occurrences(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """List the line and the number of every word, word by word."""
    found = []
    for number, word in enumerate(words):
        line, seen, at = 1, 0, text.find(word)
        while at >= 0:
            line, seen = line + text.count("\n", seen, at), at
            found.append((line, number))
            at = text.find(word, at + len(word))
    return found
