"""Which terms get a row of the model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.files import write_atomic
from assay.search.words import term_hash
from assay.training.config import VocabularyConfig
from assay.training.shards import Shard


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The terms of a model in the order of its rows, which is that of their hashes."""

    terms: tuple[str, ...]
    hashes: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.terms)


def make_vocabulary(terms: Iterable[str]) -> Vocabulary:
    """Put terms into the order of the rows; of two with one hash the first by the alphabet stays."""
    named = {term_hash(term): term for term in sorted(terms, reverse=True)}
    hashes = sorted(named)
    return Vocabulary(tuple(named[one] for one in hashes), np.array(hashes, dtype=np.uint64))


def write_vocabulary(path: Path, vocabulary: Vocabulary) -> None:
    """Write the terms one a line; a term may hold any sign but a newline."""
    write_atomic(path, "".join(f"{term}\n" for term in vocabulary.terms).encode("utf-8", "surrogatepass"))


def read_vocabulary(path: Path) -> Vocabulary:
    """Read what `write_vocabulary` wrote."""
    return make_vocabulary(path.read_bytes().decode("utf-8", "surrogatepass").split("\n")[:-1])


def choose_vocabulary(shards: Iterable[Shard], config: VocabularyConfig) -> Vocabulary:
    """Take the terms that many pairs of many repositories use."""
    numbers, pairs, repositories = _counted(shards)
    terms = sorted(term for term, number in numbers.items() if repositories[number] >= config.repositories)
    if not terms:
        raise InputError(
            f"no term occurs in {config.repositories} repositories",
            hint="train on more repositories, or set vocabulary.repositories = 1 in the recipe",
        )
    places = np.array([numbers[term] for term in terms])
    # Repositories count in full, uses by their logarithm: one project's favourite word is not everybody's.
    score = repositories[places] * np.log1p(pairs[places])
    order = np.argsort(-score, kind="stable")[: config.size]
    return make_vocabulary(terms[place] for place in order.tolist())


def _counted(shards: Iterable[Shard]) -> tuple[dict[str, int], NDArray[np.int64], NDArray[np.int64]]:
    """Number the terms, and count the pairs and the repositories that each occurs in."""
    numbers: dict[str, int] = {}
    used: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for shard in shards:
        own = np.array([numbers.setdefault(word, len(numbers)) for word in shard.words], dtype=np.int64)
        count = sum(np.bincount(bags.term, minlength=len(own)) for bags in (shard.query, shard.code, shard.path))
        used.append((own, np.asarray(count, dtype=np.int64)))
    pairs = np.zeros(len(numbers), dtype=np.int64)
    repositories = np.zeros(len(numbers), dtype=np.int64)
    for own, count in used:
        pairs[own] += count
        repositories[own] += count > 0
    return numbers, pairs, repositories
