"""Anchors in every language: each definition has a name that can be written and its own lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.gold.anchors import parse_target
from assay.gold.build import GoldLocation
from assay.syntax.outline import Definition
from assay.syntax.parsing import GRAMMARS
from assay.syntax.symbols import extract_symbols, is_supported, parse_problem, qualified_names
from tests.syntax.symbol_samples import SAMPLES

HERE = GoldLocation("gold.yaml", 1)


def test_there_is_a_sample_of_every_language():
    assert sorted(SAMPLES) == list(GRAMMARS)


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_symbols_have_names_and_lines(grammar):
    sample = SAMPLES[grammar]
    found = extract_symbols(sample.path, sample.text, sample.language)
    assert [(s.name, s.start, s.end) for s in found] == sorted(sample.rows, key=lambda row: (row[1], row[2], row[0]))


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_every_symbol_can_be_written_and_names_itself(grammar):
    sample = SAMPLES[grammar]
    found = extract_symbols(sample.path, sample.text, sample.language)
    assert len({s.name for s in found}) == len(found)
    for symbol in found:
        target = parse_target(f"{sample.path}::{symbol.name}", HERE)
        assert (target.span.path, target.symbol) == (sample.path, symbol.name)


#: Where a second copy of a file makes another of that language; in these it does not, or its clauses join the first.
TWICE = sorted(set(GRAMMARS) - {"elixir", "haskell", "html", "json"})


@pytest.mark.parametrize("grammar", TWICE)
def test_what_stands_below_renames_nothing_above(grammar):
    sample = SAMPLES[grammar]
    before = extract_symbols(sample.path, sample.text, sample.language)
    after = extract_symbols(sample.path, sample.text + "\n" + sample.text.replace("<?php", ""), sample.language)
    assert [s.name for s in after if s.start <= sample.text.count("\n")][: len(before)] == [s.name for s in before]


def test_a_language_without_grammar_has_no_symbols():
    assert extract_symbols("a.md", "# Title\n", "markdown") == ()
    assert not is_supported("a.md", "markdown")
    assert parse_problem("a.md", "# Title\n", "markdown") is None
    assert is_supported("a.rs", "rust")
    assert is_supported("a.py", None)
    assert is_supported("script", "python")


def test_python_is_read_by_its_language_where_the_suffix_does_not_tell():
    assert [s.name for s in extract_symbols("script", "def f(): ...\n", "python")] == ["f"]
    assert extract_symbols("script", "def f(): ...\n") == ()


def test_the_parser_says_why_it_found_nothing():
    deep = "(" * 100_000
    assert extract_symbols("a.js", deep, "javascript") == ()
    assert parse_problem("a.js", deep, "javascript")


def definition(name: str, parent: int = -1, signature: str = "", kind: str = "function") -> Definition:
    return Definition(name, kind, 1, 1, 1, signature, "", parent)


@given(st.lists(st.text(min_size=1, max_size=8).filter(lambda name: name.strip()), min_size=1, max_size=4))
def test_any_name_becomes_one_that_an_anchor_can_hold(names):
    nested = [definition(" ".join(name.split()), parent=nth - 1) for nth, name in enumerate(names)]
    for grammar in ("cpp", "css", "haskell"):
        for name in qualified_names(nested, grammar):
            if not any("\ud800" <= character <= "\udfff" for character in name):
                assert parse_target(f"a.x::{name}", HERE).symbol == name


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a b", "a_b"),
        ("'fruit'", "fruit"),
        (".cart", "%2Ecart"),
        ("..", "%2E%2E"),
        ("a.b", "a.b"),
        ("a::b", "a.b"),
        (":+:", "%3A+%3A"),
        ("x~2", "x%7E2"),
        ("~x", "~x"),
    ],
)
def test_names_are_written_readably(name, written):
    assert qualified_names([definition(name)], "haskell") == (written,)


@pytest.mark.parametrize(
    ("grammar", "name", "signature", "wanted"),
    [
        ("cpp", "foo", "int foo(ns::foo x)", "foo"),
        ("cpp", "make", "Shop Shop::make(Shop s)", "Shop.make"),
        ("cpp", "at", "T& Map<K, std::vector<V>>::at(K k)", "Map.at"),
        ("cpp", "count", "count::type ns::count(int x)", "ns.count"),
        ("javascript", "x", "const x = foo.x;", "x"),
        ("ruby", "call", "def self.call(x)", "call"),
        ("lua", "b", "function M.a.b()", "M.a.b"),
        ("go", "F", "func (s Server) F() func (x X)", "Server.F"),
        ("rust", "Line", "impl geometry::Line", "Line"),
    ],
)
def test_a_qualifier_is_a_scope_only_where_it_qualifies_the_name(grammar, name, signature, wanted):
    kind = "method" if grammar == "go" else "function"
    assert qualified_names([definition(name, signature=signature, kind=kind)], grammar) == (wanted,)


def test_a_qualifier_that_repeats_the_scope_is_not_written_twice():
    nested = [definition("A", kind="class"), definition("call", parent=0, signature="def A.call(x)")]
    assert qualified_names(nested, "ruby") == ("A", "A.call")
