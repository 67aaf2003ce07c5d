"""The pairs of one repository as arrays: the output of mining and the input of training."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from assay.corpus.languages import LANGUAGES
from assay.files import write_atomic
from assay.store.array_file import Array, IndexFormatError, Strings, pack_strings, read_store, write_store
from assay.training.sampling import TextCodePair

#: Where the text of a pair comes from; `PairShard.kind` is an index into it.
KINDS: Final = ("doc", "name", "commit", "path", "heading")
#: Raised when the meaning of a shard changes; shards of another format are mined again.
FORMAT: Final = 1
_BAGS: Final = ("query", "code", "path")
_COLUMNS: Final = ("kind", "language", "key", "file")


@dataclass(frozen=True, slots=True, eq=False)
class Bags:
    """Rows of term numbers: row i is between offsets i and i + 1, ascending and distinct."""

    offset: NDArray[np.int64]
    term: NDArray[np.int32]
    count: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.offset) - 1


@dataclass(frozen=True, slots=True, eq=False)
class PairShard:
    """The pairs of one repository."""

    repository: str  # owner/name
    words: tuple[str, ...]  # the terms that occur, sorted; term numbers are indexes into it
    kind: NDArray[np.uint8]  # indexes into KINDS
    query: Bags  # what a user might type; each term counts once
    code: Bags  # the terms of the code, counted, without the text that the query was taken from
    path: Bags  # the terms of the file's name and directories; each counts once
    language: NDArray[np.uint8]  # indexes into LANGUAGES
    key: NDArray[np.uint64]  # equal for pairs of equal query and code, across repositories
    file: NDArray[np.int32]  # the number of the file within the repository

    def __len__(self) -> int:
        return len(self.kind)


def pack(repository: str, pairs: Sequence[TextCodePair]) -> PairShard:
    """Number the terms of pairs and store them in columns."""
    words = sorted({term for pair in pairs for side in (pair.query, pair.code, pair.path) for term in side})
    number = {word: i for i, word in enumerate(words)}
    return PairShard(
        repository,
        tuple(words),
        np.array([KINDS.index(pair.kind) for pair in pairs], dtype=np.uint8),
        _pack_bags([dict.fromkeys(pair.query, 1) for pair in pairs], number),
        _pack_bags([pair.code for pair in pairs], number),
        _pack_bags([dict.fromkeys(pair.path, 1) for pair in pairs], number),
        np.array([LANGUAGES.index(pair.language) for pair in pairs], dtype=np.uint8),
        np.array([pair.key for pair in pairs], dtype=np.uint64),
        np.array([pair.file for pair in pairs], dtype=np.int32),
    )


def _pack_bags(rows: Sequence[Mapping[str, int]], number: Mapping[str, int]) -> Bags:
    offset = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=offset[1:])
    term = np.fromiter(map(number.__getitem__, chain.from_iterable(rows)), np.int32, offset[-1])
    count = np.fromiter(chain.from_iterable(row.values() for row in rows), np.float32, offset[-1])
    owner = np.repeat(np.arange(len(rows)), np.diff(offset))
    order = np.lexsort((term, owner))
    return Bags(offset, term[order], count[order])


def write_shard(path: Path, shard: PairShard) -> None:
    """Write a shard atomically; equal shards have equal bytes."""
    blob, offsets = pack_strings(shard.words)
    arrays: dict[str, Array] = {"words.blob": blob, "words.offset": offsets}
    arrays |= {name: getattr(shard, name) for name in _COLUMNS}
    for name in _BAGS:
        bags: Bags = getattr(shard, name)
        arrays |= {f"{name}.offset": bags.offset, f"{name}.term": bags.term, f"{name}.count": bags.count}
    write_store(path, {"shard": FORMAT, "repository": shard.repository}, arrays)


def read_shard(path: Path) -> PairShard:
    """Read a shard by memory map; raise IndexFormatError if the file is no shard."""
    stored = read_store(path)
    if stored.meta.get("shard") != FORMAT:
        raise IndexFormatError("old", "this is no shard of mined pairs that this Assay reads", file=path)
    arrays = stored.arrays
    columns: dict[str, Any] = {name: arrays[name] for name in _COLUMNS}
    columns |= {name: Bags(*(arrays[f"{name}.{part}"] for part in ("offset", "term", "count"))) for name in _BAGS}
    words = tuple(Strings(arrays["words.blob"], arrays["words.offset"]).all())
    return PairShard(cast(str, stored.meta["repository"]), words, **columns)


@dataclass(frozen=True, slots=True)
class RepoReport:
    """Origin and number of the pairs of a repository, and what was dropped; there are none if there is a reason."""

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
        """The first word of the reason."""
        return self.reason.partition(":")[0]

    def to_json(self) -> dict[str, object]:
        """Return the fields by name."""
        return asdict(self)


def write_report(path: Path, report: RepoReport, identity: str) -> None:
    """Write a report with the identity of its shard."""
    write_atomic(path, json.dumps({"identity": identity, **report.to_json()}, indent=1, ensure_ascii=False) + "\n")


def read_report(path: Path, identity: str | None = None) -> RepoReport | None:
    """Return a report; None if it is missing, unreadable or of another identity."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if identity is not None and data["identity"] != identity:
            return None
        return RepoReport(**{each.name: data[each.name] for each in fields(RepoReport)})
    except (OSError, ValueError, KeyError, TypeError):
        return None
