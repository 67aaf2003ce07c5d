"""Tests whose bound is the clock on the wall, or that must look at a program while it works.

A machine that is busy elsewhere gets two more tries; an Assay that is slow fails all three. No other test is run again.
"""

import pytest

clocked = pytest.mark.flaky(reruns=2, reruns_delay=2, only_rerun=["AssertionError"])
