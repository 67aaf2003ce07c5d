"""What cells took, for whoever waits for them: no part of the results, because others ran beside them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from assay.experiment.records.codec import dump
from assay.experiment.records.layout import TIMINGS
from assay.files import write_atomic

#: Why times of cells are not compared.
SIDE_BY_SIDE = "cells ran side by side"
IN_TURN = "one after the other in one process, sharing indexes"
SHARDED = "asked in shards, here or elsewhere"
KEPT = "taken from earlier work"


@dataclass(frozen=True, slots=True)
class CellTiming:
    """What one engine took on one gold set, where it ran."""

    engine: str
    gold: str
    index_seconds: float | None = None  # None: it was not opened here
    query_seconds: float = 0.0
    worker: str = ""
    comparable: bool = False
    reason: str = SIDE_BY_SIDE


def write_timings(folder: Path, rows: Iterable[CellTiming]) -> None:
    """Write timings.json, one line a cell; it is kept out of version control."""
    cells = ",\n".join(f"  {dump(asdict(row))}" for row in rows)
    write_atomic(folder / TIMINGS, f'{{\n "schema": "assay/timings/1",\n "cells": [\n{cells}\n ]\n}}\n')
