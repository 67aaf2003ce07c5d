"""Numbers as bytes and back."""

import json
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.report.explorer.page_data import Column, pack_table, round_floats, varints
from tests.report.explorer import unpacking

numbers = st.integers(0, 2**63 - 1)
reals = st.floats(width=32, allow_nan=True, allow_infinity=True)


@given(st.lists(numbers))
def test_varints_read_back(given):
    assert unpacking.varints(varints(np.array(given, dtype=np.int64))) == given


def test_varints_are_leb128():
    """The example of the DWARF standard (figure 7.22), and both sides of each step."""
    assert varints([2, 127, 128, 129, 12857]) == bytes([2, 0x7F, 0x80, 1, 0x81, 1, 0xB9, 0x64])
    assert [len(varints([n])) for n in (0, 127, 128, 2**14 - 1, 2**14, 2**63 - 1)] == [1, 1, 2, 2, 3, 9]
    assert varints([]) == b""


@given(st.lists(numbers), st.lists(reals))
def test_columns_read_back_with_their_head(whole, parts):
    columns: dict[str, Column] = {"a": np.array(whole, dtype=np.int64), "b": np.array(parts, dtype=np.float32)}
    head, found = unpacking.columns(pack_table({"paths": ["\ud800é</script>"]}, columns))
    assert head["paths"] == ["\ud800é</script>"]
    assert found["a"] == whole
    np.testing.assert_array_equal(np.array(found["b"], dtype=np.float32), columns["b"])


@given(st.floats(1e-30, 1e30) | st.floats(-1e30, -1e-30))
def test_scores_keep_five_digits(value):
    (found,) = round_floats(np.array([value], dtype=np.float32))
    assert math.isclose(found, value, rel_tol=2**-16)


def test_scores_that_are_no_numbers_stay_what_they_are():
    values = np.array([np.nan, np.inf, -np.inf, 0.0, np.finfo(np.float32).max], dtype=np.float32)
    np.testing.assert_array_equal(round_floats(values), values)


def test_head_is_json_that_browsers_read():
    head, _ = unpacking.columns(pack_table({"x": None}, {}))
    assert json.dumps(head, allow_nan=False)
