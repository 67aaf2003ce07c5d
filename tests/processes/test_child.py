"""A program that stays: whatever it does, every call comes back in time and nothing is left behind."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import EnvironmentFailure
from assay.processes import Child, ChildFlood, ChildGone, ChildLimits, ChildTimeout, Task
from tests.clocked import clocked
from tests.processes import wait_until_gone
from tests.properties import examples

Start = Callable[..., Child]
ECHO = "for line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.flush()"


def soon(seconds: float = 10.0) -> float:
    """A deadline."""
    return time.monotonic() + seconds


@contextlib.contextmanager
def started(source: str, **limits: float) -> Iterator[Child]:
    """Run a Python program, and see that it is gone afterwards."""
    argv = (sys.executable, "-I", "-c", "import os, sys, time, signal, subprocess\n" + source)
    child = Child(Task(argv), ChildLimits(**limits))  # type: ignore[arg-type]
    try:
        yield child
    finally:
        child.end()
        assert not child.alive
        assert wait_until_gone(child.pid)


def test_child_answers_line_by_line() -> None:
    with started(ECHO) as child:
        for text in (b"one", b"", b"two\r", b"x" * 200_000, "größe".encode()):
            child.write(text + b"\n", soon())
            assert child.read_line(soon()) == text
        assert child.alive
        assert child.code is None


@examples(20)
@given(st.lists(st.binary(max_size=300).filter(lambda data: b"\n" not in data), max_size=20))
def test_child_gives_every_line_once_and_in_order(lines: list[bytes]) -> None:
    with started(ECHO) as child:
        child.write(b"".join(line + b"\n" for line in lines), soon())
        assert [child.read_line(soon()) for _ in lines] == lines


def test_child_reads_up_to_a_marker_that_comes_in_pieces() -> None:
    source = "for part in ('a >', 'b\\n>', '> c\\n>> '): print(end=part, flush=True); time.sleep(0.1)\ninput()"
    with started(source) as child:
        assert child.read_until(re.compile(rb"^>> ", re.MULTILINE), soon()) == b"a >b\n"
        assert child.read_until(re.compile(rb"^>> ", re.MULTILINE), soon()) == b"c\n"


@clocked
def test_child_that_hangs_is_a_timeout_and_can_be_read_later() -> None:
    with started("time.sleep(0.6); print('late'); sys.stdout.flush(); time.sleep(60)") as child:
        begin = time.monotonic()
        with pytest.raises(ChildTimeout):
            child.read_line(soon(0.2))
        assert 0.2 <= time.monotonic() - begin < 0.5
        assert child.read_line(soon()) == b"late"


def test_child_line_without_end_is_a_flood_and_is_not_held() -> None:
    source = "block = b'x' * 1_000_000\nfor _ in range(1000): sys.stdout.buffer.write(block)"
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with started(source, line=2_000_000) as child:
        for reading in (lambda: child.read_line(soon()), lambda: child.read_until(re.compile(b"y"), soon())):
            with pytest.raises(ChildFlood, match="2,000,000"):
                reading()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB


def test_child_that_reads_nothing_is_a_timeout_of_the_writer() -> None:
    with started("time.sleep(60)") as child, pytest.raises(ChildTimeout):
        child.write(b"x" * 5_000_000, soon(0.3))


def test_child_that_talks_before_it_listens_does_not_lock_up() -> None:
    size = 3_000_000
    source = f"sys.stdout.buffer.write(b'y' * {size} + b'\\n'); sys.stdout.flush()\nprint(len(sys.stdin.readline()))"
    with started(source) as child:
        child.write(b"x" * size + b"\n", soon())
        assert child.read_line(soon()) == b"y" * size
        assert child.read_line(soon()) == str(size + 1).encode()


@clocked
@pytest.mark.parametrize(
    ("source", "words", "said"),
    [
        ("input(); print(end='half', flush=True); print('oh', file=sys.stderr); os.abort()", "died by SIGABRT", "oh"),
        ("input(); sys.exit(3)", "ended with exit code 3", ""),
        ("input(); os.close(1); time.sleep(60)", "closed its output", ""),
    ],
)  # fmt: skip
def test_child_that_dies_midway_is_gone_at_once(source: str, words: str, said: str) -> None:
    with started(source) as child:
        child.write(b"q\n", soon())
        begin = time.monotonic()
        with pytest.raises(ChildGone):
            child.read_line(soon())
        assert time.monotonic() - begin < 5
        assert (child.describe_end(), child.last_words) == (words, said)


def test_child_has_its_last_words_even_when_they_are_read_late(monkeypatch: pytest.MonkeyPatch) -> None:
    read = os.read

    def slowly(handle: int, count: int) -> bytes:
        time.sleep(0.2 if threading.current_thread().name == "assay-stderr" else 0)
        return read(handle, count)

    monkeypatch.setattr("assay.processes.child.os.read", slowly)
    with started("print('oh', file=sys.stderr); os.abort()") as child:
        with pytest.raises(ChildGone):
            child.read_line(soon())
        assert child.describe_end() == "died by SIGABRT"
        assert child.last_words == "oh"


def test_child_has_said_what_it_said_before_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Child, "_listen", lambda self: None)  # a thread that never gets its turn
    with started("print('hello', file=sys.stderr, flush=True)\n" + ECHO) as child:
        child.write(b"a\n", soon())
        assert child.read_line(soon()) == b"a"
        assert (child.stderr, child.last_words) == (b"hello\n", "hello")


def test_child_that_is_gone_takes_nothing_more() -> None:
    with started("pass") as child:
        with pytest.raises(ChildGone):
            child.read_line(soon())
        with pytest.raises(ChildGone):
            child.write(b"x" * 1_000_000, soon())
    with started("os.close(0); print(); sys.stdout.flush(); time.sleep(60)") as child:
        child.read_line(soon())
        with pytest.raises(ChildGone):
            child.write(b"x", soon())


def test_child_gives_the_lines_of_a_program_that_ended() -> None:
    with started("print('a'); print('b'); print('rest', end='')") as child:
        assert (child.read_line(soon()), child.read_line(soon())) == (b"a", b"b")
        with pytest.raises(ChildGone):
            child.read_line(soon())


@clocked
@pytest.mark.parametrize("leaves", [False, True])
def test_child_leaves_no_grandchild_that_holds_the_pipe(tmp_path: Path, leaves: bool) -> None:
    if leaves and sys.platform != "linux":
        pytest.skip("LOUD: who holds a pipe is known on Linux only")
    daemon = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=LEAVES)"
    source = (
        f"held = {daemon.replace('LEAVES', str(leaves))}\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(held.pid))"
    )
    with started(source) as child:
        begin = time.monotonic()
        with pytest.raises(ChildGone):
            child.read_line(soon(20))
        assert time.monotonic() - begin < 5
    assert wait_until_gone(int((tmp_path / "pid").read_text()))


def test_child_is_never_blocked_by_its_stderr() -> None:
    source = (
        "for n in range(200): sys.stderr.write('y' * 10_000 + '\\n')\nsys.stderr.write('the end\\n'); print('done')"
    )
    with started(source, stderr=100) as child:
        assert child.read_line(soon()) == b"done"
        with pytest.raises(ChildGone):
            child.read_line(soon())
        child.describe_end()
        assert (child.last_words, len(child.stderr)) == ("the end", 100)


@clocked
def test_child_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    ignoring = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    inner = f"import signal, time; {ignoring}; print(); time.sleep(60)"
    source = f"{ignoring}; c = subprocess.Popen([sys.executable, '-uc', {inner!r}]); print(c.pid, flush=True)\n"
    source += "time.sleep(60)"
    with started(source, grace=0.2) as child:
        lines = {child.read_line(soon()), child.read_line(soon())}
        begin = time.monotonic()
        child.end()
        assert time.monotonic() - begin < 3
    assert wait_until_gone(int(b"".join(lines)))


def test_child_may_end_by_itself_when_its_stdin_is_closed(tmp_path: Path) -> None:
    with started(
        f"print(); sys.stdout.flush(); sys.stdin.read(); open({str(tmp_path / 'bye')!r}, 'w')", leave=5
    ) as child:
        child.read_line(soon())
    assert child.code == 0
    assert (tmp_path / "bye").exists()


@pytest.mark.parametrize("call", ["read", "write"])
def test_child_can_be_ended_while_another_thread_waits_for_it(call: str) -> None:
    problems: list[Exception] = []

    def wait(child: Child) -> None:
        try:
            child.read_line(None) if call == "read" else child.write(b"x" * 5_000_000, None)
        except ChildGone as problem:
            problems.append(problem)

    with started("time.sleep(60)") as child:
        thread = threading.Thread(target=wait, args=(child,))
        thread.start()
        time.sleep(0.1)
        enders = [threading.Thread(target=child.end) for _ in range(3)]
        for one in [*enders]:
            one.start()
        for one in [*enders, thread]:
            one.join(5)
        assert not thread.is_alive()
        assert len(problems) == 1


def test_child_after_its_end_is_gone_for_everybody() -> None:
    with started(ECHO) as child:
        child.end()
        child.end()
        for call in (lambda: child.read_line(soon()), lambda: child.write(b"x", soon())):
            with pytest.raises(ChildGone):
                call()
        assert child.skip() == b""


def test_child_leaves_no_open_files_and_no_threads() -> None:
    def count() -> tuple[int, int]:
        return len(os.listdir("/dev/fd")), threading.active_count()

    with started(ECHO):
        pass
    before = count()
    for _ in range(5):
        with started(ECHO) as child:
            child.write(b"x\n", soon())
    assert count() == before


def test_child_gives_up_what_nobody_asked_for() -> None:
    with started("print('unasked', flush=True); time.sleep(60)") as child:
        end = soon(5)
        unasked = b""
        while not unasked and time.monotonic() < end:
            unasked = child.skip()
        assert unasked == b"unasked\n"
        assert child.skip() == b""


def test_child_gives_up_all_that_nobody_asked_for() -> None:
    with started(
        "sys.stdout.write('x' * 60_000); sys.stdout.flush(); print('end', flush=True); input()", read=1000
    ) as child:
        time.sleep(0.5)
        assert child.skip() == b"x" * 60_000 + b"end\n"
    with started("while True: sys.stdout.write('x' * 100_000)", line=10_000, read=1000) as child:
        time.sleep(0.3)  # its pipe is full by then
        with pytest.raises(ChildFlood):
            child.skip()


@clocked
def test_child_tells_the_memory_of_its_whole_group() -> None:
    if sys.platform != "linux":
        pytest.skip("LOUD: measured on Linux only")
    inner = "block = bytearray(60_000_000); print(flush=True); import time; time.sleep(60)"
    source = f"block = bytearray(90_000_000); c = subprocess.Popen([sys.executable, '-c', {inner!r}])\ntime.sleep(60)"
    with started(source) as child:
        child.read_line(soon())
        peak = child.peak_bytes()
        assert peak is not None
        assert 150_000_000 < peak < 250_000_000
    assert (child.peak_bytes() or 0) >= peak


def test_child_that_cannot_start_is_told() -> None:
    with pytest.raises(EnvironmentFailure, match="cannot start no-such-tool"):
        Child(Task(("no-such-tool",)))
