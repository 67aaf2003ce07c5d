"""The value of every measure on every query: as CSV, and as Parquet where pyarrow is there."""

from __future__ import annotations

import csv
import io
import math
from types import ModuleType

from assay.errors import EnvironmentFailure, install_hint
from assay.types import Scores, Unit

_NAMES = ("engine", "gold", "query", "form", "repository", "hash", "shared")


def per_query_csv(scores: Scores) -> str:
    """Write one line for each engine × form of a query, one column for each measure; empty where it does not apply."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*_NAMES, *scores.measures])
    for engine, values in zip(scores.engines, scores.values, strict=True):
        for unit, row in zip(scores.units, values.T.tolist(), strict=True):
            writer.writerow([*_names(engine, unit), *map(_text, row)])
    return stream.getvalue()


def _names(engine: str, unit: Unit) -> tuple[str, ...]:
    """Name the engine, and what it was asked."""
    return (engine, unit.gold, unit.query, unit.form, unit.repository, unit.hash, unit.shared)


def _text(value: float) -> str:
    """Write a value so that it reads back as the same number."""
    return "" if math.isnan(value) else repr(value)


def require_parquet() -> ModuleType:
    """Load what writes Parquet, or say how to get it: before anything runs, not after."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise EnvironmentFailure("--parquet needs pyarrow", hint=install_hint("parquet")) from error
    module: ModuleType = pyarrow
    return module


def parquet_bytes(scores: Scores) -> bytes:
    """Give what the CSV has, typed: names as text, values as doubles, null where a measure does not apply."""
    pyarrow = require_parquet()
    rows = [_names(engine, unit) for engine in scores.engines for unit in scores.units]
    columns = {name: pyarrow.array([row[at] for row in rows], pyarrow.string()) for at, name in enumerate(_NAMES)}
    for m, measure in enumerate(scores.measures):
        columns[measure] = pyarrow.array(scores.values[:, m, :].reshape(-1), pyarrow.float64(), from_pandas=True)
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), stream)
    return stream.getvalue()
