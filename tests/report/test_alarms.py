"""Each alarm with a run that must raise it and one that must not; the honest value by simulation."""

from dataclasses import replace

import numpy as np
import pytest

from assay.report.analysis import analyze
from assay.report.diagnostics import find_diagnostics
from assay.report.render.document import to_markdown
from assay.report.report_sections import document
from assay.report.results_file import Diagnostic
from assay.report.scored_run import score_run
from assay.stats.score_table import partition
from assay.stats.selection import near_leader, selection_bias
from assay.types import AnalysisPlan, Span, Status, Suite, Unit
from tests.report.labs import lab
from tests.timing import fastest


def raised(made, **plan):
    """The alarms of a run, by kind."""
    given = AnalysisPlan(("RR@10",), made.engines[0].name, **plan)
    found: dict[str, list[Diagnostic]] = {}
    for alarm in find_diagnostics(score_run(made, given)):
        found.setdefault(alarm.kind, []).append(alarm)
    return found


def chosen(values, parts, rng, **how):
    """The best of many, where there are enough queries to choose by."""
    found = selection_bias(values, parts, rng, **how)
    assert found is not None
    return found


def mixed(seed, queries=40):
    """Ranks as a fair engine gives them."""
    return np.random.default_rng(seed).integers(0, 11, queries).tolist()


def _without_lines(engine):
    def bare(ranking):
        return replace(ranking, hits=tuple(hit._replace(start=None, end=None) for hit in ranking.hits))

    return replace(engine, rankings=tuple(map(bare, engine.rankings)))


def test_an_engine_that_returns_paths_is_warned_of_where_lines_are_measured():
    made = lab({"a": mixed(1), "b": mixed(2)})
    made = replace(made, engines=(_without_lines(made.engines[0]), _with_lines(made.engines[1])))
    plan = AnalysisPlan(("nDCG(level=lines)@10",), "b")
    (found,) = (one for one in find_diagnostics(score_run(made, plan)) if one.kind == "paths only")
    assert found.names == ("a",)
    assert found.sentence == "a returns no lines: use --level file."
    assert "paths only" not in raised(made)  # by file


def _with_lines(engine):
    def spans(ranking):
        return replace(ranking, hits=tuple(hit._replace(start=1, end=5) for hit in ranking.hits))

    return replace(engine, rankings=tuple(map(spans, engine.rankings)))


def test_gold_sets_of_two_levels_are_noted():
    made = lab({"a": mixed(1)})
    (gold,) = made.suite.golds
    precise = [replace(target, span=Span(target.span.path, 1, 5)) for target in gold.queries[0].targets]
    queries = tuple(replace(query, targets=tuple(precise)) for query in gold.queries)
    by_lines = replace(gold, name="precise", queries=queries)
    assert (gold.level, by_lines.level) == ("file", "lines")
    (found,) = raised(replace(made, suite=Suite((gold, by_lines))))["mixed levels"]
    assert (found.names, found.grave) == (("precise",), False)
    assert "mixed levels" not in raised(made)


def test_engines_that_rank_alike_are_one_alarm_with_all_names():
    found = raised(lab({"a": mixed(1), "b": mixed(1), "c": mixed(1), "d": mixed(2)}))
    assert [alarm.names for alarm in found["identical rankings"]] == [("a", "b", "c")]
    assert found["identical rankings"][0].evidence == {"queries": 40}


def test_engines_that_differ_on_one_query_are_no_twins():
    one = mixed(1)
    other = [*one[:-1], (one[-1] + 1) % 11]
    assert "identical rankings" not in raised(lab({"a": one, "b": other}))


def test_two_groups_of_twins_are_two_alarms():
    found = raised(lab({"a": mixed(1), "b": mixed(2), "c": mixed(1), "d": mixed(2)}))
    assert [alarm.names for alarm in found["identical rankings"]] == [("a", "c"), ("b", "d")]


def grid(live=True, dead=True):
    """A grid of two params; a live one changes the ranks, a dead one does not."""
    ranks, changes = {}, {}
    for x in (1, 2, 3):
        for y in (1, 2):
            seed = 10 * x * live + y * (not dead)
            ranks[f"x{x}y{y}"], changes[f"x{x}y{y}"] = mixed(seed), {"search.x": x, "search.y": y}
    return lab(ranks, changes)


def test_a_knob_whose_values_all_rank_alike_is_dead_and_explains_its_twins():
    found = raised(grid())
    assert [alarm.names for alarm in found["dead parameter"]] == [("search.y",)]
    assert found["dead parameter"][0].evidence == {"base": "base", "values": ["1", "2"], "pairs": 3, "rankings": 120}
    assert "identical rankings" not in found


def test_knobs_that_work_are_no_alarm():
    assert "dead parameter" not in raised(grid(dead=False))


def test_a_knob_that_works_at_one_value_of_another_is_not_dead():
    made = grid()
    engines = list(made.engines)
    engines[1] = replace(engines[1], rankings=lab({"e": mixed(99)}).engines[0].rankings)  # x1y2
    found = raised(replace(made, engines=tuple(engines)))
    assert "dead parameter" not in found
    assert [alarm.names for alarm in found["identical rankings"]] == [("x2y1", "x2y2"), ("x3y1", "x3y2")]


def test_a_knob_needs_a_pair_that_differs_in_nothing_else():
    ranks = {"v": mixed(1), "w": mixed(1)}
    found = raised(lab(ranks, {"v": {"x": 1, "y": 1}, "w": {"x": 2, "y": 2}}))
    assert "dead parameter" not in found
    assert "identical rankings" in found


def test_the_engine_itself_is_a_point_of_its_sweep():
    found = raised(lab({"base": mixed(1), "off": mixed(1)}, {"off": {"graph": False}}))
    assert found["dead parameter"][0].evidence["values"] == ["unchanged", "false"]


def test_a_value_that_is_the_default_anyway_is_no_dead_knob():
    made = lab({"base": mixed(1), "same": mixed(1)}, {"same": {"x": 1}})
    engines = tuple(replace(engine, config={"x": 1}) for engine in made.engines)
    assert "dead parameter" not in raised(replace(made, engines=engines))


def test_engines_that_answered_nothing_are_in_no_alarm():
    made = lab({"a": mixed(1), "b": mixed(2), "c": mixed(3)}, {"b": {"x": 1}, "c": {"x": 2}})
    failed = tuple(
        replace(e, rankings=tuple(replace(r, hits=(), status=Status.ERROR, error="no") for r in e.rankings))
        if e.name != "a"
        else e
        for e in made.engines
    )
    assert raised(replace(made, engines=failed)) == {}


def test_variants_that_noise_alone_tells_apart_are_named_with_what_the_set_could_show():
    found = raised(lab({name: mixed(seed) for seed, name in enumerate("abcd")}))["within noise"]
    assert len(found) == 1
    assert sorted(found[0].names) == ["a", "b", "c", "d"]
    assert found[0].evidence["smallest"] > max(found[0].evidence["behind"].values())
    assert "all other variants" in found[0].sentence


def test_a_leader_that_beats_all_others_is_no_noise():
    ranks = {"best": [1] * 40, "a": [5, 6] * 20, "b": [7, 8] * 20}
    assert "within noise" not in raised(lab(ranks))


def test_only_those_near_the_leader_are_named():
    near = [1, 1, 1, 2] * 10
    found = raised(lab({"best": [1, 1, 2, 1] * 10, "near": near, "far": [8, 9] * 20}))["within noise"][0]
    assert set(found.names) == {"best", "near"}
    assert "1 of 2 other variants" in found.sentence


def test_a_difference_below_the_margin_is_named_though_it_is_decided():
    ranks = {"a": [8, 9] * 200, "b": [9, 10] * 200, "c": [0] * 400}
    found = raised(lab(ranks), margin=0.02)["within noise"][0]
    assert set(found.names) == {"a", "b"}
    assert found.evidence["undecided"] == []


def test_of_two_engines_the_verdict_says_it_all():
    found = raised(lab({"a": mixed(1), "b": mixed(2)}))
    assert found == {}


def test_the_best_of_many_equals_is_told_to_be_lucky():
    found = raised(lab({f"v{seed}": mixed(seed) for seed in range(20)}))["best of many"]
    assert found[0].evidence["apparent"] - found[0].evidence["honest"] > 0.03
    assert found[0].evidence["engines"] == 20
    assert "assay tune" in found[0].next


def test_luck_is_told_from_half_of_the_margin_on():
    made = lab({f"v{seed}": mixed(seed) for seed in range(20)})
    evidence = raised(made)["best of many"][0].evidence
    luck = evidence["apparent"] - evidence["honest"]
    assert "best of many" in raised(made, margin=1.99 * luck)
    assert "best of many" not in raised(made, margin=2.01 * luck)


def test_a_winner_by_far_was_not_lucky():
    ranks = {"best": [1, 1, 2] * 20, **{f"v{seed}": [7, 8, 9] * 20 for seed in range(5)}}
    assert "best of many" not in raised(lab(ranks))


def test_twins_count_once_among_many():
    ranks = {**{f"v{i}": mixed(1) for i in range(9)}, "other": mixed(2)}
    found = raised(lab(ranks))
    assert "best of many" not in found  # two rankings are two, however often they were asked
    assert "within noise" not in found


def test_alarms_stand_in_every_rendering_and_in_the_results():
    results = analyze(grid(), AnalysisPlan(("RR@10",), "x1y1"))
    kinds = [alarm.kind for alarm in results.diagnostics]
    assert kinds[0] == "dead parameter"
    assert "search.y of base has no effect" in to_markdown(document(results)).replace("\\", "")
    assert any("search.y of base has no effect" in text for text in results.decision.warnings)


@pytest.mark.parametrize("up", [True, False])
def test_under_pure_noise_the_honest_value_is_unbiased(up):
    rng = np.random.default_rng(7)
    units = [Unit("g", f"q{i}", "human", "r") for i in range(60)]
    parts = partition(units)
    honest, apparent = [], []
    for _ in range(150):
        found = chosen(rng.random((25, 60)), parts, rng, higher_is_better=up)
        honest.append(found.honest)
        apparent.append(found.apparent)
    off = np.mean(honest) - 0.5
    assert abs(off) < 3 * np.std(honest) / np.sqrt(150)
    assert abs(off) < 0.01
    assert (np.mean(apparent) - 0.5) * (1 if up else -1) > 0.05  # what it corrects


def test_with_real_differences_the_honest_value_lies_below_the_truth_by_little():
    rng = np.random.default_rng(8)
    parts = partition([Unit("g", f"q{i}", "human", "r") for i in range(100)])
    truth = np.linspace(0.4, 0.6, 10)
    honest = [chosen(truth[:, None] + rng.normal(0, 0.2, (10, 100)), parts, rng).honest for _ in range(100)]
    assert 0.57 < np.mean(honest) < 0.602


def test_halves_are_of_repositories_where_these_are_drawn():
    rng = np.random.default_rng(9)
    units = [Unit("g", f"q{i}", "human", f"r{i % 12}") for i in range(240)]
    shared = rng.normal(0, 0.2, (20, 12))  # what a repository does to a variant
    values = 0.5 + shared[:, [i % 12 for i in range(240)]] + rng.normal(0, 0.01, (20, 240))
    found = chosen(values, partition(units), rng)
    assert found.apparent - found.honest > 0.05  # as if there were twelve queries


def test_too_few_queries_make_no_choice():
    parts = partition([Unit("g", f"q{i}", "human", "r") for i in range(5)])
    assert selection_bias(np.ones((3, 5)), parts, np.random.default_rng(0)) is None


def test_an_even_lead_without_spread_is_decided():
    parts = partition([Unit("g", f"q{i}", "human", "r") for i in range(20)])
    found = near_leader(np.vstack([np.full(20, 0.5), np.full(20, 0.9), np.full(20, 0.9)]), parts)
    assert found.leader == 1
    assert found.decided.tolist() == [True, False, False]


def test_the_first_of_those_near_the_leader_is_rarely_decided_by_noise():
    rng = np.random.default_rng(10)
    parts = partition([Unit("g", f"q{i}", "human", "r") for i in range(50)])
    wrong = sum(near_leader(rng.normal(0.5, 0.2, (12, 50)), parts).decided.any() for _ in range(300))
    assert wrong <= 300 * 0.05


@pytest.mark.soak
def test_time_does_not_grow_with_the_pairs_of_variants():
    def case_of(variants):
        rng = np.random.default_rng(11)
        ranks = {f"v{i}": rng.integers(0, 11, 2000).tolist() for i in range(variants)}
        changes = {f"v{i}": {"x": i % 10, "y": i // 10} for i in range(variants)}
        return score_run(lab(ranks, changes), AnalysisPlan(("RR@10",), "v0"))

    few, many = case_of(10), case_of(100)
    assert fastest(lambda: find_diagnostics(many)) < 10 * fastest(
        lambda: find_diagnostics(few)
    )  # there are 110 times as many pairs


def test_equals_are_chosen_by_lot_not_by_their_place():
    rng = np.random.default_rng(12)
    parts = partition([Unit("g", f"q{i}", "human", "r") for i in range(8)])
    last_fails = np.ones((3, 8))
    last_fails[0, 7] = 0.0
    found = chosen(last_fails, parts, rng)
    turned = chosen(last_fails[::-1], parts, np.random.default_rng(12))
    assert found.honest == pytest.approx(turned.honest, abs=0.01)
    assert found.honest == pytest.approx(1 - 1 / 3 / 4 / 2, abs=0.01)  # in one half of the ways, a third takes it
