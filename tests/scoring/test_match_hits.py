"""Matching the same place in two rankings, at every level."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.match import LEVELS, match_distinct, match_hits
from assay.types import Hit

BEFORE = [Hit("a", 1, 9), Hit("a", 20, 29), Hit("b", 1, 5), Hit("c")]
AFTER = [Hit("b", 4, 8), Hit("a", 20, 29), Hit("a", 30, 40), Hit("c", 3, 4), Hit("d", 1, 2), Hit("b", 1, 5)]

hits = st.lists(
    st.builds(
        lambda path, at, more: Hit(path, at, at + more), st.sampled_from("ab"), st.integers(1, 9), st.integers(0, 3)
    ),
    max_size=6,
)


def test_the_same_lines_go_before_those_that_overlap():
    assert match_hits(BEFORE, AFTER, "lines") == {2: 2, 4: 4, 6: 3}
    assert match_hits(BEFORE, AFTER, "symbol") == {2: 2, 4: 4, 6: 3}


def test_at_file_level_the_same_file_is_enough():
    assert match_hits(BEFORE, AFTER, "file") == {2: 2, 3: 1, 4: 4, 6: 3}


def test_ranks_of_distinct_hits_leave_repetitions_out():
    assert match_distinct(BEFORE, AFTER, "file") == {1: 2, 2: 1, 3: 3}
    assert match_distinct([*BEFORE[:2], *BEFORE], AFTER, "lines") == match_hits(BEFORE, AFTER, "lines")


@given(hits, hits, st.sampled_from(LEVELS))
def test_no_hit_is_taken_twice_and_none_that_is_left_has_a_partner(before, after, level):
    found = match_hits(before, after, level)
    assert len(set(found.values())) == len(found)
    for new, hit in enumerate(after, start=1):
        for old, other in enumerate(before, start=1):
            if new not in found and old not in found.values():
                assert hit.path != other.path or (level != "file" and hit.span.common_lines(other.span) == 0)


@given(hits, st.sampled_from(LEVELS))
def test_a_ranking_does_not_move_against_itself(ranking, level):
    assert match_hits(ranking, ranking, level) == {rank: rank for rank in range(1, len(ranking) + 1)}
