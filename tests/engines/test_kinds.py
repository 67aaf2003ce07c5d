"""What is known of kinds: which are ours, which are told the answers."""

import inspect

import pytest

from assay.engines.kinds import KINDS, find_kind, list_components


def test_those_that_ship_and_need_no_stranger_are_ours():
    shipped = {name for name, kind in KINDS.items() if kind.shipped}
    assert shipped == {"builtin", "keywords", "oracle", "random", "runfile"}


def test_those_that_are_made_from_a_suite_are_told_the_answers():
    makers = {name: kind.load(kind.make) for name, kind in KINDS.items()}
    taught = {name for name, make in makers.items() if "context.suite" in inspect.getsource(make)}
    assert {name for name, kind in KINDS.items() if kind.uses_gold} == taught


@pytest.mark.parametrize("name", ["mine", None, 3, ["builtin"]])
def test_what_is_no_kind_is_none(name):
    assert find_kind(name) is None


def test_only_kinds_that_name_parts_have_them():
    assert {name for name in KINDS if list_components({"kind": name})} == {"builtin"}
    assert list_components({"kind": ["builtin"]}) == ()
