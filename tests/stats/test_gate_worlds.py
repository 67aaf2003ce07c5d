"""False alarms and detection of the gate are what the page says, and lucky baselines are allowed for.

Every world runs at the stated count under `make soak`, a smaller one otherwise.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.report.comparison import compare_sides
from assay.report.gate_checks import judge_gate
from assay.report.query_scores import EngineScores, QueryScores, means_over, query_noise
from assay.stats.config import DEFAULT
from assay.stats.run_variance import is_regression
from assay.types import AnalysisPlan, Scores
from docs.gate_figures import read_gate_figures
from tests.stats.gate_worlds import MEASURE, SMALL, STATED, WORLDS, GateWorld, draw_gates, gate_rows, measure_gate
from tests.stats.worlds import make_units

#: Highest share that is promised: over all baselines, and against the luckiest of twenty where noise is known.
FALSE_ALARMS, LUCKY = 0.035, 0.07
#: Fast enough for every run of the tests.
FAST = {"deterministic/30", "deterministic/100", "noisy-1-1/30"}

CASES = [
    *(
        pytest.param(name, SMALL, id=f"{name}-small", marks=[] if name in FAST else [pytest.mark.nightly])
        for name in WORLDS
    ),
    *(pytest.param(name, STATED, id=f"{name}-stated", marks=pytest.mark.soak) for name in WORLDS),
]


def error(share: float, count: int) -> float:
    return math.sqrt(max(share * (1.0 - share), 0.01) / count)


@pytest.mark.parametrize(("name", "count"), CASES)
def test_gate_keeps_its_promise_and_is_what_the_page_says(name, count):
    stated, found = read_gate_figures()[name], measure_gate(WORLDS[name], count)
    print(f"\n{name}: {found}")
    assert found.keys() == stated.keys()
    for figure, share in found.items():
        assert share == pytest.approx(stated[figure], abs=4 * error(stated[figure], count)), figure


@pytest.mark.parametrize("name", WORLDS)
def test_stated_figures_keep_the_promise(name):
    world, stated = WORLDS[name], read_gate_figures()[name]
    assert stated["false alarms"] <= FALSE_ALARMS
    if max(world.runs) > 1:
        assert stated["false alarms, lucky baseline"] <= LUCKY


def test_repeats_on_both_sides_find_more_and_alarm_less():
    figures = read_gate_figures()
    for queries in (100, 300):
        single, repeated = (figures[f"noisy-{runs}/{queries}"] for runs in ("1-1", "5-5"))
        assert repeated["loss of 0.05 found"] > single["loss of 0.05 found"] + 0.05
        assert repeated["false alarms, lucky baseline"] < single["false alarms, lucky baseline"] / 2


def evidence(name, values):
    """Return one simulated side as `assay gate` reads it."""
    runs = len(values)
    engine = EngineScores(
        name="mine",
        role="candidate",
        settings="",
        asked=runs * values.shape[-1],
        failed=0,
        answers=tuple(f"{name} {number}" for number in range(runs)),
        means=tuple(tuple(map(float, row)) for row in means_over(values)),
        changed=0.1 if runs > 1 else 0.0,
        noise=tuple(map(float, query_noise(values))),
    )
    scores = Scores(("mine",), (MEASURE,), tuple(make_units([0] * values.shape[-1])), values.mean(axis=0)[None])
    return QueryScores(name, 10, (engine,), scores, runs)


@pytest.mark.parametrize(
    ("runs", "loss", "code"), [((1, 1), 0.0, 0), ((1, 1), 0.3, 1), ((5, 1), 0.0, 0), ((5, 1), 0.3, 1)]
)
def test_simulated_gates_end_as_the_command_does(runs, loss, code):
    old, new = draw_gates(np.random.default_rng(4), GateWorld(60, True, runs), 3, loss)
    claim = AnalysisPlan((MEASURE,), "mine")
    for at, (row, chance) in enumerate(gate_rows(old, new)):
        before, after = evidence("old", old[:, at]), evidence("new", new[:, at])
        found = compare_sides(before, after, claim)
        assert found.rows[0].interval.high == pytest.approx(row.interval.high)
        gate = judge_gate(after, claim, (), found, engine=None, strict=False, old=before)
        assert (gate.exit_code, is_regression(row, chance, DEFAULT.alpha)) == (code, code == 1)
