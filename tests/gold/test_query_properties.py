"""How much of the answer is in the question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.gold import leakage, overlaps
from assay.gold.query_properties import is_copied, line_comments
from assay.types import Span, Target

ENCODER = (Target(Span("json/encoder.py"), symbol="JSONEncoder.iterencode"),)
CACHE = (Target(Span("functools.py"), symbol="lru_cache"),)


def test_leak_is_the_share_of_content_words_that_name_the_answer():
    assert leakage("how does the json encoder write floats?", ENCODER) == pytest.approx(2 / 4)
    assert leakage("how are numbers turned into text?", ENCODER) == 0.0
    assert leakage("JSONEncoder iterencode", ENCODER) == 1.0
    assert leakage("", ENCODER) == leakage("what is the", ENCODER) == 0.0


@pytest.mark.parametrize("word", ["cache", "caches", "cached", "caching", "Cache", "LRU", "functools", "my_cache"])
def test_overlaps_sees_through_endings_and_case(word):
    assert overlaps(f"two threads asking for a {word} value", CACHE)


@pytest.mark.parametrize("word", ["memoised", "py", "catch", "tool"])
def test_overlaps_leaves_other_words_and_the_extension_alone(word):
    assert not overlaps(f"two threads asking for a {word} value", CACHE)


@pytest.mark.parametrize(
    ("asked", "name"), [("mapping", "map.py"), ("maps", "mapping.py"), ("calling", "call.py"), ("stopped", "stop.py")]
)
def test_overlaps_sees_doubled_consonants(asked, name):
    assert overlaps(asked, [Target(Span(name))])


def test_overlaps_does_not_join_words_over_a_stop_word():
    assert not overlaps("where is it?", [Target(Span("is/it.py"))])


@given(st.text(), st.lists(st.sampled_from([*ENCODER, *CACHE])))
def test_leak_is_a_share_and_agrees_with_overlaps(text, targets):
    assert 0.0 <= leakage(text, targets) <= 1.0
    assert overlaps(text, targets) == (leakage(text, targets) > 0)


@given(st.text(max_size=30))
def test_leak_grows_with_more_targets(text):
    assert leakage(text, ENCODER) <= leakage(text, [*ENCODER, *CACHE])


def test_comment_inside_the_target_is_copied():
    code = (
        "func send() {\n\t// set Content-Length when the\n\t// body is fully buffered\n\tcount := 1 // not this\n"
        '\turl := "https://example.org/a path"\n}'
    )
    comments = line_comments(code)
    assert comments == "\nset Content-Length when the\nbody is fully buffered\nnot this\n\n"
    assert is_copied("where do we set Content-Length when body is fully buffered?", comments)
    assert not is_copied("where do we count buffered bytes of a request?", comments)
