"""Templates: filled once, quoted where they must be, and checked before anything runs."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.engines.templates import (
    PATH_PLACEHOLDERS,
    QUERY_PLACEHOLDERS,
    check_template,
    fill,
    fill_json,
    fill_url,
    find_python,
    has_placeholder,
    named_secrets,
)
from assay.errors import ConfigError, SetupError

KNOWN = (*PATH_PLACEHOLDERS, *QUERY_PLACEHOLDERS)


@given(st.text() | st.sampled_from(["{k}", "{query}", "{env:HOME}", "{python:pip}", "a{root}b"]))
def test_fill_leaves_braces_in_a_value_alone(query: str) -> None:
    assert fill("<{query}> {k} {query}", {"query": query, "k": "3"}) == f"<{query}> 3 {query}"
    assert fill_json(["{query}", "x {query}"], {"query": query, "k": 3}) == [query, f"x {query}"]


def test_fill_leaves_braces_of_the_tool_alone() -> None:
    for text in ("{}", "{print}", "{other:thing}", "${HOME}", "{ k }", "{k"):
        assert fill(text, {"k": "3"}) == text


def test_fill_reads_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "s3cret {k}")
    assert fill("Bearer {env:A_TOKEN}", {"k": "3"}) == "Bearer s3cret {k}"
    monkeypatch.delenv("A_TOKEN")
    with pytest.raises(ConfigError, match="variable A_TOKEN is not set") as caught:
        fill("{env:A_TOKEN}", {})
    assert "export A_TOKEN" in str(caught.value.hint)


def test_fill_json_keeps_numbers_and_shapes() -> None:
    template = {"q": "{query}", "n": "{k}", "text": "{k} of", "deep": [{"k": "{k}"}, True, None, 2.5], "{k}": 1}
    filled = fill_json(template, {"query": "a", "k": 3})
    assert filled == {"q": "a", "n": 3, "text": "3 of", "deep": [{"k": 3}, True, None, 2.5], "{k}": 1}
    assert template["n"] == "{k}"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_fill_url_quotes_everything_in_a_value(query: str) -> None:
    filled = fill_url("http://h/{root}/s?q={query}&k={k}", {"query": query, "k": 3, "root": "a/b"})
    head, _, tail = filled.partition("?q=")
    assert head == "http://h/a%2Fb/s"
    value, _, rest = tail.partition("&")
    assert (unquote(value), rest) == (query, "k=3")


def test_fill_url_takes_only_a_leading_variable_as_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_BASE", "http://h:1/x")
    assert fill_url("{env:A_BASE}/s?t={env:A_BASE}", {}) == "http://h:1/x/s?t=http%3A%2F%2Fh%3A1%2Fx"
    assert fill_url("{query}/s", {"query": "http://evil"}) == "http%3A%2F%2Fevil/s"
    assert fill_url("http://h/{own}", {}) == "http://h/{own}"


@pytest.mark.parametrize(
    "template",
    ["{qurey}", ["x", "{Root}"], {"a": {"b": ["{querry}"]}}, "{storee}", "{env:}", "{env:A-B}", "{evn:TOKEN}",
     "{python:}", "{pyhton:semble}", "{query:x}"],
)  # fmt: skip
def test_check_refuses_what_looks_misspelt(template: object) -> None:
    with pytest.raises(ConfigError, match="engine x: argv: .*placeholder {") as caught:
        check_template(template, KNOWN, "engine x", "argv")
    assert "{" in str(caught.value.hint)


def test_check_refuses_what_has_no_value_there() -> None:
    check_template("{query} {k}", KNOWN, "engine x", "argv")
    with pytest.raises(ConfigError, match="index: .*placeholder {query}"):
        check_template("{query}", PATH_PLACEHOLDERS, "engine x", "index")


def test_check_takes_braces_of_the_tool_and_names_outside() -> None:
    for template in ("{}", "{path}:{line}", "{score}", "{source}", "{reset}", "{print}", "{env:A_1}", "{python:s-1}"):
        check_template([template], KNOWN, "engine x", "argv")
    check_template("--in={path}", ("path",), "engine x", "path_filter")


def test_secrets_are_all_that_templates_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "one")
    monkeypatch.setenv("B_KEY", "two")
    assert named_secrets({"a": "{env:A_KEY} {env:B_KEY}", "b": ["{env:A_KEY}", 3]}) == ("one", "two")
    assert named_secrets("{query}") == ()
    with pytest.raises(ConfigError, match="NOT_THERE_KEY"):
        named_secrets(["{env:NOT_THERE_KEY}"])


def test_a_template_names_its_places() -> None:
    assert has_placeholder(["a", {"b": "x{query}"}], "query")
    assert not has_placeholder(["a", {"b": "x{k}"}], "query")


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (f"#!{sys.executable}\n", sys.executable),
        (f"#! {sys.executable} -E\n", sys.executable),
        ('#!/bin/sh\n\'\'\'exec\' "/opt/a b/python3" "$0" "$@"\n', "/opt/a b/python3"),
        ("#!/usr/bin/env python3\n", "FOLDER/python3"),
        ("#!/usr/bin/env -S python3\n", "FOLDER/python3"),
    ],
)
def test_python_of_a_program_is_the_one_it_starts_with(
    head: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in (("tool", head + "print()\n"), ("python3", "")):
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_python("tool") == expected.replace("FOLDER", str(tmp_path))
    assert fill("{python:tool}", {}) == find_python("tool")


def test_python_of_something_else_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="program tool not found"):
        find_python("tool")
    for content in (b"\x7fELF\x00", b"#!/bin/bash\n", b"#!", b"#!/bin/sh\necho python\n"):
        (tmp_path / "tool").write_bytes(content)
        (tmp_path / "tool").chmod(0o755)
        with pytest.raises(SetupError, match="is not a Python script") as caught:
            find_python("tool")
        assert caught.value.hint
