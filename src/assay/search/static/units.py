"""The vectors of a corpus, kept file by file: what did not change is not embedded again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.search.dense.matrices import unit_rows
from assay.search.naming import folder_name, stem_name
from assay.search.static.embedder import StaticEmbedder
from assay.search.static.model import Hashes, Matrix
from assay.search.tables import Files, LongArray, Table, offsets, ranges


@dataclass(frozen=True, slots=True)
class UnitVectors:
    """The vectors of the units of files, in the order of the files, and those of the files' paths."""

    matrix: Matrix  # of length one
    file: Hashes  # what names a file and its contents
    offset: LongArray  # the first unit of each file, and the number of units
    size: Matrix  # how long the sum of each unit's words was
    path: Matrix  # the sum of the words of each file's path
    along: Matrix  # how far that goes in the direction of each unit

    def columns(self) -> dict[str, NDArray[Any]]:
        """Give the arrays that are kept beside the vectors themselves."""
        return {f"static.{one.name}": getattr(self, one.name) for one in fields(self)[1:]}

    def of(self, rows: LongArray) -> Self:
        """Return some of the units, named in ascending order; a file whose units are left out has none."""
        owner = self.offset[1:].searchsorted(rows, side="right")
        held = offsets(np.bincount(owner, minlength=len(self.file)).astype(np.int64))
        return replace(self, matrix=self.matrix[rows], offset=held, size=self.size[rows], along=self.along[rows])

    @property
    def is_consistent(self) -> bool:
        """Whether the offsets fit the vectors; earlier versions stored a subset of them with the offsets of all."""
        units = len(self.matrix)
        return len(self.offset) == len(self.file) + 1 and int(self.offset[-1]) == units == len(self.size)

    @classmethod
    def from_columns(cls, matrix: Matrix, columns: Mapping[str, NDArray[Any]]) -> Self | None:
        """Take the vectors and what was kept beside them; None where it was not."""
        names = [f"static.{one.name}" for one in fields(cls)[1:]]
        return cls(matrix, *(columns[name] for name in names)) if columns.keys() >= set(names) else None


def unit_vectors(embedder: StaticEmbedder, table: Table, known: UnitVectors | None = None) -> UnitVectors:
    """Embed the units of a table; those of files that are known already are taken from there."""
    file = _file_keys(table.files)
    held = np.bincount(table.units.file, minlength=len(file)).astype(np.int64)
    offset = offsets(held)
    sums = np.zeros((len(table.units), embedder.dimension), dtype=np.float32)
    size = np.zeros(len(table.units), dtype=np.float32)
    old = _places(file, held, known)
    kept, new = np.flatnonzero(old >= 0), np.flatnonzero(old < 0)
    fresh, there = (ranges(offset[some], offset[some + 1]) for some in (new, kept))
    sums[fresh] = embedder.sum_units(table.postings, fresh)
    size[fresh] = np.sqrt(np.vecdot(sums[fresh], sums[fresh]))
    sums[fresh] = unit_rows(sums[fresh])
    if known is not None:
        rows = ranges(known.offset[old[kept]], known.offset[old[kept] + 1])
        sums[there], size[there] = known.matrix[rows], known.size[rows]
    path = embedder.sum_texts([f"{stem_name(path)} {folder_name(path)}" for path in table.files.paths])
    return UnitVectors(sums, file, offset, size, path, np.vecdot(sums, path[table.units.file]))


def _file_keys(files: Files) -> Hashes:
    """Name each file with its contents and language by 64 bits: that decides its units and their words."""
    facts = zip(files.paths, files.hashes, files.languages, strict=True)
    plain = ("\0".join(fact).encode("utf-8", "surrogatepass") for fact in facts)
    return np.array([int.from_bytes(blake2b(one, digest_size=8).digest(), "little") for one in plain], dtype=np.uint64)


def _places(file: Hashes, held: LongArray, known: UnitVectors | None) -> LongArray:
    """Find files among the known ones; -1 for those that are new."""
    if known is None or not len(known.file):
        return np.full(len(file), -1, dtype=np.int64)
    order = known.file.argsort(kind="stable")
    at = order[np.minimum(known.file[order].searchsorted(file), len(order) - 1)]
    same = (known.file[at] == file) & (np.diff(known.offset)[at] == held)
    return np.where(same, at, -1)
