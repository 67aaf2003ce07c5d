"""HitFlags of hits agree with the measures."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.scoring.grid import Grid
from assay.scoring.match import LEVELS, HitMark, HitMarker
from assay.types import Adversary, CorpusSpec, EngineRun, GoldSet, Hit, Query, Ranking, Run, Span, Suite, Target
from tests.properties import examples


def spans():
    """Whole files or some lines of three of them."""
    lines = st.tuples(st.integers(1, 12), st.integers(0, 6)).map(lambda two: (two[0], two[0] + two[1]))
    return st.tuples(st.sampled_from("abc"), st.none() | lines).map(lambda two: Span(two[0], *(two[1] or (None, None))))


@st.composite
def cases(draw):
    """A query with its ranking."""
    right = tuple(
        Target(span, draw(st.sampled_from((1, 2)))) for span in draw(st.lists(spans(), min_size=1, max_size=3))
    )
    wrong = tuple(Adversary(Target(span), "sibling", "strong", "") for span in draw(st.lists(spans(), max_size=3)))
    hits = tuple(Hit(span.path, span.start, span.end) for span in draw(st.lists(spans(), max_size=8)))
    return Query("q", {"human": "?"}, tuple(right), wrong), hits


@examples(120)
@given(cases(), st.sampled_from(LEVELS))
def test_marks_are_what_the_measures_count(case, level):
    query, hits = case
    ranking = Ranking("gold", "q", "human", hits)
    run = Run(Suite((GoldSet("gold", CorpusSpec("path"), (query,)),)), 10, (EngineRun("e", (ranking,)),))
    grid, marks = Grid(run), HitMarker(query, level)(hits)
    distinct = [mark for mark in marks if mark.rank is not None]
    grades = [0 if mark.target is None else query.targets[mark.target].grade for mark in distinct]
    assert [mark.rank for mark in distinct] == list(range(1, len(distinct) + 1))
    assert grades == grid.graded(level).grades[0, 0, : len(distinct)].tolist()
    adversaries = [mark.adversary is not None for mark in distinct]
    assert adversaries == grid.marks(level).adversary[0, 0, : len(distinct)].tolist()


def test_targets_and_adversaries_are_named_by_their_place_in_the_query(hits, targets, adversaries):
    query = Query("q", {"human": "?"}, targets("a:1-3=1", "a:5-9", "b"), adversaries("c", "d:4-8"))
    marks = HitMarker(query, "file")(hits("d:4-4", "a:7-7", "x", "a:1-1"))
    assert marks == (HitMark(1, adversary=1), HitMark(2, target=1), HitMark(3), HitMark(None))
    by_line = HitMarker(query, "lines")(hits("a:1-1", "d:9-9", "a:2-6"))
    assert by_line == (HitMark(1, target=0), HitMark(2), HitMark(3, target=1))
