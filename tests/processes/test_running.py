"""Running programs: bounded, and nothing left behind."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from assay.errors import SetupError
from assay.processes.running import CompletedProgram, ProcessLimits, ProgramSpec, run_process
from tests.processes import HANG, pids_in, time_out, wait_until_gone
from tests.waiting import WATCHDOG


def run(code: str, *arguments: object, seconds: float = WATCHDOG, **limits: float) -> CompletedProgram:
    argv = (sys.executable, "-ISc", code, *map(str, arguments))
    return run_process(ProgramSpec(argv), seconds, ProcessLimits(**limits))  # type: ignore[arg-type]


def test_process_gives_output_last_words_and_exit_code() -> None:
    finished = run("import sys; print('out'); print('first\\nlast\\n\\n', file=sys.stderr); sys.exit(3)")
    assert (finished.stdout, finished.last_error_line, finished.code, finished.end) == (b"out\n", "last", 3, "exit")
    assert not finished.ok
    quiet = run("pass")
    assert quiet.ok
    assert quiet.last_error_line == ""


def test_process_runs_here_with_our_environment_unless_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OF_OURS", "ours")
    show = (sys.executable, "-c", "import os; print(os.getcwd(), os.environ.get('OF_OURS'))")
    assert run_process(ProgramSpec(show), WATCHDOG).stdout.decode() == f"{os.getcwd()} ours\n"
    assert (
        run_process(ProgramSpec(show, tmp_path, {"OF_OURS": "s3cret"}), WATCHDOG).stdout.decode()
        == f"{tmp_path} s3cret\n"
    )
    assert "s3cret" not in repr(ProgramSpec(show, tmp_path, {"OF_OURS": "s3cret"}))


def test_process_cannot_ask_on_the_terminal() -> None:
    assert run("import sys; print(repr(sys.stdin.read()))").stdout == b"''\n"


@pytest.mark.parametrize("ignore", ["", "trap '' TERM; "])
def test_process_out_of_time_is_ended_with_its_children(tmp_path: Path, ignore: str) -> None:
    pids = tmp_path / "pids"
    script = f"{ignore}sleep {HANG} & echo waiting >&2; echo $$ $! > {pids}; wait; sleep {HANG}"
    limits = ProcessLimits(grace=0.05)
    finished = time_out(
        lambda limit: run_process(ProgramSpec(("sh", "-c", script)), limit, limits), lambda _: pids_in(pids, 2)
    )
    assert (finished.end, finished.last_error_line, finished.ok) == ("timeout", "waiting", False)
    assert all(wait_until_gone(pid) for pid in pids_in(pids, 2))


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
    assert finished.last_error_line == "the end"


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
        ProgramSpec(("no-such-tool",)),
        ProgramSpec((str(tmp_path / "plain"),)),
        ProgramSpec(("true", "nul\0byte")),
        ProgramSpec(("true", "x" * 3_000_000)),
        ProgramSpec(("true",), tmp_path / "gone"),
    ]
    for task in tasks:
        with pytest.raises(SetupError, match="cannot start") as caught:
            run_process(task, WATCHDOG)
        assert caught.value.hint


LEAVING = """
import subprocess, sys, time
child = subprocess.Popen(["sleep", sys.argv[2]], start_new_session=sys.argv[3] == "leaves")
with open(sys.argv[1], "w") as file: file.write(f"{child.pid}\\n")
print("done", flush=True)
time.sleep(float(sys.argv[4]))
"""


@pytest.mark.parametrize("manner", ["stays", "leaves"])
def test_process_leaves_no_child_that_holds_the_pipe(tmp_path: Path, manner: str) -> None:
    if manner == "leaves" and sys.platform != "linux":
        pytest.skip("LOUD: who holds a pipe is known on Linux only")
    finished = run(LEAVING, tmp_path / "pid", HANG, manner, 0, drain=0.05)
    assert (finished.end, finished.stdout) == ("exit", b"done\n")
    assert wait_until_gone(*pids_in(tmp_path / "pid", 1))


def test_process_leaves_no_child_that_is_silent(tmp_path: Path) -> None:
    script = f"sleep {HANG} >/dev/null 2>&1 & echo $! > {tmp_path / 'pid'}"
    assert run_process(ProgramSpec(("sh", "-c", script)), WATCHDOG).ok
    assert wait_until_gone(*pids_in(tmp_path / "pid", 1))


def test_process_out_of_time_takes_its_runaway_children_with_it(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("LOUD: who holds a pipe is known on Linux only")
    pid = tmp_path / "pid"
    finished = time_out(lambda limit: run(LEAVING, pid, HANG, "leaves", HANG, seconds=limit), lambda _: pids_in(pid, 1))
    assert finished.end == "timeout"
    assert wait_until_gone(*pids_in(pid, 1))


def test_process_is_run_where_ends_of_children_are_ignored() -> None:
    script = (
        "import signal\nfrom assay.processes.running import ProgramSpec, run_process\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        f"print(run_process(ProgramSpec(('echo', 'x')), {WATCHDOG}).stdout)"
    )
    assert run_process(ProgramSpec((sys.executable, "-c", script)), WATCHDOG).stdout == b"b'x\\n'\n"


def test_program_is_ended_when_an_interrupt_arrives_while_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self.pid)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0)  # let the interpreter run the handler

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_process(ProgramSpec(("sleep", "600")), None)
    gc.collect()
    assert all(map(wait_until_gone, started))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
