"""Running programs: bounded, and nothing left behind."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

import pytest

from assay.errors import EnvironmentFailure
from assay.processes import Finished, ProcessLimits, Task, run_process
from tests.clocked import clocked
from tests.processes import wait_until_gone


def run(code: str, seconds: float | None = 20.0, **limits: int) -> Finished:
    return run_process(Task((sys.executable, "-c", code)), seconds, ProcessLimits(**limits))


def test_process_gives_output_last_words_and_exit_code() -> None:
    finished = run("import sys; print('out'); print('first\\nlast\\n\\n', file=sys.stderr); sys.exit(3)")
    assert (finished.stdout, finished.last_words, finished.code, finished.end) == (b"out\n", "last", 3, "exit")
    assert not finished.ok
    assert run("pass").ok
    assert run("pass").last_words == ""


def test_process_runs_here_with_our_environment_unless_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_OURS", "ours")
    show = (sys.executable, "-c", "import os; print(os.getcwd(), os.environ.get('OF_OURS'))")
    assert run_process(Task(show), 20.0).stdout.decode() == f"{os.getcwd()} ours\n"
    assert run_process(Task(show, tmp_path, {"OF_OURS": "s3cret"}), 20.0).stdout.decode() == f"{tmp_path} s3cret\n"
    assert "s3cret" not in repr(Task(show, tmp_path, {"OF_OURS": "s3cret"}))


def test_process_cannot_ask_on_the_terminal() -> None:
    assert run("import sys; print(repr(sys.stdin.read()))").stdout == b"''\n"


@clocked
@pytest.mark.parametrize("ignore", ["", "trap '' TERM; "])
def test_process_out_of_time_is_ended_with_its_children(tmp_path: Path, ignore: str) -> None:
    script = f"{ignore}sleep 60 & echo $$ $! > {tmp_path / 'pids'}; echo waiting >&2; wait; sleep 60"
    begin = time.monotonic()
    finished = run_process(Task(("sh", "-c", script)), 0.4)
    assert (finished.end, finished.last_words, finished.ok) == ("timeout", "waiting", False)
    assert time.monotonic() - begin < 5
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2
    assert all(wait_until_gone(int(pid)) for pid in pids)


def test_process_that_floods_is_ended_early() -> None:
    finished = run("while True: print('x' * 1000)", stdout=100_000)
    assert finished.end == "flood"
    assert len(finished.stdout) <= 100_000 + ProcessLimits().read


def test_process_that_floods_and_ends_at_once_is_a_flood_too() -> None:
    assert run("print('x' * 1000)", stdout=100).end == "flood"
    assert run("print('x' * 99)", stdout=100).end == "exit"


def test_process_keeps_only_the_end_of_a_flood_on_stderr() -> None:
    finished = run(
        "import sys\nfor n in range(300): sys.stderr.write('y' * 10_000 + chr(10))\nsys.stderr.write('the end')",
        stderr=100,
    )
    assert len(finished.stderr) == 100
    assert finished.last_words == "the end"


@pytest.mark.parametrize(("number", "name"), [("signal.SIGSEGV", "SIGSEGV"), ("signal.SIGRTMIN + 5", "signal ")])
def test_process_that_dies_by_a_signal_says_which(number: str, name: str) -> None:
    if not hasattr(__import__("signal"), number.split(".")[1].split()[0]):
        pytest.skip("LOUD: no real-time signals on this system")
    finished = run(f"import os, signal; os.kill(os.getpid(), {number})")
    assert finished.end == "signal"
    assert finished.signal_name.startswith(name)


def test_process_that_cannot_start_is_told_with_a_next_step(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("text")
    tasks = [
        Task(("no-such-tool",)),
        Task((str(tmp_path / "plain"),)),
        Task(("true", "nul\0byte")),
        Task(("true", "x" * 3_000_000)),
        Task(("true",), tmp_path / "gone"),
    ]
    for task in tasks:
        with pytest.raises(EnvironmentFailure, match="cannot start") as caught:
            run_process(task, 20.0)
        assert caught.value.hint


def peaks_of(*codes: str, held: int) -> list[int | None]:
    """Run programs from a process that holds so many bytes, and give the memory that they are said to have taken."""
    script = (
        "import json, sys\nfrom assay.processes import Task, run_process\n"
        f"held = b'x' * {held}\n"
        "tasks = [Task((sys.executable, '-c', code)) for code in sys.argv[1:]]\n"
        "print(json.dumps([run_process(task, 20.0).peak_bytes for task in tasks]))"
    )
    return json.loads(run_process(Task((sys.executable, "-c", script, *codes)), 60.0).stdout)


@clocked
def test_process_tells_its_own_memory_and_not_ours() -> None:
    if sys.platform != "linux":
        pytest.skip("LOUD: other systems give one figure only")
    codes = ("print(flush=True); import time; time.sleep(1)", "block = b'x' * 60_000_000; print(flush=True)")
    small, large = peaks_of(*codes, held=200_000_000)  # the kernel counts what we hold for every program
    assert small is not None
    assert large is not None
    assert 3_000_000 < small < 40_000_000
    assert 60_000_000 < large < 100_000_000


@clocked
def test_process_memory_counts_the_children_it_waited_for() -> None:
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1024 if sys.platform == "linux" else 1)
    size = ours + 100_000_000  # the kernel counts what we hold for every program below us
    inner = f"block = b'x' * {size}"
    (peak,) = peaks_of(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])", held=0)
    assert peak is not None
    assert size < peak < size + 50_000_000


@pytest.mark.parametrize("leaves", [False, True])
def test_process_leaves_no_child_that_holds_the_pipe(tmp_path: Path, leaves: bool) -> None:
    if leaves and sys.platform != "linux":
        pytest.skip("LOUD: who holds a pipe is known on Linux only")
    code = (
        "import subprocess, sys\n"
        f"c = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session={leaves})\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(c.pid))\nprint('done')"
    )
    finished = run(code)
    assert (finished.end, finished.stdout) == ("exit", b"done\n")
    assert wait_until_gone(int((tmp_path / "pid").read_text()))


def test_process_leaves_no_child_that_is_silent(tmp_path: Path) -> None:
    finished = run_process(Task(("sh", "-c", f"sleep 60 >/dev/null 2>&1 & echo $! > {tmp_path / 'pid'}")), 20.0)
    assert finished.ok
    assert wait_until_gone(int((tmp_path / "pid").read_text()))


def test_process_out_of_time_takes_its_runaway_children_with_it(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("LOUD: who holds a pipe is known on Linux only")
    code = (
        "import subprocess, sys, time\n"
        "c = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(c.pid))\ntime.sleep(60)"
    )
    assert run(code, 0.5).end == "timeout"
    assert wait_until_gone(int((tmp_path / "pid").read_text()))


def test_process_is_run_where_ends_of_children_are_ignored() -> None:
    script = (
        "import signal\nfrom assay.processes import Task, run_process\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "print(run_process(Task(('echo', 'x')), 5.0).stdout)"
    )
    assert run(script).stdout == b"b'x\\n'\n"
