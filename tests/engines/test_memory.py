from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.engines import memory
from assay.engines.memory import AddedMemory
from tests.clocked import clocked

SIZE = 60_000_000


def take() -> bytearray:
    held = bytearray(SIZE)
    held[::4_096] = b"x" * len(held[::4_096])
    return held


@clocked
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_memory_is_what_calls_added_and_not_what_came_between() -> None:
    watch = AddedMemory()
    with watch.watching():
        kept = take()
    if watch.peak is None:
        pytest.skip("this kernel does not let the peak be reset")
    assert SIZE * 0.9 < watch.peak < SIZE * 1.5
    between = take()
    with watch.watching():
        take()
    assert SIZE * 1.8 < watch.peak < SIZE * 2.5
    assert len(kept) == len(between) == SIZE


def test_memory_is_not_known_where_the_kernel_does_not_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_CLEAR", tmp_path / "no" / "clear_refs")
    watch = AddedMemory()
    with watch.watching():
        pass
    assert watch.peak is None
