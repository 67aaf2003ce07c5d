"""Lists of strings as two arrays: all bytes one after the other, and where each string begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

#: Half a surrogate pair is no UTF-8, and file names of other encodings are full of them; this keeps them.
_ERRORS: Final = "surrogatepass"


def pack_strings(strings: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Put strings one after the other; string i lies between offsets i and i + 1."""
    encoded = [text.encode("utf-8", _ERRORS) for text in strings]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(raw) for raw in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


@dataclass(frozen=True, slots=True, eq=False)
class Strings:
    """A list of strings that decodes the ones that are asked for."""

    blob: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> str:
        place = range(len(self))[index]
        begin, end = self.offsets[place : place + 2].tolist()
        return self.blob[begin:end].tobytes().decode("utf-8", _ERRORS)

    def all(self) -> list[str]:
        """Decode every string."""
        data = self.blob.tobytes()
        bounds = pairwise(self.offsets.tolist())
        if data.isascii():  # one decoding for all of them
            text = data.decode("ascii")
            return [text[begin:end] for begin, end in bounds]
        return [data[begin:end].decode("utf-8", _ERRORS) for begin, end in bounds]
