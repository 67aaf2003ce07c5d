from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.engines import memory
from assay.engines.memory import PeakMemory

SIZE = 60_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_peak_memory_is_what_was_added_since_and_not_before() -> None:
    before = bytearray(SIZE)
    watch = PeakMemory()
    quiet = watch.added()
    held = bytearray(SIZE)
    held[::4_096] = b"x" * len(held[::4_096])
    del held
    after = watch.added()
    assert len(before) == SIZE
    if quiet is None or after is None:
        pytest.skip("this kernel does not let the peak be reset")
    assert quiet < SIZE / 2
    assert SIZE * 0.9 < after < SIZE * 2


def test_peak_memory_is_not_known_where_the_kernel_does_not_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_CLEAR", tmp_path / "no" / "clear_refs")
    assert PeakMemory().added() is None
