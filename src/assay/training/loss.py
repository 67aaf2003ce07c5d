"""How wrong a batch is, and which way is down: symmetric InfoNCE over bags of terms, with its gradients by hand.

    query vector   u_i = normalise(sum_t q_it exp(a_t) E_t)          a: log-weights of terms in queries
    code vector    v_j = normalise(sum_t c_jt exp(s_t) E_t)          s: log-weights of terms in code
    similarity     S_ij = u_i . v_j exp(l)                           l: log of 1 / temperature
    loss           mean_i of -log softmax_j(S_i.)_i / 2 - log softmax_i(S_.i)_i / 2     (van den Oord et al. 2018)

The gradient of a log-weight needs no sum over entries: d/ds_t = E_t . d/dE_t, as both only scale the same term.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.training.batches import Batch
from assay.training.pooling import Floats, pool, unpool
from assay.training.sparse import Products


@dataclass(frozen=True, slots=True)
class Parameters:
    """What is learned, for the terms of a batch; or its gradient."""

    vectors: Floats  # terms x dimension
    asked: Floats  # log-weights in queries
    said: Floats  # log-weights in code
    sharpness: float  # log of 1 / temperature


def loss_and_gradient(own: Parameters, batch: Batch, products: Products) -> tuple[float, Parameters]:
    """Give the loss of a batch and the gradient of everything that is learned."""
    query = pool(batch.query, own.asked, own.vectors, products)
    code = pool(batch.code, own.said, own.vectors, products)
    loss, slope = _contrast(query.unit, code.unit, own.sharpness, batch.masked)
    query_slope = slope @ code.unit
    asked = unpool(query, query_slope, products)
    said = unpool(code, slope.T @ query.unit, products)
    by_asked, by_said = (np.einsum("td,td->t", one, own.vectors) for one in (asked, said))
    # Sharpness scales every similarity, and so does the length of all query vectors: they share this slope.
    sharper = float(np.vdot(query.unit, query_slope))
    return loss, Parameters(asked + said, by_asked, by_said, sharper)


def _contrast(query: Floats, code: Floats, sharpness: float, masked: NDArray[np.bool_]) -> tuple[float, Floats]:
    """Give the loss, and its slope by the products of unit vectors."""
    scale, size = query.dtype.type(np.exp(sharpness)), len(query)
    right = np.arange(size)
    chance = (query * scale) @ code.T
    correct = chance[right, right]
    chance -= scale  # no similarity is above the scale, so nothing overflows
    np.exp(chance, out=chance)
    np.copyto(chance, 0, where=masked)
    by_query, by_code = chance.sum(axis=1), chance[:, :size].sum(axis=0)
    loss = float(np.mean((np.log(by_query) + np.log(by_code)) / 2 + scale - correct))
    half = scale * query.dtype.type(0.5 / size)
    share = np.zeros(len(code), dtype=query.dtype)  # further codes ask nothing
    share[:size] = half / by_code
    chance *= (half / by_query)[:, None] + share[None, :]
    chance[right, right] -= 2 * half
    return loss, chance
