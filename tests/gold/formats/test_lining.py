"""Lines for formats that hold nothing else, looked up in the corpus."""

from dataclasses import replace

import pytest

from assay.errors import GoldError
from assay.gold.formats.losses import needs_lines, resolve_lines
from assay.types import GoldSet, Query, Span, Target
from tests.gold.formats.files import HERE

SYMBOL = Target(Span("json/encoder.py"), symbol="JSONEncoder.iterencode")
WHOLE = Target(Span("json/decoder.py"), 1)
RANGE = Target(Span("README.md", 1, 2), 1)


def gold_of(*targets: Target) -> GoldSet:
    return GoldSet("set", HERE, (Query("q", {"human": "x"}, targets, line=3),), source="set.yaml")


def test_resolve_lines_gives_symbols_and_whole_files_their_lines(make_corpus):
    done = resolve_lines(gold_of(SYMBOL, WHOLE, RANGE), make_corpus(), whole_files=False)
    spans = [str(target.span) for target in done.gold.queries[0].targets]
    assert spans == ["json/encoder.py:5-6", "json/decoder.py:1-2", "README.md:1-2"]
    assert done.gold.queries[0].targets[0].symbol == "JSONEncoder.iterencode"
    assert done.lost == ("1 whole file: written as the range of all lines",)


def test_resolve_lines_leaves_whole_files_where_the_format_holds_them(make_corpus):
    done = resolve_lines(gold_of(SYMBOL, WHOLE), make_corpus(), whole_files=True)
    assert [str(target.span) for target in done.gold.queries[0].targets] == ["json/encoder.py:5-6", "json/decoder.py"]
    assert done.lost == ()


def test_resolve_lines_keeps_the_higher_grade_of_two_targets_with_the_same_lines(make_corpus):
    done = resolve_lines(gold_of(SYMBOL, Target(Span("json/encoder.py", 5, 6), 1)), make_corpus(), whole_files=True)
    assert [target.grade for target in done.gold.queries[0].targets] == [2]
    assert done.lost == ("1 target: another target has the same lines",)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (replace(SYMBOL, symbol="Nothing"), "not found in json/encoder.py"),
        (Target(Span("gone.py")), "is not in the corpus"),
        (Target(Span("empty.py")), "is empty"),
    ],
)
def test_resolve_lines_says_which_target_has_none(make_corpus, target, message):
    corpus = make_corpus({"json/encoder.py": "x = 1\n", "empty.py": ""})
    with pytest.raises(GoldError, match=message) as error:
        resolve_lines(gold_of(target), corpus, whole_files=False)
    assert (error.value.file, error.value.line) == ("set.yaml", 3)
    assert error.value.hint


@pytest.mark.parametrize(
    ("target", "symbols", "whole_files", "lacks"),
    [
        (SYMBOL, False, True, True),
        (SYMBOL, True, False, False),
        (WHOLE, True, False, True),
        (WHOLE, False, True, False),
        (RANGE, False, False, False),
    ],
)
def test_lacks_lines_asks_only_for_what_the_format_needs(target, symbols, whole_files, lacks):
    assert needs_lines(gold_of(target), symbols=symbols, whole_files=whole_files) is lacks
