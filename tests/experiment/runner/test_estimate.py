"""How long will it take: nothing is claimed of what never ran, and what ran is remembered."""

import pytest

from assay.experiment.corpora import load_suite
from assay.experiment.executors import SerialExecutor
from assay.experiment.forecast import Rate, cached_indexes, estimate, learn, read_rates
from assay.experiment.plan import ExecutionOptions, make_plan
from assay.experiment.runner import execute
from assay.experiment.spec import Spec
from assay.store.store import Store


@pytest.fixture
def made(shop, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    spec = Spec(gold=("gold.yaml",), engines={"a": "builtin"}, k=5, jobs=1)
    plan = make_plan(spec, load_suite(spec))
    return plan, execute(plan, plan.cells, ExecutionOptions(executor=SerialExecutor()))


def test_what_never_ran_is_not_known(made):
    plan, results = made
    left = estimate(plan, plan.cells, results.snapshots, {}, 2)
    assert left.seconds is None
    assert "builtin" in left.unknown
    assert left.cells == len(plan.cells)


def test_what_ran_is_remembered(made, monkeypatch, tmp_path):
    plan, results = made
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "new"))
    learn(plan, results.snapshots, results.cells)
    rates = read_rates()
    assert set(rates) == {"builtin", "keywords", "random", "oracle"}
    assert rates["builtin"].index > 0
    assert rates["builtin"].query > 0


def test_cells_that_were_cached_teach_nothing(made):
    plan, _ = made
    before = read_rates()
    again = execute(plan, plan.cells, ExecutionOptions(executor=SerialExecutor()))
    assert again.cached == set(plan.cells)
    assert read_rates() == before


def test_an_index_that_is_shared_is_paid_once(made):
    plan, results = made
    size = results.snapshots["shop"].size / 1e6
    rates = {kind: Rate(0.0, 0.0) for kind in ("keywords", "random", "oracle")} | {"builtin": Rate(10.0, 0.5)}
    left = estimate(plan, plan.cells, results.snapshots, rates, 1)
    assert left.seconds == pytest.approx(10.0 * size + 0.5 * results.snapshots["shop"].questions)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"builtin": 3}', '{"builtin": {"index": "x"}}'])
def test_rates_that_cannot_be_read_were_never_known(monkeypatch, tmp_path, text):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path))
    Store().put("rates", "rates", text.encode())
    assert read_rates() == {}


def test_an_index_that_is_kept_costs_nothing(made):
    plan, results = made
    rates = {kind: Rate(0.0, 0.0) for kind in ("keywords", "random", "oracle")} | {"builtin": Rate(10.0, 0.5)}
    there = cached_indexes(plan, plan.cells, results.snapshots)
    assert there == {("shop", plan.engines["a"].group)}
    left = estimate(plan, plan.cells, results.snapshots, rates, 1, there)
    assert left.seconds == pytest.approx(0.5 * results.snapshots["shop"].questions)
