"""Patterns of users end in time, whatever they are."""

import pytest

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
