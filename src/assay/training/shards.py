"""The pairs of one repository, as numbers: what mining writes and training reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from assay.corpus.walking.languages import LANGUAGES
from assay.search.store.format import Array, StoreProblem, read_store, write_store
from assay.search.store.strings import Strings, pack_strings

#: Where the text of a pair comes from; `Shard.kind` is a place in it.
KINDS: Final = ("doc", "name", "commit", "path", "heading")
#: Raised when the meaning of a shard changes; one of another format is mined anew.
FORMAT: Final = 1
_BAGS: Final = ("query", "code", "path")

__all__ = ["FORMAT", "KINDS", "LANGUAGES", "Bags", "Shard", "read_shard", "write_shard"]


@dataclass(frozen=True, slots=True, eq=False)
class Bags:
    """Rows of terms: the numbers of row i lie between offsets i and i + 1, rising, each once."""

    offset: NDArray[np.int64]
    term: NDArray[np.int32]
    count: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.offset) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Shard:
    """The pairs of one repository."""

    repository: str  # owner/name
    words: tuple[str, ...]  # the terms that occur, sorted; numbers of terms are places in it
    kind: NDArray[np.uint8]  # places in KINDS
    query: Bags  # what a searcher might type; each term counts once
    code: Bags  # the terms of the code, counted; what the query was taken from is not among them
    path: Bags  # the terms of the file's name and folders; each counts once
    language: NDArray[np.uint8]  # places in LANGUAGES
    key: NDArray[np.uint64]  # equal for pairs of equal query and code, in other repositories too
    file: NDArray[np.int32]  # the number of the file within the repository

    def __len__(self) -> int:
        return len(self.kind)


def write_shard(path: Path, shard: Shard) -> None:
    """Replace a file by a shard, whole or not at all; equal shards give equal bytes."""
    blob, offsets = pack_strings(shard.words)
    arrays: dict[str, Array] = {
        "words.blob": blob,
        "words.offset": offsets,
        "kind": shard.kind,
        "language": shard.language,
        "key": shard.key,
        "file": shard.file,
    }
    for name in _BAGS:
        bags: Bags = getattr(shard, name)
        arrays |= {f"{name}.offset": bags.offset, f"{name}.term": bags.term, f"{name}.count": bags.count}
    write_store(path, {"shard": FORMAT, "repository": shard.repository}, arrays)


def read_shard(path: Path) -> Shard:
    """Read a shard by memory map; what is none is a StoreProblem."""
    stored = read_store(path)
    if stored.meta.get("shard") != FORMAT:
        raise StoreProblem("old", "this is no shard of mined pairs that this Assay reads", file=path)
    arrays = stored.arrays
    words = Strings(arrays["words.blob"], arrays["words.offset"]).all()
    return Shard(
        cast(str, stored.meta["repository"]),
        tuple(words),
        arrays["kind"],
        _bags(arrays, "query"),
        _bags(arrays, "code"),
        _bags(arrays, "path"),
        arrays["language"],
        arrays["key"],
        arrays["file"],
    )


def _bags(arrays: Mapping[str, Array], name: str) -> Bags:
    """Take the columns of one side of the pairs."""
    return Bags(arrays[f"{name}.offset"], arrays[f"{name}.term"], arrays[f"{name}.count"])
