"""Many questions at once: Holm for what was declared, Benjamini–Hochberg for what is explored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values that keep the chance of any false claim at α (Holm 1979): max over j ≤ i of (m − j)·p₍ⱼ₎."""
    order = np.argsort(p, kind="stable")
    scaled = np.asarray(p, dtype=np.float64)[order] * np.arange(len(p), 0, -1)
    return _back(order, np.minimum(np.maximum.accumulate(scaled), 1.0))


def benjamini_hochberg(p: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values that keep the share of false claims at α (1995): min over j ≥ i of m·p₍ⱼ₎/j."""
    order = np.argsort(p, kind="stable")
    scaled = np.asarray(p, dtype=np.float64)[order] * len(p) / np.arange(1, len(p) + 1)
    return _back(order, np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0))


def _back(order: np.ndarray[tuple[int, ...], np.dtype[np.intp]], values: np.ndarray) -> tuple[float, ...]:
    """Undo the sort."""
    result = np.empty(len(order))
    result[order] = values
    return tuple(result.tolist())


def can_decide(smallest_p: float | None, family: int, alpha: float) -> bool:
    """Whether the smallest attainable p, times the family, can reach α at all."""
    return smallest_p is not None and smallest_p * family <= alpha
