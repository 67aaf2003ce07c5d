"""The matrix of cells: the same run however it was made, and nothing asked twice."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import CorpusError
from assay.experiment.corpora import load_suite
from assay.experiment.execution import execute_spec
from assay.experiment.executors import FuturesAdapter, ProcessExecutor, SerialExecutor
from assay.experiment.records.directory import UNFINISHED
from assay.experiment.run_plan import ExecutionOptions
from assay.experiment.spec import Spec
from assay.store.store import Store
from tests.conftest import FILES, GOLD, write_tree

STEMS = (0.0, 0.2, 0.6)


def builtin(**search):
    return {"kind": "builtin", "search": search}


ENGINES = {f"stem-{value}": builtin(stem={"files": value}) for value in STEMS}
SPEC = Spec(gold=("gold.yaml",), engines={**ENGINES, "whole": builtin(index={"chunks": {"kind": "file"}})}, k=5, jobs=1)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a repository and the cache of a run that was made there, and what came of that run."""
    folder = tmp_path_factory.mktemp("finished")
    write_tree(folder / "live" / "repo", FILES | {"gold.yaml": GOLD})
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder / "live" / "repo")
        patch.setenv("ASSAY_CACHE_DIR", str(folder / "live" / "cache"))
        patch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        made = run(SPEC)
    shutil.copytree(folder / "live", folder / "pristine")
    return folder, made


@pytest.fixture
def first(finished):
    """The first run."""
    return finished[1]


@pytest.fixture
def spec(finished, monkeypatch):
    """The specification of the first run, whose folder is as it was after that: the next run finds what it kept."""
    folder, _ = finished
    shutil.rmtree(folder / "live")
    shutil.copytree(folder / "pristine", folder / "live")
    monkeypatch.chdir(folder / "live" / "repo")
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(folder / "live" / "cache"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    return SPEC


def run(spec, **options):
    options.setdefault("executor", SerialExecutor())
    return execute_spec(spec, load_suite(spec), options=ExecutionOptions(Path("results"), **options))


def test_the_run_is_the_same_here_in_processes_and_in_threads(spec, first):
    here = first.run
    executor = ProcessExecutor(2)
    try:
        assert run(spec, executor=executor, fresh=True).run == here
    finally:
        executor.close()
    with ThreadPoolExecutor(2) as pool:
        assert run(spec, executor=FuturesAdapter(pool), fresh=True).run == here


def test_a_cell_answers_as_an_engine_that_takes_turns(spec, first):
    from assay.experiment.execution import run_spec

    timed = run_spec(replace(spec, jobs=0, times=True), load_suite(spec))
    cells = first.run
    for one, other in zip(timed.engines, cells.engines, strict=True):
        assert one.config == other.config
        assert [(r.query, r.form, r.hits, r.tokens) for r in one.rankings] == [
            (r.query, r.form, r.hits, r.tokens) for r in other.rankings
        ]
    assert timed.lines == cells.lines
    assert timed.hashes == cells.hashes


def test_cells_have_no_times_and_say_so(first):
    made = first.run
    assert not made.header.timed
    assert {r.seconds for e in made.engines for r in e.rankings} == {0.0}
    assert all(not e.index_seconds and not e.resources for e in made.engines)


def test_what_is_kept_is_not_asked_again(spec, first):
    again = run(spec)
    assert not first.results.cached
    assert again.results.cached == set(again.results.cells)
    assert again.run == first.run


def test_fresh_asks_everything_again(spec):
    assert not run(spec, fresh=True).results.cached


def test_one_more_chunking_costs_only_its_own_cells(spec):
    more = replace(spec, engines={**spec.engines, "lines": builtin(index={"chunks": {"kind": "lines"}})})
    results = run(more).results
    assert {cell.engine for cell in results.cells if cell not in results.cached} == {"lines"}


def test_a_search_time_change_makes_no_index(spec):
    more = replace(spec, engines={**spec.engines, "new": builtin(stem={"files": 0.9})})
    results = run(more).results
    made = {step for cell, result in results.cells.items() if cell not in results.cached for step in result.spent.made}
    assert "chunks" not in made
    assert "vectors" not in made


def test_variants_of_one_index_make_it_once(first):
    results = first.results
    made = [step for cell, result in results.cells.items() if cell.engine == "stem-0.0" for step in result.spent.made]
    assert made.count("chunks") == 1


def test_a_changed_target_asks_only_those_who_were_told(spec):
    gold = Path("gold.yaml")
    text = gold.read_text()
    assert "shop/tax.py::tax_rate" in text
    gold.write_text(text.replace("shop/tax.py::tax_rate", "shop/tax.py::with_tax"))
    results = run(spec).results
    assert {cell.engine for cell in results.cells if cell not in results.cached} == {"oracle"}


def test_a_changed_question_is_asked_of_everybody(spec):
    gold = Path("gold.yaml")
    gold.write_text(gold.read_text().replace("id: tax-lookup", "id: tax-rates"))
    assert not run(spec).results.cached


def test_a_changed_file_is_asked_of_everybody(spec):
    with open("shop/retry.py", "a") as stream:
        stream.write("# more\n")
    assert not run(spec).results.cached


def test_a_corrupt_cell_is_asked_again_and_the_results_are_the_same(spec, first):
    store = Store()
    kept = sorted(path for path in (store.root / "cells").rglob("*") if path.is_file() and path.stat().st_size > 200)
    for path in kept[:2]:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(bytes(data))
    again = run(spec)
    assert len(again.results.cells) - len(again.results.cached) == 2
    assert again.run == first.run


COUNTING = """
import os
from pathlib import Path

def search(query, k):
    with open("../asked.txt", "a") as stream:
        stream.write(query + "\\n")
    if os.path.exists("../broken.txt"):
        raise RuntimeError("broken")
    return ["shop/cart.py"]
"""


@pytest.fixture
def counting(spec, monkeypatch):
    Path("counting.py").write_text(COUNTING)
    monkeypatch.syspath_prepend(".")
    return replace(spec, engines={"mine": {"kind": "python", "target": "counting:search"}}, references=False)


def asked():
    path = Path("../asked.txt")
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_an_engine_that_nobody_knows_is_asked_again_by_the_next_run(counting):
    run(counting).results.finish()
    before = asked()
    assert before > 0
    run(counting)
    assert asked() == 2 * before


def test_an_engine_that_nobody_knows_is_not_asked_twice_by_one_run(counting):
    run(counting)
    before = asked()
    assert (Path("results") / UNFINISHED).is_dir()
    run(counting)
    assert asked() == before


def test_a_cell_that_failed_is_asked_again(counting):
    Path("../broken.txt").write_text("")
    assert {r.status for r in run(counting).run.engines[0].rankings} == {"error"}
    Path("../broken.txt").unlink()
    assert {r.status for r in run(counting).run.engines[0].rankings} == {"ok"}


def test_a_corpus_that_changes_midway_is_noticed(spec):
    class Meddling(SerialExecutor):
        def submit(self, function, /, *args):
            if function.__name__ == "measure":
                Path("shop/more.py").write_text("changed = True\n")
            return super().submit(function, *args)

    with pytest.raises(CorpusError, match="changed during the run"):
        run(spec, executor=Meddling(), fresh=True)


DEADLY = """
import os, signal

def search(query, k):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_engine_that_kills_its_worker_costs_only_itself(spec, monkeypatch):
    Path("deadly.py").write_text(DEADLY)
    monkeypatch.syspath_prepend(".")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")]))
    engines = {"deadly": {"kind": "python", "target": "deadly:search"}, "new": builtin(stem={"files": 0.9})}
    deadly = replace(spec, engines=engines, references=False)
    executor = ProcessExecutor(2)
    try:
        made = run(deadly, executor=executor).run
    finally:
        executor.close()
    statuses = {e.name: {str(r.status) for r in e.rankings} for e in made.engines}
    assert statuses == {"deadly": {"crash"}, "new": {"ok"}}
    assert "worker" in made.engines[0].rankings[0].error


def test_a_gold_set_with_another_name_takes_the_cells_of_the_first(spec):
    gold = Path("gold.yaml")
    gold.write_text(gold.read_text().replace("name: shop", "name: renamed"))
    again = run(spec)
    assert again.results.cached == set(again.results.cells)
    assert {ranking.gold for engine in again.run.engines for ranking in engine.rankings} == {"renamed"}


def test_two_gold_sets_of_the_same_questions_are_two(spec):
    twin = Path("gold.yaml").read_text().replace("name: shop", "name: twin")
    Path("twin.yaml").write_text(twin.replace("shop/tax.py::tax_rate", "shop/tax.py::with_tax"))
    both = replace(spec, gold=("gold.yaml", "twin.yaml"))
    made = run(both).run
    again = run(both)
    assert again.run == made
    assert again.results.cached == set(again.results.cells)
    assert {ranking.gold for engine in made.engines for ranking in engine.rankings} == {"shop", "twin"}


def test_an_engine_with_another_name_takes_the_cells_of_the_first(spec):
    renamed = replace(spec, engines={f"new-{name}": settings for name, settings in spec.engines.items()})
    again = run(renamed)
    assert again.results.cached == set(again.results.cells)
    assert [engine.name for engine in again.run.engines][:2] == ["new-stem-0.0", "new-stem-0.2"]


def test_variants_of_a_tool_are_kept_one_by_one(spec):
    tool = {"kind": "command", "index": ["true"], "index_keys": []}
    printing = ["printf", "shop/cart.py\\n%.0s", "{query}"]
    variants = {f"t{n}": {**tool, "argv": [*printing, str(n)]} for n in range(3)}
    interrupting = {**tool, "argv": ["sh", "-c", "kill -INT $PPID; sleep 600", "{query}"]}
    with pytest.raises(KeyboardInterrupt):
        run(replace(spec, engines={**variants, "t2": interrupting}, references=False))
    results = run(replace(spec, engines=variants, references=False)).results
    assert {cell.engine for cell in results.cached} == {"t0", "t1"}
