"""What a report says of a run, checked against numbers computed by hand."""

import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from assay import Hit, load_gold, run
from assay.experiment.spec.analysis_plan import make_measures
from assay.gold import join
from assay.report.analysis import analyze, analyze_scored
from assay.report.publish import write_reports
from assay.report.render.document import to_markdown
from assay.report.report_sections import document
from assay.report.results_file import results_json
from assay.report.scored_run import score_run
from assay.types import AnalysisPlan, Span, Suite, Target
from tests.report.labs import lab
from tests.report.shared import make_in_shop, sourceless


def made(shop, engines, **spec):
    done = run(sourceless(engines), load_gold("gold.yaml"), k=10, failed="report")
    return done, AnalysisPlan(make_measures(10, None, ()), **spec)


def right_for_two(query, k):
    """Right for the cart and the tax in every phrasing, never for the retry."""
    cart = "items" in query or "cart" in query
    tax = "country" in query
    return ["shop/cart.py"] if cart else ["README.md", "shop/tax.py"] if tax else ["README.md"]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    engines = {"base": lambda q, k: ["shop/cart.py"], "mine": right_for_two}
    return make_in_shop(tmp_path_factory, lambda: analyze(*made(None, engines, baseline="base")))[1]


def test_results_hold_means_that_can_be_checked_by_hand(results):
    means = {(m.engine, m.measure): m.mean for m in results.comparison.means}
    assert means["mine", "RR@10"] == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert means["base", "RR@10"] == pytest.approx(1 / 3)
    cart = 2 / (2 + 1 / math.log2(3))
    assert means["mine", "nDCG@10"] == pytest.approx((cart + 1 / math.log2(3)) / 3)


def test_results_count_ranks_and_misses(results):
    mine = next(r for r in results.ranks if r.engine == "mine")
    assert mine.counts[:3] == (1, 1, 0)
    assert mine.missed == 1


def test_results_list_failures_worst_first_with_what_was_expected_and_what_came(results):
    failures = [f for f in results.low_scores if f.engine == "mine"]
    assert [f.query for f in failures] == ["retry-wait"]
    assert failures[0].expected == ("shop/retry.py:6-13",)
    assert failures[0].top == ("README.md",)
    assert failures[0].rank is None


def test_results_break_down_by_difficulty_with_standard_first(results):
    cut = next(b for b in results.breakdowns if b.by == "difficulty")
    assert [g.group for g in cut.groups if g.engine == "mine"] == ["standard", "hard"]
    assert [g.queries for g in cut.groups if g.engine == "mine"] == [1, 2]


def test_results_break_down_by_words_shared_with_the_answer(results):
    cut = next(b for b in results.breakdowns if b.by.startswith("words shared"))
    sizes = {g.group: g.queries for g in cut.groups if g.engine == "mine"}
    assert sizes == {"names the target": 1, "no word in common": 2}  # only "total" stands in its own symbol


def test_results_break_down_by_repository_and_language_with_the_statistics_of_every_group():
    run = lab({"mine": [1, 2, 0, 1] * 5, "other": [1] * 20}, repositories=2)
    golds = [
        replace(g, queries=tuple(replace(q, targets=(*q.targets, Target(Span("first.go"), 1))) for q in g.queries))
        for g in run.suite.golds
    ]
    golds[1] = replace(
        golds[1], queries=tuple(replace(q, targets=(Target(Span("right.rs"), 2),)) for q in golds[1].queries)
    )
    scored = score_run(replace(run, suite=Suite(tuple(golds))), AnalysisPlan(("RR@10",), "other"))
    cuts = {cut.by: cut for cut in analyze_scored(scored).breakdowns}
    mine = {g.group: g for g in cuts["language of the target"].groups if g.engine == "mine"}
    assert {name: (g.queries, g.mean) for name, g in mine.items()} == {"python": (10, 0.5), "rust": (10, 0.0)}
    assert mine["python"].low < 0.5 < mine["python"].high
    assert [g.queries for g in cuts["repository"].groups if g.engine == "mine"] == [10, 10]


def test_one_language_and_one_repository_are_no_groups_and_the_documents_stay_short():
    scored = score_run(lab({"mine": [1, 2], "other": [1, 1]}, repositories=2), AnalysisPlan(("RR@10",), "other"))
    found = analyze_scored(scored)
    assert "language of the target" not in {cut.by for cut in found.breakdowns}
    assert "repository" in {cut.by for cut in found.breakdowns}
    assert "By repository" not in to_markdown(document(found))


def test_results_show_every_form(results):
    cut = next(b for b in results.breakdowns if b.by == "form")
    assert {g.group for g in cut.groups} == {"human", "keyword", "wrong_terminology"}


def test_results_say_how_adversaries_did(shop):
    engines = {"base": lambda q, k: [], "mine": lambda q, k: ["tests/test_cart.py", "shop/cart.py"]}
    found = analyze(*made(shop, engines, baseline="base"))
    trap = next(t for t in found.adversaries if t.engine == "mine" and t.by == "all")
    assert (trap.queries, trap.found, trap.displacement, trap.rank_gap) == (1, 1.0, 1.0, -1.0)
    by = {(t.by, t.value) for t in found.adversaries}
    assert {("relationship", "test"), ("strength", "strong")} <= by


def test_results_warn_below_thirty_queries_everywhere(results):
    assert any("Only 3 queries" in warning for warning in results.warnings)
    page = to_markdown(document(results))
    tables = page.split("## ")[1:]
    scores = next(t for t in tables if t.startswith("Results"))
    against = next(t for t in tables if t.startswith("Against"))
    assert "unreliable" in scores
    assert "Only 3 queries" in against


def test_identical_rankings_raise_an_alarm(shop):
    def set_otherwise(query, k):
        return right_for_two(query, k)

    engines = {"base": right_for_two, "twin": set_otherwise, "other": lambda q, k: ["shop/tax.py"]}
    found = analyze(*made(shop, engines, baseline="base"))
    alarms = [w for w in found.warnings if "identical" in w]
    assert len(alarms) == 1
    assert "base and twin" in alarms[0]


def test_many_engines_with_identical_rankings_are_one_alarm(shop):
    def called(name):
        def search(query, k):
            return ["shop/tax.py"]

        search.__qualname__ = name  # another name is another setting
        return search

    result = run({name: called(name) for name in "abcd"}, load_gold("gold.yaml"))
    alarms = [w for w in analyze(result, AnalysisPlan(("nDCG@10",), "a")).warnings if "identical" in w]
    assert len(alarms) == 1
    assert alarms[0].startswith("a, b, c and d have identical rankings")


def test_identical_rankings_of_one_setting_are_no_alarm(shop):
    engines = {"base": right_for_two, "twin": right_for_two}
    result, plan = made(shop, engines, baseline="base")
    assert result.engines[0].config == result.engines[1].config
    assert not [w for w in analyze(result, plan).warnings if "identical" in w]


def test_failed_queries_are_counted_and_shown(shop):
    def breaks(query, k):
        raise RuntimeError("down")

    found = analyze(*made(shop, {"base": right_for_two, "mine": breaks}, baseline="base"))
    assert any("mine failed on 9 of 9 queries (9 error)" in warning for warning in found.warnings)
    assert next(f for f in found.engines if f.name == "mine").failed == 9


def test_distinct_files_are_counted_after_duplicates(shop):
    hits = [Hit("shop/cart.py", 1, 3), Hit("shop/cart.py", 4, 6), Hit("shop/tax.py", 1, 2)]
    found = analyze(*made(shop, {"base": right_for_two, "mine": lambda q, k: hits}, baseline="base"))
    assert next(f for f in found.engines if f.name == "mine").distinct == 2.0


def test_lone_engine_is_reported_without_a_comparison(shop):
    found = analyze(*made(shop, {"mine": right_for_two}, baseline="mine"))
    assert found.comparison.rows == ()
    assert found.leader == "mine"
    assert "mine" in to_markdown(document(found))


def test_reading_sentence_places_a_score_between_floor_and_ceiling(finished_shop):
    page = " ".join((finished_shop / "results" / "RESULTS.md").read_text().split())
    assert "of the way from random" in page
    assert "a keyword search reaches" in page


@pytest.mark.parametrize(
    ("counts", "missed", "word"),
    [
        ((30, 5, 1), 5, "inspect the missed queries"),
        ((30, 5, 1), 0, "at rank 1 or 2."),
        ((5, 5, 20), 3, "at low ranks"),
        ((5, 5, 5), 20, "many targets are missing"),
        ((0, 0, 0), 9, "no target was found"),
    ],
)
def test_shape_of_a_rank_distribution_is_said_in_words(counts, missed, word):
    ranks = [rank for rank, count in enumerate(counts, start=1) for _ in range(count)] + [0] * missed
    page = to_markdown(document(analyze(lab({"mine": ranks}), AnalysisPlan(("RR@10",), "mine"))))
    section = next(part for part in page.split("\n## ") if part.startswith("Rank of the first relevant result"))
    assert word in section


def test_written_files_agree_with_the_results(shop, tmp_path):
    result, spec = made(shop, {"base": lambda q, k: ["shop/cart.py"], "mine": right_for_two}, baseline="base")
    found = analyze(result, spec)
    write_reports(found, score_run(result, spec), tmp_path)
    assert json.loads((tmp_path / "results.json").read_text()) == json.loads(json.dumps(results_json(found)))
    with open(tmp_path / "per-query.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    human = [float(r["RR@10"]) for r in rows if r["engine"] == "mine" and r["form"] == "human"]
    assert np.mean(human) == next(m.mean for m in found.comparison.means if (m.engine, m.measure) == ("mine", "RR@10"))
    assert len(rows) == 2 * 9


@pytest.mark.parametrize("primary", ["TokensToHit", None], ids=["lower is better", "higher is better"])
def test_leader_and_order_follow_the_direction_of_the_measure(shop, primary):
    engines = {"base": lambda q, k: ["shop/cart.py"], "good": right_for_two, "bad": lambda q, k: []}
    found = analyze(run(engines, load_gold("gold.yaml")), AnalysisPlan(make_measures(10, primary, ()), baseline="base"))
    scores = next(part for part in to_markdown(document(found)).split("\n## ") if part.startswith("Results"))
    names = [line.split(" | ")[0].removeprefix("| ") for line in scores.splitlines() if line.startswith("| ")]
    assert found.leader == "good"
    assert [name for name in names if name in engines] == ["good", "base", "bad"]
    assert [f.query for f in found.low_scores if f.engine == "good"] == ["retry-wait"]


def test_measure_that_applies_to_no_query_is_left_out_of_the_table(shop):
    text = (shop / "gold.yaml").read_text()
    start, end = text.index("    interference:"), text.index("    rationale:")
    (shop / "gold.yaml").write_text(text[:start] + text[end:].replace("Displacement@10", "Hit@5"))
    engines = {"base": lambda q, k: ["shop/cart.py"], "mine": right_for_two}
    found = analyze(*made(shop, engines, baseline="base"))
    odd = analyze(
        run(engines, load_gold("gold.yaml")), AnalysisPlan(make_measures(10, None, ("Displacement@10",)), "base")
    )
    assert "–" in to_markdown(document(odd))
    assert found.adversaries == ()


def test_measure_over_phrasings_can_be_the_primary_one(shop):
    result = run({"base": lambda q, k: ["shop/cart.py"], "mine": right_for_two}, load_gold("gold.yaml"))
    found = analyze(result, AnalysisPlan(make_measures(10, "Worst(nDCG@10)", ()), "base"))
    assert found.comparison.primary == "Worst(nDCG@10)"


def test_ties_are_reported_with_the_range_they_leave(shop):
    tied = [Hit("README.md", score=1.0), Hit("shop/cart.py", score=1.0)]
    found = analyze(*made(shop, {"base": right_for_two, "mine": lambda q, k: tied}, baseline="base"))
    mine = next(f for f in found.engines if f.name == "mine")
    assert mine.tie_rate == 1.0
    assert mine.tie_range is not None
    low, mean, high = mine.tie_range
    assert low < mean < high


def test_evaluation_layer_means_are_those_of_the_queries_that_name_them(results):
    layer = {(x.engine, x.measure): (x.queries, x.mean) for x in results.layers}
    assert layer["mine", "RR@10"] == (1, 1.0)


def test_several_repositories_get_a_table_that_counts_each_once(shop, tmp_path):
    import shutil

    shutil.copytree(shop, tmp_path / "other")
    text = (tmp_path / "other" / "gold.yaml").read_text().replace("name: shop", "name: other")
    (tmp_path / "other" / "gold.yaml").write_text(text)
    both = join([load_gold("gold.yaml"), load_gold(tmp_path / "other" / "gold.yaml")])
    result = run({"base": lambda q, k: [], "mine": right_for_two}, both)
    found = analyze(result, AnalysisPlan(make_measures(10, None, ()), "base"))
    assert found.repositories == 2
    assert "each of the 2 repositories counted once" in to_markdown(document(found))


def test_every_table_below_thirty_queries_says_so(results):
    page = to_markdown(document(results))
    for title in ("Results", "By form", "By difficulty", "One intent", "Adversaries", "Over the queries"):
        section = next(part for part in page.split("## ") if part.startswith(title))
        assert "unreliable" in section, title
