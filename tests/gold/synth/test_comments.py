"""Taking list_comments out of a file: what goes, what stays, and that no line moves."""

import ast
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.gold.code_index import find_documentation, list_comments
from assay.gold.synth import strip_comments
from assay.syntax.outline import parse_outline
from tests.gold.synth.conftest import POOL, RETRY, VIEW


def documented(text: str, grammar: str) -> dict[str, list[str]]:
    found = parse_outline(text, grammar).definitions
    return {
        d.name: [s.text for s in stretches]
        for d, stretches in zip(found, find_documentation(found, list_comments(text, grammar)), strict=True)
    }


def test_documentation_is_the_string_inside_else_the_comments_above():
    python = documented(POOL, "python")
    assert python["Pool"] == ["Hand out open connections and take them back."]
    assert python["acquire"][0].startswith("Wait until a free connection")
    assert python["release"] == []
    go = documented(RETRY, "go")
    assert [text[:20] for text in go["Backoff"]] == ["// Backoff returns h", "// It doubles each t"]
    assert go["limit"] == []
    assert documented(VIEW, "typescript")["render"] == ["/** Draws the given rows as an indented tree of labels. */"]


@pytest.mark.parametrize(("text", "grammar"), [(POOL, "python"), (RETRY, "go"), (VIEW, "typescript")])
def test_blanking_keeps_every_line_and_every_other_character(text, grammar):
    every = list_comments(text, grammar)
    stripped = strip_comments(text, every)
    assert len(stripped.split("\n")) == len(text.split("\n"))
    source = text.encode()
    outside = [source[a.last : b.first] for a, b in pairwise(every)]
    assert all(part.decode() in stripped for part in outside)
    assert not [s for s in every if s.text.strip() and s.text in stripped]


def test_blanked_python_still_parses_where_the_string_was_the_whole_body():
    text = 'def f():\n    """Only this."""\n\n\nclass C:\n    r"""And\n    this."""\n'
    stripped = strip_comments(text, list_comments(text, "python"))
    assert [getattr(node, "name", "") for node in ast.parse(stripped).body] == ["f", "C"]
    assert "this" not in stripped


@given(st.lists(st.sampled_from(["x = 1\n", "# a ü comment\n", "\n", 'def f():\n    """Döc."""\n', "y = 'ß' # end\n"])))
def test_blanking_nothing_changes_nothing_and_all_leaves_no_comment(parts):
    text = "".join(parts)
    assert strip_comments(text, ()) == text
    stripped = strip_comments(text, list_comments(text, "python"))
    assert "comment" not in stripped
    assert "Döc" not in stripped
    assert stripped.count("\n") == text.count("\n")
    assert stripped.count("'ß'") == text.count("'ß'")
