"""How many terms were replaced: lint and the endpoint's answers are measured by the same rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.gold.wrong_terms import replacements

HUMAN = "how does the server answer when a server is asked for 7bit, quoted-printable and base64?"


@pytest.mark.parametrize(
    ("wrong", "count"),
    [
        (HUMAN.upper().rstrip("?"), 0),
        (HUMAN.replace("the server", "a server"), 0),
        (HUMAN.replace("server", "client"), 1),
        (HUMAN.replace("7bit, quoted-printable and base64", "ascii, latin-1 and utf-8"), 1),
        (HUMAN.replace("when a server", "when a client"), 1),
        (HUMAN.replace("the server", "the client").replace("a server", "a queue"), 2),
        (HUMAN.replace("server", "client").replace("asked", "told"), 2),
    ],
)
def test_replacements_are_counted_once_each(wrong, count):
    assert replacements(HUMAN, wrong) == count


SAID = ["how", "is", "the", "queue", "of", "a", "lock", "and"]
WORDS = st.lists(st.sampled_from(SAID), max_size=9).map(" ".join)


@given(WORDS, WORDS)
def test_replacements_are_none_only_for_the_same_words(one, other):
    said = [[word for word in text.split() if word not in ("a", "the")] for text in (one, other)]
    assert (replacements(one, other) == 0) is (said[0] == said[1])
