"""Every ranking of a run is in the page, whole."""

import math
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.report.explorer.page_data import pack_rankings
from assay.report.scored_run import level_of, score_run
from assay.scoring import match, score
from assay.scoring.match import overlap_of
from assay.types import (
    Adversary,
    AnalysisPlan,
    CorpusSpec,
    EngineRun,
    GoldSet,
    Hit,
    Query,
    Ranking,
    Run,
    Span,
    Status,
    Suite,
    Target,
)
from tests.properties import examples
from tests.report.explorer import unpacking

PATHS = ("a.py", "b/c.py", "\ud800<script>.py", "ü 'x'.py")
SPANS = [
    *(Span(path) for path in PATHS),
    *(Span(path, start, start + more) for path in PATHS for start in (1, 3, 300) for more in (0, 2, 200)),
]
spans = st.sampled_from(SPANS)
scores = st.sampled_from([None, 0.0, -1.5, 0.123456789, 3e7])
hits = st.builds(lambda span, score: Hit(span.path, span.start, span.end, score), spans, scores)
targets = st.builds(Target, spans, st.sampled_from([1, 2]))


def query(right, wrong):
    """A query that is asked in two forms."""
    adversaries = tuple(Adversary(target, "sibling", "strong", "") for target in wrong)
    return Query("q", {"human": "where", "keyword": "x"}, tuple(right), adversaries)


queries = st.builds(query, st.lists(targets, min_size=1, max_size=3), st.lists(targets, max_size=2))
FORMS = ("human", "keyword")


@st.composite
def rankings(draw, query, form):
    found = tuple(draw(st.lists(hits, max_size=6)))
    first = draw(st.integers(0, 300))
    tokens = tuple(range(first, first + len(found)))
    status = draw(st.sampled_from(Status))
    error = None if status == Status.OK else draw(st.sampled_from([None, "no", "\x1b[31m\ud800 broke\n"]))
    return Ranking("g", query, form, found, tokens, status, draw(st.sampled_from([0.0, 0.1, 1e4])), error)


@st.composite
def runs(draw):
    asked = [replace(draw(queries), id=f"q{n}") for n in range(draw(st.integers(1, 2)))]
    engines = []
    for number in range(draw(st.integers(1, 2))):
        answered = [draw(st.none() | rankings(one.id, form)) for one in asked for form in FORMS]
        engines.append(EngineRun(f"e{number}", tuple(r for r in answered if r), oversample=draw(st.integers(1, 2))))
    sizes = dict.fromkeys(PATHS, (5,) * 90)
    return Run(Suite((GoldSet("g", CorpusSpec("stdlib"), tuple(asked)),)), 4, tuple(engines), {"g": sizes})


def unpacked(scored, **settings):
    return unpacking.rankings(pack_rankings(scored, **{"scores": True, "error_length": 300, **settings}))


def answers(scored):
    """The rankings of a run: units, and the engines in each."""
    known = [{(r.gold, r.query, r.form): r for r in engine.rankings} for engine in scored.run.engines]
    return [[one.get((unit.gold, unit.query, unit.form)) for one in known] for unit in scored.scores.units]


@examples(60)
@given(runs(), st.sampled_from(["nDCG@4", "RR(level=lines)@4", "Hit(level=symbol)@4"]))
def test_what_was_packed_is_the_run(run, primary):
    scored = score_run(run, AnalysisPlan((primary,), "e0"))
    for unit, mine, found in zip(scored.scores.units, answers(scored), unpacked(scored), strict=True):
        for engine, ranking, answer in zip(run.engines, mine, found, strict=True):
            if ranking is None:
                assert (answer.status, answer.hits) == ("missing", [])
                continue
            assert answer.status == ranking.status
            assert (answer.error is None) == (not ranking.error)
            assert answer.seconds == np.float32(ranking.seconds)
            places = [(h.path, h.start, h.end, t) for h, t in zip(ranking.hits, ranking.tokens, strict=True)]
            assert answer.hits == places
            same_scores([hit.score for hit in ranking.hits], answer.scores)
            assert answer.marks == marks(scored, unit, ranking, engine)
            assert_ranks(scored, unit, engine, answer)


def assert_ranks(scored, unit, engine, answer):
    """The first rank of a primary answer, and whether a trap displaced it, are those of the measures."""
    query, level, k = scored.queries[unit.gold, unit.query], level_of(scored.primary), scored.run.k
    ranked = [(at + 1 - answer.repeats[at], mark) for at, mark in enumerate(answer.marks) if mark]
    firsts = [rank for rank, mark in ranked if mark < 128 and query.targets[mark - 1].grade == 2 and rank <= k]
    traps = [rank for rank, mark in ranked if mark >= 128 and rank <= k]
    named = f"(level={level})" if level != "file" else ""
    scores = score(scored.run, [f"Displacement{named}@{k}", f"RankGap{named}@{k}"])
    column = scores.units.index(unit)
    displaced, gap = scores.values[scores.engines.index(engine.name), :, column]
    if answer.status == "ok" and not math.isnan(gap):
        assert gap == min(traps, default=k + 1) - min(firsts, default=k + 1)
        assert displaced == (min(traps, default=k + 1) < min(firsts, default=k + 1))


def same_scores(given, found):
    for value, read in zip(given, found or [], strict=True):
        assert math.isnan(read) if value is None else math.isclose(value, read, rel_tol=2**-16, abs_tol=1e-30)


def marks(scored, unit, ranking, engine):
    """Marks by `match` alone: what is claimed one to one, and beside it who touches an adversary and no target."""
    query, level = scored.queries[unit.gold, unit.query], level_of(scored.primary)
    if ranking.status != Status.OK:
        return [0] * len(ranking.hits)
    cut = ranking.hits[: scored.run.k * engine.oversample]
    found = match(cut, query.targets, level)
    made = [0] * len(ranking.hits)
    for position, plan in zip(found.positions, found.claims, strict=True):
        if plan is not None:
            seen = found.targets[plan]
            made[position] = 1 + next(
                at for at, t in enumerate(query.targets) if at_level(t, level) == seen.span and t.grade == seen.grade
            )
        elif not any(meets(cut[position], at_level(t, level), level) for t in query.targets):
            rivals = [(at, at_level(a.target, level)) for at, a in enumerate(query.adversaries)]
            free = [(at, span) for at, span in rivals if not inside(span, query, level)]
            touched = [at for at, span in free if meets(cut[position], span, level)]
            made[position] = 128 + touched[0] if touched else 0
    return made


def at_level(target, level):
    return Span(target.span.path) if level == "file" else target.span


def meets(hit, span, level):
    place = Span(hit.path) if level == "file" else hit.span
    return overlap_of(place, span) > 0


def inside(span, query, level):
    return any(
        other.path == span.path
        and (other.start is None or (span.start is not None and other.start <= span.start and span.end <= other.end))
        for other in (at_level(target, level) for target in query.targets)
    )


def single(query, ranking):
    """A run of one ranking."""
    return Run(Suite((GoldSet("g", CorpusSpec("stdlib"), (query,)),)), 10, (EngineRun("e", (ranking,)),))


def test_an_answer_is_claimed_once_and_a_trap_is_marked():
    wanted, trap = Target(Span("a.py", 1, 9), 2), Target(Span("b.py", 5, 6))
    query = Query("q", {"human": "x"}, (wanted,), (Adversary(trap, "sibling", "strong", ""),))
    found = (Hit("c.py", 1, 2), Hit("a.py", 2, 3), Hit("a.py", 4, 5), Hit("b.py", 1, 5))
    ((answer,),) = unpacked(
        score_run(single(query, Ranking("g", "q", "human", found)), AnalysisPlan(("RR(level=lines)@10",), "e"))
    )
    assert answer.marks == [0, 1, 0, 128]


def test_adversaries_are_told_from_many_targets():
    wanted = tuple(Target(Span(f"{n}.py"), 1) for n in range(200))
    query = Query("q", {"human": "x"}, wanted, (Adversary(Target(Span("bad.py")), "sibling", "strong", ""),))
    ranking = Ranking("g", "q", "human", (Hit("199.py"), Hit("bad.py")))
    data = pack_rankings(score_run(single(query, ranking), AnalysisPlan(("RR@10",), "e")), scores=True, error_length=9)
    assert unpacking.columns(data)[0]["adversaries"] == 201
    ((answer,),) = unpacking.rankings(data)
    assert answer.marks == [200, 201]


def test_scores_may_be_left_out_and_errors_are_clipped():
    ranking = Ranking("g", "q", "human", (Hit("a.py", score=0.5),), (3,), Status.ERROR, 1.0, "x" * 1000)
    query = Query("q", {"human": "x"}, (Target(Span("a.py")),))
    scored = score_run(single(query, ranking), AnalysisPlan(("RR@10",), "e"))
    ((answer,),) = unpacked(scored, scores=False, error_length=20)
    assert answer.scores is None
    assert answer.error == "x" * 20 + "… (980 more characters)"
    assert answer.marks == [0]
