"""Is the adapted model the better one here? A paired test, question by question, with files as what was drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from assay.stats import ComparisonRow, Names, QueryValue, Range, Verdict, compare_values

BETTER: Final = "better"
_WORDS: Final = {Verdict.BETTER: BETTER, Verdict.WORSE: "worse"}
_OPEN: Final = "not shown to be better"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the test says."""

    row: ComparisonRow

    @property
    def verdict(self) -> str:
        """In a few words."""
        return _WORDS.get(self.row.verdict or Verdict.INCONCLUSIVE, _OPEN)

    def to_json(self) -> dict[str, Any]:
        """Give the figures by name."""
        row = self.row
        return {
            "verdict": self.verdict, "measure": "nDCG@10", "old": row.baseline_mean, "new": row.mean,
            "difference": row.difference, "interval": [row.interval.low, row.interval.high],
            "level": row.interval.level, "p": row.p, "mde": row.mde, "questions": row.queries, "files": row.clusters,
            "wins": row.wins, "ties": row.ties, "losses": row.losses,
        }  # fmt: skip


def judge(paths: Sequence[str], old: NDArray[np.float64], new: NDArray[np.float64], *, seed: int) -> Judgement:
    """Compare two models on the same questions; `paths` names the file of each."""
    before, after = (
        [
            QueryValue(str(nth), value, path)
            for nth, (path, value) in enumerate(zip(paths, values.tolist(), strict=True))
        ]
        for values in (old, new)
    )
    found = compare_values(before, after, names=Names("old", "adapted"), bounds=Range(), seed=seed)
    return Judgement(found.rows[0])
