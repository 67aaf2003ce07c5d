"""Adam that touches only the rows that a batch used (Kingma and Ba 2015; rows as in torch's SparseAdam)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class AdamConfig:
    """How long the past counts."""

    mean: float = 0.9  # the paper's own
    square: float = 0.999  # the paper's own
    least: float = 1e-8  # below it a gradient is none


ADAM = AdamConfig()


@dataclass(frozen=True, slots=True)
class Moments:
    """Running means of gradients and of their squares; arrays as large as what is learned, changed in place."""

    mean: Floats
    square: Floats

    def step(
        self, rows: NDArray[np.int64], slope: Floats, rate: float, number: int, config: AdamConfig = ADAM
    ) -> Floats:
        """Take a gradient of some rows into account and say how far each goes; `number` counts from 1."""
        mean, square = self.mean[rows], self.square[rows]
        mean *= config.mean
        mean += slope * slope.dtype.type(1 - config.mean)
        square *= config.square
        square += slope * slope * slope.dtype.type(1 - config.square)
        self.mean[rows], self.square[rows] = mean, square
        known = (1 - config.square**number) ** 0.5
        np.sqrt(square, out=square)
        square += config.least * known
        mean /= square
        mean *= -rate * known / (1 - config.mean**number)
        return mean
