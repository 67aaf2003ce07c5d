"""Tests, examples, shims and copies hold the same words as the real thing; gaps hold imports."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from assay.search.evidence import Evidence, Values
from assay.search.noise import ABOUT, NOISE


@dataclass(frozen=True, slots=True)
class Strength:
    """How much of its score a file keeps, by what it is."""

    test: float = field(default=0.3, metadata={"about": "kept by tests, fixtures, mocks and benchmarks"})
    example: float = field(default=0.3, metadata={"about": "kept by examples, samples and demos"})
    compat: float = field(default=0.3, metadata={"about": "kept by compatibility and legacy code"})
    vendored: float = field(default=0.3, metadata={"about": "kept by copies of other projects"})
    generated: float = field(default=1.0, metadata={"about": "kept by what a tool wrote"})
    stub: float = field(default=1.0, metadata={"about": "kept by type declarations"})
    barrel: float = field(default=1.0, metadata={"about": "kept by files that only pass on what others define"})
    docs: float = field(
        default=0.6,  # a question about code is answered by code; .5 to .8 are flat
        metadata={"about": "kept by documentation"},
    )


@dataclass(frozen=True, slots=True)
class PathNoise:
    """Take from files that only surround the code, unless the query has a word for them."""

    files: Strength = field(default_factory=Strength)
    spans: Strength = field(default_factory=lambda: Strength(test=0.5, example=1.0, compat=0.5, vendored=0.5, docs=1.0))

    def __call__(self, scores: Values, seen: Evidence) -> Values:
        """Multiply by what is kept."""
        words = frozenset(seen.question.words)
        kept = self.files if seen.per == "file" else self.spans
        table = [getattr(kept, kind) if kind in ABOUT and not words & ABOUT[kind] else 1.0 for kind in NOISE]
        if seen.per == "file":
            return np.asarray(scores * np.array(table)[seen.view.table.files.noise])
        test = table[NOISE.index("test")]
        both = [factor for plain in table for factor in (plain, test if plain == 1.0 else plain)]
        return np.asarray(scores * np.array(both)[seen.view.surroundings])


@dataclass(frozen=True, slots=True)
class Gaps:
    """Take from what only declares: what lies between definitions, constants, the fields of a class."""

    spans: float = field(
        default=0.8,  # gaps alone +.003; with constants and fields +.004 on octocode's code, +.007 on keywords
        metadata={"about": "share of its score that a unit keeps which only declares"},
    )

    def __call__(self, scores: Values, seen: Evidence) -> Values:
        """Multiply them."""
        if seen.per == "file":
            return scores
        return np.asarray(np.where(seen.view.declares, scores * self.spans, scores))
