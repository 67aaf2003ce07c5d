"""The runs of a line join to the line, whatever the text is; and each class finds what it is for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.syntax.highlight import COLORS, ColorLimits, highlight
from assay.syntax.parsing import GRAMMARS
from assay.syntax.text import split_lines
from tests.syntax.symbol_samples import SAMPLES
from tests.timing import fastest

#: What each language calls a comment, a string, a number and a word; None where it has none.
PIECES = {
    "bash": ("# say", '"text"', "7", "if"),
    "json": (None, '"text"', "7", "true"),
    "html": ("<!-- say -->", '"text"', None, None),
    "css": ("/* say */", '"text"', "7", None),
    "sql": ("-- say", "'text'", "7", "SELECT"),
    "yaml": ("# say", '"text"', None, None),
    "toml": ("# say", '"text"', "7", "true"),
    "lua": ("-- say", '"text"', "7", "return"),
    "haskell": ("-- say", '"text"', "7", "where"),
    "elixir": ("# say", '"text"', "7", "def"),
    "ruby": ("# say", '"text"', "7", "def"),
    "python": ("# say", '"text"', "7", "def"),
    "php": ("// say", '"text"', "7", "function"),
}
SOURCES = {
    "bash": 'if true; then\n  x="text" # say\n  head -n 7 a\nfi\n',
    "c": '// say\nint f(void) { char *s = "text"; return 7; }\n',
    "cpp": '// say\nint f() { auto s = "text"; return 7; }\n',
    "csharp": '// say\nclass A { int F() { var s = "text"; return 7; } }\n',
    "css": '/* say */\na { margin: 7px; content: "text"; }\n',
    "dart": '// say\nint f() { var s = "text"; return 7; }\n',
    "elixir": 'defmodule A do\n  # say\n  def f, do: {"text", 7}\nend\n',
    "go": 'package a\n\n// say\nfunc f() int {\n\ts := "text"\n\treturn 7\n}\n',
    "haskell": 'module A where\n-- say\nf = ("text", 7)\n',
    "html": '<!-- say -->\n<p class="text">x</p>\n',
    "java": '// say\nclass A { int f() { String s = "text"; return 7; } }\n',
    "javascript": '// say\nfunction f() { const s = "text"; return 7; }\n',
    "json": '{"a": ["text", 7, true]}\n',
    "kotlin": '// say\nfun f(): Int { val s = "text"; return 7 }\n',
    "lua": '-- say\nlocal s = "text"\nreturn 7\n',
    "php": '<?php\n// say\nfunction f() { $s = "text"; return 7; }\n',
    "python": 'def f():\n    s = "text"  # say\n    return 7\n',
    "ruby": '# say\ndef f\n  s = "text"\n  7\nend\n',
    "rust": '// say\nfn f() -> i32 { let s = "text"; return 7; }\n',
    "scala": '// say\nclass A { def f = { val s = "text"; 7 } }\n',
    "sql": "-- say\nSELECT 'text', 7;\n",
    "swift": '// say\nfunc f() -> Int { let s = "text"; return 7 }\n',
    "toml": '# say\na = "text"\nb = 7\nc = true\n',
    "tsx": '// say\nfunction f(): number { const s = "text"; return 7; }\n',
    "typescript": '// say\nfunction f(): number { const s = "text"; return 7; }\n',
    "yaml": '# say\na: "text"\nb: 7\nc: true\n',
    "zig": '// say\nfn f() i32 { const s = "text"; return 7; }\n',
}
WORDS = {
    "go": "func", "rust": "fn", "swift": "func", "kotlin": "fun", "zig": "fn", "scala": "def", "javascript": "function",
    "typescript": "function", "tsx": "function", "java": "class", "csharp": "class",
}  # fmt: skip


def joined(rows):
    return ["".join(run.text for run in row) for row in rows]


def pieces(text, grammar):
    """Give the texts of each colour."""
    found: dict[str, list[str]] = {colour: [] for colour in COLORS}
    for row in highlight(text, grammar):
        for run in row:
            found[run.color].append(run.text)
    return found


def test_every_language_of_the_wheels_has_a_source_here():
    assert tuple(sorted(SOURCES)) == GRAMMARS


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_comments_strings_numbers_and_words_are_found(grammar):
    comment, string, number, word = PIECES.get(grammar, ("// say", '"text"', "7", WORDS.get(grammar, "return")))
    found = pieces(SOURCES[grammar], grammar)
    assert comment is None or found["comment"] == [comment]
    assert string in found["string"]
    assert number is None or any(text.startswith(number) for text in found["number"])
    assert word is None or word in found["keyword"]


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_runs_join_to_the_lines(grammar):
    for text in (SAMPLES[grammar].text, SOURCES[grammar], SOURCES[grammar].replace("text", "tëxt 漢字 🎉 \ud800")):
        rows = highlight(text, grammar)
        assert joined(rows) == list(split_lines(text))
        assert all(run.text for row in rows for run in row), "an empty run is none"
        assert any(run.color != "plain" for row in rows for run in row)


@given(st.sampled_from(GRAMMARS), st.text(st.sampled_from("\"'`#/*-{}()<>=:;\n\r\t aefint0é漢\0\ud800"), max_size=60))
def test_runs_join_whatever_the_text_is(grammar, text):
    assert joined(highlight(text, grammar)) == list(split_lines(text))
    assert joined(highlight(SOURCES[grammar] + text, grammar)) == list(split_lines(SOURCES[grammar] + text))


def test_names_that_are_defined_and_types_are_found():
    found = pieces("class Cart:\n    def total(self, at: float) -> int:\n        return f(at=at)\n", "python")
    assert found["definition"] == ["Cart", "total"]
    assert found["type"] == ["float", "int"]
    assert "at" not in found["keyword"]


def test_code_inside_a_string_is_code():
    row = highlight('x = f"a {len(b)} c"\n', "python")[0]
    assert [run.text for run in row if run.color == "string"] == ['f"a ', ' c"']


def test_a_language_without_a_grammar_is_plain():
    assert [[(run.text, run.color) for run in row] for row in highlight("a\n\nb", None)] == [
        [("a", "plain")], [], [("b", "plain")]
    ]  # fmt: skip


def test_what_is_too_large_or_slow_is_plain():
    long = "x = 1\n" * 20
    for limits in (ColorLimits(characters=50), ColorLimits(seconds=-1.0)):
        assert all(run.color == "plain" for row in highlight(long, "python", limits) for run in row)
    assert pieces(long, "python")["number"] == ["1"] * 20
    wide = highlight("x = 1\n" + "y = 2; " * 100, "python", ColorLimits(columns=50))
    assert [len(row) for row in wide] == [2, 1]


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_torn_and_deep_texts_are_split_in_time(grammar):
    for text in ("(" * 20_000, "[" * 5_000 + "]" * 5_000, "x = 1\0", '"' * 20_000, "`${" * 5_000, "/*" * 5_000):
        assert joined(highlight(text, grammar)) == list(split_lines(text))


@pytest.mark.soak
def test_time_grows_with_the_length_of_a_file():
    text = "def f(x):\n    return g(x, 'text', 17)  # why\n\n" * 8_000
    eighth = fastest(lambda: highlight(text[: len(text) // 8], "python"))
    assert fastest(lambda: highlight(text, "python")) < 3 * 8 * eighth


def test_large_file_is_highlighted():
    text = "def f(x):\n    return g(x, 'text', 17)  # why\n\n" * 800
    rows = highlight(text, "python")
    assert joined(rows) == list(split_lines(text))
    assert len(text) < ColorLimits().characters
    assert rows[1][1].color == "keyword"
