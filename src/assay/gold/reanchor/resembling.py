"""Find the definitions or sections that speak most like a lost one, whatever they are called and wherever they lie."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.gold.reanchor.likeness import count_words
from assay.gold.reanchor.records import Range
from assay.gold.reanchor.sheets import Sheet
from assay.types import Span


@dataclass(frozen=True, slots=True)
class WordIndex:
    """Which parts hold which words, weighted by how rare the word is; vectors have length 1."""

    spans: tuple[Span, ...]
    rarity: Mapping[str, float]
    holders: Mapping[str, list[tuple[int, float]]]

    def nearest(self, sheet: Sheet, old: Range, most: int) -> list[Span]:
        """List the parts whose words are most like a range's, best first (cosine of tf-idf vectors)."""
        scores: dict[int, float] = defaultdict(float)
        for word, weight in _vector(count_words(sheet.text(old.start, old.end)), self.rarity).items():
            for place, held in self.holders.get(word, ()):
                scores[place] += weight * held
        best = sorted(scores, key=lambda place: (-scores[place], self.spans[place]))
        return [self.spans[place] for place in best[:most]]


def index_words(sheets: Iterator[Sheet], most: int) -> WordIndex:
    """Index the parts of some files; of more than `most` the first are taken."""
    found: list[tuple[Span, Counter[str]]] = []
    for sheet in sheets:
        found += [
            (Span(sheet.path, part.start, part.end), count_words(sheet.text(part.start, part.end)))
            for part in sheet.parts
        ]
        if len(found) >= most:
            break
    counts = Counter(word for _, words in found for word in words)
    rarity = {word: math.log(len(found) / count) for word, count in counts.items()}
    holders: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for place, (_, words) in enumerate(found):
        for word, weight in _vector(words, rarity).items():
            holders[word].append((place, weight))
    return WordIndex(tuple(span for span, _ in found), rarity, holders)


def _vector(words: Counter[str], rarity: Mapping[str, float]) -> dict[str, float]:
    """Weigh words by count and rarity, to length 1."""
    raw = {word: (1 + math.log(count)) * rarity[word] for word, count in words.items() if rarity.get(word)}
    norm = math.sqrt(sum(weight * weight for weight in raw.values()))
    return {word: weight / norm for word, weight in raw.items()} if norm else {}
