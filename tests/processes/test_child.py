"""A program that stays: every call returns by its deadline, and nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import SetupError
from assay.processes.child import Child, ChildExited, ChildTimeout, OutputLimitExceeded
from assay.processes.running import ProcessLimits, ProgramSpec
from tests.processes import HANG, wait_until_gone
from tests.properties import examples
from tests.waiting import WATCHDOG, wait_until

ECHO = "for line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.flush()"
HANGING = f"time.sleep({HANG})"


def soon(seconds: float = WATCHDOG) -> float:
    """A deadline."""
    return time.monotonic() + seconds


@contextlib.contextmanager
def started(source: str, *arguments: object, **limits: float) -> Iterator[Child]:
    """Run a Python program, and check that it is gone afterwards."""
    argv = (sys.executable, "-ISc", "import os, sys, time, signal, subprocess\n" + source, *map(str, arguments))
    child = Child(ProgramSpec(argv), ProcessLimits(**{"leave": 0.0, **limits}))  # type: ignore[arg-type]
    try:
        yield child
    finally:
        child.end()
        assert not child.alive
        assert wait_until_gone(child.pid)


@pytest.fixture(scope="module")
def echo() -> Iterator[Child]:
    """A program that repeats every line, for all tests of this module."""
    with started(ECHO) as child:
        yield child


def test_child_answers_line_by_line(echo: Child) -> None:
    for text in (b"one", b"", b"two\r", b"x" * 200_000, "größe".encode()):
        echo.write(text + b"\n", soon())
        assert echo.read_line(soon()) == text
    assert echo.alive
    assert echo.poll() is None


@examples(80)
@given(st.lists(st.binary(max_size=300).filter(lambda data: b"\n" not in data), max_size=20))
def test_child_gives_every_line_once_and_in_order(echo: Child, lines: list[bytes]) -> None:
    echo.write(b"".join(line + b"\n" for line in lines), soon())
    assert [echo.read_line(soon()) for _ in lines] == lines


def test_child_reads_up_to_a_marker_that_comes_in_pieces() -> None:
    with started("print(end='a >b\\n>> c\\n>> ', flush=True)\ninput()", read=1) as child:
        assert child.read_until(re.compile(rb"^>> ", re.MULTILINE), soon()) == b"a >b\n"
        assert child.read_until(re.compile(rb"^>> ", re.MULTILINE), soon()) == b"c\n"


def test_child_that_hangs_is_a_timeout_and_can_be_read_later() -> None:
    with started(f"input(); print('late', flush=True); {HANGING}") as child:
        begin = time.monotonic()
        with pytest.raises(ChildTimeout):
            child.read_line(begin + 0.05)
        assert time.monotonic() - begin >= 0.05
        child.write(b"\n", soon())
        assert child.read_line(soon()) == b"late"


def test_child_line_without_end_is_a_flood_and_is_not_read_on(tmp_path: Path) -> None:
    source = "count = open(sys.argv[1], 'wb', 0)\nwhile True: sys.stdout.buffer.write(b'x' * 10_000); count.write(b'x')"
    with started(source, tmp_path / "count", stdout=200_000) as child:
        for reading in (lambda: child.read_line(soon()), lambda: child.read_until(re.compile(b"y"), soon())):
            with pytest.raises(OutputLimitExceeded, match="200,000"):
                reading()
    assert (tmp_path / "count").stat().st_size * 10_000 < 1_000_000  # the limit, and what pipes and buffers hold


def test_child_that_reads_nothing_is_a_timeout_of_the_writer() -> None:
    with started(HANGING) as child, pytest.raises(ChildTimeout):
        child.write(b"x" * 5_000_000, soon(0.05))


def test_child_that_talks_before_it_listens_does_not_lock_up() -> None:
    size = 3_000_000
    source = f"sys.stdout.buffer.write(b'y' * {size} + b'\\n'); sys.stdout.flush()\nprint(len(sys.stdin.readline()))"
    with started(source) as child:
        child.write(b"x" * size + b"\n", soon())
        assert child.read_line(soon()) == b"y" * size
        assert child.read_line(soon()) == str(size + 1).encode()


@pytest.mark.parametrize(
    ("source", "drain", "words", "said"),
    [
        (
            "print(end='half', flush=True); print('oh', file=sys.stderr); os.abort()",
            WATCHDOG,
            "was killed by SIGABRT",
            "oh",
        ),
        ("sys.exit(3)", WATCHDOG, "ended with exit code 3", ""),
        (f"os.close(1); {HANGING}", 0.05, "closed its output", ""),
    ],
)
def test_child_that_dies_midway_is_gone_before_the_deadline(source: str, drain: float, words: str, said: str) -> None:
    with started(f"input(); {source}", drain=drain) as child:
        child.write(b"q\n", soon())
        with pytest.raises(ChildExited):
            child.read_line(soon())
        assert (child.describe_end(), child.last_error_line) == (words, said)


def test_child_has_said_on_stderr_what_it_wrote_before_its_answer() -> None:
    source = "for line in sys.stdin: sys.stderr.write(line); sys.stderr.flush(); print(flush=True)"
    with started(source) as child:
        for number in range(200):
            child.write(b"%d\n" % number, soon())
            child.read_line(soon())
            assert child.last_error_line == str(number)
        assert child.stderr.endswith(b"198\n199\n")


def test_child_that_is_gone_takes_nothing_more() -> None:
    with started("pass") as child:
        with pytest.raises(ChildExited):
            child.read_line(soon())
        with pytest.raises(ChildExited):
            child.write(b"x" * 1_000_000, soon())
    with started(f"os.close(0); print(flush=True); {HANGING}") as child:
        child.read_line(soon())
        with pytest.raises(ChildExited):
            child.write(b"x", soon())


def test_child_gives_the_lines_of_a_program_that_ended() -> None:
    with started("print('a'); print('b'); print('rest', end='')") as child:
        assert (child.read_line(soon()), child.read_line(soon())) == (b"a", b"b")
        with pytest.raises(ChildExited):
            child.read_line(soon())


@pytest.mark.parametrize("leaves", [False, True])
def test_child_leaves_no_grandchild_that_holds_the_pipe(tmp_path: Path, leaves: bool) -> None:
    if leaves and sys.platform != "linux":
        pytest.skip("LOUD: who holds a pipe is known on Linux only")
    source = (
        f"held = subprocess.Popen(['sleep', '{HANG}'], start_new_session={leaves})\n"
        "open(sys.argv[1], 'w').write(str(held.pid))"
    )
    with started(source, tmp_path / "pid", drain=0.05) as child, pytest.raises(ChildExited):
        child.read_line(soon())
    assert wait_until_gone(int((tmp_path / "pid").read_text()))


def test_child_is_never_blocked_by_its_stderr() -> None:
    source = (
        "for n in range(200): sys.stderr.write('y' * 10_000 + '\\n')\nsys.stderr.write('the end\\n'); print('done')"
    )
    with started(source, stderr=100, drain=WATCHDOG) as child:
        assert child.read_line(soon()) == b"done"
        with pytest.raises(ChildExited):
            child.read_line(soon())
        child.describe_end()
        assert (child.last_error_line, len(child.stderr)) == ("the end", 100)


def test_child_that_ignores_the_request_to_end_is_killed() -> None:
    ignoring = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    inner = f"import signal, time; {ignoring}; print(); {HANGING}"
    source = f"{ignoring}; c = subprocess.Popen([sys.executable, '-ISuc', {inner!r}]); print(c.pid, flush=True)\n"
    with started(source + HANGING, grace=0.05) as child:
        lines = {child.read_line(soon()), child.read_line(soon())}
    assert wait_until_gone(int(b"".join(lines)))


def test_child_may_end_by_itself_when_its_stdin_is_closed(tmp_path: Path) -> None:
    with started("print(flush=True); sys.stdin.read(); open(sys.argv[1], 'w')", tmp_path / "bye", leave=WATCHDOG) as c:
        c.read_line(soon())
    assert c.poll() == 0
    assert (tmp_path / "bye").exists()


@pytest.mark.parametrize(
    ("source", "call"),
    [
        # The file appears once we take in what the program writes, and once we have written.
        ("sys.stdout.write('x' * 1_000_000); open(sys.argv[1], 'w')", lambda child: child.read_line(None)),
        ("sys.stdin.read(1); open(sys.argv[1], 'w')", lambda child: child.write(b"x" * 5_000_000, None)),
    ],
    ids=["read", "write"],
)
def test_child_can_be_ended_while_another_thread_waits_for_it(
    tmp_path: Path, source: str, call: Callable[[Child], object]
) -> None:
    problems: list[Exception] = []

    def wait(child: Child) -> None:
        try:
            call(child)
        except ChildExited as problem:
            problems.append(problem)

    with started(f"{source}; {HANGING}", tmp_path / "waiting") as child:
        thread = threading.Thread(target=wait, args=(child,))
        thread.start()
        wait_until((tmp_path / "waiting").exists, "a thread that waits")
        enders = [threading.Thread(target=child.end) for _ in range(3)]
        for one in enders:
            one.start()
        for one in [*enders, thread]:
            one.join(WATCHDOG)
        assert not thread.is_alive()
        assert len(problems) == 1


def test_child_after_its_end_is_gone_for_everybody() -> None:
    with started(ECHO) as child:
        child.end()
        child.end()
        for call in (lambda: child.read_line(soon()), lambda: child.write(b"x", soon())):
            with pytest.raises(ChildExited):
                call()
        assert child.skip() == b""


def test_child_leaves_no_open_files_and_no_threads() -> None:
    def count() -> tuple[int, int]:
        return len(os.listdir("/dev/fd")), threading.active_count()

    with started(ECHO):
        pass
    before = count()
    for _ in range(3):
        with started(ECHO) as child:
            child.write(b"x\n", soon())
    assert count() == before


def test_child_gives_up_all_that_nobody_asked_for(tmp_path: Path) -> None:
    source = "sys.stdout.write('x' * 60_000); print(flush=True); open(sys.argv[1], 'w')\n"
    with started(source + HANGING, tmp_path / "small", read=1000) as child:
        wait_until((tmp_path / "small").exists, "a full pipe")
        assert child.skip() == b"x" * 60_000 + b"\n"
        assert child.skip() == b""
    with started(source + "while True: print('x')", tmp_path / "large", stdout=10_000, read=1000) as child:
        wait_until((tmp_path / "large").exists, "a full pipe")
        with pytest.raises(OutputLimitExceeded):
            child.skip()


def test_child_that_cannot_start_is_told() -> None:
    with pytest.raises(SetupError, match="cannot start no-such-tool"):
        Child(ProgramSpec(("no-such-tool",)))
