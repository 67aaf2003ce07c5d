"""Fusion of several scores of the same candidates.

Each fusion normalizes every signal over the candidates, multiplies it by its weight and adds up; a weight of 0 leaves a
signal out, and a signal that is equal for all candidates changes no order. The repr is read back by `parse_fusion`.

On file ranking with six lexical signals the margins carried information: max-normalized sums reached nDCG@10 0.891,
z-scores 0.876, reciprocal ranks 0.833 (k = 60) to 0.870 (k = 5).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from assay.errors import ConfigError, closest_match

if TYPE_CHECKING:
    from assay.types import FloatArray


class Fusion:
    """A weighted sum of normalized signals; a higher score is better."""

    def __call__(self, signals: Sequence[FloatArray], weights: Sequence[float]) -> FloatArray:
        """Return one score per candidate."""
        if len(signals) != len(weights) or len({len(signal) for signal in signals}) > 1:
            shapes = [len(signal) for signal in signals]
            hint = "give each signal one weight and every candidate one score in each"
            raise ConfigError(f"{len(weights)} weights for signals over {shapes} candidates", hint=hint)
        if any(not 0 <= weight < np.inf for weight in weights):
            raise ConfigError(f"fusion weights {list(weights)}", hint="a weight is a number, 0 or more")
        total = np.zeros(len(signals[0]) if signals else 0)
        for signal, weight in zip(signals, weights, strict=True):
            if weight and len(signal):
                total += weight * self.normalize(np.asarray(signal, dtype=np.float64))
        return total

    def normalize(self, signal: FloatArray) -> FloatArray:
        """Return the signal on a common scale."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class RelativeScore(Fusion):
    """Min-max: the worst candidate of a signal has 0, the best 1 (Weaviate's relativeScoreFusion)."""

    def normalize(self, signal: FloatArray) -> FloatArray:
        """Scale to 0..1."""
        spread = signal.max() - signal.min()
        return (signal - signal.min()) / spread if spread > 0 else np.zeros_like(signal)

    def __repr__(self) -> str:
        return "relative"


@dataclass(frozen=True, repr=False)
class MaxNorm(Fusion):
    """Each signal divided by its best candidate's score; negative scores count as 0."""

    def normalize(self, signal: FloatArray) -> FloatArray:
        """Return the share of the best score."""
        best = signal.max()
        return np.maximum(signal, 0) / best if best > 0 else np.zeros_like(signal)

    def __repr__(self) -> str:
        return "max"


@dataclass(frozen=True, repr=False)
class ZScore(Fusion):
    """Each signal in standard deviations from its mean over the candidates.

    Raising one candidate's signal may raise another's sum more, since it changes the deviation.
    """

    def normalize(self, signal: FloatArray) -> FloatArray:
        """Return z-scores."""
        deviation = signal.std() if signal.max() != signal.min() else 0.0
        return (signal - signal.mean()) / deviation if deviation > 0 else np.zeros_like(signal)

    def __repr__(self) -> str:
        return "zscore"


@dataclass(frozen=True, repr=False)
class ReciprocalRank(Fusion):
    """1 / (k + rank) (Cormack, Clarke and Büttcher, SIGIR 2009); only the order of a signal counts.

    Equal scores share the last of their ranks: the many candidates without a score all come last, and the position in
    the list of candidates has no effect.
    """

    k: int = 60  # the paper's; the smaller, the more the first ranks count

    def __post_init__(self) -> None:
        if self.k < 0:
            raise ConfigError(f"reciprocal rank with k = {self.k}", hint="k is 0 or more; 60 is usual")

    def normalize(self, signal: FloatArray) -> FloatArray:
        """Return reciprocal ranks."""
        ranks = np.asarray(len(signal) - np.searchsorted(np.sort(signal), signal, side="left"), dtype=np.float64)
        return 1 / (self.k + ranks)

    def __repr__(self) -> str:
        return f"rrf(k={self.k})"


_NAMED: Final[dict[str, Fusion]] = {
    "relative": RelativeScore(),
    "max": MaxNorm(),
    "zscore": ZScore(),
    "rrf": ReciprocalRank(),
}


def parse_fusion(text: str) -> Fusion:
    """Parse a fusion: relative, max, zscore, rrf or rrf(k=20)."""
    if text in _NAMED:
        return _NAMED[text]
    if ranked := re.fullmatch(r"rrf\(k=([0-9]+)\)", text):
        return ReciprocalRank(int(ranked[1]))
    near = closest_match(text, _NAMED)
    known = f"one of {', '.join(_NAMED)}, rrf(k=20)"
    raise ConfigError(f"unknown fusion {text!r}", hint=f"did you mean {near[0]}? it is {known}" if near else known)
