"""docs/guides/tuning.md: every command is run as it stands, and the page says what the program does."""

import json
import re
from pathlib import Path

import pytest

from assay.experiment.ledger import AcceptanceRule
from tests.docs.running import DOCS, Ran, run_page

PAGE = DOCS / "guides/tuning.md"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run the page."""
    return run_page("guides/tuning.md", tmp_path_factory)


@pytest.fixture
def page(ran: Ran) -> Path:
    """Where the page ran."""
    return ran.work


@pytest.mark.nightly
def test_the_page_shows_what_it_tells_of(page, ran):
    said = ran.said
    for text in (
        "Ablation of mine",
        "changed no ranking",
        "tuned, on held-out halves (honest)",
        "optimism: apparent − honest",
        "rank whole files: rejected",
        "no problems",
    ):
        assert text in said, text
    assert "queries of other splits were not" in said
    assert not (page / "gold-synth" / "doc.looks.jsonl").exists()


@pytest.mark.nightly
def test_the_ledger_of_the_page_is_whole(page):
    entries = [json.loads(line) for line in (page / "ledger.jsonl").read_text("utf-8").splitlines()]
    assert entries[-1]["title"] == "rank whole files"
    assert all(entry["parts"] == ["dev"] for entry in entries)


def test_the_page_has_every_key_of_a_rule():
    from dataclasses import fields

    rows = re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    assert rows == [field.name for field in fields(AcceptanceRule)]
