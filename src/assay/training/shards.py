"""The pairs of one repository, as numbers: what mining writes and training reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from assay.corpus.languages import LANGUAGES
from assay.files import write_atomic
from assay.store.array_file import Array, IndexFormatError, Strings, pack_strings, read_store, write_store
from assay.training.sampling import TextCodePair

#: Where the text of a pair comes from; `Shard.kind` is a place in it.
KINDS: Final = ("doc", "name", "commit", "path", "heading")
#: Raised when the meaning of a shard changes; one of another format is mined anew.
FORMAT: Final = 1
_BAGS: Final = ("query", "code", "path")

__all__ = ["FORMAT", "KINDS", "LANGUAGES", "Bags", "PairShard", "read_shard", "write_shard"]


@dataclass(frozen=True, slots=True, eq=False)
class Bags:
    """Rows of terms: the numbers of row i lie between offsets i and i + 1, rising, each once."""

    offset: NDArray[np.int64]
    term: NDArray[np.int32]
    count: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.offset) - 1


@dataclass(frozen=True, slots=True, eq=False)
class PairShard:
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


def write_shard(path: Path, shard: PairShard) -> None:
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


def read_shard(path: Path) -> PairShard:
    """Read a shard by memory map; what is none is a StoreProblem."""
    stored = read_store(path)
    if stored.meta.get("shard") != FORMAT:
        raise IndexFormatError("old", "this is no shard of mined pairs that this Assay reads", file=path)
    arrays = stored.arrays
    words = Strings(arrays["words.blob"], arrays["words.offset"]).all()
    return PairShard(
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
    return Bags(arrays[f"{name}.offset"], arrays[f"{name}.term"], arrays[f"{name}.count"])


def pack(repository: str, pairs: Sequence[TextCodePair]) -> PairShard:
    """Number the terms of pairs and put them into columns."""
    words = sorted({term for pair in pairs for side in (pair.query, pair.code, pair.path) for term in side})
    number = {word: i for i, word in enumerate(words)}
    return PairShard(
        repository,
        tuple(words),
        np.array([KINDS.index(pair.kind) for pair in pairs], dtype=np.uint8),
        _bags_packing([dict.fromkeys(pair.query, 1) for pair in pairs], number),
        _bags_packing([pair.code for pair in pairs], number),
        _bags_packing([dict.fromkeys(pair.path, 1) for pair in pairs], number),
        np.array([LANGUAGES.index(pair.language) for pair in pairs], dtype=np.uint8),
        np.array([pair.key for pair in pairs], dtype=np.uint64),
        np.array([pair.file for pair in pairs], dtype=np.int32),
    )


def _bags_packing(rows: Sequence[Mapping[str, int]], number: Mapping[str, int]) -> Bags:
    offset = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offset[1:])
    term = np.fromiter(map(number.__getitem__, chain.from_iterable(rows)), np.int32, offset[-1])
    count = np.fromiter(chain.from_iterable(row.values() for row in rows), np.float32, offset[-1])
    owner = np.repeat(np.arange(len(rows)), np.diff(offset))
    order = np.lexsort((term, owner))
    return Bags(offset, term[order], count[order])


@dataclass(frozen=True, slots=True)
class RepoReport:
    """Where pairs are from, how many there are, and what was left out and why; with a reason there are none."""

    repository: str
    url: str
    commit: str
    licence: str = ""
    pairs: Mapping[str, int] = field(default_factory=dict)
    languages: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    files: int = 0
    reason: str = ""  # why the repository is left out: `excluded: ...`, `licence: ...`, `failed: ...`

    @property
    def left_out(self) -> str:
        """Why the repository is left out, in a word."""
        return self.reason.partition(":")[0]

    def to_json(self) -> dict[str, object]:
        """Give the facts by name."""
        return asdict(self)


def write_report(path: Path, report: RepoReport, identity: str) -> None:
    """Write a report; `identity` is of all that decided what is in the shard."""
    write_atomic(path, json.dumps({"identity": identity, **report.to_json()}, indent=1, ensure_ascii=False) + "\n")


def read_report(path: Path, identity: str | None = None) -> RepoReport | None:
    """Read a report; None when there is none that can be read, or none of that identity."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if identity is not None and data["identity"] != identity:
            return None
        return RepoReport(**{each.name: data[each.name] for each in fields(RepoReport)})
    except (OSError, ValueError, KeyError, TypeError):
        return None
