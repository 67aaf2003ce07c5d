"""What programs leave running: found by its marker and ended, and nobody else is touched."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.processes.child import Child
from assay.processes.descendants import add_marker, has_marker, new_marker
from assay.processes.running import ProgramSpec, find_orphans, kill_all, kill_orphans, run_process
from tests.processes import HANG, wait_until_gone
from tests.waiting import WATCHDOG, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="LOUD: what was left behind is known on Linux only")

DAEMON = """
import os, signal, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
for handle in (0, 1, 2): os.close(handle)
if sys.argv[2] == "stubborn": signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(sys.argv[1] + ".new", "w") as file: file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(1000)
"""


def leave(pidfile: Path, marker: str, manner: str = "mild") -> int:
    """Run a program that becomes a daemon, and give the daemon's number."""
    assert run_process(ProgramSpec((sys.executable, "-ISc", DAEMON, str(pidfile), manner), marker=marker), WATCHDOG).ok
    wait_until(pidfile.exists, "the daemon")
    return int(pidfile.read_text())


@pytest.mark.parametrize("manner", ["mild", "stubborn"])
def test_daemons_of_a_session_are_ended_and_counted(tmp_path: Path, manner: str) -> None:
    marker, other = new_marker(), new_marker()
    pids = [leave(tmp_path / name, marker, manner) for name in "abc"]
    foreign = leave(tmp_path / "other", other)
    assert find_orphans(marker) == sorted(pids)
    assert kill_orphans(marker, grace=0.1) == 3
    assert all(wait_until_gone(pid) for pid in pids)
    assert (kill_orphans(marker), find_orphans(marker)) == (0, [])
    assert find_orphans(other) == [foreign]
    assert kill_orphans(other) == 1


def test_a_program_that_is_still_wanted_is_no_straggler() -> None:
    marker = new_marker()
    child = Child(ProgramSpec(("sh", "-c", "sleep 1000 & echo; wait"), marker=marker))
    try:
        child.read_line(time.monotonic() + WATCHDOG)
        assert child.marker == marker
        assert has_marker(child.pid, marker)
        assert kill_orphans(marker) == 0
        assert child.alive
    finally:
        child.end()


def test_all_that_we_started_can_be_killed_at_once(tmp_path: Path) -> None:
    pid = leave(tmp_path / "pid", "")
    bystander = subprocess.Popen(("sleep", str(HANG)))
    child = Child(ProgramSpec(("sleep", str(HANG))))
    try:
        kill_all()
        assert wait_until_gone(pid)
        assert wait_until_gone(child.pid)
        assert bystander.poll() is None
    finally:
        child.end()
        bystander.kill()
        bystander.wait()


def test_markers_are_told_apart_and_stay_when_another_is_added() -> None:
    task = ProgramSpec(
        (sys.executable, "-Ic", "import time; print(flush=True); time.sleep(1000)"), None, {"ASSAY_RUN": "ab-1"}
    )
    child = Child(task)
    try:
        child.read_line(time.monotonic() + WATCHDOG)
        carried = {mark: has_marker(child.pid, mark) for mark in ("ab-1", "ab", "a", "ab-", "b-1", child.marker)}
    finally:
        child.end()
    assert carried == {"ab-1": True, "ab": True, "a": False, "ab-": False, "b-1": False, child.marker: True}
    assert new_marker() != new_marker()
    assert not has_marker(os.getpid(), child.marker)


def test_marker_is_added_to_our_environment_or_to_the_given_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_OURS", "x")
    monkeypatch.delenv("ASSAY_RUN", raising=False)
    assert add_marker(None, "m-1")["OF_OURS"] == "x"
    assert add_marker({"A": "b"}, "m-1") == {"A": "b", "ASSAY_RUN": "m-1"}
    monkeypatch.setenv("ASSAY_RUN", "outer-1-2")
    assert add_marker({"A": "b"}, "m-1") == {"A": "b", "ASSAY_RUN": "outer-1-2:m-1"}
