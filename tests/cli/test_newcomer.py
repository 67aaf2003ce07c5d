"""What a newcomer tried in the first hour."""

import re

import pytest

from tests.cli.changing import SMALL, call, gold_of
from tests.conftest import copy_finished, finish

GOLD_WITHOUT_SPLITS = gold_of(["none"] * 10)
LONG = "the-words-of-a-rather-long-name-of-a-query-0"
DRAFTS = SMALL | {
    "gold.yaml": re.sub(r"(?m)^  - id: (\w+)$", rf"  - id: {LONG}\1\n    tags: {{status: draft}}", GOLD_WITHOUT_SPLITS),
    "assay.toml": '[run]\ngold = "gold.yaml"\n',
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return finish(tmp_path_factory.mktemp("drafts"), DRAFTS, "run", "--quiet", "--no-times")


@pytest.fixture
def drafts(finished, tmp_path, monkeypatch, capsys):
    root = copy_finished(finished, tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "200")
    return root


def test_drafts_come_first_and_get_no_check_mark(drafts, capsys):
    code, out, _ = call(capsys, "score", "results")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("! Drafts only: builtin is better than keywords")
    assert lines[-1] == "  ! 10 of 10 queries are drafts (+1: assay score --full)"
    assert "run `assay gold review` before you trust a number" in (drafts / "results/RESULTS.md").read_text()


def test_loss_on_the_card_can_be_pasted(drafts, capsys):
    for name in (f"{LONG}q3", f"{LONG}q3"[:-1] + "3…"):
        assert call(capsys, "show", "results", name)[0] == 0
    assert call(capsys, "show", "results", f"{LONG}q")[0] == 2
