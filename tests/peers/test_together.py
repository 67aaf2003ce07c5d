"""Every peer in one `assay run`: one table, in turns, and nothing is left behind."""

from __future__ import annotations

import json
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from assay import Index
from assay.cli.main import main
from assay.experiment import read_run
from tests.peers.asking import left_running, write_gold
from tests.serving import Asked, Reply, serving

pytestmark = pytest.mark.nightly

CONFIG = """\
[run]
gold = ["library.yaml"]
out = "results"
baseline = "builtin"

[engines.builtin]
kind = "builtin"

[engines.assay-mcp]
preset = "assay-mcp"

[engines.http]
kind = "http"
url = "URL/search"
body = {root = "{root}", query = "{query}", k = "{k}"}
path = "hits[].path"

[engines.keywords]
kind = "keywords"

[engines.semble]
preset = "semble"

[engines.semble-cli]
preset = "semble-cli"

[engines.semble-mcp]
preset = "semble-mcp"

[engines.litter]
kind = "command"
index = ["sh", "-c", "echo json/decoder.py > litter.txt"]
argv = ["sh", "-c", "cat litter.txt", "{query}"]
format = "text"
"""
#: Programs of their own: what they take is measured from outside.
PROGRAMS = ("assay-mcp", "semble", "semble-cli", "semble-mcp")


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    """Give this process and all that it starts an empty folder for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Give every file below a folder, with the time it was changed."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_run_of_all_at_once_is_one_table_and_leaves_nothing(semble, library, temporary, tmp_path, monkeypatch, capsys):
    pytest.importorskip("mcp", reason="LOUD: the package mcp is not installed, servers were NOT tested")
    opened = cache(Index.build)

    def answer(asked: Asked) -> Reply:
        hits = opened(asked.payload["root"]).search(asked.payload["query"], asked.payload["k"])
        return Reply({"hits": [{"path": hit.path} for hit in hits]})

    before = contents(library)
    write_gold(library, tmp_path, 2)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_TEST_PEERS", str(tmp_path))
    with serving(answer) as server:
        Path("assay.toml").write_text(CONFIG.replace("URL", server.url), encoding="utf-8")
        assert main(["run", "--json"]) == 0
    assert not left_running(f"ASSAY_TEST_PEERS={tmp_path}")
    assert not list(temporary.iterdir())
    assert contents(library) == before

    results = json.loads(capsys.readouterr().out)
    names = [row["engine"] for row in results["spending"]]
    assert names[:8] == ["builtin", "assay-mcp", "http", "keywords", "semble", "semble-cli", "semble-mcp", "litter"]
    assert results["conditions"]["interleaved"]
    assert not results["failed_queries"]
    spent = {row["engine"]: row for row in results["spending"]}
    for name in PROGRAMS:
        assert spent[name]["peak_bytes"] > 1_000_000, name
        assert spent[name]["warm_ms"] > 0, name
    found = {
        engine.name: [[h.path for h in r.hits] for r in engine.rankings] for engine in read_run(Path("results")).engines
    }
    assert found["builtin"] == found["assay-mcp"] == found["http"]
    assert found["semble"] == found["semble-cli"] == found["semble-mcp"]
    assert found["litter"] == [["json/decoder.py"]] * 2


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="only Linux tells what a program was started with")
def test_left_running_sees_a_program_that_stays(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_TEST_PEERS", str(tmp_path))
    with subprocess.Popen(["sleep", "20"]) as process:
        try:
            assert left_running(f"ASSAY_TEST_PEERS={tmp_path}")
        finally:
            process.kill()
