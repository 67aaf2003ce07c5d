"""How much memory programs took: right whoever started them, whoever did the work, and however large we are."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import pytest

from assay.processes import Child, Task, run_process
from assay.processes.memory import ProgramMemory
from assay.processes.proc import Held, read_held
from tests.clocked import clocked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="LOUD: other systems give one figure only")

MEGABYTE = 1_000_000
BARE = 9 * MEGABYTE  # what an interpreter takes that does nothing


@pytest.fixture(scope="module", autouse=True)
def _large() -> Iterator[None]:
    """Hold much ourselves: the kernel counts it for every program that we start."""
    held = b"x" * (300 * MEGABYTE)
    yield
    assert held


def holding(megabytes: int, seconds: float = 0.3) -> str:
    """Write a program that holds so much for a while."""
    return f"import time; block = b'x' * ({megabytes} * 1000000); time.sleep({seconds})"


def peak_of(*argv: str) -> int:
    """Run a program and give what it is said to have taken."""
    peak = run_process(Task(argv), 30.0).peak_bytes
    assert peak is not None
    return peak


def near(megabytes: int, bare: int = BARE) -> object:
    """Expect so much and an interpreter, give or take a quarter."""
    return pytest.approx(megabytes * MEGABYTE + bare, rel=0.25)


@clocked
def test_memory_of_a_program_that_does_the_work_itself() -> None:
    assert peak_of(sys.executable, "-Ic", holding(60)) == near(60)
    assert peak_of(sys.executable, "-Ic", holding(450)) == near(450)
    assert peak_of(sys.executable, "-Ic", "import time; time.sleep(0.1)") == near(0)


@pytest.mark.parametrize("launcher", [("sh", "-c", '"$@"; true', "sh"), ("env",), ("sh", "-c", 'exec "$@"', "sh")])
def test_memory_of_a_program_that_another_one_starts(launcher: tuple[str, ...]) -> None:
    assert peak_of(*launcher, sys.executable, "-Ic", holding(60)) == near(60)


def test_memory_of_children_side_by_side_is_added_up() -> None:
    assert peak_of("sh", "-c", '"$@" & "$@" & "$@" & wait', "sh", sys.executable, "-Ic", holding(100, 0.6)) == near(
        300, 3 * BARE
    )


def test_memory_of_children_one_after_the_other_is_not_added_up() -> None:
    assert peak_of("sh", "-c", '"$@"; "$@"', "sh", sys.executable, "-Ic", holding(60)) == near(60)


@clocked
def test_memory_that_is_shared_counts_once() -> None:
    forks = "block = b'x' * 100_000_000\nfor _ in range(3):\n  if not os.fork(): break\ntime.sleep(0.4)"
    assert peak_of(sys.executable, "-Ic", f"import os, time; {forks}") == near(100, 2 * BARE)


@clocked
def test_memory_of_what_left_the_session_counts() -> None:
    leaves = (
        "import os, sys, time\n"
        "if os.fork(): time.sleep(0.5); sys.exit()\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        f"os.execv(sys.executable, [sys.executable, '-Ic', {holding(60)!r}])"
    )
    assert peak_of(sys.executable, "-Ic", leaves) == near(60, 2 * BARE)


def test_memory_of_short_programs_is_right_or_not_known() -> None:
    task = Task((sys.executable, "-ISc", "block = b'x' * 40_000_000"))
    peaks = [run_process(task, 30.0).peak_bytes for _ in range(10)]
    assert all(peak is None or peak == near(40) for peak in peaks), peaks


def test_memory_of_a_program_that_nobody_watched_is_not_known() -> None:
    memory = ProgramMemory(1, "none")  # a process that is there and small
    time.sleep(0.01)
    memory.sample(at_once=True)
    assert memory.peak_bytes is not None
    time.sleep(0.05)
    memory.settle(1000)
    assert memory.peak_bytes is None


@clocked
def test_memory_of_a_program_that_stays_is_seen_between_questions() -> None:
    begin = f"import subprocess, sys; subprocess.run([sys.executable, '-Ic', {holding(80)!r}]); print(); input()"
    child = Child(Task((sys.executable, "-Ic", begin)))
    try:
        time.sleep(1.0)  # nobody talks to it while it works
        child.read_line(time.monotonic() + 10)
        assert child.peak_bytes() == near(80, 2 * BARE)
    finally:
        child.end()
    assert child.peak_bytes() == near(80, 2 * BARE)


def test_memory_of_a_fork_that_has_nothing_of_its_own_is_not_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = {1000: Held(1, 9, 5000, 4000, 0), 1001: Held(1000, 9, 5000, 4000, 0), 1002: Held(1000, 9, 5000, 3000, 0)}
    monkeypatch.setattr("assay.processes.memory.read_held", figures.get)
    monkeypatch.setattr("assay.processes.memory.read_share", lambda _pid: None)
    monkeypatch.setattr("assay.processes.memory.read_children", lambda pid: [1001, 1002] if pid == 1000 else [])
    memory = ProgramMemory(1000, "none")
    memory.sample(at_once=True)
    assert memory.peak_bytes == 7000 * 1024


def test_memory_of_nobody_is_none() -> None:
    assert read_held(2**22 + 1) is None


@clocked
def test_memory_costs_a_short_program_little(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = []
    look = ProgramMemory._look

    def timed(self: ProgramMemory, begin: float, *, at_once: bool) -> None:
        before = time.thread_time()
        look(self, begin, at_once=at_once)
        spent.append(time.thread_time() - before)

    monkeypatch.setattr(ProgramMemory, "_look", timed)
    for _ in range(20):
        run_process(Task(("sleep", "0.005")), 10.0)
    assert spent
    assert sum(spent) / 20 < 0.002


def test_memory_that_cannot_be_seen_lets_nobody_wait_less(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = ProgramMemory(1, "none")
    assert memory.pause(5.0) < 1
    assert memory.pause(-1.0) == -1.0
    monkeypatch.setattr("assay.processes.memory._LINUX", False)
    memory.sample(at_once=True)
    assert (memory.pause(5.0), memory.peak_bytes) == (5.0, None)
