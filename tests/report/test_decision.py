"""The text of decision cards against numbers computed here from the rankings, by other means."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from assay.report.analysis import analyze
from assay.report.comparison import compare_all_pairs
from assay.report.comparison_text import card, run_card
from assay.report.results_file import results_json
from assay.stats.records import EngineLabel
from assay.stats.verdicts import holm
from assay.types import AnalysisPlan, Hit, Ranking, Span, Status, Target
from tests.report.labs import lab

PLAN = AnalysisPlan(("nDCG@10",), "a")
RNG = np.random.default_rng(5)
OFTEN_LOW = RNG.choice([0, 1, 2, 3, 5], 40).tolist()
OFTEN_HIGH = RNG.choice([1, 1, 1, 2, 3], 40).tolist()
SIGNS = {
    "better": "✓",
    "slightly better": "✓",
    "worse": "✗",
    "equivalent": "=",
    "not inferior": "≥",
    "inconclusive": "?",
}
SENTENCES = {
    "better": "b is better than a",
    "slightly better": "b is slightly better than a",
    "worse": "b is worse than a",
    "equivalent": "b and a: no meaningful difference",
    "not inferior": "b is at least as good as a",
    "inconclusive": "b vs a: not enough data to tell",
}
MARGINS = {
    "slightly better": ", below margin 0.02",
    "equivalent": ", within margin 0.02",
    "not inferior": ", allowing 0.02",
}

RUNS = {
    "better": (OFTEN_LOW, OFTEN_HIGH),
    "worse": (OFTEN_HIGH, OFTEN_LOW),
    "slightly better": ([4] * 60 + [3] * 340, [3] * 60 + [4] * 20 + [3] * 320),
    "equivalent": ([1, 2] * 200, [1, 2] * 195 + [2, 1] * 5),
    "not inferior": ([2] * 24 + [1] * 276, [1] * 24 + [2] * 14 + [1] * 262),
    "inconclusive": (OFTEN_LOW, [*OFTEN_LOW[7:], *OFTEN_LOW[:6], 1]),
}


def ndcg(rank):
    """nDCG of a single target: the ideal gain is 1."""
    return 1 / math.log2(rank + 1) if rank else 0.0


def minus(text):
    return text.replace("-", "−") if float(text) else text.replace("-", "")


def expected_numbers(old, new):
    """Means, t interval of the paired differences, and counts, without the code under test."""
    differences = np.array([ndcg(b) - ndcg(a) for a, b in zip(old, new, strict=True)])
    low, high = stats.t.interval(0.95, len(differences) - 1, differences.mean(), stats.sem(differences))
    before, after = np.mean([ndcg(rank) for rank in old]), np.mean([ndcg(rank) for rank in new])
    scores = f"{before:.3f} → {after:.3f}, difference {minus(f'{differences.mean():+.3f}')} "
    scores += f"(95% CI {minus(f'{low:.2f}')} to {minus(f'{high:.2f}')})"
    better, worse = int((differences > 1e-9).sum()), int((differences < -1e-9).sum())
    same = len(differences) - better - worse
    counts = f"{len(differences)} queries: {better} better, {same} same, {worse} worse"
    return scores, counts, differences


def sign_flip_p(differences, draws=20_000):
    signs = RNG.choice([-1.0, 1.0], (draws, len(differences)))
    sums = np.abs(signs @ differences)
    return float((sums >= abs(differences.sum()) - 1e-9).mean())


@pytest.mark.parametrize("outcome", RUNS)
def test_card_shows_recomputed_numbers(outcome):
    old, new = RUNS[outcome]
    decision = analyze(lab({"a": old, "b": new}), PLAN).decision
    lines = run_card(decision, "results").lines
    scores, counts, differences = expected_numbers(old, new)
    assert decision.outcome == outcome
    assert lines[0] == f"{SIGNS[outcome]} {SENTENCES[outcome]} on gold0, by file (nDCG@10)"
    if outcome in ("not inferior", "inconclusive"):  # the headline does not name the better engine
        scores = f"a {scores}".replace("→ ", "→ b ")
    assert lines[1] == scores + MARGINS.get(outcome, "")
    assert lines[2] == counts
    assert lines[3].startswith("Scope: this repository only. p ")
    assert decision.p == pytest.approx(sign_flip_p(differences), abs=0.015)
    shown = lines[3].split(". ")[1]
    assert shown == ("p < 0.001" if decision.p is not None and decision.p < 0.001 else f"p = {decision.p:#.2g}")
    worst = sorted(range(len(old)), key=lambda i: (differences[i], f"q{i}"))[:3]
    losses = ", ".join(f"q{i} {minus(f'{differences[i]:.2f}')}" for i in worst if differences[i] < -1e-9)
    if losses and not decision.reason:
        assert f"Largest losses: {losses}   (assay show results q{worst[0]})" in lines
    if decision.warnings:
        shown = lines[-1].removeprefix("! ").partition(" (+")[0].removesuffix("…")
        assert decision.warnings[0].startswith(shown)
        assert len(shown) > 20
    else:
        assert lines[-1] == "results/report.html"
    assert len(lines) <= 6
    assert all(len(line) <= 80 for line in run_card(decision, "results").text.splitlines())


def test_identical_rankings_and_same_scores_are_told_apart():
    twins = lab({"a": [1, 2] * 10, "b": [1, 2] * 10})
    assert card(analyze(twins, PLAN).decision).lines[0] == "= b and a returned identical rankings on gold0"
    other = twins.engines[1]
    moved = tuple(replace(r, hits=(*r.hits[:-1], Hit("another.py"))) for r in other.rankings)
    decision = analyze(replace(twins, engines=(twins.engines[0], replace(other, rankings=moved))), PLAN).decision
    assert (decision.outcome, decision.difference) == ("same scores", 0.0)
    assert card(decision).lines[0] == "= b and a have the same scores on gold0, by file (nDCG@10)"


@pytest.mark.parametrize(("failures", "words"), [(40, "every query"), (12, "12 of 40 queries")])
def test_failed_engine_is_not_compared(failures, words):
    run = lab({"a": OFTEN_LOW, "b": OFTEN_HIGH})
    broken = tuple(
        Ranking(r.gold, r.query, r.form, (), status=Status.ERROR, error="sh: down; again") if at < failures else r
        for at, r in enumerate(run.engines[1].rankings)
    )
    results = analyze(replace(run, engines=(run.engines[0], replace(run.engines[1], rankings=broken))), PLAN)
    assert (results.decision.outcome, results.decision.candidate.failed) == ("failed", failures)
    lines = card(results.decision, more=": assay score --full").lines
    assert lines[0] == f"✗ b failed on {words} of gold0"
    if failures < 40:
        assert lines[-1].startswith("! First message: sh: down; again")


def test_warning_is_cut_at_the_end_of_a_word():
    decision = analyze(lab({"a": OFTEN_LOW, "b": OFTEN_HIGH}), PLAN).decision
    words = [f"word{number}" for number in range(30)]
    for more in (" below", " with --full", ": assay score results-of-today --full"):
        line = card(replace(decision, warnings=(" ".join(words), "another")), more=more).lines[-1]
        shown = line.removeprefix("! ").removesuffix(f" (+1{more})")
        assert shown.endswith("…")
        assert shown[:-1].split() == words[: len(shown.split())]
        assert len(line) <= 78
    usual = "keywords (0.583) scores better than mine (0.411)."
    line = card(replace(decision, warnings=(usual, "another")), more=" with --full").lines[-1]
    assert line == f"! {usual[:-1]} (+1 with --full)"


def test_single_engine_has_its_mean_and_interval():
    decision = analyze(lab({"a": OFTEN_LOW}), PLAN).decision
    mean = np.mean([ndcg(rank) for rank in OFTEN_LOW])
    lines = card(decision).lines
    assert (decision.outcome, decision.baseline) == ("single engine", None)
    assert lines[0] == f"· a scores {mean:.3f} on gold0, by file (nDCG@10)"
    assert lines[1].endswith("No second engine to compare with")
    assert lines[2] == "40 queries"


def test_leader_of_five_engines_is_compared_with_the_runner_up():
    """The p-value is adjusted for all ten pairs."""
    ranks = {name: RNG.choice(choices, 60).tolist() for name, choices in FIVE.items()}
    run = lab(ranks)
    decision = analyze(run, replace(PLAN, baseline="")).decision
    means = {name: float(np.mean([ndcg(rank) for rank in given])) for name, given in ranks.items()}
    order = sorted(means, key=lambda name: -means[name])
    assert decision.baseline is not None
    assert (decision.candidate.name, decision.baseline.name) == (order[0], order[1])
    assert card(decision).lines[1] == expected_numbers(ranks[order[1]], ranks[order[0]])[0]
    others = ", ".join(f"{name} {means[name]:.3f}" for name in order[2:])
    assert f"Others: {others}" in card(decision).lines
    assert decision.comparisons == 10
    names = list(ranks)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    raw = [sign_flip_p(expected_numbers(ranks[a], ranks[b])[2]) for a, b in pairs]
    adjusted = dict(zip(map(frozenset, pairs), holm(raw), strict=True))
    assert decision.p == pytest.approx(adjusted[frozenset(order[:2])], abs=0.03)
    rows = compare_all_pairs(run, replace(PLAN, baseline="")).rows
    row = next(row for row in rows if {row.engine, row.baseline} == set(order[:2]))
    assert decision.p == pytest.approx(row.p_adjusted, abs=1e-9)


FIVE = {"a": [1, 2, 3], "b": [0, 3, 5], "c": [1, 1, 2], "d": [0, 1, 9], "e": [0, 0, 4]}


def test_line_level_gold_is_named_on_the_card():
    run = lab({"a": OFTEN_LOW, "b": OFTEN_HIGH})
    (gold,) = run.suite.golds
    queries = tuple(replace(q, targets=(Target(Span(q.targets[0].span.path, 3, 8), 2),)) for q in gold.queries)
    engines = tuple(
        replace(
            engine,
            rankings=tuple(
                replace(r, hits=tuple(Hit(h.path, 4, 9) if h.path.startswith("right") else h for h in r.hits))
                for r in engine.rankings
            ),
        )
        for engine in run.engines
    )
    run = replace(run, suite=replace(run.suite, golds=(replace(gold, queries=queries),)), engines=engines)
    decision = analyze(run, replace(PLAN, measures=("nDCG(level=lines)@10",))).decision
    lines = card(decision).lines
    assert decision.granularity == "lines"
    assert lines[0] == "✓ b is better than a on gold0, by lines (nDCG@10)"
    assert lines[1:3] == expected_numbers(OFTEN_LOW, OFTEN_HIGH)[:2]


def test_reason_explains_an_interval_that_the_verdict_contradicts():
    old, new = [2] * 16 + [1] * 24, [1] * 16 + [2] * 5 + [1] * 19
    alone = analyze(lab({"a": old, "b": new}), PLAN).decision
    among = {name: [3] * (at + 1) + new[at + 1 :] for at, name in enumerate("cdefgh")}
    several = analyze(lab({"a": old, "b": new, **among}), PLAN).decision
    assert (alone.outcome, alone.reason) == ("better", "")
    assert (several.low or 0.0) > 0
    assert several.reason == "not significant after correcting for 7 comparisons"
    assert card(several).lines[3].endswith(f"p = {several.p:#.2g} after correcting for 7 comparisons")


def test_long_names_are_shortened_and_every_rendering_has_the_record():
    long = "builtin:search.stem.files=0.4,search.index.chunks.kind=file"
    results = analyze(lab({"a": OFTEN_LOW, long: OFTEN_HIGH}), PLAN)
    assert all(len(line) <= 80 for line in run_card(results.decision, "results").text.splitlines())
    decision = results_json(results)["decision"]
    assert json.loads(json.dumps(decision)) == results.decision.to_json()
    assert decision["candidate"]["name"] == long


@pytest.mark.parametrize(
    ("new", "old", "title"),
    [
        ("new", "baseline.json", "builtin (new) is better than builtin (baseline.json)"),
        ("a/b/new/", "ci/assay/baseline.json", "builtin (new) is better than builtin (baseline.json)"),
        ("results_now", "ci/old_baseline.json", "builtin: results_now is better than old_baseline.json"),
        ("x/same", "y/same", "builtin (x/same) is better than builtin (y/same)"),
    ],
)
def test_two_runs_of_one_engine_are_named_in_full(new, old, title):
    decision = analyze(lab({"a": OFTEN_LOW, "b": OFTEN_HIGH}), PLAN).decision
    assert decision.baseline is not None
    decision = replace(
        decision,
        suite="s",
        candidate=replace(decision.candidate, name=EngineLabel("builtin", new)),
        baseline=replace(decision.baseline, name=EngineLabel("builtin", old)),
    )
    assert card(decision).lines[0] == f"✓ {title} on s, by file (nDCG@10)"


def test_reference_that_scores_better_is_the_first_warning():
    run = lab({"a": OFTEN_LOW, "b": OFTEN_LOW[::-1], "keywords": OFTEN_HIGH})
    engines = (*run.engines[:2], replace(run.engines[2], role="reference"))
    decision = analyze(replace(run, engines=engines), PLAN).decision
    best, mean = (f"{np.mean([ndcg(rank) for rank in ranks]):.3f}" for ranks in (OFTEN_HIGH, OFTEN_LOW))
    warning = f"keywords ({best}) scores better than b ({mean}) and a ({mean})."
    assert decision.warnings[0] == warning
    assert card(decision).lines[-1].startswith(f"! {warning[:30]}")
