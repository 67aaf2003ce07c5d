"""A static model as it lies in its folder: memory-mapped, opened once a process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from assay.errors import ConfigError
from assay.search.store.format import Stored, StoreProblem, read_store
from assay.search.words import term_hash

Hashes = NDArray[np.uint64]
Rows = NDArray[np.int64]
Matrix = NDArray[np.float32]

WEIGHTS: Final = "weights.assay"
VOCABULARY: Final = "vocabulary.txt"
#: Raised when the meaning of the arrays changes.
FORMAT: Final = 1
_ARRAYS: Final = ("term", "vector", "scale", "asked", "said", "source", "offset", "target", "strength")


@dataclass(frozen=True, slots=True)
class StaticModel:
    """Vectors and weights of terms, by rising hash, and a table of what terms of queries are called in code."""

    identity: str
    term: Hashes
    vector: NDArray[np.int8]
    scale: Matrix
    asked: Matrix  # how much a term counts in a query
    said: Matrix  # how much it counts in code
    source: Hashes  # terms of queries
    offset: Rows  # where the targets of each begin
    target: Hashes  # terms of code, the strongest first
    strength: NDArray[np.uint8]  # 255 for one that always means the same

    @property
    def dimension(self) -> int:
        """Numbers of one vector."""
        return int(self.vector.shape[1])

    def rows(self, hashes: Hashes) -> Rows:
        """Find the rows of terms; -1 for those that the model does not know."""
        at = np.minimum(self.term.searchsorted(hashes), len(self.term) - 1)
        return np.where(self.term[at] == hashes, at, -1)

    def vectors(self, rows: Rows) -> Matrix:
        """Give the vectors of known terms as numbers."""
        return np.asarray(self.vector[rows] * self.scale[rows][:, None], dtype=np.float32)


def read_words(folder: str | Path | None = None) -> dict[int, str]:
    """Give the words of a model by their hashes, for people to read; a model without the list has none."""
    place = Path(folder).expanduser() if folder else resources.files("assay.data").joinpath("model")
    listed = place.joinpath(VOCABULARY)
    words = listed.read_text(encoding="utf-8").splitlines() if listed.is_file() else []
    return {term_hash(word): word for word in words}


def open_static(folder: str | Path | None = None) -> StaticModel:
    """Open a model's folder; without one, the model that ships with Assay."""
    return _opened(str(Path(folder).expanduser().resolve()) if folder else "")


@lru_cache(maxsize=4)  # the shipped one and those that are being compared
def _opened(folder: str) -> StaticModel:
    """Read a model, once."""
    if folder:
        return _read(Path(folder) / WEIGHTS)
    with resources.as_file(resources.files("assay.data").joinpath("model", WEIGHTS)) as shipped:
        return _read(shipped)


def _read(path: Path) -> StaticModel:
    """Read a model's arrays; whatever is wrong with them is said now and not in the middle of an index."""
    hint = "name the folder that `assay train` wrote; if it is Assay's own, install Assay again"
    try:
        stored = read_store(path)
    except StoreProblem as problem:
        sentence = "no model here" if problem.kind == "missing" else f"not a model, or not whole ({problem.kind})"
        raise ConfigError(sentence, file=path, hint=hint) from problem
    if stored.meta.get("format") != FORMAT:
        raise ConfigError(f"a model of format {stored.meta.get('format')!r}", file=path, hint="train it again")
    if missing := [name for name in _ARRAYS if name not in stored.arrays]:
        raise ConfigError(f"the model lacks {', '.join(missing)}", file=path, hint=hint)
    return _checked(stored, path)


def _checked(stored: Stored, path: Path) -> StaticModel:
    """Refuse arrays that do not fit each other."""
    arrays: dict[str, NDArray[Any]] = {name: stored.arrays[name] for name in _ARRAYS}
    model = StaticModel(f"static/{FORMAT} {stored.meta.get('identity')}", **arrays)
    words = len(model.term)
    fits = all(len(each) == words for each in (model.vector, model.scale, model.asked, model.said))
    fits = fits and model.vector.ndim == 2 and words > 0 and len(model.offset) == len(model.source) + 1
    if not fits or len(model.target) != len(model.strength) or int(model.offset[-1]) != len(model.target):
        raise ConfigError("the parts of the model do not fit each other", file=path, hint="train it again")
    return model
