from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines.base import SearchFilter
from assay.engines.templates import Filters, make_filters, merge
from assay.errors import ConfigError, EngineError

WANTED = SearchFilter(("src/**", "{k}"), ("python",))
tables = st.recursive(
    st.integers(), lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=6
)


def test_filters_name_what_is_declared() -> None:
    assert Filters().names == frozenset()
    assert Filters(languages=("--lang={language}",)).names == {"languages"}
    assert Filters({"in": "{path}"}, {"lang": "{language}"}).names == {"paths", "languages"}


def test_filters_of_a_table_repeat_the_item_and_know_the_places() -> None:
    filters = Filters({"in": ["{path}", "own"], "at": "{root}", "n": "{k}"}, {"in": ["{language}"]})
    added = filters.table(WANTED, {"root": "/r", "k": 3})
    assert added == {"in": ["src/**", "{k}", "own", "python"], "at": "/r", "n": 3}
    assert filters.table(SearchFilter(), {}) == {}


def test_filters_of_a_flat_table_take_several_values_in_one_name() -> None:
    filters = Filters({"in": "{path}", "mode": "glob"})
    assert filters.table(WANTED, {}, flat=True) == {"in": ["src/**", "{k}"], "mode": "glob"}
    with pytest.raises(EngineError, match="takes one value, got 2"):
        filters.table(WANTED, {})


def test_filters_of_arguments_are_repeated_as_a_whole() -> None:
    filters = Filters(("--in", "{path}"), ("--lang={language}", "-{k}"))
    assert filters.arguments(WANTED, {"k": "3"}) == ("--in", "src/**", "--in", "{k}", "--lang=python", "-3")
    assert filters.arguments(SearchFilter(), {"k": "3"}) == ()


def test_filters_are_recorded_where_they_are_declared() -> None:
    assert Filters(("--in={path}",)).recorded() == {"path_filter": ["--in={path}"]}
    assert Filters(languages={"lang": "{language}"}).recorded() == {"language_filter": {"lang": "{language}"}}


def test_filters_without_the_place_of_a_value_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"engine x: path_filter has no \{path\}"):
        make_filters({"in": "src"}, {}, (), "engine x")
    with pytest.raises(ConfigError, match=r"engine x: language_filter: .*placeholder \{langauge\}"):
        make_filters({}, {"in": "{langauge}"}, (), "engine x")


@given(tables, tables)
def test_merge_holds_the_added_one_and_changes_neither(given_: object, added: object) -> None:
    before = repr((given_, added))
    merged = merge(given_, added)
    assert merge(merged, added) == merged
    assert repr((given_, added)) == before
