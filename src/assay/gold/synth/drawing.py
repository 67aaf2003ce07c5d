"""Which of many candidates become queries: drawn by a seed, spread over the files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.gold.synth.config import Draw

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, slots=True, order=True)
class Answer:
    """A further place that answers."""

    path: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, order=True)
class Asked:
    """A query that could be asked: where its answer lies, and its text; a commit may have changed several places."""

    path: str
    start: int
    end: int
    text: str
    others: tuple[Answer, ...] = ()


def draw(candidates: Sequence[Asked], wanted: Draw, rng: np.random.Generator) -> tuple[Asked, ...]:
    """Draw candidates in rounds, one of each file a round, until there are enough; the result is in path order."""
    by_file: dict[str, list[Asked]] = {}
    for candidate in sorted(candidates):
        by_file.setdefault(candidate.path, []).append(candidate)
    queues = [[own[i] for i in rng.permutation(len(own))] for own in by_file.values()]
    order = rng.permutation(len(queues))
    rounds = [queues[i][turn] for turn in range(wanted.max_per_file) for i in order if turn < len(queues[i])]
    return tuple(sorted(rounds[: wanted.count]))
