"""Joined runs: common queries, every engine once."""

from dataclasses import replace

import pytest

from assay.errors import InputError, NotComparableError
from assay.scoring.score import join_runs
from assay.types import Query


@pytest.fixture
def make(make_run, hits, targets):
    def build(engine, *answers, hashes=("1", "2"), k=10):
        queries = [Query(f"q{n}", {"human": f"{n}?"}, targets("a.py")) for n in range(2)]
        run = make_run(queries, {engine: {f"q{n}": {"human": hits(*a)} for n, a in enumerate(answers)}}, k=k, lines={})
        return replace(run, hashes={f"gold/q{n}": digest for n, digest in enumerate(hashes)})

    return build


def test_engines_of_all_runs_stand_side_by_side(make):
    joined, left_out = join_runs({"one": make("a", ["x"], ["y"]), "two": make("b", ["z"], ["y"], k=5)})
    assert [engine.name for engine in joined.engines] == ["a", "b"]
    assert (joined.k, left_out) == (5, 0)


def test_engines_of_one_name_take_the_name_of_their_run(make):
    joined, _ = join_runs({"one": make("a", ["x"], ["y"]), "two": make("a", ["z"], ["y"])})
    assert [engine.name for engine in joined.engines] == ["a", "a (two)"]


def test_a_reference_with_the_same_answers_is_there_once(make):
    runs = {name: make("keywords", ["x"], ["y"]) for name in ("one", "two")}
    runs = {n: replace(r, engines=tuple(replace(e, role="reference") for e in r.engines)) for n, r in runs.items()}
    assert [engine.name for engine in join_runs(runs)[0].engines] == ["keywords"]


def test_queries_that_changed_are_left_out(make):
    joined, left_out = join_runs({"one": make("a", ["x"], ["y"]), "two": make("b", ["z"], ["y"], hashes=("1", "3"))})
    assert [query.id for query in joined.suite.golds[0].queries] == ["q0"]
    assert left_out == 1
    assert {ranking.query for engine in joined.engines for ranking in engine.rankings} == {"q0"}


def test_runs_without_a_common_query_are_not_comparable(make):
    with pytest.raises(NotComparableError):
        join_runs({"one": make("a", ["x"], ["y"]), "two": make("b", ["z"], ["y"], hashes=("4", "3"))})
    with pytest.raises(InputError):
        join_runs({})
