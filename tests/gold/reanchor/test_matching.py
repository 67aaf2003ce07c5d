"""Alignment of lines and similarity of texts."""

from hypothesis import given
from hypothesis import strategies as st

from assay.gold.reanchor.matching import align
from assay.gold.reanchor.sections import Fingerprint, has_word, title_similarity

LINES = st.lists(st.sampled_from(["a = 1", "b = 22", "}", "", "return x", "call(one)"]), max_size=12)
MANY = 10_000


@given(LINES, LINES)
def test_align_pairs_equal_lines_in_order(old, new):
    pairs = align(old, new, MANY)
    assert all(old[a] == new[b] for a, b in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in zip(pairs, pairs[1:], strict=False))


@given(LINES)
def test_align_pairs_a_text_with_itself_line_by_line(lines):
    assert align(lines, lines, MANY) == [(n, n) for n in range(len(lines))]


def test_align_trusts_lines_that_stand_once():
    old = ["{", "first", "}", "{", "second", "}"]
    new = ["{", "second", "}", "{", "third", "}"]
    assert (4, 1) in align(old, new, MANY)


def test_align_leaves_long_repetitions_alone():
    same = ["x", "x"]
    assert align(same, same, 4) == [(0, 0), (1, 1)]
    assert align(same, same, 3) == []


@given(LINES, LINES)
def test_likeness_lies_between_none_and_all_and_has_no_direction(one, other):
    first, second = Fingerprint(one), Fingerprint(other)
    assert first.similarity(first) == 1
    assert 0 <= first.similarity(second) <= 1
    assert first.similarity(second) == second.similarity(first)
    assert 0 <= first.share_in(second) <= 1


@given(LINES, LINES)
def test_containment_is_all_of_what_was_only_added_to(one, other):
    assert Fingerprint(one).share_in(Fingerprint([*other, *one])) == 1


def test_likeness_counts_lines_and_words():
    assert Fingerprint(["one two"]).similarity(Fingerprint(["one three"])) == 0.25  # no line, half the words


def test_brackets_say_nothing():
    assert [has_word(line) for line in ("}", "});", "ab", "abc", "a_b_c", "")] == [
        False,
        False,
        False,
        True,
        True,
        False,
    ]


def test_titles_are_compared_by_parts_of_words():
    assert title_similarity("connectAssistants", "connect_assistant") == 1
    assert title_similarity("install", "remove") == 0
