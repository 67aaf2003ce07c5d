"""A run that was killed resumes: only what is missing runs, and the results are the same, byte for byte."""

import json
import random
import time

import pytest

from tests.experiment.sweeping import finish, kill_after, kill_midway, start, written


def test_run_killed_twice_resumes_to_the_bytes_of_an_undisturbed_one(swept):
    flags = ("--jobs", "2", "--out", "resumed")
    for _ in range(2):
        kill_midway(swept.folder, *flags, cache="cache-resumed")
    assert finish(start(swept.folder, *flags, cache="cache-resumed")) == (0, "")
    assert written(swept.folder / "resumed") == swept.results
    cells = json.loads((swept.folder / "resumed" / "timings.json").read_text())["cells"]
    reasons = {cell["reason"] for cell in cells}
    assert {"taken from earlier work", "cells ran side by side"} <= reasons
    assert not (swept.folder / "resumed" / ".unfinished").exists()


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
