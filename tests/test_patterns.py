"""Patterns of users end in time, whatever they are, and mean what `re` says."""

import re
import warnings

import hypothesis.strategies as st
import pytest
from hypothesis import given

from assay.errors import ConfigError, EngineError
from assay.patterns import UserPattern


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", r"(\w+\s?)+$", "(?:a{1,50})+$", "(a+){20,}c"])
def test_pattern_that_takes_for_ever_is_given_up(pattern):
    with pytest.raises(ConfigError, match=r"takes more than 2 s") as caught:
        UserPattern(pattern, seconds=0.02).search("a" * 5_000 + "!")
    assert caught.value.hint
    with pytest.raises(EngineError, match=r"^pattern: the regular"):
        list(UserPattern(pattern, "pattern: ", timeout=EngineError, seconds=0.02).finditer("a" * 5_000 + "!"))


def test_time_is_for_all_texts_together_and_copies_have_all_of_it():
    pattern = UserPattern("(a+)+$", seconds=0.02)
    copy = pattern.fresh()
    with pytest.raises(ConfigError):
        pattern.search("a" * 5_000 + "!")
    with pytest.raises(ConfigError):
        pattern.search("a" * 5_000 + "!")
    assert copy.search("aaa")


@pytest.mark.parametrize(("pattern", "text"), [(r"def \w+\(", "x\ndef f():"), ("^b$", "a\nb"), ("(?i)FOO+", "foo")])
def test_pattern_matches_as_in_python(pattern, text):
    assert UserPattern(pattern).search(text)
    assert [match[0] for match in UserPattern(pattern).finditer(text)]


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "a**", "(?P<x>a)(?P<x>b)", r"\k<x>"])
def test_syntax_is_that_of_python(pattern):
    with pytest.raises(ConfigError, match="invalid regular expression"):
        UserPattern(pattern)


PIECES = (
    (
        "a b e i d s 1 { } {e} {i} {e<=1} {1,2} {,2} {1} {,} <= , [ ] [^ : [:alpha:] - ( ) (?: (?x) (?# | # && ~~ || "
        r"\{ \\ \[ \N{DIGIT+ONE} \d"
    )
    .replace("+", "\0")
    .split()
)
PIECES = [piece.replace("\0", " ") for piece in PIECES] + [" ", "\n"]
pieces = st.lists(st.sampled_from(PIECES), max_size=9).map("".join)
spans = [
    ("a{e}", "a{e} a"),
    ("(?:foo){i<=1}", "fxoo (?:foo){i<=1}"),
    ("a{i}{e}", "aie a{i}{e}"),
    ("[[:alpha:]]", "a] :]"),
    (r"\{e}", "{e}"),
    ("(?x) a{e} # [ {e}\n b", "a{e}b"),
    ("x{2,3}y{,1}", "xxxy"),
]


def check_as_in_python(pattern, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # nested sets, which `re` may read otherwise some day
        try:
            expected = [match.span() for match in re.finditer(pattern, text, re.MULTILINE)]
        except (re.error, OverflowError):
            return
        assert [match.span() for match in UserPattern(pattern).finditer(text)] == expected


@pytest.mark.parametrize(("pattern", "text"), spans)
def test_braces_and_brackets_mean_what_python_says(pattern, text):
    check_as_in_python(pattern, text)


@given(pieces, st.text("abeids1{}[]:,-<= #\n", max_size=12))
def test_any_pattern_means_what_python_says(pattern, text):
    check_as_in_python(pattern, text)
    check_as_in_python(pattern, pattern + text)
