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
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np

from assay.errors import ConfigError, closest_match

if TYPE_CHECKING:
    from assay.types import FloatArray


Method = Literal["relative", "max", "zscore", "rrf"]
_METHODS: Final[tuple[Method, ...]] = get_args(Method)


@dataclass(frozen=True, slots=True, repr=False)
class Fusion:
    """A weighted sum of normalized signals; a higher score is better.

    `relative`: min-max, the worst candidate of a signal has 0, the best 1 (Weaviate's relativeScoreFusion).
    `max`: divided by the best candidate's score; negative scores count as 0.
    `zscore`: standard deviations from the mean; raising one candidate may raise another's sum more.
    `rrf`: 1 / (k + rank) (Cormack, Clarke and Büttcher, SIGIR 2009); only the order counts. Equal scores share the last
    of their ranks: the many candidates without a score all come last, whatever their position in the list.
    """

    method: Method
    k: int = 60  # of rrf: the paper's; the smaller, the more the first ranks count

    def __post_init__(self) -> None:
        if self.k < 0:
            raise ConfigError(f"reciprocal rank with k = {self.k}", hint="k is 0 or more; 60 is usual")

    def __repr__(self) -> str:
        return f"rrf(k={self.k})" if self.method == "rrf" else self.method

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
                total += weight * self._normalize(np.asarray(signal, dtype=np.float64))
        return total

    def _normalize(self, signal: FloatArray) -> FloatArray:
        if self.method == "rrf":
            ranks = np.asarray(len(signal) - np.searchsorted(np.sort(signal), signal, side="left"), dtype=np.float64)
            return 1 / (self.k + ranks)
        if self.method == "max":
            shifted, scale = np.maximum(signal, 0), signal.max()
        elif self.method == "relative":
            shifted, scale = signal - signal.min(), signal.max() - signal.min()
        else:  # equal values may have a deviation, by rounding
            shifted, scale = signal - signal.mean(), signal.std() if signal.max() != signal.min() else 0.0
        return shifted / scale if scale > 0 else np.zeros_like(signal)


def parse_fusion(text: str) -> Fusion:
    """Parse a fusion: relative, max, zscore, rrf or rrf(k=20)."""
    for method in _METHODS:
        if text == method:
            return Fusion(method)
    if ranked := re.fullmatch(r"rrf\(k=([0-9]+)\)", text):
        return Fusion("rrf", int(ranked[1]))
    near = closest_match(text, _METHODS)
    known = f"one of {', '.join(_METHODS)}, rrf(k=20)"
    raise ConfigError(f"unknown fusion {text!r}", hint=f"did you mean {near[0]}? it is {known}" if near else known)
