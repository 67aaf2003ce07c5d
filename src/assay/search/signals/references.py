"""Files that match speak for the files whose definitions they use."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from assay.search.evidence import Evidence, Values, relative


@dataclass(frozen=True, slots=True)
class References:
    """Add the votes of the files that use what a file defines or import it."""

    files: float = field(
        default=0.25,  # doc sentences want .1 to .2, semble's visible half .5
        metadata={"about": "weight when files are ranked"},
    )
    spans: float = field(
        default=0.0,  # .03 to .2 are within .002 of it on octocode's code: a neighbour's file does not choose a span
        metadata={"about": "weight when spans are ranked"},
    )
    least: float = field(
        default=0.3,  # weaker files vote at random
        metadata={"about": "score, relative to the best file, above which a file votes"},
    )

    def __call__(self, scores: Values, seen: Evidence) -> Values:
        """Add the votes."""
        weight = seen.weight(self.files, self.spans)
        if not weight:
            return scores
        votes = seen.of_files(relative(seen.view.graph.votes(seen.coherence, self.least)))
        return np.asarray(scores + weight * (votes if seen.per == "file" else seen.matched * votes))
