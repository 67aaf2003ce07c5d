r"""Numbers as bytes: rankings and values so that a browser reads them back at once.

A table of columns is
    4 bytes          length of the head, unsigned, little-endian
    head             JSON in UTF-8; its "columns" are [name, kind, count, bytes] in the order they follow
    columns          one behind the other, without gaps
A column of kind "varint" has `count` unsigned LEB128 numbers. One of kind "float32" has `count` little-endian IEEE
floats with their bytes apart, which packs better: all first (lowest) bytes, then all second ones, third, fourth; NaN
stands for "none".

The head of the rankings has beside its columns: `engines` and `units` (how many), `paths` and `errors` (texts that
columns number from 0), `statuses` (that `status` numbers from 0; the last, "missing", was not asked), and
`adversaries`, the mark of the first adversary. Their columns:
    places    of each unit: how many different places its rankings name
    path      of each place, unit by unit: number in `paths`
    start     of each place: first line; 0 is the whole file
    lines     of each place: end - start + 1; 0 where start is 0
    tokens    of each place: its tokens + 1; 0 where they are not known
    status    of each cell: a cell is one engine on one unit, number unit * engines + engine
    error     of each cell: number in `errors` + 1; 0 where it said nothing
    seconds   of each cell (float32)
    hits      of each cell: how many results it has
    hit       of each result, cell by cell, in rank order: number among the unit's places, from 0
    mark      of each result: 0 nothing, 1 + t it claims target t, `adversaries` + a it is adversary a
    repeats   of each result that has a mark: how many above it repeat others, which scores count once; else 0
    score     of each result (float32, 16 bits of its fraction: five digits); the whole column may be left out
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.experiment.records.codec import dump

Column = NDArray[np.int64] | NDArray[np.float32]
#: Bits of a float's fraction that a score loses: what is left has five digits, more than anybody reads.
_LOST_BITS = 7
_SEVEN = 7  # bits of a number in each byte of LEB128


def pack_table(head: Mapping[str, object], columns: Mapping[str, Column]) -> bytes:
    """Write a head and columns."""
    kinds = {name: "float32" if column.dtype.kind == "f" else "varint" for name, column in columns.items()}
    packed = {name: _PACKERS[kinds[name]](column) for name, column in columns.items()}
    listed = [[name, kinds[name], len(column), len(packed[name])] for name, column in columns.items()]
    text = dump({**head, "columns": listed}).encode("utf-8")
    return b"".join([struct.pack("<I", len(text)), text, *packed.values()])


def varints(numbers: Column | Sequence[int]) -> bytes:
    """Write unsigned numbers as LEB128: seven bits a byte, lowest first, the high bit says that more follow."""
    left = np.asarray(numbers, dtype=np.uint64)
    if not len(left):
        return b""
    width = max(1, -(-int(left.max()).bit_length() // _SEVEN))
    shifts = np.arange(width, dtype=np.uint64) * np.uint64(_SEVEN)
    parts = left[:, None] >> shifts  # what is left at each byte
    more = parts[:, 1:] > 0
    data = (parts & np.uint64(0x7F)).astype(np.uint8)
    data[:, :-1] |= more.astype(np.uint8) << 7
    used = np.hstack([np.ones((len(left), 1), dtype=np.bool_), more])
    return data[used].tobytes()


def _floats(values: Column) -> bytes:
    return values.astype("<f4").view(np.uint8).reshape(-1, 4).T.tobytes()


_PACKERS = {"varint": varints, "float32": _floats}


def shortened(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round floats to five digits, so that they pack; what is no number stays that."""
    bits = values.astype("<f4").view(np.uint32)
    half, mask = np.uint32(1 << (_LOST_BITS - 1)), np.uint32(0xFFFFFFFF << _LOST_BITS & 0xFFFFFFFF)
    rounded = ((bits + half) & mask).view(np.float32)
    return np.where(np.isfinite(values) & np.isfinite(rounded), rounded, values).astype(np.float32)


def pack_values(values: NDArray[np.float64]) -> bytes:
    """Write values as plain little-endian float32, the last axis fastest."""
    return np.ascontiguousarray(values, dtype="<f4").tobytes()
