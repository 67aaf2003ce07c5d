"""All pairs of all repositories in the terms of one vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.search.store.format import read_store, write_store
from assay.training.bags import join_bags, keep_entries, row_keys, shared_entries, take_rows
from assay.training.config import HeldOutConfig
from assay.training.shards import KINDS, Bags, Shard
from assay.training.vocabulary import Vocabulary

#: How a count weighs in code: the search reads a model so (`search/static`), so training must.
TF_POWER: Final = 0.5
_PATH: Final = KINDS.index("path")
_BAGS: Final = ("query", "code", "path")
#: Repositories below which files are held out: there would be nothing left to learn from.
_FEW: Final = 3


@dataclass(frozen=True, slots=True)
class Pairs:
    """What is trained on, by repository; `shared` marks the terms that stand in the pair's query too."""

    repositories: tuple[str, ...]
    query: Bags
    code: Bags  # the weight of a term in place of its count
    path: Bags
    code_shared: NDArray[np.bool_]
    path_shared: NDArray[np.bool_]
    kind: NDArray[np.uint8]
    repository: NDArray[np.int32]
    file: NDArray[np.int32]
    query_key: NDArray[np.uint64]
    code_key: NDArray[np.uint64]
    held_out: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, slots=True)
class _Part:
    """The pairs of one repository in the terms of the vocabulary."""

    query: Bags
    code: Bags
    path: Bags
    kind: NDArray[np.uint8]
    file: NDArray[np.int32]


def encode(shards: Iterable[Shard], vocabulary: Vocabulary, config: HeldOutConfig) -> Pairs:
    """Put shards together; of equal pairs the first stays, one without a known query or code term goes."""
    rows = {term: row for row, term in enumerate(vocabulary.terms)}
    seen: set[int] = set()
    names: list[str] = []
    parts: list[_Part] = []
    for shard in sorted(shards, key=lambda shard: shard.repository):
        part = _encoded(shard, rows, seen)
        if len(part.kind):
            names.append(shard.repository)
            parts.append(part)
    if not parts:
        raise InputError("there is nothing to train on", hint="name a folder of repositories with documented code")
    return _together(names, parts, len(vocabulary), config)


def _encoded(shard: Shard, rows: dict[str, int], seen: set[int]) -> _Part:
    """Write a shard in the rows of the model; `seen` collects the keys of the pairs that stay."""
    row = np.array([rows.get(word, -1) for word in shard.words], dtype=np.int32)
    query, code, path = (_known(bags, row) for bags in (shard.query, shard.code, shard.path))
    fit = (np.diff(query.offset) > 0) & (np.diff(code.offset) > 0)
    new = np.zeros(len(fit), dtype=np.bool_)
    for place in np.flatnonzero(fit).tolist():
        key = int(shard.key[place])
        new[place] = key not in seen
        seen.add(key)
    kept = np.flatnonzero(new)
    weight = code.count**TF_POWER
    return _Part(
        take_rows(query, kept),
        take_rows(Bags(code.offset, code.term, weight.astype(np.float32)), kept),
        _without_asked(take_rows(path, kept), shard.kind[kept]),
        shard.kind[kept],
        shard.file[kept],
    )


def _known(bags: Bags, row: NDArray[np.int32]) -> Bags:
    """Write bags in the rows of the model; terms that have none go."""
    if not len(row):
        return bags
    term = row[bags.term]
    return keep_entries(Bags(bags.offset, term, bags.count), term >= 0)


def _without_asked(path: Bags, kind: NDArray[np.uint8]) -> Bags:
    """Leave the path out where it is the question."""
    return keep_entries(path, np.repeat(kind != _PATH, np.diff(path.offset)))


def _together(names: Sequence[str], parts: Sequence[_Part], terms: int, config: HeldOutConfig) -> Pairs:
    """Join the parts, and mark what pairs share and which are held out."""
    query, code, path = (join_bags([getattr(part, name) for part in parts]) for name in _BAGS)
    sizes = [len(part.kind) for part in parts]
    repository = np.repeat(np.arange(len(parts), dtype=np.int32), sizes)
    file = np.concatenate([part.file for part in parts])
    return Pairs(
        tuple(names), query, code, path,
        np.concatenate([shared_entries(part.code, part.query, terms) for part in parts]),
        np.concatenate([shared_entries(part.path, part.query, terms) for part in parts]),
        np.concatenate([part.kind for part in parts]), repository, file,
        row_keys(query), row_keys(code), hold_out(names, repository, file, config),
    )  # fmt: skip


def hold_out(
    names: Sequence[str], repository: NDArray[np.int32], file: NDArray[np.int32], config: HeldOutConfig
) -> NDArray[np.bool_]:
    """Choose what is kept from training by names alone, so that it is the same for every seed."""
    if not config.share:
        return np.zeros(len(file), dtype=np.bool_)
    if len(names) >= _FEW:
        return np.isin(repository, _lowest([_rank(name) for name in names], config.share))
    places = repository.astype(np.int64) << 32 | file
    files = np.unique(places)
    if len(files) < _FEW:
        return np.zeros(len(file), dtype=np.bool_)
    return np.isin(places, files[_lowest([_rank(str(place)) for place in files.tolist()], config.share)])


def _lowest(ranks: Sequence[bytes], share: float) -> NDArray[np.int64]:
    """Take the share with the lowest ranks, at least one."""
    most = max(1, round(share * len(ranks)))
    return np.array(sorted(range(len(ranks)), key=lambda place: (ranks[place], place))[:most])


def _rank(name: str) -> bytes:
    """Give a name a place that has nothing to do with it."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def write_pairs(path: Path, pairs: Pairs) -> None:
    """Keep the pairs in a file."""
    arrays: dict[str, NDArray[Any]] = {}
    for name in _BAGS:
        bags: Bags = getattr(pairs, name)
        arrays |= {f"{name}_{part.name}": getattr(bags, part.name) for part in fields(Bags)}
    plain = [part.name for part in fields(Pairs) if part.name not in (*_BAGS, "repositories")]
    arrays |= {name: getattr(pairs, name) for name in plain}
    write_store(path, {"repositories": list(pairs.repositories)}, arrays)


def read_pairs(path: Path) -> Pairs:
    """Map the pairs of a file into memory."""
    stored = read_store(path)
    columns: dict[str, Any] = {"repositories": tuple(cast(list[str], stored.meta["repositories"]))}
    for name in _BAGS:
        columns[name] = Bags(*(stored.arrays[f"{name}_{part.name}"] for part in fields(Bags)))
    columns |= {part.name: stored.arrays[part.name] for part in fields(Pairs) if part.name not in columns}
    return Pairs(**columns)


def kinds_of(pairs: Pairs) -> dict[str, int]:
    """Count the pairs of each kind."""
    found = np.bincount(pairs.kind, minlength=len(KINDS))
    return {kind: int(count) for kind, count in zip(KINDS, found, strict=True)}
