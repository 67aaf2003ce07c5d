"""The loss and its gradients."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import random as random_matrix

from assay.training.dataset import Products
from assay.training.vectors import Parameters, TrainingBatch, loss_and_gradient

TERMS, SIZE, EXTRA, DIMENSION = 12, 5, 2, 4


@pytest.fixture
def products():
    with ThreadPoolExecutor(2) as pool:
        yield Products(pool, 2)


@pytest.fixture
def batch():
    draw = np.random.default_rng(0)
    query = random_matrix(SIZE, TERMS, 0.4, "csr", np.float64, draw)
    code = random_matrix(SIZE + EXTRA, TERMS, 0.6, "csr", np.float64, draw)
    masked = np.zeros((SIZE, SIZE + EXTRA), dtype=bool)
    masked[0, 1] = masked[3, 6] = True
    return TrainingBatch(np.arange(TERMS), query, code, masked)


@pytest.fixture
def parameters():
    draw = np.random.default_rng(1)
    return Parameters(draw.normal(size=(TERMS, DIMENSION)), draw.normal(size=TERMS), draw.normal(size=TERMS), 1.5)


def by_hand(own: Parameters, batch: TrainingBatch) -> float:
    """Write the loss as the docstring has it, pair by pair."""
    query = batch.query.toarray() * np.exp(own.asked) @ own.vectors
    code = batch.code.toarray() * np.exp(own.said) @ own.vectors
    query /= np.linalg.norm(query, axis=1, keepdims=True)
    code /= np.linalg.norm(code, axis=1, keepdims=True)
    similar = np.where(batch.masked, -np.inf, query @ code.T * np.exp(own.sharpness))
    losses = [
        -(similar[i, i] - np.log(np.exp(similar[i]).sum())) / 2
        - (similar[i, i] - np.log(np.exp(similar[:, i]).sum())) / 2
        for i in range(SIZE)
    ]
    return float(np.mean(losses))


def test_loss_is_what_it_says(parameters, batch, products):
    assert loss_and_gradient(parameters, batch, products)[0] == pytest.approx(by_hand(parameters, batch), abs=1e-12)


@pytest.mark.parametrize("name", ["vectors", "asked", "said", "sharpness"])
def test_gradient_is_the_slope_of_the_loss(name, parameters, batch, products):
    gradient = np.asarray(getattr(loss_and_gradient(parameters, batch, products)[1], name))
    values = np.asarray(getattr(parameters, name))
    found = np.zeros(values.shape)
    for place in np.ndindex(values.shape):
        step = np.zeros(values.shape)
        step[place] = 1e-6
        up, down = (by_hand(replace(parameters, **{name: values + sign * step}), batch) for sign in (1, -1))
        found[place] = (up - down) / 2e-6
    np.testing.assert_allclose(gradient, found, atol=1e-7)


def test_masked_pairs_do_not_push(parameters, batch, products):
    lone = replace(batch, masked=~np.eye(SIZE, SIZE + EXTRA, dtype=bool))
    loss, gradient = loss_and_gradient(parameters, lone, products)
    assert loss == pytest.approx(0.0, abs=1e-12)
    assert np.abs(gradient.vectors).max() < 1e-12


def test_number_of_threads_makes_no_difference(parameters, batch):
    found = []
    for threads in (1, 2, 5):
        with ThreadPoolExecutor(threads) as pool:
            found.append(loss_and_gradient(parameters, batch, Products(pool, threads)))
    assert len({loss for loss, _ in found}) == 1
    assert all(np.array_equal(found[0][1].vectors, gradient.vectors) for _, gradient in found)


def test_rows_without_a_term_are_no_trouble(parameters, batch, products):
    empty = batch.code.copy()
    empty.data[empty.indptr[2] : empty.indptr[3]] = 0.0
    loss, gradient = loss_and_gradient(parameters, replace(batch, code=empty), products)
    assert np.isfinite(loss)
    assert np.isfinite(gradient.vectors).all()
