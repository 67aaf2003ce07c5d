"""Tools that were installed: each is asked by its adapters, and all of them give the same rankings."""

from __future__ import annotations

import json
import shutil

import pytest

from assay import run
from assay.cli.main import main
from assay.engines import make_engine
from tests.peers.asking import rankings, read_gold

pytestmark = pytest.mark.nightly

#: Three adapters, one semble.
SEMBLE = ("semble", "semble-cli", "semble-mcp")

needs_ripgrep = pytest.mark.skipif(
    not shutil.which("rg"), reason="LOUD: ripgrep is not installed, its preset was NOT tested"
)


def test_semble_gives_the_same_rankings_by_its_library_its_command_line_and_its_server(semble, library, tmp_path):
    gold = read_gold(library, tmp_path)
    found = rankings(run({name: make_engine(name) for name in SEMBLE}, gold))
    assert found["semble"] == found["semble-cli"] == found["semble-mcp"]
    assert len({hit.path for hits in found["semble"] for hit in hits}) > len(gold.queries)  # no constant answer


@needs_ripgrep
def test_literal_ripgrep_finds_the_line_that_holds_the_question(library, capsys):
    lines = (library / "json" / "encoder.py").read_text("utf-8").split("\n")
    line = 1 + next(number for number, text in enumerate(lines) if text.startswith("class JSONEncoder("))
    assert main(["engines", "query", "ripgrep-literal", "class JSONEncoder(", str(library), "--json"]) == 0
    hits = json.loads(capsys.readouterr().out)["hits"]
    assert [(hit["path"], hit["start"]) for hit in hits] == [("json/encoder.py", line)]
