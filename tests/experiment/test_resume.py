"""A run that was killed resumes: only what is missing runs, and the results are the same, byte for byte."""

import json
import random
import time

import pytest

from tests.experiment.sweeping import finish, kill_after, kill_midway, start, written


@pytest.mark.parametrize("kills", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_killed_run_resumes_to_the_bytes_of_an_undisturbed_one(swept, kills):
    out, cache = f"resumed-{kills}", f"cache-resumed-{kills}"
    flags = ("--jobs", "2", "--out", out)
    for _ in range(kills):
        kill_midway(swept.folder, *flags, cache=cache)
    assert finish(start(swept.folder, *flags, cache=cache)) == (0, "")
    assert written(swept.folder / out) == swept.results
    cells = json.loads((swept.folder / out / "timings.json").read_text())["cells"]
    reasons = {cell["reason"] for cell in cells}
    assert {"taken from the cache of an earlier run", "cells ran side by side"} <= reasons
    assert not (swept.folder / out / ".unfinished").exists()


@pytest.mark.soak
def test_run_killed_at_twenty_instants_resumes_to_the_same_bytes(swept):
    begin = time.monotonic()
    assert finish(start(swept.folder, "--out", "whole", cache="cache-whole")) == (0, "")
    seconds = time.monotonic() - begin
    draw = random.Random(2)
    cut = 0
    for number in range(20):
        out, cache = f"out-{number}", f"cache-{number}"
        cut += kill_after(swept.folder, draw.uniform(0.2, seconds), "--out", out, cache=cache)
        assert finish(start(swept.folder, "--out", out, cache=cache)) == (0, "")
        assert written(swept.folder / out) == swept.results
    assert cut  # a test that killed nothing shows nothing
