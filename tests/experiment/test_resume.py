"""Kill it at any instant and run it again: only what is missing runs, and the results are the same, byte for byte."""

import random
import time

import pytest

from tests.experiment.sweeping import broken_off, lay_out, sweep, written


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """The results of a run that nothing happened to, and how long it took."""
    folder = lay_out(tmp_path_factory.mktemp("unbroken"))
    start = time.monotonic()
    done = sweep(folder)
    assert done.returncode == 0, done.stderr
    return folder, written(folder / "results"), time.monotonic() - start


def check_kills(unbroken, tmp_path, kills, seed):
    folder, wanted, seconds = unbroken
    draw = random.Random(seed)
    cut = 0
    for number in range(kills):
        cache, out = f"cache-{seed}-{number}", f"out-{seed}-{number}"
        cut += broken_off(folder, draw.uniform(0.2, seconds), "--out", out, cache=cache)
        done = sweep(folder, "--out", out, cache=cache)
        assert done.returncode == 0, done.stderr
        assert written(folder / out) == wanted
    assert cut  # a test that killed nothing would show nothing


def test_a_run_that_was_killed_goes_on_to_the_same_bytes(unbroken, tmp_path):
    check_kills(unbroken, tmp_path, 3, seed=1)


@pytest.mark.soak
def test_a_run_that_was_killed_at_twenty_instants_goes_on_to_the_same_bytes(unbroken, tmp_path):
    check_kills(unbroken, tmp_path, 20, seed=2)


def test_a_run_that_was_killed_twice_goes_on_to_the_same_bytes(unbroken, tmp_path):
    folder, wanted, seconds = unbroken
    for share in (0.4, 0.6):
        broken_off(folder, share * seconds, "--out", "twice", cache="cache-twice")
    assert sweep(folder, "--out", "twice", cache="cache-twice").returncode == 0
    assert written(folder / "twice") == wanted


def test_the_way_it_is_run_does_not_show(unbroken):
    folder, wanted, _ = unbroken
    assert sweep(folder, "--jobs", "1", "--out", "here", cache="cache-here").returncode == 0
    assert written(folder / "here") == wanted


def test_nothing_is_left_of_what_was_unfinished(unbroken):
    folder, _, _ = unbroken
    assert not (folder / "results" / ".unfinished").exists()
