"""Everybody on the standard library: `python -m benchmarks peers-library`."""

from __future__ import annotations

from benchmarks.pages import Section
from benchmarks.peers.sets import library
from benchmarks.peers.table import measure


def main() -> Section:
    """Ask everybody."""
    return measure(library())
