from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.search.query import WORD_OR_NEWLINE, find_words, term_hash, word_terms
from assay.syntax.identifiers import stem


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("retry", ("retri",)),
        ("parse_args", ("pars", "arg", "parsearg")),
        ("HTTPServer", ("http", "serv", "httpserv")),
        ("utf8", ("utf", "8", "utf8")),
        ("__init__", ("init",)),
        ("_", ()),
        ("Größe", ("größe",)),
        ("日本語", ("日本語", "日本", "本語")),
        ("парсерФайлов", ("парсер", "файлов", "парсерфайлов")),
    ],
)
def test_terms_are_the_roots_of_the_parts_and_the_compound(run: str, expected: tuple[str, ...]) -> None:
    assert word_terms(run) == expected


@pytest.mark.parametrize(
    ("word", "root"),
    [
        ("decided", "decid"), ("decide", "decid"), ("retries", "retri"), ("retry", "retri"), ("router", "rout"),
        ("routes", "rout"), ("user", "user"), ("color", "color"), ("is", "is"), ("größe", "größe"), ("x1", "x1"),
    ],
)  # fmt: skip
def test_stem_puts_the_forms_of_a_word_together(word: str, root: str) -> None:
    assert stem(word) == root


@given(st.text())
def test_runs_and_newlines_are_what_a_text_is_made_of(text: str) -> None:
    found = WORD_OR_NEWLINE.findall(text)
    assert [run for run in found if run != "\n"] == find_words(text)
    assert found.count("\n") == text.count("\n")
    assert all(term for run in find_words(text) for term in word_terms(run))


def test_term_hash_is_fixed_since_indexes_hold_it() -> None:
    assert term_hash("json") == 8_843_620_237_346_534_401
    assert term_hash("json") != term_hash("Json")
    assert 0 <= term_hash("\ud800") < 2**64
