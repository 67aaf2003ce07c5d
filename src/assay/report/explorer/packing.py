"""Binary packing of rankings and values for the browser."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.experiment.records.codec import dump

Column = NDArray[np.int64] | NDArray[np.float32]
#: Bits of a float's fraction that a score loses; five digits are left.
_LOST_BITS = 7
_SEVEN = 7  # bits of a number in each byte of LEB128


def pack_table(head: Mapping[str, object], columns: Mapping[str, Column]) -> bytes:
    packed, listed = [], []
    for name, column in columns.items():
        if column.dtype.kind == "f":  # byte by byte: bytes of equal position compress better
            kind, data = "float32", column.astype("<f4").view(np.uint8).reshape(-1, 4).T.tobytes()
        else:
            kind, data = "varint", varints(column)
        packed.append(data)
        listed.append([name, kind, len(column), len(data)])
    text = dump({**head, "columns": listed}).encode("utf-8")
    return b"".join([struct.pack("<I", len(text)), text, *packed])


def varints(numbers: Column | Sequence[int]) -> bytes:
    """Pack unsigned numbers as LEB128: seven bits per byte, lowest first; the high bit means that more follow."""
    left = np.asarray(numbers, dtype=np.uint64)
    if not len(left):
        return b""
    width = max(1, -(-int(left.max()).bit_length() // _SEVEN))
    shifts = np.arange(width, dtype=np.uint64) * np.uint64(_SEVEN)
    parts = left[:, None] >> shifts  # the remaining bits at each byte
    more = parts[:, 1:] > 0
    data = (parts & np.uint64(0x7F)).astype(np.uint8)
    data[:, :-1] |= more.astype(np.uint8) << 7
    used = np.hstack([np.ones((len(left), 1), dtype=np.bool_), more])
    return data[used].tobytes()


def round_floats(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round floats to five digits, so that they compress; NaN and infinity stay."""
    bits = values.astype("<f4").view(np.uint32)
    half, mask = np.uint32(1 << (_LOST_BITS - 1)), np.uint32(0xFFFFFFFF << _LOST_BITS & 0xFFFFFFFF)
    rounded = ((bits + half) & mask).view(np.float32)
    return np.where(np.isfinite(values) & np.isfinite(rounded), rounded, values).astype(np.float32)


def pack_values(values: NDArray[np.float64]) -> bytes:
    """Pack values as little-endian float32, the last axis fastest."""
    return np.ascontiguousarray(values, dtype="<f4").tobytes()
