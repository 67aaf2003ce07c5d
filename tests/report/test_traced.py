"""Which queries are traced: the misses and regressions of the best builtin first, nothing that is sealed."""

from dataclasses import replace

from assay.experiment.tracing import trace_queries
from assay.report.explorer.html_page import PageOptions, make_traces, select_traced
from assay.report.scored_run import score_run
from assay.types import AnalysisPlan, GoldSet, Suite
from tests.report.labs import lab

RANKS = {"base": [1, 1, 2, 1, 5], "good": [1, 2, 0, 1, 0], "weak": [0, 0, 0, 0, 0], "other": [1, 1, 1, 1, 1]}


def scored(sealed=(), baseline="base"):
    """A run in which `good` and `weak` are builtin."""
    made = lab(RANKS)
    engines = tuple(replace(e, config={"kind": "builtin"} if e.name in ("good", "weak") else {}) for e in made.engines)
    gold = made.suite.golds[0]
    queries = tuple(replace(q, tags={"split": "sealed"}) if q.id in sealed else q for q in gold.queries)
    golds: tuple[GoldSet, ...] = (replace(gold, queries=queries),)
    return score_run(replace(made, suite=Suite(golds), engines=engines), AnalysisPlan(("nDCG@10",), baseline))


def traced(opened, most, *, cheap=False):
    return make_traces(opened, "other", PageOptions(traces=most, cheap=cheap, tracer=trace_queries))


def ids(choice):
    return [query for _, query, _ in choice.queries]


def test_misses_come_first_then_what_got_worse_then_the_rest():
    choice = select_traced(scored(), "other")
    assert choice is not None
    assert choice.engine == "good"
    assert ids(choice) == ["q2", "q4", "q1", "q0", "q3"]  # q2 lost more against the baseline than q4


def test_engine_that_is_the_baseline_is_held_against_its_rival():
    choice = select_traced(scored(baseline="good"), "other")
    assert choice is not None
    assert ids(choice) == ["q2", "q4", "q1", "q0", "q3"]
    assert ids(select_traced(scored(baseline="good"), "weak"))[2:] == ["q1", "q0", "q3"]


def test_sealed_queries_are_not_traced():
    choice = select_traced(scored(sealed=("q2", "q0")), "other")
    assert choice is not None
    assert ids(choice) == ["q4", "q1", "q3"]
    assert traced(scored(sealed=("q2", "q0")), 9).notes[-1] == "2 sealed queries have no trace."


def test_run_without_a_builtin_engine_has_nothing_to_say():
    made = scored()
    plain = replace(made.run, engines=tuple(replace(e, config={}) for e in made.run.engines))
    assert traced(replace(made, run=plain), 9) is None


def test_corpora_that_were_not_traced_are_said_with_the_command():
    first, then = traced(scored(), 3, cheap=True).notes
    assert first == "No traces of gold0: the run records no corpus."
    assert then.startswith("Traces of good: 0 of 5 queries; `assay report DIR --traces 5`")
