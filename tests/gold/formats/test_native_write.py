"""What is written is read back the same."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.gold import load_gold, write_native
from assay.gold.build import GoldSource
from assay.gold.formats.native import RELATIONSHIPS, STRENGTHS, read_native
from assay.types import FORMS, Adversary, CorpusSpec, GoldSet, LabelProvenance, Query, Rationale, Span, Target
from tests.properties import examples

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(str.strip)
NAMES = st.text(st.characters(categories=["L", "N", "Pd", "Pc"]), min_size=1, max_size=10)
STEPS = st.text(st.characters(categories=["L", "N", "Pd"]), min_size=1, max_size=6)
TEXTS = st.dictionaries(TEXT, TEXT, max_size=3)
GRADES = st.sampled_from([2, 2, 1, 3, 4])
PATHS = st.lists(STEPS, min_size=1, max_size=3).map("/".join)


@st.composite
def spans(draw: st.DrawFn) -> Span:
    """Draw a file or a range of its lines."""
    start = draw(st.none() | st.integers(1, 500))
    return Span(draw(PATHS), start, start and start + draw(st.integers(0, 50)))


@st.composite
def anchored(draw: st.DrawFn, grade: int = 2) -> Target:
    """Draw a target in one of its four writings."""
    span = draw(spans())
    if span.start is None and draw(st.booleans()):
        return Target(span, grade, symbol=draw(st.lists(STEPS, min_size=1, max_size=3).map(".".join)))
    if span.start is not None and draw(st.booleans()):
        return Target(span, grade, digest=draw(st.text("0123456789abcdef", min_size=12, max_size=12)))
    return Target(span, grade)


@st.composite
def queries(draw: st.DrawFn, name: str) -> Query:
    """Draw a sound query: no file is named twice."""
    targets = draw(st.lists(anchored(draw(GRADES)), min_size=1, max_size=3)) + draw(st.lists(anchored(1), max_size=2))
    targets.sort(key=lambda target: -target.grade)
    targets += draw(st.lists(anchored(0), max_size=2))
    wrong = draw(st.lists(anchored(), max_size=3))
    unique: dict[str, Target] = {}
    for target in [*targets, *wrong]:
        unique.setdefault(target.span.path, target)
    judged = [target for target in targets if unique[target.span.path] is target]
    kept = tuple(target for target in judged if target.grade)
    irrelevant = tuple(target for target in judged if not target.grade)
    adversaries = tuple(
        Adversary(target, draw(st.sampled_from(RELATIONSHIPS)), draw(st.sampled_from(STRENGTHS)), draw(TEXT))
        for target in wrong
        if unique[target.span.path] is target
    )
    forms = draw(st.dictionaries(st.sampled_from(FORMS), TEXT, min_size=1))
    text = TEXT | st.just("")
    rationale = draw(st.none() | st.builds(Rationale, text, text, text))
    measures = tuple(draw(st.lists(st.sampled_from(["RR@10", "nDCG(level=lines)@5"]), max_size=2)))
    labelled = [target.anchor for target in (*kept, *(adversary.target for adversary in adversaries))]
    people = st.lists(TEXT, max_size=2).map(tuple)
    day = st.dates().map(str) | st.just("")
    labels = [
        LabelProvenance(anchor, draw(people), draw(day), draw(TEXT), draw(people))
        for anchor in draw(st.permutations(labelled))
    ]
    shown = tuple(labels[: draw(st.integers(0, len(labels)))])
    return Query(name, forms, kept, adversaries, rationale, measures, draw(TEXTS), labels=shown, irrelevant=irrelevant)


@st.composite
def golds(draw: st.DrawFn) -> GoldSet:
    """Draw a sound gold set."""
    ids = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    globs = st.lists(TEXT, max_size=2).map(tuple)
    corpus = draw(
        st.builds(CorpusSpec, st.just("stdlib"), include=globs, exclude=globs)
        | st.builds(CorpusSpec, st.sampled_from(["path", "pypi", "npm"]), TEXT, root=st.none() | TEXT, include=globs)
        | st.builds(CorpusSpec, st.just("git"), TEXT, rev=st.none() | TEXT, root=st.none() | TEXT, exclude=globs)
    )
    return GoldSet(draw(NAMES), corpus, tuple(draw(queries(name)) for name in ids), draw(TEXTS))


def unplaced(gold: GoldSet) -> GoldSet:
    """Forget where a gold set was read from."""
    return replace(gold, source=None, queries=tuple(replace(query, line=None) for query in gold.queries))


@examples(100)
@given(golds())
def test_write_native_round_trips(gold):
    text = write_native(gold)
    assert unplaced(read_native(GoldSource(Path("drawn.yaml"), text))) == gold


@pytest.mark.parametrize(
    "odd", ["\x85", "\u2028", "\u2029", "\r", "\r\n", "\n", "\t", "\x07", "\0", "\ufeff", "\u200b", "\U0001f600"]
)
def test_write_native_round_trips_odd_characters(odd):
    forms = {"human": f"a{odd}b", "keyword": f"a{odd}", "ai_optimized": f"{odd}a: # b", "cross_module": "no"}
    gold = GoldSet("g", CorpusSpec("stdlib"), (Query("q", forms, (Target(Span("a.py")),)),))
    assert unplaced(read_native(GoldSource(Path("odd.yaml"), write_native(gold)))) == gold


def test_write_native_round_trips_the_sample(native):
    gold = load_gold(native()).golds[0]
    again = read_native(GoldSource(Path("again.yaml"), write_native(gold)))
    assert unplaced(again) == unplaced(gold)


def test_write_native_writes_anchors_not_resolved_lines():
    target = Target(Span("a.py", 3, 9), symbol="A.b", unit=Span("a.py", 3, 9))
    text = write_native(GoldSet("g", CorpusSpec("stdlib"), (Query("q", {"human": "x"}, (target,)),)))
    assert "a.py::A.b" in text
    assert "3-9" not in text
