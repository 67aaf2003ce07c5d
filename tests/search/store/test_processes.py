"""Several processes at one store, and processes that are killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from assay.errors import SetupError
from assay.store.array_file import read_store, write_store
from assay.store.store import writer_lock
from tests.waiting import WATCHDOG

_BEGIN = """
import os, sys, time
import numpy as np
from pathlib import Path
from assay.store.array_file import IndexFormatError, read_store, write_store
from assay.store.store import writer_lock
folder = Path(sys.argv[1])
path = folder / "index.assay"
"""
#: Every state is told by each of its parts: meta, and each number of two arrays of a size of its own.
_WRITE = (
    _BEGIN
    + """
state = read_store(path).meta["state"]
while True:
    state += 1
    with writer_lock(folder):
        write_store(path, {"state": state}, {"a": np.full(50_000 + state % 7, state), "b": np.full(9, state)})
    print(state, flush=True)
"""
)
_COUNT = (
    _BEGIN
    + """
for _ in range(int(sys.argv[2])):
    with writer_lock(folder):
        count = int(read_store(path).arrays["count"][0])
        write_store(path, {}, {"count": np.array([count + 1])})
"""
)
_HOLD = (
    _BEGIN
    + """
with writer_lock(folder):
    if "fork" in sys.argv and os.fork() == 0:
        print(os.getpid(), flush=True)
    elif "fork" not in sys.argv:
        print(os.getpid(), flush=True)
    time.sleep(3600)
"""
)


def _start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True)


def _state(path: Path) -> int:
    """Read the state, and see that it is whole."""
    stored = read_store(path)
    state = stored.meta["state"]
    assert isinstance(state, int)
    assert stored.arrays["a"].shape == (50_000 + state % 7,)
    assert (stored.arrays["a"] == state).all()
    assert (stored.arrays["b"] == state).all()
    return state


def _killed_at_random(folder: Path, times: int, seed: int) -> None:
    draw = random.Random(seed)
    path = folder / "index.assay"
    write_store(path, {"state": 0}, {"a": np.full(50_000, 0), "b": np.full(9, 0)})
    for _ in range(times):
        before = _state(path)
        process = _start(_WRITE, str(folder))
        assert process.stdout is not None
        first = int(process.stdout.readline())
        time.sleep(draw.uniform(0, 0.05))
        for _ in range(3):
            last, before = before, _state(path)
            assert before >= last, "while it is written, a reader meets whole states in their order"
        process.kill()
        last = int(([str(first), *process.communicate()[0].split()])[-1])
        assert _state(path) in (last, last + 1)
        with writer_lock(folder, WATCHDOG):
            assert sorted(os.listdir(folder)) == ["index.assay", "lock"], "the next writer cleans up"


def test_store_of_a_killed_writer_is_old_or_new(tmp_path) -> None:
    _killed_at_random(tmp_path, 3, 1)


@pytest.mark.soak
def test_store_of_a_writer_killed_fifty_times_is_old_or_new(tmp_path) -> None:
    _killed_at_random(tmp_path, 50, 2)


def test_lock_loses_no_increment_of_many_processes(tmp_path) -> None:
    write_store(tmp_path / "index.assay", {}, {"count": np.array([0])})
    running = [_start(_COUNT, str(tmp_path), "25") for _ in range(3)]
    for process in running:
        process.communicate(timeout=WATCHDOG)
        assert process.returncode == 0
    assert read_store(tmp_path / "index.assay").arrays["count"].tolist() == [75]


def test_lock_keeps_threads_and_others_out_and_names_the_holder(tmp_path) -> None:
    soon = 0.05
    with writer_lock(tmp_path), pytest.raises(SetupError) as caught, writer_lock(tmp_path, soon):
        pytest.fail("two writers")
    assert caught.value.hint
    assert str(os.getpid()) in caught.value.hint
    with writer_lock(tmp_path, 0.05):
        pass


def test_lock_is_free_again_after_an_error(tmp_path) -> None:
    with pytest.raises(ValueError), writer_lock(tmp_path):
        raise ValueError("while indexing")
    with writer_lock(tmp_path, 0.05):
        pass


@pytest.mark.parametrize("how", ["alone", "fork"])
def test_lock_of_a_killed_holder_is_free_even_when_its_child_lives(tmp_path, how) -> None:
    process = _start(_HOLD, str(tmp_path), how)
    assert process.stdout is not None
    speaker = int(process.stdout.readline())
    with pytest.raises(SetupError), writer_lock(tmp_path, 0.05):
        pytest.fail("two writers")
    process.kill()
    process.wait()
    try:
        if how == "fork":
            os.kill(speaker, 0)
        with writer_lock(tmp_path, WATCHDOG):
            pass
    finally:
        if how == "fork":
            os.kill(speaker, signal.SIGKILL)
        process.stdout.close()


def test_lock_of_an_unusable_folder_is_an_environment_failure_with_a_hint(tmp_path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError) as caught, writer_lock(tmp_path / "file" / "index"):
        pytest.fail("there is no such folder")
    assert "ASSAY_CACHE_DIR" in str(caught.value.hint)
