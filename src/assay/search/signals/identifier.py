"""A name that is asked for is where it is defined."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from assay.search.evidence import Evidence, Values, best
from assay.search.tables import UNIT_KINDS

#: Kinds of units that are a thing of their own.
_MAJOR = np.isin(UNIT_KINDS, ("function", "method", "class", "interface", "enum", "module", "macro", "head", "section"))


@dataclass(frozen=True, slots=True)
class Identifier:
    """Add a fixed amount to what defines exactly the name that is asked for, or a compound name in a sentence."""

    files: float = field(
        default=1.0,  # .3 finds 97.2 % of uniquely defined names, 1.0 finds 99.8 %
        metadata={"about": "added to a file that defines the name a query consists of"},
    )
    files_inside: float = field(
        default=0.3,  # the name may be incidental
        metadata={"about": "added to a file that defines a compound name inside a query"},
    )
    spans: float = field(
        default=2.0,  # 1.0 leaves .028 on the table
        metadata={"about": "added to a span that defines the name a query consists of"},
    )

    minor: float = field(
        default=0.5,  # a trait and an associated type of one name: the trait is meant
        metadata={
            "about": "share of it for a type alias, constant, field or key where a class or function has the name"
        },
    )

    def __call__(self, scores: Values, seen: Evidence) -> Values:
        """Add the definition's say."""
        symbol = seen.question.symbol
        if symbol is not None:
            return self._add(scores, seen, symbol, seen.weight(self.files, self.spans))
        for name in seen.question.identifiers if seen.per == "file" else ():
            scores = self._add(scores, seen, name, self.files_inside)
        return scores

    def _add(self, scores: Values, seen: Evidence, name: int, amount: float) -> Values:
        """Add to everything that defines a name, once."""
        units = seen.view.definers(name, seen.question.name)
        kinds = _MAJOR[seen.view.table.units.kind[units]]
        share = np.where(kinds | ~kinds.any(), amount, amount * self.minor)
        rows = seen.view.table.units.file[units] if seen.per == "file" else units
        return scores + best(rows, share, len(scores))
