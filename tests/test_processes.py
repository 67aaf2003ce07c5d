"""Running programs: bounded, and nothing left behind."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from assay.errors import EnvironmentFailure
from assay.processes import Finished, ProcessLimits, Task, run_process
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
