from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from assay.search.vectors import best_rows, unit_rows

#: Everything float32 holds: huge, tiny, infinite and none.
ANY = st.floats(width=32, allow_nan=True, allow_infinity=True)


@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8), elements=ANY))
def test_unit_rows_have_length_one_or_zero(matrix):
    with np.errstate(invalid="ignore"):
        rows = unit_rows(matrix)
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    empty = ~np.isfinite(matrix).all(axis=1) | ~matrix.any(axis=1)
    assert rows.dtype == np.float32
    assert np.allclose(lengths, np.where(empty, 0, 1), atol=1e-6)


def test_unit_rows_of_no_rows_are_none():
    assert unit_rows(np.zeros((0, 4), dtype=np.float32)).shape == (0, 4)


@given(arrays(np.float32, st.integers(0, 30), elements=st.integers(-3, 3)), st.integers(1, 40))
def test_best_rows_are_the_highest_and_of_equal_ones_the_first(scores, count):
    expected = sorted(sorted(range(len(scores)), key=lambda row: (-scores[row], row))[:count])
    assert best_rows(scores, count).tolist() == expected
