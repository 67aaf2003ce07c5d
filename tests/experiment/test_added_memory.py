from __future__ import annotations

import subprocess
import sys

import pytest

from assay.processes.forks import AddedMemory, Fork
from tests.waiting import WATCHDOG

SIZE = 60_000_000


def take() -> bytearray:
    held = bytearray(SIZE)
    held[::4_096] = b"x" * len(held[::4_096])
    return held


def watched() -> tuple[AddedMemory, bytearray]:
    """Watch a call that keeps what it takes."""
    watch = AddedMemory()
    with watch.measure():
        kept = take()
    if watch.peak is None:
        pytest.skip("this kernel does not let the peak be reset")
    return watch, kept


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_memory_is_at_least_what_calls_added() -> None:
    watch, kept = watched()
    assert watch.peak is not None
    assert watch.peak > SIZE * 0.9
    with watch.measure():
        take()
    assert watch.peak > SIZE * 1.8
    assert len(kept) == SIZE


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_memory_is_not_what_came_between_calls() -> None:
    watch, kept = watched()
    assert watch.peak is not None
    assert watch.peak / SIZE < 1.5
    between = take()
    with watch.measure():
        take()
    assert watch.peak / SIZE < 2.5
    assert len(kept) == len(between) == SIZE


@pytest.mark.soak
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_memory_of_forked_children_counts() -> None:
    watch, kept = watched()
    with watch.measure():
        assert Fork(lambda: len(take())).result() == SIZE
    assert watch.peak is not None
    assert watch.peak > SIZE * 1.8
    assert len(kept) == SIZE


def test_memory_is_not_known_where_the_kernel_does_not_tell() -> None:
    script = (
        "import resource\nfrom assay.processes.forks import AddedMemory\nwatch = AddedMemory()\n"
        "limit = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (0, limit[1]))\n"  # no file can be opened
        "with watch.measure(): pass\nprint(watch.peak)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=WATCHDOG, check=True)
    assert done.stdout == "None\n"
