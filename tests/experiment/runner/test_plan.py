"""Planning: every missing cell is somebody's, once; those of one index go together."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.experiment.cell_cache import (
    CellId,
    CorpusSnapshot,
    cell_key,
    decode_cell,
    encode_cell,
    snapshot_json,
)
from assay.experiment.corpora import load_suite
from assay.experiment.dry_run import plan_tree
from assay.experiment.execution import execute_spec
from assay.experiment.executors import SerialExecutor
from assay.experiment.records.codec import decoder
from assay.experiment.run_plan import ExecutionOptions, make_plan, select_engines
from assay.experiment.spec import Spec
from assay.experiment.worker import survey
from tests.properties import examples

CELLS = 13  # nine variants of one index, another index, three references


def builtin(**search):
    return {"kind": "builtin", "search": search}


@pytest.fixture
def spec(shop, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    engines = {f"stem-{n}": builtin(stem={"files": n / 10}) for n in range(9)}
    engines["whole"] = builtin(index={"chunks": {"kind": "file"}})
    return Spec(gold=("gold.yaml",), engines=engines, k=5, jobs=1)


@pytest.fixture
def plan(spec):
    return make_plan(spec, load_suite(spec))


@pytest.fixture
def snapshots(plan):
    return {gold.name: survey(plan.access(gold)) for gold in plan.suite.golds}


@pytest.mark.filterwarnings("ignore:Generating overly large repr")  # of the plan, when it fails
@given(st.sets(st.integers(0, CELLS - 1)), st.integers(1, 30))
@examples(50)
def test_tasks_cover_the_missing_cells_once(plan, snapshots, numbers, width):
    missing = [plan.cells[number] for number in numbers]
    tasks = plan.tasks(missing, snapshots, width)
    named = [cell for task in tasks for cell in task.cells]
    assert sorted(named) == sorted(missing)
    assert all(task.names for task in tasks)


def test_variants_of_one_index_are_divided_among_idle_workers(plan, snapshots):
    variants = [cell for cell in plan.cells if cell.engine.startswith("stem")]
    assert len(plan.tasks(variants, snapshots, 1)) == 2
    assert len(plan.tasks(variants[:7], snapshots, 9)) == 1  # a part with fewer than four is not worth an index


def test_variants_of_one_index_go_together(plan, snapshots):
    tasks = plan.tasks(plan.cells, snapshots, 1)
    groups = [set(task.names) for task in tasks]
    assert {"whole"} in groups
    assert {"random", "keywords", "oracle"} in groups
    stems = [group for group in groups if any(name.startswith("stem") for name in group)]
    assert all(all(name.startswith("stem") for name in group) for group in stems)


def test_a_task_carries_no_labels(plan, snapshots):
    assert all(factory.suite is None for task in plan.tasks(plan.cells, snapshots, 1) for factory in task.factories)


def test_the_key_of_a_cell_changes_with_all_that_decides_it(plan, snapshots):
    snapshot = snapshots["shop"]
    one = plan.engines["stem-1"]
    keys = {
        cell_key(one.identity, snapshot, 5).digest,
        cell_key(one.identity, snapshot, 6).digest,
        cell_key(plan.engines["stem-2"].identity, snapshot, 5).digest,
        cell_key(one.identity, replace(snapshot, facts=replace(snapshot.facts, digest="other")), 5).digest,
        cell_key(one.identity, replace(snapshot, asked="other"), 5).digest,
        cell_key(one.identity, replace(snapshot, own=("gold2.yaml",)), 5).digest,
    }
    assert len(keys) == 6


def test_the_key_of_a_cell_does_not_change_with_the_answers_unless_it_is_told_them(plan, snapshots):
    snapshot = snapshots["shop"]
    fewer = replace(snapshot, gold=replace(snapshot.gold, queries=snapshot.gold.queries[:1]))
    keys = {name: plan.key(CellId("shop", name), snapshot, {}) for name in plan.engines}
    others = {name: plan.key(CellId("shop", name), fewer, {}) for name in plan.engines}
    assert {name for name in keys if keys[name] != others[name]} == {"oracle"}


def test_cells_and_snapshots_read_back_as_they_were(spec, snapshots):
    results = execute_spec(spec, load_suite(spec), options=ExecutionOptions(executor=SerialExecutor())).results
    for result in results.cells.values():
        assert decode_cell(encode_cell(result)) == result
    for snapshot in snapshots.values():
        assert decoder(CorpusSnapshot)(snapshot_json(snapshot)) == snapshot


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"engine": 1, "lines": {}, "spent": {}}', b"\xff"])
def test_what_is_no_cell_is_a_value_error(data):
    with pytest.raises(ValueError, match="."):
        decode_cell(data)


def test_the_tree_shows_what_is_shared_and_what_is_there(spec, plan, snapshots):
    cache = plan.open_cache(ExecutionOptions())
    before = plan_tree(plan, snapshots, cache)
    chunks = [node for node in before.children if node.name == "chunks"]
    assert sorted(node.engines for node in chunks) == [1, 9]
    assert all(node.cached == 0 for node in chunks)
    execute_spec(spec, load_suite(spec), options=ExecutionOptions(executor=SerialExecutor()))
    after = plan_tree(plan, snapshots, cache)
    assert all(node.cached == node.golds for node in _all(after))


def _all(node):
    found = [node] if node.name not in ("candidates", "ranking") else []  # these live as long as a process
    return found + [inner for child in node.children for inner in _all(child)]


def test_only_chooses_and_requires_skips(spec):
    needy = {**builtin(), "requires": ["env:ASSAY_NO_SUCH_VARIABLE"]}
    chosen, skipped = select_engines(replace(spec, engines={**spec.engines, "needy": needy}, only=("stem-1", "needy")))
    assert [entry.name for entry in chosen] == ["stem-1"]
    assert "ASSAY_NO_SUCH_VARIABLE" in skipped["needy"]
