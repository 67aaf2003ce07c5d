"""Five kinds of engine, as docs/tutorials/add-engine.md puts them under test: every command is run as it stands."""

import json
from pathlib import Path

import pytest

from assay.experiment import read_run
from assay.types import Status
from tests.docs.running import Ran, run_page

pytestmark = pytest.mark.nightly

TOKEN = b"open-sesame-42"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run the page."""
    return run_page("tutorials/add-engine.md", tmp_path_factory)


@pytest.fixture
def page(ran: Ran) -> Path:
    """Where the page ran."""
    return ran.work


def test_page_asks_every_engine_every_question(page):
    run = read_run(page / "results")
    names = [engine.name for engine in run.engines]
    assert names == ["cli", "filed", "stays", "api", "mcp", "python", "words", "random", "keywords", "oracle"]
    assert all(ranking.status is Status.OK for engine in run.engines for ranking in engine.rankings)
    assert run.header.environment["interleaved"]


def test_page_gets_the_same_rankings_through_two_adapters(page):
    engines = {engine.name: engine for engine in read_run(page / "results").engines}
    cli, mcp = ([[hit.span for hit in ranking.hits] for ranking in engines[name].rankings] for name in ("cli", "mcp"))
    assert [
        hits[: len(found)] for hits, found in zip(cli, mcp, strict=True)
    ] == mcp  # MCP leaves out what does not match


def test_page_tells_a_class_its_corpus_and_its_options(page):
    words = next(engine for engine in read_run(page / "results").engines if engine.name == "words")
    first = {ranking.query: ranking.hits[0].path for ranking in words.rankings}
    assert first == {"sum": "shop/cart.py", "rate": "shop/tax.py", "down": "shop/retry.py"}
    assert words.config["engine"] == {"least": 2}


def test_page_checks_engines_where_their_paths_begin(ran):
    assert "cli works" in ran.said
    assert "words works" in ran.said
    assert "filed works" in ran.said


def test_page_renders_a_file_for_a_tool_and_leaves_the_template(page):
    filed = next(engine for engine in read_run(page / "results").engines if engine.name == "filed")
    rendered = filed.config["config"]
    assert isinstance(rendered, dict)
    assert rendered["edits"] == {"search.short": 0.01}
    assert "short = 0.0 " in (page / "words.toml").read_text("utf-8")
    first = {ranking.query: ranking.hits[0].path for ranking in filed.rankings}
    assert first["rate"] == "shop/tax.py"


def test_page_counts_what_the_api_bills(page):
    api = next(engine for engine in read_run(page / "results").engines if engine.name == "api")
    assert all(ranking.cost is not None and (ranking.cost.tokens or 0) > 0 for ranking in api.rankings)


def test_page_leaves_no_token_anywhere(page, ran):
    written = [path for folder in ("results", "audit") for path in (page / folder).rglob("*") if path.is_file()]
    assert written
    assert not [path for path in written if TOKEN in path.read_bytes()]
    assert TOKEN.decode() not in ran.said


def test_page_audits_an_engine_that_keeps_its_word(page):
    audit = json.loads((page / "audit" / "audit.json").read_text("utf-8"))
    assert not [finding for finding in audit["findings"] if finding["severity"] not in ("fine", "not applicable")]
