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


def test_explain_is_short_answers_first_and_ranks_what_search_ranks(drafts, capsys):
    code, out, _ = call(capsys, "explain", "where is apple kept?", "--expect", "code/thing3.py")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("code/thing3.py is found at rank ")
    assert "gold.yaml" not in out
    assert "  lexical     words and names in common (BM25)" in lines
    assert len(lines) < 40
    found = call(capsys, "search", "where is apple kept?", "--json")[1]
    assert re.findall(r'"path": "(.+?)"', found)[0] == "code/thing0.py"
    assert "  1  code/thing0.py" in out


def test_results_above_are_named(drafts, capsys, monkeypatch):
    (drafts / ".git").mkdir()
    monkeypatch.chdir(drafts / "code")
    for command in (["score", "results"], ["show", "results", "q1"], ["gate", "results"]):
        code, _, err = call(capsys, *command)
        assert (code, err) == (2, "error: results: no such directory\nhint: did you mean ../results?\n")


def test_search_of_a_directory_prints_paths_that_open(drafts, capsys):
    out = call(capsys, "search", "apple", "code")[1]
    assert out.startswith("code/thing0.py:")
