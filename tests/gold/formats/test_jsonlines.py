"""JSON lines: every line is an object with its number, or an error with it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import GoldError
from assay.gold.build import GoldSource
from assay.gold.formats.rows import describe_unread, read_entries

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), min_size=1, max_size=4)


def source(text: str) -> GoldSource:
    return GoldSource(Path("drawn.jsonl"), text)


@given(OBJECTS, st.sampled_from(["\n", "\r\n", "\n\n", " \n\t\n"]), st.booleans())
def test_lines_come_back_with_their_numbers(objects, end, ascii_only):
    written = end.join(json.dumps(one, ensure_ascii=ascii_only) for one in objects) + end
    records = read_entries(source(written))
    assert [record.values for record in records] == objects
    step = end.count("\n")
    assert [record.location.line for record in records] == [1 + step * n for n in range(len(objects))]
    assert [record.subject for record in records] == [f"row {n}" for n in range(1, len(objects) + 1)]


@given(OBJECTS, st.sampled_from([None, 1]))
def test_a_list_is_read_as_its_lines_are(objects, indent):
    written = json.dumps(objects, indent=indent)
    assert [record.values for record in read_entries(source(written))] == objects


BAD = {
    "nothing": ("\n \n", 1, "empty"),
    "no object": ('{"a": 1}\n3\n', 2, "expected a JSON object, got a number"),
    "torn": ('{"a": 1}\n\n{"a": "x\n{"a": 2}\n', 3, "invalid JSON"),
    "over two lines": ('{"a":\n1}\n', 1, "invalid JSON"),
    "two on a line": ('{"a": 1} {"a": 2}\n', 1, "invalid JSON: Extra data"),
    "key twice": ('{"a": 1}\n{"b": {"a": 1, "a": 2}}\n', 2, "duplicate key 'a'"),
    "too deep": ('{"a": 1}\n{"a": ' + "[" * 100_000 + "\n", 2, "invalid JSON"),
    "too long a number": ('{"a": ' + "1" * 5000 + "}\n", 1, "invalid JSON"),
    "empty list": ("[]", 1, "empty"),
}


@pytest.mark.parametrize(("text", "line", "message"), BAD.values(), ids=BAD)
def test_a_broken_line_is_named(text, line, message):
    with pytest.raises(GoldError) as error:
        read_entries(source(text))
    assert (error.value.file, error.value.line) == ("drawn.jsonl", line)
    assert message in error.value.message
    assert error.value.hint


def test_unread_names_the_keys_nobody_read():
    records = read_entries(source('{"a": 1, "z": 2}\n{"b": 1}\n'))
    assert describe_unread(records, ("a",)) == {"not read": "b, z"}
    assert describe_unread(records, ("a", "b", "z")) == {}
