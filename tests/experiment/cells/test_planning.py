"""Planning: every missing cell is somebody's, once; those of one index go together."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.experiment.cells.keys import cell_key
from assay.experiment.cells.records import CellId, cell_bytes, ground_json, ground_of, read_cell
from assay.experiment.cells.running import snapshot_all
from assay.experiment.cells.tree import plan_tree
from assay.experiment.executors.base import SerialExecutor
from assay.experiment.running.loading import load_suite
from assay.experiment.running.matrix import ExecutionOptions, cell_store, matrix, plan_of, select_engines
from assay.experiment.spec import Spec
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
    return plan_of(spec, load_suite(spec))


@pytest.fixture
def grounds(plan):
    return snapshot_all(plan, [gold.name for gold in plan.suite.golds], SerialExecutor(), lambda _: None)


@pytest.mark.filterwarnings("ignore:Generating overly large repr")  # of the plan, when it fails
@given(st.sets(st.integers(0, CELLS - 1)), st.integers(1, 30))
@examples(50)
def test_visits_cover_the_missing_cells_once(plan, grounds, numbers, width):
    missing = [plan.slots[number] for number in numbers]
    visits = plan.visits(missing, grounds, width)
    named = [CellId(visit.way.gold.name, recipe.name) for visit in visits for recipe in visit.recipes]
    assert sorted(named) == sorted(missing)
    assert all(visit.recipes for visit in visits)


def test_variants_of_one_index_are_divided_among_idle_workers(plan, grounds):
    variants = [slot for slot in plan.slots if slot.engine.startswith("stem")]
    assert len(plan.visits(variants, grounds, 1)) == 2
    assert len(plan.visits(variants[:7], grounds, 9)) == 1  # a part with fewer than four is not worth an index


def test_variants_of_one_index_go_together(plan, grounds):
    visits = plan.visits(plan.slots, grounds, 1)
    groups = [{recipe.name for recipe in visit.recipes} for visit in visits]
    assert {"whole"} in groups
    assert {"random", "keywords", "oracle"} in groups
    stems = [group for group in groups if any(name.startswith("stem") for name in group)]
    assert all(all(name.startswith("stem") for name in group) for group in stems)


def test_a_visit_carries_no_answers(plan, grounds):
    assert all(recipe.suite is None for visit in plan.visits(plan.slots, grounds, 1) for recipe in visit.recipes)


def test_the_key_of_a_cell_changes_with_all_that_decides_it(plan, grounds):
    ground = grounds["shop"]
    one = plan.asked["stem-1"]
    keys = {
        cell_key(one.who, ground, 5).digest,
        cell_key(one.who, ground, 6).digest,
        cell_key(plan.asked["stem-2"].who, ground, 5).digest,
        cell_key(one.who, replace(ground, facts=replace(ground.facts, digest="other")), 5).digest,
        cell_key(one.who, replace(ground, asked="other"), 5).digest,
        cell_key(one.who, replace(ground, own=("gold2.yaml",)), 5).digest,
    }
    assert len(keys) == 6


def test_the_key_of_a_cell_does_not_change_with_the_answers_unless_it_is_told_them(plan, grounds):
    ground = grounds["shop"]
    fewer = replace(ground, gold=replace(ground.gold, queries=ground.gold.queries[:1]))
    keys = {name: plan.key(CellId("shop", name), ground) for name in plan.asked}
    others = {name: plan.key(CellId("shop", name), fewer) for name in plan.asked}
    assert {name for name in keys if keys[name] != others[name]} == {"oracle"}


def test_cells_and_grounds_read_back_as_they_were(spec, grounds):
    work = matrix(spec, load_suite(spec), how=ExecutionOptions(fleet=SerialExecutor())).work
    for cell in work.cells.values():
        assert read_cell(cell_bytes(cell)) == cell
    for ground in grounds.values():
        assert ground_of(ground_json(ground)) == ground


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"engine": 1, "lines": {}, "spent": {}}', b"\xff"])
def test_what_is_no_cell_is_a_value_error(data):
    with pytest.raises(ValueError, match="."):
        read_cell(data)


def test_the_tree_shows_what_is_shared_and_what_is_there(spec, plan, grounds):
    keeper = cell_store(plan, ExecutionOptions())
    before = plan_tree(plan, grounds, keeper)
    chunks = [node for node in before.children if node.name == "chunks"]
    assert sorted(node.engines for node in chunks) == [1, 9]
    assert all(node.kept == 0 for node in chunks)
    matrix(spec, load_suite(spec), how=ExecutionOptions(fleet=SerialExecutor()))
    after = plan_tree(plan, grounds, keeper)
    assert all(node.kept == node.golds for node in _all(after))


def _all(node):
    found = [node] if node.name not in ("candidates", "ranking") else []  # these live as long as a process
    return found + [inner for child in node.children for inner in _all(child)]


def test_only_chooses_and_requires_skips(spec):
    needy = {**builtin(), "requires": ["env:ASSAY_NO_SUCH_VARIABLE"]}
    chosen = select_engines(replace(spec, engines={**spec.engines, "needy": needy}, only=("stem-1", "needy")))
    assert [subject.name for subject in chosen.run] == ["stem-1"]
    assert "ASSAY_NO_SUCH_VARIABLE" in chosen.skipped["needy"]
