"""What a run would do: nothing is asked, nothing is written, and what is said of it comes true."""

from dataclasses import replace
from pathlib import Path

import pytest

from assay.cli.run import dry_run_document, dry_run_json
from assay.experiment.corpora import load_suite
from assay.experiment.dry_run import dry_run
from assay.experiment.execution import execute_spec
from assay.experiment.executors import SerialExecutor
from assay.experiment.run_plan import ExecutionOptions
from assay.experiment.spec import Spec
from assay.report.render.document import to_markdown


@pytest.fixture
def spec(shop, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    engines = {f"stem-{n}": {"kind": "builtin", "search": {"stem": {"files": n / 10}}} for n in range(3)}
    engines["tool"] = {"kind": "command", "argv": ["printf", "shop/cart.py\\n%.0s", "{query}"]}
    engines["needy"] = {"kind": "builtin", "requires": ["env:ASSAY_NO_SUCH_VARIABLE"]}
    return Spec(gold=("gold.yaml",), engines=engines, k=5, jobs=1)


def look(spec, **options):
    return dry_run(spec, load_suite(spec), options=ExecutionOptions(Path("results"), **options))


def text_of(found):
    return to_markdown(dry_run_document(found))


def test_nothing_is_asked_and_nothing_is_written(spec, tmp_path):
    before = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    found = look(spec)
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == before
    assert found.remaining.cells == 7
    assert "0 of 7 cells are cached; 7 remain (" in text_of(found)


def test_what_is_there_is_told_and_uncached_engines_are_asked_again(spec):
    execute_spec(spec, load_suite(spec), options=ExecutionOptions(Path("results"), SerialExecutor())).results.finish()
    found = look(spec)
    assert found.remaining.cells == 1
    assert found.uncached_engines == ("tool",)
    text = text_of(found)
    assert "6 of 7 cells are cached; 1 remain (" in text
    assert "changes of these engines cannot be detected: tool." in text
    assert "not needed" in text  # the candidates of engines whose answers are there
    assert look(spec, fresh=True).remaining.cells == 7


def test_what_is_skipped_is_told_with_its_reason(spec):
    found = look(spec)
    assert "ASSAY\\_NO\\_SUCH\\_VARIABLE" in text_of(found)
    assert list(found.skipped) == ["needy"]
    assert dry_run_json(found)["skipped"] == found.skipped


def test_engines_that_are_timed_are_all_asked(spec):
    execute_spec(spec, load_suite(spec), options=ExecutionOptions(Path("results"), SerialExecutor()))
    found = look(replace(spec, jobs=None, times=True))
    assert found.timed
    assert found.remaining.cells == 7
    assert all(node.cached == 0 for node in found.tree.children)
    assert "Times are measured" in text_of(found)
