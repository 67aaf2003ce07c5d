"""Comparison of two per-query tables without a gold set: query, value and, where known, the repository."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from assay.errors import InputError
from assay.files import read_utf8
from assay.stats.compare import assemble
from assay.stats.config import DEFAULT, Settings
from assay.stats.means import table_means
from assay.stats.records import Comparison, QueryValue, RunNames, ValueRange
from assay.stats.rows import EnginePair, comparison_rows
from assay.stats.runs import shared_sentence
from assay.stats.tables import MeasureColumn, ScoreTable
from assay.types import Unit

_NAMES = RunNames()
_LARGEST = 1e50
_COLUMNS = ("query", "value", "cluster")
_OWN_COLUMNS = ("engine", "gold", "query", "form", "repository", "hash", "shared")


def read_values(path: str | Path, *, engine: str | None = None, measure: str | None = None) -> tuple[QueryValue, ...]:
    """Read a CSV with the columns query, value and optionally cluster, or the per-query.csv of a run.

    The latter has several engines and measures; `engine` and `measure` select one.
    """
    file = Path(path)
    text = read_utf8(file, hint="a UTF-8 CSV file is needed")
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True)
    header = tuple(reader.fieldnames or ())
    if {"engine", "gold", "query", "form"} <= set(header):
        return _own_values(list(reader), file, engine, measure)
    if engine or measure:
        raise InputError("has one value a query", file=file, line=1, hint="leave --engine and --primary out")
    if not {"query", "value"} <= set(header) <= set(_COLUMNS):
        raise InputError(
            f"the columns are {', '.join(header) or 'missing'}",
            file=file,
            line=1,
            hint="query,value or query,value,cluster",
        )
    rows: dict[str, QueryValue] = {}
    for line in reader:
        row = _value(line, file, reader.line_num)
        if row.query in rows:
            raise InputError(
                f"query {row.query!r} is there twice", file=file, line=reader.line_num, hint="one line a query"
            )
        rows[row.query] = row
    return tuple(rows.values())


def _own_values(
    lines: Sequence[Mapping[str, str]], file: Path, engine: str | None, measure: str | None
) -> tuple[QueryValue, ...]:
    engines = list(dict.fromkeys(line["engine"] for line in lines))
    measures = [name for name in (lines[0] if lines else ()) if name not in _OWN_COLUMNS]
    if engine not in engines:
        raise InputError(f"holds {', '.join(engines) or 'no engine'}", file=file, hint="choose one with --engine")
    column = measure or next(iter(measures), "")
    if column not in measures:
        raise InputError(
            f"no column {column!r}", file=file, line=1, hint=f"choose with --primary: {', '.join(measures)}"
        )
    rows: dict[str, QueryValue] = {}
    for number, line in enumerate(lines, start=2):
        name = f"{line['gold']}/{line['query']}"
        if line["engine"] == engine and name not in rows and line[column]:
            value = _number(line[column])
            if value is None:
                hint = "leave the cell empty where the measure does not apply"
                raise InputError(f"expected a number, got {line[column]!r}", file=file, line=number, hint=hint)
            rows[name] = QueryValue(name, value, line.get("repository", ""), line.get("shared", ""))
    return tuple(rows.values())


def _number(text: str | None) -> float | None:
    """Return the number, or None if it is not a number or too large to be squared and summed."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if abs(value) <= _LARGEST else None


def _value(line: Mapping[str | None, str | None], file: Path, number: int) -> QueryValue:
    query, text, cluster = (line.get(name) for name in _COLUMNS)
    value = _number(text)
    if not query or value is None or None in line:
        raise InputError(
            f"not a query and a number: {query!r}, {text!r}", file=file, line=number, hint="query,value[,cluster]"
        )
    return QueryValue(query, value, cluster or "")


def compare_values(
    a: Sequence[QueryValue],
    b: Sequence[QueryValue],
    *,
    names: RunNames = _NAMES,
    bounds: ValueRange | None = None,
    higher_is_better: bool = True,
    margin: float = DEFAULT.margin,
    alpha: float = DEFAULT.alpha,
    seed: int = DEFAULT.seed,
    B: int = DEFAULT.resamples,
) -> Comparison:
    """Compare two per-query tables on the queries both have; `a` is the baseline.

    Without `bounds` the range is [0, 1] if it includes every value, else the observed one.
    """
    settings = Settings(margin, alpha, seed, B)
    old, new = ({row.query: row for row in rows} for rows in (a, b))
    shared = [query for query in old if query in new]
    sentence = shared_sentence(len(shared), max(len(old), len(new)), names)
    _check_clusters(shared, old, new)
    units = tuple(
        Unit("", query, "", old[query].cluster, shared=old[query].shared or new[query].shared) for query in shared
    )
    measure = MeasureColumn("value", 0, bounds or replace(_seen([*a, *b]), higher_is_better=higher_is_better))
    values = np.array([[[rows[query].value for query in shared]] for rows in (old, new)])
    table = ScoreTable((names.old, names.new), units, values)
    pair = EnginePair(names.new, names.old, measure.name, measure.bounds, values[1, 0], values[0, 0])
    rows = comparison_rows([pair], units, settings)
    found = assemble(rows, table_means(table, [measure], alpha), measure, names.old, settings, None)
    return replace(found, notes=(sentence, *found.notes))


def _check_clusters(shared: Sequence[str], old: Mapping[str, QueryValue], new: Mapping[str, QueryValue]) -> None:
    for query in shared:
        if old[query].cluster != new[query].cluster:
            raise InputError(
                f"query {query!r} is in cluster {old[query].cluster!r}, in the other file {new[query].cluster!r}",
                hint="a query has one cluster; leave the column out of both files or make them agree",
            )


def _seen(rows: Sequence[QueryValue]) -> ValueRange:
    low, high = min(row.value for row in rows), max(row.value for row in rows)
    return ValueRange() if low >= 0.0 and high <= 1.0 else ValueRange(min(0.0, low), max(0.0, high))
