"""How long will it take: nothing is claimed of what never ran, and what ran is remembered."""

from dataclasses import replace

import pytest

from assay.experiment.cells.estimating import Rate, estimate, learn, read_rates
from assay.experiment.cells.tree import kept_indexes
from assay.experiment.executors.base import SerialExecutor
from assay.experiment.running.loading import load_suite
from assay.experiment.running.matrix import ExecutionOptions, matrix, plan_of
from assay.experiment.spec import Spec
from assay.store import Store


@pytest.fixture
def made(shop, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    spec = Spec(gold=("gold.yaml",), engines={"a": "builtin"}, k=5, jobs=1)
    return plan_of(spec, load_suite(spec)), matrix(
        spec, load_suite(spec), how=ExecutionOptions(fleet=SerialExecutor())
    ).work


def test_what_never_ran_is_not_known(made):
    plan, work = made
    left = estimate(plan, plan.slots, work.grounds, {}, 2)
    assert left.seconds is None
    assert "builtin" in left.unknown
    assert left.cells == len(plan.slots)


def test_what_ran_is_remembered(made, monkeypatch, tmp_path):
    plan, work = made
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "new"))
    learn(plan, work)
    rates = read_rates()
    assert set(rates) == {"builtin", "keywords", "random", "oracle"}
    assert rates["builtin"].index > 0
    assert rates["builtin"].query > 0


def test_cells_that_were_kept_teach_nothing(made, monkeypatch, tmp_path):
    plan, work = made
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "new"))
    learn(plan, replace(work, kept=frozenset(work.cells)))
    assert read_rates() == {}


def test_an_index_that_is_shared_is_paid_once(made):
    plan, work = made
    size = work.grounds["shop"].size / 1e6
    rates = {kind: Rate(0.0, 0.0) for kind in ("keywords", "random", "oracle")} | {"builtin": Rate(10.0, 0.5)}
    left = estimate(plan, plan.slots, work.grounds, rates, 1)
    assert left.seconds == pytest.approx(10.0 * size + 0.5 * work.grounds["shop"].questions)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"builtin": 3}', '{"builtin": {"index": "x"}}'])
def test_rates_that_cannot_be_read_were_never_known(monkeypatch, tmp_path, text):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path))
    Store().put("rates", "rates", text.encode())
    assert read_rates() == {}


def test_an_index_that_is_kept_costs_nothing(made):
    plan, work = made
    rates = {kind: Rate(0.0, 0.0) for kind in ("keywords", "random", "oracle")} | {"builtin": Rate(10.0, 0.5)}
    there = kept_indexes(plan, plan.slots, work.grounds)
    assert there == {("shop", plan.asked["a"].company)}
    left = estimate(plan, plan.slots, work.grounds, rates, 1, there)
    assert left.seconds == pytest.approx(0.5 * work.grounds["shop"].questions)
