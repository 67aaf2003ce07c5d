"""A unit among units that match is a little more likely."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from assay.search.evidence import Evidence, Values


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Add the mean of the units before and after, in the same file."""

    spans: float = field(
        default=0.08,  # .4 and more costs on every set
        metadata={"about": "weight when spans are ranked"},
    )

    def __call__(self, scores: Values, seen: Evidence) -> Values:
        """Add the neighbours' say."""
        if seen.per == "file" or not len(scores):
            return scores
        follows = seen.view.follows[1:]
        beside = np.zeros(len(scores))
        beside[1:] = seen.units[:-1] * follows
        beside[:-1] += seen.units[1:] * follows
        return np.asarray(scores + self.spans * beside / seen.view.beside)
