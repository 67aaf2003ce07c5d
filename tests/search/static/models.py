"""A model made by hand: a few words whose vectors say which mean the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.search.query import term_hash
from assay.search.static import WEIGHTS
from assay.store.array_file import write_store

#: Words of three meanings; each has the axis of its meaning and a little of its own.
MEANINGS = (("delet", "remov", "unlink", "rm"), ("sock", "net", "connect"), ("pars", "token", "read"))
TRANSLATIONS = {"delet": (("unlink", 1.0), ("rm", 0.5)), "connect": (("sock", 0.8),)}


def write_model(
    folder: Path,
    meanings: Sequence[Sequence[str]] = MEANINGS,
    translations: Mapping[str, Sequence[tuple[str, float]]] = TRANSLATIONS,
) -> Path:
    """Write a model's folder."""
    words = sorted({word for group in meanings for word in group}, key=term_hash)
    vector = np.zeros((len(words), 8), dtype=np.int8)
    for row, word in enumerate(words):
        axis = next(number for number, group in enumerate(meanings) if word in group)
        vector[row, axis], vector[row, 4 + row % 4] = 127, 20
    count = len(words)
    folder.mkdir(parents=True, exist_ok=True)
    sources = sorted(translations, key=term_hash)
    lengths = [len(translations[word]) for word in sources]
    targets = [target for word in sources for target in translations[word]]
    arrays: dict[str, NDArray[Any]] = {
        "term": np.array([term_hash(word) for word in words], dtype=np.uint64),
        "vector": vector,
        "scale": np.full(count, 1 / 127, dtype=np.float32),
        "asked": np.ones(count, dtype=np.float32),
        "said": np.linspace(1, 2, count, dtype=np.float32),
        "source": np.array([term_hash(word) for word in sources], dtype=np.uint64),
        "offset": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "target": np.array([term_hash(word) for word, _ in targets], dtype=np.uint64),
        "strength": np.array([round(255 * strength) for _, strength in targets], dtype=np.uint8),
    }
    write_store(folder / WEIGHTS, {"format": 1, "identity": "by hand"}, arrays)
    return folder
