"""Dotted keys: what is joined is split again, as TOML itself reads it."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines.builtin import BuiltinSettings
from assay.errors import ConfigError
from assay.settings import apply_overrides, flatten, get_key, iter_leaves, nest, read_settings, split_key
from assay.toml import write_key

NAMES = st.lists(st.text(max_size=5), min_size=1, max_size=4).map(tuple)


@given(NAMES)
def test_keys_are_split_as_they_are_joined(names):
    assert split_key(write_key(names)) == names


@given(NAMES)
def test_joined_keys_mean_the_same_to_toml(names):
    assert tomllib.loads(f"{write_key(names)} = 0") == nest(names, 0)


@given(st.text(st.sampled_from("ab.\"' \\\t\n-_é1=#"), max_size=9))
def test_what_toml_reads_as_a_key_is_split_alike(key):
    try:
        table = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        return
    whole = list(iter_leaves(table))
    if len(whole) == 1 and whole[0][1] == 0 and "=" not in key and "#" not in key and key.strip() == key:
        assert split_key(key) == whole[0][0]


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ('config.edits."a.b"', ("config", "edits", "a.b")),
        ("'a.b'.c", ("a.b", "c")),
        ("section.window size", ("section", "window size")),
        ("servers.0.path/x", ("servers", "0", "path/x")),
        ("größe . x", ("größe", "x")),
    ],
)
def test_keys_as_people_write_them(key, names):
    assert split_key(key) == names


@pytest.mark.parametrize("key", ["", ".", "a.", ".a", "a..b", 'a."b', '"a"b', "a\nb", 'a"b"', '"\\q"', " "])
def test_what_is_no_key_is_refused(key):
    with pytest.raises(ConfigError, match="invalid dotted key"):
        split_key(key)


@given(
    st.recursive(st.integers(), lambda inner: st.dictionaries(st.sampled_from(["a", "b.c", "d e"]), inner, min_size=1))
)
def test_flat_settings_say_what_the_table_says(value):
    table = {"top": value}
    assert apply_overrides({}, flatten(table)) == table
    assert all(get_key(table, key) == leaf for key, leaf in flatten(table).items())


def test_errors_have_the_dotted_key_of_the_setting_at_fault() -> None:
    for settings, key in (
        ({"search": {"stem": {"files": "x"}}}, "search.stem.files"),
        ({"search": {"stm": 1}}, "search.stm"),
        ({"search": {"dense": {"fusion": "x"}}}, "search.dense.fusion"),
        ({"search": {"filter": {"kinds": ["x"]}}}, "search.filter.kinds"),
    ):
        with pytest.raises(ConfigError) as caught:
            read_settings(BuiltinSettings, settings, "engine builtin")
        assert caught.value.keys == (key,)
