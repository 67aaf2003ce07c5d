"""What was published of semble 0.7.0 is found again by `assay audit`, and not of our own engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.cli.main import main

pytestmark = pytest.mark.nightly

Findings = dict[tuple[str, str], dict[str, Any]]


def audit(engine: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Findings:
    """Audit prefixes and filters, as a user does."""
    assert main(["audit", engine, str(folder), "--only", "prefix,filters", "--json", "--quiet"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    return {(finding["check"], finding["law"]): finding for finding in findings}


def test_audit_finds_that_sembles_results_depend_on_k_and_its_filters_leak(semble, mail, capsys):
    found = audit("semble", mail, capsys)
    prefix = found["prefix", "top 5 of top 10"]
    assert prefix["severity"] == "broken law"
    assert prefix["share"]["low"] > 0.5, "on most queries, and more than chance makes of a few"
    for law in ("paths: nothing outside", "languages: nothing passes"):
        assert found["filters", law]["severity"] == "broken law"
        assert found["filters", law]["share"]["count"] > 0
        assert found["filters", law]["example"]


def test_audit_finds_neither_in_the_builtin(mail, capsys):
    found = audit("builtin", mail, capsys)
    assert {key for key, finding in found.items() if finding["severity"] == "broken law"} == set()
    assert found["prefix", "top 5 of top 10"]["severity"] == "fine"
    assert found["filters", "paths: nothing outside"]["severity"] == "fine"
