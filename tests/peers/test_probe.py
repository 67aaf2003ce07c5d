"""The preset of probe with the program of its npm package."""

import os
import platform

import pytest

from assay import run
from assay.engines import make_engine
from benchmarks.pages import Unavailable
from benchmarks.peers.programs import PROBE, programs
from tests.peers.asking import rankings, read_gold

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the pinned program is for x86-64"),
]


def test_probe_finds_the_file_of_a_definition(library, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_BENCH_PEERS", str(tmp_path / "peers"))
    try:
        folder = programs(PROBE)
    except Unavailable as reason:
        pytest.skip(f"LOUD: {reason}; the preset of probe was NOT tested")
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), os.environ["PATH"]]))
    found = rankings(run({"probe": make_engine("probe")}, read_gold(library, tmp_path)))["probe"]
    assert any(hit.path == "json/encoder.py" and hit.start for hit in found[1])
    assert len({hit.path for hits in found for hit in hits}) > 1  # not one answer for every query
