"""The model that an adaptation starts from, in the form that a training changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.errors import ConfigError
from assay.search.dense.matrices import unit_rows
from assay.search.static import StaticModel, open_static
from assay.search.words import term_hash
from assay.training.adapting.config import NewTerms
from assay.training.packing import TERMS
from assay.training.pairs import Pairs
from assay.training.pooling import as_matrix, pool
from assay.training.shards import Shard
from assay.training.sparse import Products
from assay.training.stages import Start
from assay.training.translations import Translations
from assay.training.vectors import Table
from assay.training.vocabulary import Vocabulary, make_vocabulary


@dataclass(frozen=True, slots=True)
class Parent:
    """A model and the words of its rows."""

    model: StaticModel
    terms: tuple[str, ...]

    @property
    def identity(self) -> str:
        """The digest of its arrays, as its folder says it."""
        return self.model.identity.rpartition(" ")[2]


def read_parent(folder: Path | None) -> Parent:
    """Open a model's folder; without one, the model that ships with Assay."""
    model = open_static(folder)
    place = folder if folder else resources.files("assay.data").joinpath("model")
    try:
        text = place.joinpath(TERMS).read_bytes().decode("utf-8", "surrogatepass")
    except (OSError, UnicodeError) as error:
        problem = f"the words of the model cannot be read: {error}"
        raise ConfigError(problem, file=str(place), hint="name the folder that `assay train` wrote") from error
    terms = tuple(text.split("\n")[:-1])
    if [term_hash(term) for term in terms] != model.term.tolist():
        problem = f"{TERMS} does not belong to the model beside it"
        raise ConfigError(problem, file=str(place), hint="copy the whole folder that `assay train` wrote")
    return Parent(model, terms)


def new_terms(parent: Parent, shard: Shard, config: NewTerms) -> tuple[str, ...]:
    """List the words of a code base that the model does not know, those of most pairs first."""
    used = np.concatenate([bags.term for bags in (shard.query, shard.code, shard.path)])
    uses = np.bincount(used, minlength=len(shard.words))
    known = parent.model.rows(np.array([term_hash(word) for word in shard.words], np.uint64)) >= 0
    found = Counter({shard.words[place]: int(uses[place]) for place in np.flatnonzero(~known).tolist()})
    listed = sorted(found, key=lambda word: (-found[word], word))
    return tuple(word for word in listed[: config.most] if found[word] >= config.pairs)


def extend(parent: Parent, terms: Sequence[str]) -> Start:
    """Give new words a row of zeros each, so that the model says what it said before, and the middle weight."""
    model = parent.model
    vocabulary = make_vocabulary((*parent.terms, *terms))
    rows = np.searchsorted(vocabulary.hashes, model.term)
    vectors = np.zeros((len(vocabulary), model.dimension), dtype=np.float32)
    vectors[rows] = model.vectors(np.arange(len(model.term)))
    return Start(vocabulary, Table(vectors, _logs(model.asked, rows, vocabulary), _logs(model.said, rows, vocabulary)))


def _logs(weight: NDArray[np.float32], rows: NDArray[np.int64], vocabulary: Vocabulary) -> NDArray[np.float32]:
    """Give known words the logarithms of their weights, new ones that of the middle."""
    known = np.log(np.maximum(weight, np.finfo(np.float32).tiny))
    logs = np.full(len(vocabulary), np.median(known), dtype=np.float32)
    logs[rows] = known
    return logs


def place_new(parent: Parent, start: Start, pairs: Pairs, products: Products) -> Table:
    """Put new words where the codes are that they stand in or ask for, as far from nothing as most words are.

    Zeros would do for a word among known ones, but a question of new words alone has no direction then, and no slope:
    it would never be learned from. What all codes have in common is taken off first, for it tells no word from another.
    """
    table, size = start.table, len(start.vocabulary)
    new = np.flatnonzero(parent.model.rows(start.vocabulary.hashes) < 0)
    code = pool(as_matrix(pairs.code, size), table.said, table.vectors, products).unit
    stands = sum(as_matrix(bags, size) for bags in (pairs.query, pairs.code, pairs.path))
    stands.data[:] = 1.0
    found = products.rows(stands.T.tocsr()[new], code - code.mean(axis=0))
    known = np.sqrt(np.einsum("td,td->t", table.vectors, table.vectors))
    vectors = table.vectors.copy()
    vectors[new] = unit_rows(found) * np.median(known[known > 0])
    return Table(vectors, table.asked, table.said)


def translations_of(parent: Parent, vocabulary: Vocabulary) -> Translations:
    """Give the translations of a model in the rows of a larger vocabulary."""
    model = parent.model
    source, target = (np.searchsorted(vocabulary.hashes, one) for one in (model.source, model.target))
    return Translations(source, model.offset, target, model.strength)
