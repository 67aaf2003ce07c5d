"""A file whose several units match is more likely the one that is meant than a file with one lucky unit."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from assay.search.evidence import Evidence, Values, relative
from assay.search.tables import IntArray


@dataclass(frozen=True, slots=True)
class Coherence:
    """Add up the best units of each file; the base of a ranking of files, a hint in one of spans."""

    chunks: int = field(
        default=10,  # one .740, three .783, ten .800 nDCG@10 on semble's visible half; all of them .718
        metadata={"about": "units of a file that add to its score"},
    )
    decay: float = field(
        default=0.6,  # .6 to .7 are flat on questions; doc sentences and keywords want less
        metadata={"about": "weight of each further unit relative to the one before"},
    )
    pool: int = field(
        default=2_000,  # keeps a query on a large corpus fast; what lies below never decided a file
        metadata={"about": "best units of the corpus that are looked at"},
    )
    files: float = field(default=1.0, metadata={"about": "weight when files are ranked"})
    spans: float = field(
        default=0.1,  # .5 costs .009 on octocode's code
        metadata={"about": "weight when spans are ranked"},
    )

    def __call__(self, scores: Values, seen: Evidence) -> Values:
        """Add the file's say."""
        weight = seen.weight(self.files, self.spans)
        if seen.per == "file":
            return scores + weight * seen.coherence
        return scores + weight * (seen.matched * seen.of_files(seen.coherence))

    def gather(self, units: Values, file: IntArray, files: int) -> Values:
        """Add up the best units of each file."""
        rows = (units > 0).nonzero()[0]
        if len(rows) > self.pool:
            least = np.partition(units[rows], len(rows) - self.pool)[len(rows) - self.pool]
            rows = rows[units[rows] >= least]
        if not len(rows):
            return np.zeros(files)
        owner = file[rows]  # rising, as units are in the order of their files
        begins = np.ones(len(rows), dtype=bool)
        np.not_equal(owner[1:], owner[:-1], out=begins[1:])
        first = begins.nonzero()[0]
        nth = np.arange(len(rows)) - first[begins.cumsum() - 1]
        order = (-units[rows]).argsort()  # equal values may change places: their sum is the same
        narrow = owner[order].astype(np.min_scalar_type(files))  # few bits are sorted in linear time
        order = rows[order[narrow.argsort(kind="stable")]]
        worth = np.append(self.decay ** np.arange(self.chunks, dtype=np.float64), 0.0)
        found = np.zeros(files)
        found[owner[first]] = np.add.reduceat(units[order] * worth[np.minimum(nth, self.chunks)], first)
        return relative(found)
