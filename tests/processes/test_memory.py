"""How much memory programs took: right whoever started them, whoever did the work, and however large we are.

Programs of `make test` hold their memory until they are ended, so that every look at them sees the same. What programs
held that end by themselves is sampled: such tests are for `make soak`, and compare with a bare interpreter.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.processes.child import Child
from assay.processes.running import ProgramSpec, run_process
from tests.processes import HANG
from tests.waiting import WATCHDOG, wait_until

linux = pytest.mark.skipif(sys.platform != "linux", reason="LOUD: other systems give one figure only")

MEGABYTE = 1_000_000
LOOKS = 20  # another thread may be looking while we ask: some of many looks are ours
INTERPRETER = (sys.executable, "-ISc")
HOLD = f"import sys, time; held = b'x' * int(sys.argv[1]); print(flush=True); time.sleep({HANG})"


@contextmanager
def staying(source: str, *arguments: object, ready: int = 1) -> Iterator[Child]:
    """Run a program until it has printed that it, and what it started, hold all that they will."""
    child = Child(ProgramSpec((*INTERPRETER, "import os, subprocess, sys, time\n" + source, *map(str, arguments))))
    try:
        for _ in range(ready):
            child.read_line(time.monotonic() + WATCHDOG)
        yield child
    finally:
        child.end()


def settled_peak(child: Child, least: float) -> int:
    """Wait for a peak of at least so many megabytes, and look again until more would have been seen too."""
    wait_until(lambda: (child.peak_bytes() or 0) >= least * MEGABYTE, f"a peak of {least} MB")
    for _ in range(LOOKS):
        peak = child.peak_bytes()
        time.sleep(0.002)
    assert peak is not None
    return peak


@linux
def test_memory_of_a_program_is_its_own_and_not_ours() -> None:
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # the kernel counts it for all that we start
    held = b"x" * max(0, 120 * MEGABYTE - ours)
    with staying(HOLD, 0) as child:
        assert settled_peak(child, 3) < 40 * MEGABYTE
    with staying(HOLD, 60 * MEGABYTE) as child:
        peak = settled_peak(child, 60)
        assert peak < 90 * MEGABYTE
    assert (child.peak_bytes() or 0) >= peak
    assert len(held) >= 0


@linux
def test_memory_of_programs_side_by_side_is_added_up() -> None:
    source = f"for _ in range(3): subprocess.Popen([sys.executable, '-ISc', {HOLD!r}, sys.argv[1]])\n{HOLD}"
    with staying(source, 20 * MEGABYTE, ready=4) as child:
        assert settled_peak(child, 80) < 130 * MEGABYTE


@linux
def test_memory_of_programs_one_after_the_other_is_not_added_up() -> None:
    source = (
        "for _ in range(2):\n"
        f"  one = subprocess.Popen([sys.executable, '-ISc', {HOLD!r}, sys.argv[1]])\n"
        "  input(); one.kill(); one.wait()"
    )
    with staying(source, 40 * MEGABYTE) as child:
        settled_peak(child, 40)
        child.write(b"\n", None)
        child.read_line(time.monotonic() + WATCHDOG)
        assert settled_peak(child, 40) < 75 * MEGABYTE


@linux
def test_memory_that_is_shared_counts_once() -> None:
    source = "held = b'x' * int(sys.argv[1])\nfor _ in range(3):\n  if not os.fork(): break\n"
    with staying(source + f"print(flush=True); time.sleep({HANG})", 60 * MEGABYTE, ready=4) as child:
        assert settled_peak(child, 60) < 110 * MEGABYTE


@linux
def test_memory_of_a_program_that_is_about_to_start_another_is_not_doubled(tmp_path: Path) -> None:
    # A child of posix_spawn shares all memory with its parent until it runs a program: a pipe that nobody writes to
    # keeps it there.
    source = (
        "held = b'x' * int(sys.argv[1]); os.mkfifo(sys.argv[2]); print(flush=True)\n"
        "stdin = (os.POSIX_SPAWN_OPEN, 0, sys.argv[2], os.O_RDONLY, 0)\n"
        "os.posix_spawn('/bin/true', ['true'], {}, file_actions=[stdin])"
    )
    with staying(source, 60 * MEGABYTE, tmp_path / "never-written") as child:
        children = Path(f"/proc/{child.pid}/task/{child.pid}/children")
        wait_until(lambda: children.read_text().split(), "the child")
        assert settled_peak(child, 60) < 90 * MEGABYTE


@linux
def test_memory_of_what_left_the_session_counts() -> None:
    source = (
        f"if os.fork(): time.sleep({HANG})\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        f"os.execv(sys.executable, [sys.executable, '-ISc', {HOLD!r}, sys.argv[1]])"
    )
    with staying(source, 60 * MEGABYTE) as child:
        assert settled_peak(child, 60) < 110 * MEGABYTE


@linux
def test_memory_of_a_program_that_nobody_could_watch_is_not_known() -> None:
    # The program stops whoever watches it for most of its life; a child lets them go on once the program has ended.
    program = """
import os, signal, sys, time
program, watcher = os.getpid(), os.getppid()
if not os.fork():
    while os.getppid() == program: time.sleep(0.01)
    os.kill(watcher, signal.SIGCONT)
    os._exit(0)
os.kill(watcher, signal.SIGSTOP)
time.sleep(0.1 + 3 * (time.monotonic() - float(sys.argv[1])))
"""
    watcher = (
        "import sys, time\nfrom assay.processes.running import ProgramSpec, run_process\n"
        "task = ProgramSpec((sys.executable, '-ISc', sys.argv[1], str(time.monotonic())))\n"
        f"print(run_process(task, {WATCHDOG}).peak_bytes)"
    )
    done = subprocess.run([sys.executable, "-c", watcher, program], capture_output=True, timeout=WATCHDOG, check=True)
    assert done.stdout == b"None\n"


def test_memory_where_processes_cannot_be_looked_at_is_the_figure_of_the_kernel() -> None:
    script = (
        "import psutil, resource, subprocess, sys\nsys.platform = 'darwin'\n"
        "from assay.processes.running import ProgramSpec, run_process\n"
        f"peak = run_process(ProgramSpec(('true',)), {WATCHDOG}).peak_bytes\n"
        "print(peak == resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    assert run_process(ProgramSpec((sys.executable, "-c", script)), WATCHDOG).stdout == b"True\n"


# What follows is sampled while programs run that end by themselves.


def holding(megabytes: int, seconds: float = 0.3) -> str:
    """Write a program that holds so much for a while."""
    return f"import time; held = b'x' * ({megabytes} * {MEGABYTE}); time.sleep({seconds})"


def peak_of(*argv: str) -> int:
    peak = run_process(ProgramSpec(argv), WATCHDOG).peak_bytes
    assert peak is not None
    return peak


@pytest.fixture(scope="module")
def bare() -> Iterator[int]:
    """What an interpreter takes that does nothing, while we hold more than any program of these tests."""
    held = b"x" * (300 * MEGABYTE)
    yield peak_of(*INTERPRETER, holding(0, 1.0))
    assert held


def near(megabytes: int, extra: int) -> object:
    return pytest.approx(megabytes * MEGABYTE + extra, rel=0.25)


@linux
@pytest.mark.soak
@pytest.mark.parametrize("megabytes", [60, 450])
def test_sampled_memory_of_a_program_that_does_the_work_itself(megabytes: int, bare: int) -> None:
    assert peak_of(*INTERPRETER, holding(megabytes)) == near(megabytes, bare)


@linux
@pytest.mark.soak
@pytest.mark.parametrize("launcher", [("sh", "-c", '"$@"; true', "sh"), ("env",), ("sh", "-c", 'exec "$@"', "sh")])
def test_sampled_memory_of_a_program_that_another_one_starts(launcher: tuple[str, ...], bare: int) -> None:
    assert peak_of(*launcher, *INTERPRETER, holding(60)) == near(60, bare)


@linux
@pytest.mark.soak
def test_sampled_memory_of_programs_side_by_side_and_one_after_the_other(bare: int) -> None:
    beside = ("sh", "-c", '"$@" & "$@" & "$@" & wait', "sh")
    assert peak_of(*beside, *INTERPRETER, holding(100, 0.6)) == near(300, 3 * bare)
    assert peak_of("sh", "-c", '"$@"; "$@"', "sh", *INTERPRETER, holding(60)) == near(60, bare)


@linux
@pytest.mark.soak
def test_sampled_memory_of_short_programs_is_right_or_not_known(bare: int) -> None:
    task = ProgramSpec((*INTERPRETER, f"held = b'x' * {40 * MEGABYTE}"))
    peaks = [run_process(task, WATCHDOG).peak_bytes for _ in range(20)]
    assert all(peak is None or peak == near(40, bare) for peak in peaks), peaks


@linux
@pytest.mark.soak
def test_sampled_memory_of_a_program_that_stays_is_seen_between_questions(bare: int) -> None:
    begin = f"subprocess.run([sys.executable, '-ISc', {holding(80)!r}]); print(); input()"
    with staying(begin) as child:
        assert child.peak_bytes() == near(80, 2 * bare)
    assert child.peak_bytes() == near(80, 2 * bare)


@linux
@pytest.mark.soak
def test_sampled_memory_counts_a_large_child_of_a_small_program() -> None:
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    size = ours + 100 * MEGABYTE  # the kernel's figure counts above what we hold
    inner = f"held = b'x' * {size}"
    script = (
        "import json, sys\nfrom assay.processes.running import ProgramSpec, run_process\n"
        f"print(json.dumps(run_process(ProgramSpec((sys.executable, '-c', sys.argv[1])), {WATCHDOG}).peak_bytes))"
    )
    waiting = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    peak = json.loads(run_process(ProgramSpec((sys.executable, "-c", script, waiting)), WATCHDOG).stdout)
    assert 1.0 < peak / size < 1.5


@linux
@pytest.mark.soak
def test_watching_memory_costs_a_short_program_little() -> None:
    command = ("sleep", "0.005")

    def cpu_seconds(call: Callable[[], object]) -> float:
        begin = time.thread_time()
        for _ in range(20):
            call()
        return time.thread_time() - begin

    plain = min(cpu_seconds(lambda: subprocess.run(command, capture_output=True, check=True)) for _ in range(3))
    watched = min(cpu_seconds(lambda: run_process(ProgramSpec(command), WATCHDOG)) for _ in range(3))
    assert watched / plain < 8
