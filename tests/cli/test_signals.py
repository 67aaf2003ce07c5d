"""A command that is ended from outside takes with it all that it started and wrote for the time being."""

import os
import signal
import subprocess
import sys

import pytest

from tests.processes import HANG, pids_in, wait_until_gone
from tests.waiting import WATCHDOG, wait_until

TOML = f"""\
[run]
gold = "gold.yaml"

[engines.slow]
kind = "command"
index = ["sh", "-c", "echo $$ > {{here}}/pid; sleep {HANG}; true"]
argv = ["true", "{{query}}", "{{store}}"]
"""


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(one, marks=pytest.mark.nightly) for one in (signal.SIGHUP, signal.SIGINT))],
)
def test_ended_run_leaves_no_process_and_no_folder(shop, tmp_path, number):
    (shop / "assay.toml").write_text(TOML)
    places = tmp_path / "tmp"
    places.mkdir()
    environment = {**os.environ, "TMPDIR": str(places)}
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", "run", "--no-references"], env=environment, stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: pids_in(shop / "pid", 1), "the start of the engine")
    (pid,) = pids_in(shop / "pid", 1)
    process.send_signal(number)
    _, said = process.communicate(timeout=WATCHDOG)
    assert process.returncode == 128 + number
    assert "interrupted" in said
    assert wait_until_gone(pid)
    assert not [path for path in places.iterdir() if path.name.startswith("assay")]
