"""A command that is ended from outside takes with it all that it started and wrote for the time being."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import wait_until_gone

TOML = """\
[run]
gold = "gold.yaml"

[engines.slow]
kind = "command"
index = ["sh", "-c", "echo $$ > {here}/pid; sleep 60; true"]
argv = ["true", "{query}", "{store}"]
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_ended_run_leaves_no_process_and_no_folder(shop, tmp_path, number):
    (shop / "assay.toml").write_text(TOML)
    places = tmp_path / "tmp"
    places.mkdir()
    environment = {**os.environ, "TMPDIR": str(places)}
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", "run", "--no-references"], env=environment, stderr=subprocess.PIPE, text=True
    )
    pid = _written(shop / "pid")
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert "interrupted" in said
    assert wait_until_gone(pid)
    assert not [path for path in places.iterdir() if path.name.startswith("assay")]


def _written(path: Path) -> int:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        time.sleep(0.05)
    raise AssertionError("the engine was never started")
