"""Compare two runs, or two per-query tables without a gold set, on their common queries."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from assay.errors import ConfigError, InputError, NotComparableError
from assay.files import read_utf8
from assay.stats.compare import assemble, compare_table, rank_engines, table_means
from assay.stats.config import DEFAULT, CompareOptions, CompareSettings
from assay.stats.records import AllPairs, Comparison, EngineLabel, QueryValue, RunNames, ValueRange
from assay.stats.rows import EnginePair, comparison_rows
from assay.stats.score_table import MeasureColumn, ScoreTable, columns, headline
from assay.types import Scores, Unit

if TYPE_CHECKING:
    from assay.scoring import Measure
    from assay.scoring.grid import BoolArray, FloatArray

_NAMES = RunNames()
_LARGEST = 1e50  # larger values cannot be squared and summed
_COLUMNS = ("query", "value", "cluster")
_QUERY_COLUMNS = ("query_id", "qid", "query")
_ENGINE_COLUMNS = ("experiment_id", "engine", "model")
_OWN_COLUMNS = ("engine", "gold", "query", "form", "repository", "hash", "shared", "text")


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
            engine=EngineLabel(new_engine, names.new),
            baseline=EngineLabel(old_engine, names.old),
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
        declared = [EngineLabel(engine, names.new) for _, engine in engines if engine in family]
        if not declared:
            raise NotComparableError(
                f"no engine of the declared family is in both runs: {', '.join(family)}",
                hint=f"choose from: {', '.join(engine for _, engine in engines)}",
            )
    means = [
        replace(row, engine=EngineLabel(row.engine, run))
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
        called = (EngineLabel(old.engine, old.run), EngineLabel(new.engine, new.run))
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
    """Read the values of one engine; `engine` and `measure` select from a file that has several."""
    engines = read_engines(path, measure=measure)
    if engine is None and len(engines) == 1:
        return next(iter(engines.values()))
    if engine not in engines:
        problem = f"unknown engine {engine!r}" if engine else "no engine selected"
        raise InputError(problem, file=Path(path), hint=f"set --engine to one of: {', '.join(engines)}")
    return engines[engine]


def read_engines(path: str | Path, *, measure: str | None = None) -> dict[str, tuple[QueryValue, ...]]:
    """Read the values of each engine in a file of per-query values; `measure` names a column.

    A CSV has the columns query,value[,cluster], or is the per-query.csv of a run, or has a column of query ids, any
    number of measures and optionally a column of engines, such as Karta's. A JSON file is Pyckle's eval_results.json.
    An engine without a name is called by its file.
    """
    file = Path(path)
    content = read_utf8(file)
    if file.suffix.lower() == ".json":
        return {str(path): _pyckle_values(content, file)}
    reader = csv.DictReader(io.StringIO(content), skipinitialspace=True)
    header = tuple(reader.fieldnames or ())
    if {"engine", "gold", "query", "form"} <= set(header):
        return _own_values(list(reader), file, measure)
    if not {"query", "value"} <= set(header) <= set(_COLUMNS):
        key = next((name for name in _QUERY_COLUMNS if name in header), None)
        if key is None or "value" in header:
            problem = f"expected the columns query,value[,cluster], got {','.join(header) or 'none'}"
            raise InputError(problem, file=file, line=1, hint="write the header query,value or query,value,cluster")
        return _columns_of_measures(list(reader), key, file, measure)
    if measure:
        problem = "cannot select by --primary: the file has one measure"
        raise InputError(problem, file=file, line=1, hint="remove --primary")
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
    return {str(path): tuple(rows.values())}


def _columns_of_measures(
    lines: Sequence[Mapping[str, str]], key: str, file: Path, measure: str | None
) -> dict[str, tuple[QueryValue, ...]]:
    """Return the values of one column by engine; an empty cell means that the measure does not apply to the query."""
    named = next((name for name in _ENGINE_COLUMNS if name in (lines[0] if lines else ())), None)
    names = [name for name in (lines[0] if lines else ()) if name not in (key, named)]
    measures = [name for name in names if all(not line[name] or _cell(line[name]) is not None for line in lines)]
    if not measures:
        problem = f"expected a column of numbers, got {','.join((key, *names))}"
        raise InputError(problem, file=file, line=1, hint="write the header query,value or query,value,cluster")
    if measure not in measures:
        problem = f"unknown measure {measure!r}" if measure else "no measure selected"
        raise InputError(problem, file=file, line=1, hint=f"set --primary to one of: {', '.join(measures)}")
    engines: dict[str, dict[str, QueryValue]] = {}
    for number, line in enumerate(lines, start=2):
        rows = engines.setdefault(line[named] if named else str(file), {})
        if line[key] in rows:
            problem = f"duplicate query {line[key]!r}" + (f" of {line[named]}" if named else "")
            raise InputError(problem, file=file, line=number, hint="remove one of the lines")
        value = _cell(line[measure])
        if value is not None:
            rows[line[key]] = QueryValue(line[key], value)
    return {name: tuple(rows.values()) for name, rows in engines.items()}


def _cell(text: str | None) -> float | None:
    return {"true": 1.0, "false": 0.0}.get((text or "").strip().lower(), _number(text))


def _pyckle_values(content: str, file: Path) -> tuple[QueryValue, ...]:
    """Return the reciprocal ranks (cutoff 10) of `expected` in `ranked`, from Pyckle's eval_results.json."""
    try:
        results = [
            (entry["query"], entry["expected"], entry["ranked"][:10]) for entry in json.loads(content)["results"]
        ]
        ranks = [(query, ranked.index(path) + 1 if path in ranked else 0) for query, path, ranked in results]
        rows = {query: QueryValue(query, 1 / rank if rank else 0.0) for query, rank in ranks}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        hint = 'write {"results": [{"query": "...", "expected": "...", "ranked": ["..."]}]}'
        raise InputError("expected the eval_results.json of Pyckle", file=file, hint=hint) from error
    if len(rows) < len(ranks):
        raise InputError("a query has two results", file=file, hint="remove one of them")
    return tuple(rows.values())


def _own_values(
    lines: Sequence[Mapping[str, str]], file: Path, measure: str | None
) -> dict[str, tuple[QueryValue, ...]]:
    measures = [name for name in (lines[0] if lines else ()) if name not in _OWN_COLUMNS]
    if not measures:
        raise InputError("no scored queries", file=file, hint="pass the per-query.csv of a run with scores")
    column = measure or next(iter(measures), "")
    if column not in measures:
        hint = f"set --primary to one of: {', '.join(measures)}"
        raise InputError(f"unknown measure {column!r}", file=file, line=1, hint=hint)
    engines: dict[str, dict[str, QueryValue]] = {}
    for number, line in enumerate(lines, start=2):
        name, rows = f"{line['gold']}/{line['query']}", engines.setdefault(line["engine"], {})
        if name not in rows and line[column]:
            value = _number(line[column])
            if value is None:
                hint = "use an empty cell if the measure does not apply"
                raise InputError(f"expected a number, got {line[column]!r}", file=file, line=number, hint=hint)
            rows[name] = QueryValue(name, value, line.get("repository", ""), line.get("shared", ""))
    return {engine: tuple(rows.values()) for engine, rows in engines.items()}


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
    sentence = shared_sentence(len({row.query for row in a} & {row.query for row in b}), max(len(a), len(b)), names)
    settings = CompareSettings(resamples=B, **options)
    both = (names.old, names.new)  # may be equal: a file compared with itself
    comparison = _compare_rows(both, (a, b), "value", names.old, bounds, higher_is_better, settings)
    return replace(comparison, notes=(sentence, *comparison.notes))


def compare_columns(
    engines: Mapping[str, Sequence[QueryValue]],
    name: str,
    baseline: str | None = None,
    *,
    bounds: ValueRange | None = None,
    higher_is_better: bool = True,
    B: int = DEFAULT.resamples,
    **options: Unpack[CompareOptions],
) -> Comparison | AllPairs:
    """Compare engines by their per-query values of the measure `name`: with the baseline, or else all pairs.

    Only queries with a value for every engine count; raise NotComparableError if there are too few. `bounds` as in
    `compare_values`.
    """
    settings = CompareSettings(resamples=B, **options)
    if baseline is not None and baseline not in engines:
        raise ConfigError(f"unknown baseline {baseline!r}", hint=f"choose from: {', '.join(engines)}")
    if len(engines) < 2:
        raise ConfigError("expected at least two engines to compare, got 1", hint="name a second file")
    return _compare_rows(tuple(engines), list(engines.values()), name, baseline, bounds, higher_is_better, settings)


def _compare_rows(
    names: tuple[str, ...],
    values_of: Sequence[Sequence[QueryValue]],
    name: str,
    baseline: str | None,
    bounds: ValueRange | None,
    higher_is_better: bool,
    settings: CompareSettings,
) -> Comparison | AllPairs:
    by_query = [{row.query: row for row in rows} for rows in values_of]
    shared = [query for query in by_query[0] if all(query in rows for rows in by_query)]
    most = max(map(len, by_query))
    if len(shared) < DEFAULT.shared_queries * most:
        message = f"only {len(shared)} of {most} queries have a value for every engine"
        raise NotComparableError(message, hint=f"at least {DEFAULT.shared_queries:.0%} are needed; leave an engine out")
    units = []
    for query in shared:
        rows = [values[query] for values in by_query]
        different = next((row for row in rows if row.cluster != rows[0].cluster), None)
        if different is not None:
            raise InputError(
                f"query {query!r} has cluster {rows[0].cluster!r}, but {different.cluster!r} in the other file",
                hint="use the same cluster in both files, or remove the column from both",
            )
        digest = next((row.shared for row in rows if row.shared), "")
        units.append(Unit("", query, "", rows[0].cluster, shared=digest))
    if bounds is None:
        numbers = [row.value for rows in values_of for row in rows]
        low, high = min(numbers), max(numbers)
        low, high = (0.0, 1.0) if low >= 0.0 and high <= 1.0 else (min(0.0, low), max(0.0, high))
        bounds = ValueRange(low, high, higher_is_better)
    measure = MeasureColumn(name, 0, bounds)
    values = np.array([[[rows[query].value for query in shared]] for rows in by_query])
    table = ScoreTable(names, tuple(units), values)
    pairs = [(b, a) for a, b in combinations(names, 2)]
    if baseline is not None:
        at = names.index(baseline)
        pairs = [(engine, baseline) for engine in (*names[:at], *names[at + 1 :])]
    compared = compare_table(table, pairs, [measure], settings)
    means = table_means(table, [measure], settings.alpha, settings.cluster)
    comparison = assemble(compared, means, measure, baseline or "", settings, None)
    return comparison if baseline is not None else rank_engines(comparison, higher_is_better=bounds.higher_is_better)
