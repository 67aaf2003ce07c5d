"""Compare two runs, or two per-query tables without a gold set, on their common queries."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from assay.errors import ConfigError, InputError, NotComparableError
from assay.files import read_utf8
from assay.stats.compare import assemble, compare_table, table_means
from assay.stats.config import DEFAULT, CompareOptions, CompareSettings
from assay.stats.records import Comparison, QueryValue, RunNames, ValueRange
from assay.stats.rows import EnginePair, comparison_rows
from assay.stats.tables import MeasureColumn, ScoreTable, columns, headline
from assay.types import Scores, Unit

if TYPE_CHECKING:
    from assay.scoring import Measure
    from assay.scoring.grid import BoolArray, FloatArray

_NAMES = RunNames()
_LARGEST = 1e50  # larger values cannot be squared and summed
_COLUMNS = ("query", "value", "cluster")
_OWN_COLUMNS = ("engine", "gold", "query", "form", "repository", "hash", "shared")


def compare_scores(
    a: Scores,
    b: Scores,
    *,
    primary: Measure | str,
    names: RunNames = _NAMES,
    measures: Sequence[Measure | str] | None = None,
    B: int = DEFAULT.resamples,
    family: Sequence[str] | None = None,
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Compare each engine in run `b` with the same engine in the baseline run `a`, on queries with equal hashes.

    If each run has one engine, their names may differ. `family` lists the engines of run `b` whose comparisons were
    declared beforehand [default: all].
    """
    settings = CompareSettings(resamples=B, **options)
    wanted = [name for name in a.measures if name in b.measures] if measures is None else measures
    first, second = headline(a, settings.cluster), headline(b, settings.cluster)
    before, after = columns(a, primary, wanted), columns(b, primary, wanted)
    matched, old, new = match_queries(first, second)
    pairs = zip(old.units, new.units, strict=True)
    units = tuple(replace(unit, shared=other.shared or unit.shared) for unit, other in pairs)
    old = replace(old, units=units)
    engines = [(engine, engine) for engine in a.engines if engine in b.engines]
    if len(a.engines) == len(b.engines) == 1:  # compared even if their names differ
        engines = [(a.engines[0], b.engines[0])]
    if not engines:
        message = f"the two runs have no engine in common: {', '.join(a.engines)}; {', '.join(b.engines)}"
        raise NotComparableError(message, hint="use the same engine names in both runs")
    missing = (np.isnan(first.values[:, before[0].at]), np.isnan(second.values[:, after[0].at]))
    complete = [np.asarray(~values.any(axis=0)) for values in missing]
    sentence = compared_sentence(complete[0], complete[1], matched, before[0].name, names)

    aligned = [
        EnginePair(
            engine=f"{new_engine} ({names.new})",
            baseline=f"{old_engine} ({names.old})",
            measure=old_column.name,
            bounds=old_column.bounds,
            new=new.row(new_engine, new_column),
            old=old.row(old_engine, old_column),
        )
        for old_column, new_column in zip(before, after, strict=True)
        for old_engine, new_engine in engines
    ]
    rows = comparison_rows(aligned, units, settings)
    declared = None
    if family is not None:
        declared = [f"{engine} ({names.new})" for _, engine in engines if engine in family]
        if not declared:
            raise NotComparableError(
                f"no engine of the declared family is in both runs: {', '.join(family)}",
                hint=f"choose from: {', '.join(engine for _, engine in engines)}",
            )
    means = [
        replace(row, engine=f"{row.engine} ({run})")
        for table, chosen, run in ((old, before, names.old), (new, after, names.new))
        for row in table_means(table, chosen, settings.alpha, settings.cluster)
    ]
    comparison = assemble(rows, means, before[0], names.old, settings, declared)
    return replace(comparison, notes=(sentence, *comparison.notes))


def compared_sentence(old: BoolArray, new: BoolArray, matched: Mapping[int, int], measure: str, names: RunNames) -> str:
    """Return a sentence with the number of compared queries, which have the same hash and a value in both runs."""
    total = max(int(old.sum()), int(new.sum()))
    if not total or (old.all() and new.all()):  # without any value the comparison itself raises an error
        return shared_sentence(len(matched), max(len(old), len(new)), names)
    shared = sum(bool(old[i] and new[j]) for i, j in matched.items())
    return shared_sentence(shared, total, names, f"queries with a value of {measure}")


def shared_sentence(shared: int, total: int, names: RunNames, queries: str = "queries") -> str:
    """Return a sentence with the number of shared queries; raise NotComparableError if there are too few."""
    share = shared / total if total else 0.0
    if share < DEFAULT.shared_queries:
        raise NotComparableError(
            f"only {shared} of {total} {queries} ({share:.0%}) are the same in {names.old} and {names.new}, "
            f"at least {DEFAULT.shared_queries:.0%} are needed",
            hint="run both on the same gold set",
        )
    return f"Compared on the {shared} of {total} {queries} that are the same in {names.old} and {names.new}."


def match_queries(old: ScoreTable, new: ScoreTable) -> tuple[dict[int, int], ScoreTable, ScoreTable]:
    """Match the queries of two tables by id, phrasing and hash; queries without a hash never match.

    Return a mapping from columns of `old` to columns of `new`, and both tables reduced to the matched queries.
    """
    position = {(unit.intent, unit.form, unit.hash): i for i, unit in enumerate(new.units) if unit.hash}
    keys = ((i, (unit.intent, unit.form, unit.hash)) for i, unit in enumerate(old.units))
    matched = {i: position[key] for i, key in keys if key in position}
    sides = ((old, list(matched)), (new, list(matched.values())))
    first, second = (
        ScoreTable(table.engines, tuple(table.units[i] for i in columns), table.values[:, :, columns])
        for table, columns in sides
    )
    return matched, first, second


@dataclass(frozen=True, slots=True)
class EngineOfRun:
    scores: Scores
    engine: str
    run: str  # the display name of the run


@dataclass(frozen=True, slots=True)
class JoinedEngines:
    scores: Scores
    names: RunNames
    sentence: str


def join_sides(old: EngineOfRun, new: EngineOfRun, measure: str) -> JoinedEngines:
    called = (old.engine, new.engine)
    if old.engine == new.engine:
        called = (f"{old.engine} ({old.run})", f"{new.engine} ({new.run})")
    first, second = headline(old.scores), headline(new.scores)
    matched, *tables = match_queries(first, second)
    values = [_values_of(side, table, measure) for side, table in zip((old, new), tables, strict=True)]
    whole = (~np.isnan(_values_of(old, first, measure)), ~np.isnan(_values_of(new, second, measure)))
    sentence = compared_sentence(*whole, matched, measure, RunNames(old.run, new.run))
    scores = Scores(called, (measure,), tables[0].units, np.array(values)[:, None, :])
    return JoinedEngines(scores, RunNames(*called), sentence)


def _values_of(side: EngineOfRun, table: ScoreTable, measure: str) -> FloatArray:
    if side.engine not in table.engines:
        hint = f"choose from: {', '.join(table.engines)}"
        raise ConfigError(f"unknown engine {side.engine!r} in {side.run}", hint=hint)
    return np.asarray(table.values[table.engines.index(side.engine), side.scores.measures.index(measure)])


def read_values(path: str | Path, *, engine: str | None = None, measure: str | None = None) -> tuple[QueryValue, ...]:
    """Read a CSV with the columns query, value and optionally cluster, or the per-query.csv of a run.

    `engine` and `measure` select from a per-query.csv, which has several engines and measures.
    """
    file = Path(path)
    content = read_utf8(file)
    reader = csv.DictReader(io.StringIO(content), skipinitialspace=True)
    header = tuple(reader.fieldnames or ())
    if {"engine", "gold", "query", "form"} <= set(header):
        return _own_values(list(reader), file, engine, measure)
    if engine or measure:
        problem = "cannot select by --engine or --primary: the file is not the per-query.csv of a run"
        raise InputError(problem, file=file, line=1, hint="remove --engine and --primary")
    if not {"query", "value"} <= set(header) <= set(_COLUMNS):
        problem = f"expected the columns query,value[,cluster], got {','.join(header) or 'none'}"
        raise InputError(problem, file=file, line=1, hint="write the header query,value or query,value,cluster")
    rows: dict[str, QueryValue] = {}
    for line in reader:
        query, text, cluster = (line.get(name) for name in _COLUMNS)
        value = _number(text)
        if not query or value is None or None in line:
            problem = f"expected {len(header)} fields with a query and a number, got {query!r}, {text!r}"
            raise InputError(problem, file=file, line=reader.line_num, hint="write query,value[,cluster]")
        if query in rows:
            problem = f"duplicate query {query!r}"
            raise InputError(problem, file=file, line=reader.line_num, hint="remove one of the lines")
        rows[query] = QueryValue(query, value, cluster or "")
    return tuple(rows.values())


def _own_values(
    lines: Sequence[Mapping[str, str]], file: Path, engine: str | None, measure: str | None
) -> tuple[QueryValue, ...]:
    engines = list(dict.fromkeys(line["engine"] for line in lines))
    measures = [name for name in (lines[0] if lines else ()) if name not in _OWN_COLUMNS]
    if not measures:
        raise InputError("no scored queries", file=file, hint="pass the per-query.csv of a run with scores")
    if engine not in engines:
        problem = f"unknown engine {engine!r}" if engine else "no engine selected"
        raise InputError(problem, file=file, hint=f"set --engine to one of: {', '.join(engines)}")
    column = measure or next(iter(measures), "")
    if column not in measures:
        hint = f"set --primary to one of: {', '.join(measures)}"
        raise InputError(f"unknown measure {column!r}", file=file, line=1, hint=hint)
    rows: dict[str, QueryValue] = {}
    for number, line in enumerate(lines, start=2):
        name = f"{line['gold']}/{line['query']}"
        if line["engine"] == engine and name not in rows and line[column]:
            value = _number(line[column])
            if value is None:
                hint = "use an empty cell if the measure does not apply"
                raise InputError(f"expected a number, got {line[column]!r}", file=file, line=number, hint=hint)
            rows[name] = QueryValue(name, value, line.get("repository", ""), line.get("shared", ""))
    return tuple(rows.values())


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if abs(value) <= _LARGEST else None


def compare_values(
    a: Sequence[QueryValue],
    b: Sequence[QueryValue],
    *,
    names: RunNames = _NAMES,
    bounds: ValueRange | None = None,
    higher_is_better: bool = True,
    B: int = DEFAULT.resamples,
    **options: Unpack[CompareOptions],
) -> Comparison:
    """Compare two per-query tables on their common queries; `a` is the baseline.

    Without `bounds`, the range is [0, 1] if it includes all values, else the range of the values and 0.
    """
    settings = CompareSettings(resamples=B, **options)
    old, new = ({row.query: row for row in rows} for rows in (a, b))
    shared = [query for query in old if query in new]
    sentence = shared_sentence(len(shared), max(len(old), len(new)), names)
    for query in shared:
        if old[query].cluster != new[query].cluster:
            raise InputError(
                f"query {query!r} has cluster {old[query].cluster!r}, but {new[query].cluster!r} in the other file",
                hint="use the same cluster in both files, or remove the column from both",
            )
    units = tuple(
        Unit("", query, "", old[query].cluster, shared=old[query].shared or new[query].shared) for query in shared
    )
    if bounds is None:
        low, high = min(row.value for row in (*a, *b)), max(row.value for row in (*a, *b))
        low, high = (0.0, 1.0) if low >= 0.0 and high <= 1.0 else (min(0.0, low), max(0.0, high))
        bounds = ValueRange(low, high, higher_is_better)
    measure = MeasureColumn("value", 0, bounds)
    values = np.array([[[rows[query].value for query in shared]] for rows in (old, new)])
    table = ScoreTable((names.old, names.new), units, values)
    rows = compare_table(table, [(names.new, names.old)], [measure], settings)
    comparison = assemble(
        rows, table_means(table, [measure], settings.alpha, settings.cluster), measure, names.old, settings, None
    )
    return replace(comparison, notes=(sentence, *comparison.notes))
