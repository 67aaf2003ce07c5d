from __future__ import annotations

import json

import pytest

from assay.engines.base import Reply
from assay.engines.reading.output import make_layout, read_output
from assay.engines.reading.selectors import parse_selector
from assay.engines.reading.settings import Format, ReadingSettings
from assay.errors import ConfigError, EngineError
from assay.settings import read_settings
from assay.types import Hit

KNOWN = frozenset({"Makefile", "my file.py", "odd:12", "a.py"})


def reply(text: str, form: Format = "auto", **fields: str) -> Reply:
    return read_output(
        text.encode(),
        make_layout(read_settings(ReadingSettings, {"format": form, **fields}, "engine"), "engine"),
        KNOWN,
    )


def read(text: str, form: Format = "auto", **fields: str) -> list[Hit]:
    return list(reply(text, form, **fields).hits)


@pytest.mark.parametrize(
    ("line", "hit"),
    [
        ("a.py", Hit("a.py")),
        ("a.py:3", Hit("a.py", 3, 3)),
        ("a.py:3-9", Hit("a.py", 3, 9)),
        ("a.py:3:7:def f(x): y:1", Hit("a.py", 3, 3)),
        ("./src/a.py:3", Hit("./src/a.py", 3, 3)),
        ("  a.py:3  \r", Hit("a.py", 3, 3)),
        ("Makefile", Hit("Makefile")),
        ("Makefile:2:all:", Hit("Makefile", 2, 2)),
        ("my file.py:2", Hit("my file.py", 2, 2)),
        ("./my file.py", Hit("./my file.py")),
        ("odd:12", Hit("odd:12")),
        ("gone/file.rs:1-2", Hit("gone/file.rs", 1, 2)),
    ],
)
def test_text_lines_are_read_as_locations(line: str, hit: Hit) -> None:
    assert read(line, "text") == [hit]
    assert read(f"3 results found:\n\n{line}\nDone in 0.3 s.\n") == [hit]


def test_text_without_output_is_no_results() -> None:
    assert read("") == read("  \n\n") == []


@pytest.mark.parametrize(
    "document",
    [
        [{"path": "a.py", "start": 3, "end": 9, "score": 0.5}],
        {"results": [{"file_path": "a.py", "start_line": 3, "end_line": 9, "similarity": 0.5}]},
        {"query": "q", "matches": [{"file": "a.py", "line_start": 3, "line_end": 9, "score": 0.5}]},
    ],
)
def test_json_is_read_by_the_names_that_tools_use(document: object) -> None:
    assert read(json.dumps(document)) == read(json.dumps(document, indent=2)) == [Hit("a.py", 3, 9, 0.5)]


def test_json_lines_are_read_one_by_one() -> None:
    assert read('{"path": "a.py", "line": 3}\n\n{"path": "b.py"}\n') == [Hit("a.py", 3), Hit("b.py")]
    assert read('{"data": {"p": "a.py"}}\n{"type": "end"}\n', "jsonl", path="data.p") == [Hit("a.py")]


def test_json_fields_are_declared_from_the_document_or_from_the_result() -> None:
    text = json.dumps({"r": {"list": [{"chunk": {"f": "a.py", "at": {"s": 3}}, "w": 2}]}})
    expected = [Hit("a.py", 3, None, 2)]
    assert read(text, path="r.list[].chunk.f", start="r.list[].chunk.at.s", score="r.list[].w") == expected
    assert read(text, path="r.list[].chunk.f", start="chunk.at.s", score="w") == expected


def test_json_fields_of_nested_lists_give_a_hit_for_each_inner_item() -> None:
    text = json.dumps({"files": [{"p": "a.py", "m": [{"l": 3}, {"l": 7}]}, {"p": "b.py", "m": []}]})
    assert read(text, path="files[].p", start="files[].m[].l") == [Hit("a.py", 3), Hit("a.py", 7)]


def test_json_path_may_hold_the_lines() -> None:
    assert read('["a.py:3-9", "b.py"]') == [Hit("a.py", 3, 9), Hit("b.py")]
    assert read('{"results": [{"loc": "a.py:3-9"}]}', path="results[].loc") == [Hit("a.py", 3, 9)]


def test_json_null_and_empty_lists_are_no_results() -> None:
    assert read('{"results": null}', path="results[].f") == read('{"results": []}') == read("[]") == []


@pytest.mark.parametrize(
    ("text", "fields", "message"),
    [
        ('{"error": "no index"}', {"path": "results[].f"}, "no 'results'; there is: error"),
        ('{"results": {"f": "a"}}', {"path": "results[].f"}, "no list at results"),
        ('{"results": [{"g": "a"}]}', {"path": "results[].f"}, r"no result in the output has a text at results\[\].f"),
        ('{"results": [', {"path": "results[].f"}, "the output is no json"),
        ("", {"path": "results[].f"}, "the output is no json"),
        ("[1e999", {}, "the output is no json"),
    ],
)
def test_json_that_is_not_as_declared_is_an_error(text: str, fields: dict[str, str], message: str) -> None:
    with pytest.raises(EngineError, match=message) as caught:
        read(text, "json", **fields)
    assert caught.value.hint


def test_text_without_a_location_is_told_with_a_next_step() -> None:
    with pytest.raises(EngineError, match="no line of the output is a location") as caught:
        read("nothing to see here")
    assert "path:start-end" in str(caught.value.hint)


def test_json_fields_of_two_lists_beside_each_other_are_refused() -> None:
    with pytest.raises(ConfigError, match="another list"):
        read('{"a": [], "b": []}', path="a[].p", start="b[].l")


@pytest.mark.parametrize("text", ["results[].file_path", "[].path", "a.b[].c[].d", "path", "[][].x"])
def test_selector_prints_as_it_is_written(text: str) -> None:
    assert str(parse_selector(text, "x")) == text
