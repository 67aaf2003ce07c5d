"""What is known of kinds: which are ours, which are told the answers."""

from importlib import import_module

import pytest

from assay.engines.kinds import KINDS, kind_named, parts_of


def test_those_that_ship_and_need_no_stranger_are_ours():
    assert {name for name, kind in KINDS.items() if kind.ours} == {"builtin", "keywords", "oracle", "random", "runfile"}


def test_those_that_are_made_from_a_suite_are_told_the_answers():
    taught = {name for name, kind in KINDS.items() if "context.suite" in _source(kind.module)}
    assert {name for name, kind in KINDS.items() if kind.told} == taught


def _source(module):
    with open(str(import_module(module).__file__)) as file:
        return file.read()


@pytest.mark.parametrize("name", ["mine", None, 3, ["builtin"]])
def test_what_is_no_kind_is_none(name):
    assert kind_named(name) is None


def test_only_kinds_that_name_parts_have_them():
    assert {name for name in KINDS if parts_of({"kind": name})} == {"builtin"}
    assert parts_of({"kind": ["builtin"]}) == ()
