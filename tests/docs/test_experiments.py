"""From a question to one file and one command, as docs/guides/experiments.md tells it: all of it is run."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from assay.experiment.spec.assay_toml import load_spec, shipped_experiments
from tests.docs.running import DOCS, Ran, run_page

PAGE = DOCS / "guides/experiments.md"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run the page."""
    return run_page("guides/experiments.md", tmp_path_factory)


@pytest.fixture
def ran(page: Ran) -> Path:
    """Where the page ran."""
    return page.work


@pytest.fixture
def said(page: Ran) -> str:
    """What its commands said."""
    return page.said


@pytest.mark.nightly
def test_page_shows_a_plan_and_then_that_nothing_is_left(said):
    assert "0 of 12 cells are cached" in said
    assert "12 of 12 cells are cached" in said


@pytest.mark.nightly
def test_page_raises_the_diagnostics_it_names(ran):
    flat = " ".join((ran / "results/RESULTS.md").read_text("utf-8").split())
    assert "search.stem.files of mine has no effect: with 0.2 and 0.9" in flat
    assert "in 4 pairs of variants that differ only in this parameter" in flat
    assert "Matrix" in flat


@pytest.mark.nightly
def test_page_takes_the_dead_knob_out(said, ran):
    closer = json.loads((ran / "closer/results.json").read_text())
    assert [engine["name"] for engine in closer["engines"]][:3] == ["mine", "lines 0.25", "lines 1.0"]


@pytest.mark.nightly
def test_page_puts_shards_together_and_checks_the_cache(said, ran):
    whole, merged = ((ran / folder / "rows.json").read_bytes() for folder in ("results", "together"))
    assert merged == whole
    assert "none broken" in said


def test_page_says_how_many_variants_the_question_has(tmp_path):
    full = re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)[-1]
    (tmp_path / "assay.toml").write_text(full)
    spec = load_spec(tmp_path / "assay.toml")
    varied = [subject for subject in spec.entries() if subject.variation]
    assert len(varied) == 8 * 6 * 4
    assert f"That is {len(varied)} variants" in PAGE.read_text("utf-8")
    searches = [subject.settings["search"] for subject in varied if isinstance(subject.settings, Mapping)]
    chunkings = {str(search.get("index")) for search in searches}
    models = {(str(search.get("index")), search["dense"]["model"]) for search in searches}
    assert len(chunkings) == 8
    assert len(models) == 48
    assert len(spec.analysis_plan().family) == 2 * 6 * 4


def test_page_lists_every_experiment_that_ships():
    named = re.findall(r"^\| `([\w-]+)` \|", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    assert sorted(named) == list(shipped_experiments())
