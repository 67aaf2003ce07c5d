"""What is a word of a query called in code? `delete` may be `rm`, `unlink` or `destroy` there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assay.search.static.model import StaticModel
from assay.search.words import term_hash


class Translation(NamedTuple):
    """A term of code, by its hash, and how surely it means the same: 0 to 1."""

    term: int
    strength: float


@dataclass(frozen=True, slots=True)
class Thesaurus:
    """The learned table of translations."""

    model: StaticModel

    def of(self, term: str, most: int) -> tuple[Translation, ...]:
        """List what a term of a query may be called in code, the surest first."""
        model, wanted = self.model, np.uint64(term_hash(term))
        at = int(model.source.searchsorted(wanted))
        if at >= len(model.source) or model.source[at] != wanted:
            return ()
        begin, end = model.offset[at : at + 2].tolist()
        rows = slice(begin, min(end, begin + most))
        pairs = zip(model.target[rows].tolist(), model.strength[rows].tolist(), strict=True)
        return tuple(Translation(target, strength / 255) for target, strength in pairs)
