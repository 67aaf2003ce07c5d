"""A unit is called what it does: how well its name, and the names around it, fit the query."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from assay.search.evidence import Evidence, Values, best
from assay.search.names import Prefixes


@dataclass(frozen=True, slots=True)
class Definition:
    """Add √(P·R): P the share of the unit's own name that is matched, R the share of the query that the name matches.

    The root of the product was best among √(PR), F, mean, P and R: a name must be both to the point and enough.
    """

    spans: float = field(
        default=0.7,  # .3 to .6 took octocode's code from .691 to .771
        metadata={"about": "weight of a definition's name when spans are ranked"},
    )
    headings: float = field(
        default=0.3,  # headings are looser than names
        metadata={"about": "weight of a heading when spans are ranked"},
    )
    files: float = field(
        default=0.15,  # questions are indifferent, doc sentences, keywords and names gain .005 to .01
        metadata={"about": "weight of a file's best definition when files are ranked"},
    )
    prefix: float = field(
        default=0.9,  # parse finds parser
        metadata={"about": "weight of a part of a name that only begins like a word"},
    )

    def __call__(self, scores: Values, seen: Evidence) -> Values:
        """Add the name's say."""
        if not seen.weight(self.files, self.spans or self.headings):
            return scores
        said = seen.recall(("definition", self.prefix, seen.per), partial(self._said, seen))
        if seen.per == "file":
            return np.asarray(scores + self.files * said)
        return np.asarray(scores + np.where(seen.view.docs, self.headings, self.spans) * said)

    def _said(self, seen: Evidence) -> Values:
        """Tell how well the best name of each file or unit fits."""
        found = seen.names(seen.view.own, Prefixes(weight=self.prefix))
        fit = np.sqrt(found.precision * found.recall(seen.word_weights))
        if seen.per == "file":
            return best(seen.view.table.units.file[found.owner], fit, seen.view.files)
        return best(found.owner, fit, seen.view.units)


@dataclass(frozen=True, slots=True)
class Scope:
    """Add the share of the names around a unit (its class, its module, the headings above) that is matched."""

    spans: float = field(
        default=0.2,  # .005 to .007
        metadata={"about": "weight of the definitions around a unit"},
    )
    headings: float = field(default=0.1, metadata={"about": "weight of the headings above a section"})

    def __call__(self, scores: Values, seen: Evidence) -> Values:
        """Add the scope's say."""
        if seen.per == "file":
            return scores
        said = seen.recall("scope", partial(self._said, seen))
        return np.asarray(scores + np.where(seen.view.docs, self.headings, self.spans) * said)

    @staticmethod
    def _said(seen: Evidence) -> Values:
        """Tell how well the names around each unit fit."""
        found = seen.names(seen.view.scope, Prefixes(weight=0.0))
        return best(found.owner, found.precision, seen.view.units)
