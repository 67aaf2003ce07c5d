"""Files are named to be found: how much of a file's name the words of the query make up."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from assay.search.evidence import Evidence, Values, best
from assay.search.names import Prefixes


@dataclass(frozen=True, slots=True)
class FileStem:
    """Add the share of the file stem's characters that words of the query match; not weighed by idf."""

    files: float = field(
        default=0.55,  # the largest signal there is: +.053 on semble's visible half, on 16 of 17 repositories
        metadata={"about": "weight when files are ranked"},
    )
    spans: float = field(
        default=0.08,  # .6 costs .071 on octocode's code: a file's name does not choose among its functions
        metadata={"about": "weight when spans are ranked"},
    )
    prefix: float = field(
        default=0.7,  # config finds configuration, less surely than its own name
        metadata={"about": "weight of a part of the stem that only begins like a word"},
    )

    def __call__(self, scores: Values, seen: Evidence) -> Values:
        """Add the name's say."""
        found = seen.names(seen.view.stem, Prefixes(3, 5, self.prefix))
        share = seen.of_files(best(found.owner, found.precision, seen.view.files))
        if seen.per == "span":
            share = seen.matched * share
        return np.asarray(scores + seen.weight(self.files, self.spans) * share)
