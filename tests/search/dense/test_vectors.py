from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.search.vectors import Vectors, VectorScanConfig, best_rows, draw_signs, encode_rows, rotate, unit_rows
from assay.store.array_file import read_store, write_store

KINDS = ("float32", "int8", "binary")
SIZES = st.tuples(st.integers(0, 40), st.integers(1, 70), st.integers(0, 2**32 - 1))


def rows_of(n, dimension, seed):
    return unit_rows(np.random.default_rng(seed).standard_normal((n, dimension)) + 0.5)


def clustered(n, dimension, clusters, seed):
    """Rows around centres, all of them off zero, and queries near some: what embeddings of code look like."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((clusters, dimension)) + rng.standard_normal(dimension)
    rows = centres[rng.integers(0, clusters, n)] + 0.6 * rng.standard_normal((n, dimension))
    return unit_rows(rows), unit_rows(rows[rng.integers(0, n, 40)] + 0.3 * rng.standard_normal((40, dimension)))


@given(SIZES)
def test_float32_equals_brute_force(size):
    matrix, query = rows_of(*size), rows_of(1, size[1], 7)[0]
    truth = matrix.astype(np.float64) @ query.astype(np.float64)
    assert np.allclose(Vectors.build(matrix, "float32").scores(query), truth, atol=1e-6)


@given(SIZES)
def test_int8_is_within_its_bound(size):
    matrix, query = rows_of(*size), rows_of(1, size[1], 7)[0]
    truth = matrix.astype(np.float64) @ query.astype(np.float64)
    bound = np.abs(matrix).max(axis=1, initial=0) / 127 / 2 * np.abs(query).sum()
    assert (np.abs(Vectors.build(matrix, "int8").scores(query) - truth) <= bound + 1e-6).all()


@pytest.mark.parametrize("exact", ["float32", "int8"])
def test_binary_after_rescoring_finds_the_best(exact):
    matrix, queries = clustered(5000, 128, 100, seed=1)
    config = VectorScanConfig(exact=exact)
    true, binary = Vectors.build(matrix, "float32"), Vectors.build(matrix, "binary", config)
    codes = binary.codes
    assert codes is not None
    raw, rescored = [], []
    for query in queries:
        best = best_rows(true.scores(query), 10)
        raw.append(len(np.intersect1d(best, best_rows(codes.estimate(query, config), 10))) / 10)
        rescored.append(len(np.intersect1d(best, best_rows(binary.scores(query), 10))) / 10)
    assert np.mean(rescored) >= 0.97
    assert 0.1 < np.mean(raw) < np.mean(rescored)


def test_estimate_is_unbiased_over_rotations():
    """The mean error over 400 rotations is nothing for every row, within 4.5 standard errors."""
    matrix, queries = clustered(60, 64, 6, seed=2)
    truth = matrix @ queries[0]
    configs = [VectorScanConfig(seed=seed, query_bits=8) for seed in range(400)]
    errors = np.array([encode_rows(matrix, config).estimate(queries[0], config) - truth for config in configs])
    z = errors.mean(axis=0) / (errors.std(axis=0) / np.sqrt(len(configs)))
    assert np.abs(z).max() < 4.5
    assert abs(errors.mean()) < 0.002
    assert 0.01 < errors.std() < 0.15  # there is something to be unbiased about, and it is as large as 1/sqrt(64)


def sparse(n, dimension, seed):
    """Rows of two numbers each, which one round of signs and Hadamard leaves half zero."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((n, dimension), dtype=np.float32)
    for row in rows:
        row[rng.choice(dimension, 2, replace=False)] = rng.choice([-1, 1], 2)
    return unit_rows(rows), unit_rows(rng.standard_normal((1, dimension)))


@pytest.mark.parametrize(
    "drawn", [clustered(3000, 256, 60, seed=3), sparse(3000, 256, seed=3)], ids=["dense", "sparse"]
)
def test_estimate_error_is_what_rabitq_promises(drawn):
    """The error's deviation is |x-c| |q-c| tan(angle to the code) / sqrt(D-1), with a cosine near sqrt(2/pi)."""
    matrix, queries = drawn
    config = VectorScanConfig(query_bits=8)
    codes = encode_rows(matrix, config)
    centred = np.linalg.norm(matrix - codes.center, axis=1) * np.linalg.norm(queries[0] - codes.center)
    expected = centred * np.sqrt(np.pi / 2 - 1) / np.sqrt(255)
    ratio = (codes.estimate(queries[0], config) - matrix @ queries[0]) / expected
    assert 0.9 < ratio.std() < 1.1
    assert abs(ratio.mean()) < 0.2


def test_query_bits_shape_the_estimate():
    matrix, queries = clustered(2000, 128, 40, seed=4)
    truth = matrix @ queries[0]
    deviation = {}
    for bits in (1, 4, 8):
        config = VectorScanConfig(query_bits=bits)
        deviation[bits] = (encode_rows(matrix, config).estimate(queries[0], config) - truth).std()
    assert deviation[8] <= deviation[4] * 1.02 < deviation[1]
    assert deviation[4] < deviation[8] * 1.05


@given(SIZES, st.integers(1, 50), st.sampled_from(["float32", "int8"]))
def test_binary_scores_rescored_rows_exactly_and_others_below(size, rescored, exact):
    matrix, query = rows_of(*size), rows_of(1, size[1], 9)[0]
    config = VectorScanConfig(rescored=rescored, exact=exact)
    scores = Vectors.build(matrix, "binary", config).scores(query)
    truth = Vectors.build(matrix, exact).scores(query)
    order = np.lexsort((np.arange(len(scores)), -scores))
    top, rest = order[:rescored], order[rescored:]
    assert (scores[top] == truth[top]).all()
    if len(rest):
        assert scores[rest].max() < scores[top].min()
        estimate = encode_rows(matrix, config).estimate(query, config)
        by_estimate = rest[np.lexsort((rest, -estimate[rest]))]
        apart = np.diff(estimate[by_estimate]) < -1e-5  # more than float32 rounds away
        assert (np.diff(scores[by_estimate])[apart] < 0).all()
        assert (np.diff(scores[by_estimate]) <= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_copies_of_a_row_tie_wherever_they_stand(kind):
    matrix, queries = clustered(4000, 96, 50, seed=5)
    for place in (0, 1234, 3999):
        matrix[place] = matrix[17]
    scores = Vectors.build(matrix, kind, VectorScanConfig(rescored=4000, block=256)).scores(queries[0])
    assert len({scores[place] for place in (0, 17, 1234, 3999)}) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_scores_do_not_depend_on_the_block(kind):
    matrix, queries = clustered(1000, 48, 20, seed=6)
    blocks = [
        Vectors.build(matrix, kind, VectorScanConfig(block=block)).scores(queries[0]) for block in (1, 33, 16_384)
    ]
    assert (blocks[0] == blocks[1]).all()
    assert (blocks[0] == blocks[2]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_building_twice_gives_the_same_arrays(kind):
    matrix, _ = clustered(500, 48, 20, seed=6)
    first, second = Vectors.build(matrix, kind).columns(), Vectors.build(matrix.copy(), kind).columns()
    assert first.keys() == second.keys()
    assert all((first[name] == second[name]).all() for name in first)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [0, 1, 300])
def test_columns_come_back_from_a_store(kind, n, tmp_path):
    matrix, query = rows_of(n, 40, 3), rows_of(1, 40, 4)[0]
    vectors = Vectors.build(matrix, kind)
    write_store(tmp_path / "v.assay", {}, vectors.columns())
    back = Vectors.from_columns(read_store(tmp_path / "v.assay").arrays)
    assert (len(back), back.dimension) == (n, 40)
    assert (back.scores(query) == vectors.scores(query)).all()
    assert back.scores(query).dtype == np.float32


@pytest.mark.parametrize(
    ("kind", "exact", "bytes_each"),
    [("float32", "float32", 1024), ("int8", "int8", 260), ("binary", "float32", 1064), ("binary", "int8", 300)],
)
def test_memory_is_what_the_module_says(kind, exact, bytes_each):
    config = VectorScanConfig(exact=exact)
    small, large = (
        sum(column.nbytes for column in Vectors.build(rows_of(n, 256, 1), kind, config).columns().values())
        for n in (100, 300)
    )
    assert (large - small) / 200 == bytes_each  # a difference, because centre and signs are stored once


@pytest.mark.parametrize("kind", KINDS)
def test_zero_rows_and_zero_queries_are_scored(kind):
    matrix = np.vstack([np.zeros((250, 32), dtype=np.float32), rows_of(250, 32, 1)])
    vectors = Vectors.build(matrix, kind)
    assert (vectors.scores(np.zeros(32, dtype=np.float32)) == 0).all()
    assert np.isfinite(vectors.scores(matrix[300])).all()


def test_rows_that_are_all_alike_are_scored():
    matrix = np.repeat(rows_of(1, 32, 1), 300, axis=0)
    scores = Vectors.build(matrix, "binary").scores(matrix[0])
    assert np.allclose(scores, 1, atol=1e-3)
    assert np.argmax(scores) == 0


def test_rotation_keeps_lengths_and_angles():
    columns = np.random.default_rng(1).standard_normal((100, 7)).astype(np.float32)
    rotated = rotate(draw_signs(100, np.random.default_rng(2)), columns)
    assert rotated.shape == (128, 7)
    assert np.allclose(rotated.T @ rotated, columns.T @ columns, atol=1e-3)


@pytest.mark.parametrize(("dimension", "size"), [(1, 64), (64, 64), (65, 128), (256, 256), (384, 512), (768, 1024)])
def test_rotation_fills_up_to_a_power_of_two(dimension, size):
    assert draw_signs(dimension, np.random.default_rng(0)).shape[1] == size


def test_query_of_another_model_is_refused():
    with pytest.raises(ConfigError, match="shape"):
        Vectors.build(rows_of(5, 8, 1), "int8").scores(np.zeros(9, dtype=np.float32))
