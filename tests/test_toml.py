"""Values written as TOML are read back as they were."""

import datetime
import math
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.toml import write_key, write_value

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | TEXTS
    | st.dates()
    | st.times()
    | st.datetimes()
    | st.datetimes(timezones=st.just(datetime.UTC)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)


def kinds(value):
    """Give a value with the types in it: 1, 1.0 and true are three."""
    if isinstance(value, dict):
        return {key: kinds(item) for key, item in value.items()}
    return [kinds(item) for item in value] if isinstance(value, list) else (type(value), value)


@given(VALUES)
def test_what_is_written_is_read_back(value):
    assert kinds(tomllib.loads(f"v = {write_value(value)}")["v"]) == kinds(value)


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_keys_are_read_back(names):
    found, seen = tomllib.loads(f"{write_key(names)} = 1"), []
    while isinstance(found, dict):
        ((name, found),) = found.items()
        seen.append(name)
    assert (seen, found) == (names, 1)


def test_what_is_no_number_has_a_name_and_null_has_none():
    assert math.isnan(tomllib.loads(f"v = {write_value(math.nan)}")["v"])
    assert write_value((1, (2.0,))) == "[1, [2.0]]"
    for wrong in (None, [None], {"a": object()}):
        with pytest.raises(ConfigError, match="cannot write"):
            write_value(wrong)
