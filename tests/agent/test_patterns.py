import pytest

from assay.agent.search_tools import check_pattern
from assay.errors import ConfigError


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|aa)+$",
        "(.*)*x",
        r"(\w+\s?)+$",
        "((a+)b?)*c",
        "(?:a{1,50})+",
        "(?i)(x+x+)+y",
        "(a+){20,}",
        "(?P<name>a+)+",
        "((?:a|b)c)+",
    ],
)
def test_pattern_that_may_take_for_ever_is_refused(pattern):
    with pytest.raises(ConfigError, match="exponential time") as caught:
        check_pattern(pattern)
    assert caught.value.hint


@pytest.mark.parametrize(
    "pattern",
    [
        r"def \w+\(",
        "(foo|bar)baz",
        "a+b*c",
        "(foo)+",
        "[(a+)]+",
        r"\(a+\)+",
        "(?>a+)+",
        "(a+)++b",
        "(a+)?b",
        "(a+){2}",
        "a{2,}b",
        "(?#(a+)+)x",
        "(?i)foo+",
        r"(?:\d+)-(?:\d+)",
    ],
)
def test_pattern_that_ends_is_taken(pattern):
    check_pattern(pattern)


def test_long_pattern_is_refused():
    check_pattern("x" * 1_000)
    with pytest.raises(ConfigError, match="has 1,001 characters"):
        check_pattern("x" * 1_001)
