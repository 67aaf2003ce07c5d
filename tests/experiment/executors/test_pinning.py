"""The same processors for every engine, and what was before comes back."""

import os
import subprocess
import sys

import pytest

from assay.experiment.executors import THREAD_VARIABLES, available_threads, pinned


def state():
    return {name: os.environ.get(name) for name in THREAD_VARIABLES}, os.sched_getaffinity(0)


def test_pinned_reaches_programs_that_are_started():
    look = "import os; print(len(os.sched_getaffinity(0)), os.environ['RAYON_NUM_THREADS'])"
    with pinned(1):
        said = subprocess.check_output([sys.executable, "-c", look], text=True)
    assert said.split() == ["1", "1"]


def test_pinned_gives_back_what_was_there(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    before = state()
    with pinned(1):
        assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
    assert state() == before
    with pytest.raises(ZeroDivisionError), pinned(1):
        raise ZeroDivisionError
    assert state() == before


def test_pinned_gives_no_more_than_there_is():
    with pinned(10_000) as granted:
        assert granted == available_threads()
