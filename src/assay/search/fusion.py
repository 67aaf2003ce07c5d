"""From several scores of the same candidates to one.

A fusion is a value. Its repr is its cache key and is read back by `parse_fusion`. Each normalises every signal over the
candidates, multiplies it with its weight and adds up; a weight of 0 leaves a signal out. A signal that says the same of
every candidate changes no order, whatever it says.

On file ranking with six lexical signals the margins carried information: max-normalised sums reached nDCG@10 0.891,
z-scores 0.876, reciprocal ranks 0.833 (k = 60) to 0.870 (k = 5).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from assay.errors import ConfigError, closest_match

if TYPE_CHECKING:
    from assay.types import FloatArray


class Fusion(Protocol):
    """Adds up signals over the same candidates; a higher score is better."""

    def __call__(self, signals: Sequence[FloatArray], weights: Sequence[float]) -> FloatArray:
        """Give one score a candidate."""


@dataclass(frozen=True, slots=True, repr=False)
class RelativeScore:
    """Min-max: the worst candidate of a signal has 0, the best 1 (Weaviate's relativeScoreFusion).

    The sum lies between 0 and the sum of the weights, and does not change when a signal is scaled or shifted.
    """

    def __call__(self, signals: Sequence[FloatArray], weights: Sequence[float]) -> FloatArray:
        """Add up the signals' relative scores."""
        return _add(signals, weights, _relative)

    def __repr__(self) -> str:
        return "relative"


@dataclass(frozen=True, slots=True, repr=False)
class MaxNorm:
    """Each signal divided by its best candidate's; what is below 0 is no evidence and counts as 0.

    The sum lies between 0 and the sum of the weights, and does not change when a signal is scaled.
    """

    def __call__(self, signals: Sequence[FloatArray], weights: Sequence[float]) -> FloatArray:
        """Add up the signals' shares of their best."""
        return _add(signals, weights, _share_of_best)

    def __repr__(self) -> str:
        return "max"


@dataclass(frozen=True, slots=True, repr=False)
class ZScore:
    """Each signal in standard deviations from its mean over the candidates.

    Does not change when a signal is scaled or shifted. A candidate's own sum grows with its signal, but another's may
    grow more when the deviation does.
    """

    def __call__(self, signals: Sequence[FloatArray], weights: Sequence[float]) -> FloatArray:
        """Add up the signals' z-scores."""
        return _add(signals, weights, _standard)

    def __repr__(self) -> str:
        return "zscore"


@dataclass(frozen=True, slots=True, repr=False)
class ReciprocalRank:
    """1 / (k + rank) (Cormack, Clarke and Büttcher, SIGIR 2009); only the order of a signal counts.

    Equal scores share the last of their ranks: the many candidates that a signal did not find are all last, and
    who stands first in a list of candidates gains nothing by it.
    """

    k: int = 60  # the paper's; the smaller, the more the first ranks count

    def __post_init__(self) -> None:
        """Refuse what would divide by zero."""
        if self.k < 0:
            raise ConfigError(f"reciprocal rank with k = {self.k}", hint="k is 0 or more; 60 is usual")

    def __call__(self, signals: Sequence[FloatArray], weights: Sequence[float]) -> FloatArray:
        """Add up the signals' reciprocal ranks."""
        return _add(signals, weights, lambda signal: 1 / (self.k + _last_ranks(signal)))

    def __repr__(self) -> str:
        return f"rrf(k={self.k})"


_NAMED: Final[dict[str, Fusion]] = {
    "relative": RelativeScore(),
    "max": MaxNorm(),
    "zscore": ZScore(),
    "rrf": ReciprocalRank(),
}


def parse_fusion(text: str) -> Fusion:
    """Read a fusion: relative, max, zscore, rrf or rrf(k=20); the inverse of repr."""
    if text in _NAMED:
        return _NAMED[text]
    if ranked := re.fullmatch(r"rrf\(k=([0-9]+)\)", text):
        return ReciprocalRank(int(ranked[1]))
    near = closest_match(text, _NAMED)
    known = f"one of {', '.join(_NAMED)}, rrf(k=20)"
    raise ConfigError(f"unknown fusion {text!r}", hint=f"did you mean {near[0]}? it is {known}" if near else known)


def _add(
    signals: Sequence[FloatArray], weights: Sequence[float], normalise: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    _check(signals, weights)
    total = np.zeros(len(signals[0]) if signals else 0)
    for signal, weight in zip(signals, weights, strict=True):
        if weight and len(signal):
            total += weight * normalise(np.asarray(signal, dtype=np.float64))
    return total


def _check(signals: Sequence[FloatArray], weights: Sequence[float]) -> None:
    if len(signals) != len(weights) or len({len(signal) for signal in signals}) > 1:
        shapes = [len(signal) for signal in signals]
        hint = "give each signal one weight and every candidate one score in each"
        raise ConfigError(f"{len(weights)} weights for signals over {shapes} candidates", hint=hint)
    if any(not 0 <= weight < np.inf for weight in weights):
        raise ConfigError(f"fusion weights {list(weights)}", hint="a weight is a number, 0 or more")


def _relative(signal: FloatArray) -> FloatArray:
    reach = signal.max() - signal.min()
    return (signal - signal.min()) / reach if reach > 0 else np.zeros_like(signal)


def _share_of_best(signal: FloatArray) -> FloatArray:
    best = signal.max()
    return np.maximum(signal, 0) / best if best > 0 else np.zeros_like(signal)


def _standard(signal: FloatArray) -> FloatArray:
    if signal.max() == signal.min():
        return np.zeros_like(signal)
    deviation = signal.std()
    return (signal - signal.mean()) / deviation if deviation > 0 else np.zeros_like(signal)


def _last_ranks(signal: FloatArray) -> FloatArray:
    return np.asarray(len(signal) - np.searchsorted(np.sort(signal), signal, side="left"), dtype=np.float64)
