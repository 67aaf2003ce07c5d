"""Reports, baselines and `--json` in a corpus are no part of it; anybody else's pages and JSON are."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.browser.bundle import page
from tests.corpus.conftest import Opener, paths, reasons, write

PAGE = page(title="t", script="explorer/main.js", styles=("base.css",), data={})
OURS: dict[str, str | bytes] = {
    "report.html": PAGE,
    "large.html": PAGE + b" " * 1_000_000,  # known for ours before it is known for large
    "baseline.json": '{\n"schema": "assay/baseline/3",\n"assay": "1"}',
    "docs/run.json": '{\n "schema": "assay/results/2",\n "k": 10\n}\n',
    "error.json": '{"schema": "assay/error/1", "error": "x"}\n',
    "begun.json": "",
}
THEIRS: dict[str, str | bytes] = {
    "a.py": "1",
    "index.html": "<!doctype html>\n<html><head><meta charset='utf-8'><title>Assay</title>",
    "hugo.html": '<!doctype html>\n<html><head><meta charset="utf-8"><meta name="generator" content="Hugo">',
    "quoted.html": "<!doctype html>\n<p>" + '<meta name="generator" content="Assay">',
    "schema.json": '{"$schema": "assay/results/2"}',
    "own.json": '{"schema": "assayer/results/1"}',
    "later.json": '{"name": "x", "schema": "assay/results/2"}',
    "empty.html": "",
    "example.md": '{"schema": "assay/results/2"}',
}


def test_what_assay_wrote_changes_no_corpus(tmp_path: Path, opened: Opener) -> None:
    before = opened(write(tmp_path / "r", THEIRS))
    assert paths(before) == sorted(THEIRS)
    after = opened(write(tmp_path / "r", OURS))
    assert paths(after) == sorted(THEIRS)
    assert after.digest == before.digest
    assert reasons(after) == dict.fromkeys(OURS, "written by Assay")
    assert all(skipped.detail for skipped in after.skipped)


@pytest.mark.parametrize("name", ["report.html", "baseline.json"])
def test_what_assay_wrote_is_left_out_under_a_link_too(tmp_path: Path, opened: Opener, name: str) -> None:
    root = write(tmp_path / "r", {"a.py": "1", name: OURS[name]})
    (root / "shown.py").symlink_to(name)
    assert paths(opened(root)) == ["a.py"]
