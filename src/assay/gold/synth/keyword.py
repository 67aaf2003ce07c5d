"""The rarest words of a documentation sentence: what somebody in a hurry types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from assay.gold.synth.config import SENTENCES
from assay.gold.synth.drawing import Asked
from assay.syntax.identifiers import words
from assay.syntax.prose import content


def keywords(asked: Sequence[Asked], texts: Iterable[str]) -> tuple[Asked, ...]:
    """Keep of each sentence the words that fewest texts hold, in their order; a word that none holds finds nothing."""
    wanted = frozenset(word for one in asked for word in content(one.text))
    frequency = Counter(word for text in texts for word in wanted.intersection(words(text)))
    made = [replace(one, text=" ".join(_rarest(content(one.text), frequency))) for one in asked]
    return tuple(one for one in made if one.text.count(" ") == SENTENCES.keywords - 1)


def _rarest(candidates: Sequence[str], frequency: Counter[str]) -> list[str]:
    """Choose the rarest words that there are; of equally rare ones the first."""
    present = [(frequency[word], place) for place, word in enumerate(candidates) if frequency[word]]
    chosen = sorted(present)[: SENTENCES.keywords]
    return [candidates[place] for place in sorted(place for _, place in chosen)]
