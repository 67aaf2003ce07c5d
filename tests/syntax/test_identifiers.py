"""Laws and examples of identifier splitting."""

import re
import tracemalloc
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.syntax import identifiers
from assay.syntax.identifiers import STOP_WORDS, CacheLimits, parts, split, words
from tests.timing import fastest

EXAMPLES = {
    "snake_case": ("snake", "case"),
    "camelCase": ("camel", "case"),
    "HTTPServer": ("http", "server"),
    "parseURLs": ("parse", "urls"),
    "utf8": ("utf", "8"),
    "__init__": ("init",),
    "x86_64": ("x", "86", "64"),
    "A": ("a",),
    "getHTTPResponseCode2": ("get", "http", "response", "code", "2"),
    "SCREAMING_SNAKE": ("screaming", "snake"),
    "ÜberMenge_größe2": ("über", "menge", "größe", "2"),
    "ЗагрузитьФайл": ("загрузить", "файл"),
    "変数_名前": ("変数", "名前"),
    "हिन्दी_शब्द": ("हिन्दी", "शब्द"),
    "": (),
    "___": (),
}


@pytest.mark.parametrize(("identifier", "expected"), EXAMPLES.items())
def test_split_takes_identifiers_apart(identifier, expected):
    assert split(identifier) == expected


@given(st.from_regex(r"[A-Za-z0-9_]*", fullmatch=True))
def test_split_loses_no_letter_of_an_ascii_identifier(identifier):
    assert "".join(split(identifier)) == identifier.replace("_", "").lower()


@given(st.from_regex(r"[A-Za-z0-9_]{1,20}", fullmatch=True))
def test_split_reads_ascii_the_same_with_an_accent_behind(identifier):
    assert split(f"{identifier}_é") == (*split(identifier), "é")


@given(st.from_regex(r"[A-Za-z0-9_]{1,30}", fullmatch=True))
def test_split_of_a_part_is_the_part(identifier):
    assert all(split(part) == (part,) for part in split(identifier))


@given(st.text())
def test_words_never_fails_and_gives_lower_case_without_blanks(text):
    for word in words(text):
        assert word
        assert word == word.lower()
        assert not any(character.isspace() for character in word)


@given(st.text(), st.text())
def test_words_of_two_lines_are_the_words_of_each(first, second):
    assert words(f"{first}\n{second}") == words(first) + words(second)


def test_words_gives_the_compound_then_its_parts():
    assert words("def parse_args(self): # HTTPServer") == [
        "def", "parse_args", "parse", "args", "self", "httpserver", "http", "server",
    ]  # fmt: skip


def test_words_gives_a_single_part_once():
    assert words("__init__ _private a _") == ["init", "private", "a"]


def test_words_finds_a_phrase_inside_unspaced_script():
    assert set(words("検索")) <= set(words("日本語の検索エンジン"))


def test_parts_leaves_compounds_out():
    assert parts("parse_args HTTPServer") == ["parse", "args", "http", "server"]


def test_stop_words_are_single_lower_case_words():
    assert all(words(word) == [word] for word in sorted(STOP_WORDS))


def test_words_is_the_same_when_the_cache_overflows(monkeypatch):
    monkeypatch.setattr(identifiers, "CACHE_LIMITS", CacheLimits(entries=3, characters=8))
    for n in range(50):
        assert words(f"name_{n} other{n}Thing") == [
            *(f"name_{n}", "name", str(n)),
            *(f"other{n}thing", "other", str(n), "thing"),
        ]


def test_words_keeps_few_identifiers_in_memory(monkeypatch):
    monkeypatch.setattr(identifiers, "CACHE_LIMITS", CacheLimits(entries=3, characters=8))
    tracemalloc.start()
    try:
        for n in range(5_000):
            words(f"k_{n}")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 500_000  # all of them would take 1.6 MB


@pytest.mark.soak
def test_words_is_no_slower_than_a_few_passes_of_a_regular_expression():
    text = "def parse_request(self, httpVersion=None):\n    return self.rfile.readline(65536 + 1)\n" * 12_000
    # Twice a plain pass when measured; a loop over characters takes 20 times.
    assert fastest(lambda: words(text)) < 8 * fastest(lambda: re.findall(r"[A-Za-z]+|[0-9]+", text))


def test_words_are_the_same_composed_and_decomposed():
    text = "café naïve_Ångström größe"
    assert words(normalize("NFD", text)) == words(normalize("NFC", text))
    assert parts(normalize("NFD", text)) == parts(normalize("NFC", text))
