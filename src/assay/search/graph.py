"""Which file uses what another file defines.

An edge leads from a file that mentions a name to the file that defines it. Names that many files define, or that
everybody mentions, say little: a name counts 1 / (definers × log2(2 + mentioners)).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.search.tables import LongArray, Mentions, offsets, ranges

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GraphConfig:
    """When a mention is an edge."""

    definers: int = field(
        default=3,  # a name that more files define is a common word
        metadata={"about": "files that may define a name for a mention of it to count"},
    )
    strength: float = field(
        default=0.2,  # below it two files share only common names
        metadata={"about": "how much two files must share to be tied, each name 1 / (definers x log2(2 + mentioners))"},
    )


@dataclass(frozen=True, slots=True)
class Graph:
    """Edges by the file they leave."""

    begin: LongArray
    target: LongArray
    incoming: LongArray

    def votes(self, scores: Values, least: float) -> Values:
        """Let files that score above `least` vote for what they use; a file that all use needs more votes."""
        voters = np.flatnonzero(scores > least)
        begin, end = self.begin[voters], self.begin[voters + 1]
        target = self.target[ranges(begin, end)]
        given = np.bincount(target, weights=np.repeat(scores[voters], end - begin), minlength=len(scores))
        return np.asarray(given / np.sqrt(self.incoming + 3.0))


def build_graph(defined: Mentions, used: Mentions, files: int, config: GraphConfig) -> Graph:
    """Join mentions with definitions."""
    names, name = np.unique(defined.name, return_inverse=True)
    definers = np.bincount(name, minlength=len(names))
    at = np.minimum(np.searchsorted(names, used.name), max(len(names) - 1, 0))
    known = names[at] == used.name if len(names) else np.zeros(len(used.name), dtype=bool)
    user, what = used.file[known].astype(np.int64), at[known]
    mentioners = np.bincount(what, minlength=len(names))
    weight = 1.0 / (np.maximum(definers, 1) * np.log2(2.0 + mentioners))
    rare = definers[what] <= config.definers
    user, what = user[rare], what[rare]
    by_name = defined.file[np.argsort(name, kind="stable")].astype(np.int64)
    begin = offsets(definers)
    target = by_name[ranges(begin[what], begin[what + 1])]
    times = definers[what]
    return _edges(np.repeat(user, times), target, np.repeat(weight[what], times), files, config)


def _edges(source: LongArray, target: LongArray, weight: Values, files: int, config: GraphConfig) -> Graph:
    """Add up what ties two files and keep the strong ties."""
    other = source != target
    key, nth = np.unique(source[other] * files + target[other], return_inverse=True)
    tie = np.bincount(nth, weights=weight[other], minlength=len(key))
    source, target = np.divmod(key[tie > config.strength], max(files, 1))
    return Graph(np.searchsorted(source, np.arange(files + 1)), target, np.bincount(target, minlength=files))
