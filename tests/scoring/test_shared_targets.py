"""Queries that share targets: which ones form a unit."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.scoring import score
from assay.scoring.grid import shared_targets
from assay.types import AnalysisPlan, CorpusSpec, EngineRun, GoldSet, Hit, Query, Ranking, Run, Span, Suite, Target
from tests.properties import examples
from tests.report.comparing import compare_engines


def query(name, *targets):
    return Query(name, {"human": name}, tuple(t if isinstance(t, Target) else Target(Span(t)) for t in targets))


def run_of(*golds, engines=()):
    return Run(Suite(golds), 10, engines)


def gold_of(queries, name="gold", corpus="code"):
    return GoldSet(name, CorpusSpec("path", corpus), tuple(queries))


def units(targets, order=None):
    """Group the names of queries with the given targets; a query that shares none is left out."""
    queries = [query(f"q{at}", *given) for at, given in enumerate(targets)]
    names = shared_targets(run_of(gold_of([queries[at] for at in order] if order else queries)))
    groups: dict[str, set[str]] = {}
    for (_, name), group in names.items():
        groups.setdefault(group, set()).add(name)
    return sorted(map(sorted, groups.values()))


def test_queries_with_one_target_in_common_form_a_unit():
    others = [[f"other{at}"] for at in range(20)]
    assert units([["a"], ["a"], ["b"], *others]) == [["q0", "q1"]]
    assert units([["a"], ["a", "b"], *others]) == [["q0", "q1"]]
    assert units(others) == []


def test_linked_queries_form_a_unit_while_it_is_small():
    triple = [["a"], ["a", "b"], ["b"]]
    assert units([*triple, *([f"other{at}"] for at in range(27))]) == [["q0", "q1", "q2"]]
    ring = [[str(at), str((at + 1) % 60)] for at in range(60)]
    sizes = [len(unit) for unit in units(ring)]
    assert min(sizes) >= 2
    assert max(sizes) <= 6  # a tenth
    assert sum(sizes) >= 58


def test_a_chain_of_common_targets_does_not_join_the_whole_set():
    hub = [["hub", f"a{at}"] for at in range(20)] + [[f"a{at}", f"b{at}"] for at in range(20)]
    found = units(hub)
    assert [f"q{at}" for at in range(20)] in [sorted(unit, key=lambda name: int(name[1:])) for unit in found]
    assert len(found) == 1  # the others share only what the unit of the hub has


def test_equal_targets_are_always_one_unit():
    assert units([["a"]] * 8) == [[f"q{at}" for at in range(8)]]
    assert units([["a", "b"], ["b", "a"]]) == [["q0", "q1"]]


def test_secondary_targets_do_not_link():
    queries = [query("a", Target(Span("x"), 2), Target(Span("y"), 1)), query("b", Target(Span("y"), 2))]
    assert shared_targets(run_of(gold_of(queries))) == {}


def test_a_target_is_its_lines_once_they_are_known():
    resolved = Target(Span("x.py", 3, 9), symbol="f")
    lines, other, loose = Target(Span("x.py", 3, 9)), Target(Span("x.py", 3, 8)), Target(Span("x.py"), symbol="f")
    queries = [query(name, target) for name, target in zip("abcd", (resolved, lines, other, loose), strict=True)]
    assert {name for _, name in shared_targets(run_of(gold_of(queries)))} == {"a", "b"}
    same = [query("a", loose), query("b", loose), query("c", Target(Span("x.py"), symbol="g"))]
    assert {name for _, name in shared_targets(run_of(gold_of(same)))} == {"a", "b"}


def test_gold_sets_over_one_repository_share_targets_and_others_do_not():
    doc, keyword = (gold_of([query("q0", "a"), query("q1", "b")], name) for name in ("doc", "keyword"))
    found = shared_targets(run_of(doc, keyword))
    assert len(found) == 4
    assert len(set(found.values())) == 2
    assert found["doc", "q0"] == found["keyword", "q0"]
    elsewhere = replace(keyword, corpus=CorpusSpec("path", "other"))
    assert shared_targets(run_of(doc, elsewhere)) == {}


SETS = st.lists(st.lists(st.sampled_from("abcdefghijklmnop"), min_size=1, max_size=3, unique=True), max_size=40)


@examples(100)
@given(SETS, st.randoms(use_true_random=False))
def test_units_do_not_depend_on_the_order_of_queries(targets, random):
    order = list(range(len(targets)))
    random.shuffle(order)
    assert units(targets, order) == units(targets)


@examples(100)
@given(SETS)
def test_units_hold_every_query_once_and_equal_targets_together(targets):
    found = units(targets)
    counts = Counter(name for unit in found for name in unit)
    assert set(counts.values()) <= {1}
    unit_of = {name: at for at, unit in enumerate(found) for name in unit}
    for one, other in product(range(len(targets)), repeat=2):
        if one != other and set(targets[one]) == set(targets[other]):
            assert unit_of[f"q{one}"] == unit_of[f"q{other}"]
    assert all(len(unit) > 1 for unit in found)


@examples(50)
@given(SETS)
def test_duplicates_of_every_query_change_no_unit(targets):
    doubled = units([*targets, *targets])
    count = len(targets)
    folded = sorted(sorted({f"q{int(name[1:]) % count}" for name in unit}) for unit in doubled)
    alone = {f"q{at}" for at in range(count)} - {name for unit in units(targets) for name in unit}
    assert folded == sorted([*units(targets), *([name] for name in alone)])


def measured(copies, seed=0, queries=40):
    """Compare two engines on `copies` of every query, with the same answers for each copy."""
    rng = np.random.default_rng(seed)
    ranks = rng.integers(0, 10, (2, queries))
    names = [(f"q{at}-{copy}", at) for at in range(queries) for copy in range(copies)]
    gold = gold_of([query(name, f"right{at}.py") for name, at in names])
    wrong = [Hit(f"wrong{place}.py") for place in range(10)]

    def hits(rank, at):
        return (*wrong[:rank], Hit(f"right{at}.py"), *wrong[rank:9])

    engines = tuple(
        EngineRun(name, tuple(Ranking("gold", q, "human", hits(int(row[at]), at)) for q, at in names))
        for name, row in zip(("old", "new"), ranks, strict=True)
    )
    return compare_engines(run_of(gold, engines=engines), AnalysisPlan(("RR@10",), "old")).rows[0]


@pytest.mark.parametrize("copies", [2, 3])
def test_copies_of_every_query_add_no_evidence(copies):
    once, more = measured(1), measured(copies)
    assert (once.clusters, more.clusters, more.queries) == (40, 40, 40 * copies)
    assert more.se == pytest.approx(once.se)
    assert more.df == pytest.approx(once.df)
    assert more.p == pytest.approx(once.p, abs=0.02)
    assert more.interval.low == pytest.approx(once.interval.low)
    assert more.interval.high == pytest.approx(once.interval.high)
    assert more.mde == pytest.approx(once.mde)
    assert more.notes == (f"{40 * copies} queries form 40 units: queries that share targets count as one",)
    assert once.notes == ()


def test_scores_name_the_unit_of_every_phrasing():
    queries = [replace(query("a", "x"), forms={"human": "?", "keyword": "?"}), query("b", "x"), query("c", "y")]
    found = score(run_of(gold_of(queries), engines=(EngineRun("e", ()),)), ["RR@10"]).units
    shared: dict[str, set[str]] = {unit.query: set() for unit in found}
    for unit in found:
        shared[unit.query].add(unit.shared)
    assert shared["a"] == shared["b"]
    assert len(shared["a"]) == 1
    assert shared["c"] == {""}
