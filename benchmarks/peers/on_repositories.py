"""Everybody on five repositories of semble's visible half: `python -m benchmarks peers-repositories`."""

from __future__ import annotations

from benchmarks.pages import Section
from benchmarks.peers.sets import repositories
from benchmarks.peers.table import measure


def main() -> Section:
    """Ask everybody."""
    return measure(repositories())
