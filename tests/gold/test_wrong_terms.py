"""How many terms were replaced: lint and the endpoint's answers are measured by the same rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.gold.query_properties import count_replacements

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
    assert count_replacements(HUMAN, wrong) == count


@pytest.mark.parametrize(
    ("human", "wrong", "count"),
    [
        ("how does the lexer read a token?", "how do lexers read tokens?", 0),
        ("how is it made?", "how is it made now?", 0),
        ("where is the cache kept?", "where is the buffer kept now?", 2),
    ],
)
def test_inflection_and_added_words_are_no_wrong_term(human, wrong, count):
    assert count_replacements(human, wrong) == count


WORDS = st.lists(st.sampled_from(["how", "is", "of", "and", "lock", "parser", "retry", "socket"]), unique=True)


@given(WORDS, st.data())
def test_one_replaced_term_is_one_wherever_it_stands(said, data):
    place = data.draw(st.integers(0, len(said)))
    human, wrong = (" ".join([*said[:place], word, *said[place:]]) for word in ("queue", "zebra"))
    assert count_replacements(human, wrong) == 1
    assert count_replacements(human, human) == 0
