"""Killed at any instant or crowded by others, an index is whole and right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the programs fork")


def run(what: str, folder: Path, amount: float, seed: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.search.killing", what, str(folder), str(amount), str(seed)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "ASSAY_INDEX_DIR": str(folder / "index"), "ASSAY_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_index_of_a_killed_process_is_whole(tmp_path: Path) -> None:
    run("kill", tmp_path, 3, 1)


@pytest.mark.soak
def test_index_of_a_process_killed_fifty_times_is_whole(tmp_path: Path) -> None:
    run("kill", tmp_path, 50, 2)


def test_four_processes_index_and_search_while_a_fifth_edits(tmp_path: Path) -> None:
    run("together", tmp_path, 0.5, 3)


@pytest.mark.soak
def test_four_processes_index_and_search_for_a_minute(tmp_path: Path) -> None:
    run("together", tmp_path, 60, 4)


@pytest.mark.soak
def test_encoding_killed_twenty_times_is_resumed(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    run("encode", tmp_path, 20, 5)
