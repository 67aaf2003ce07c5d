from __future__ import annotations

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from assay.corpus_changes import path_key
from assay.errors import EngineError, InputError, NotComparableError
from assay.files import read_utf8, write_atomic
from assay.report.family import competing_engines
from assay.report.query_scores import EngineScores, QueryScores, UnstableQuery, answered_text, means_over
from assay.report.render.formatting import plain
from assay.report.scored_run import FAILED_SHARE
from assay.scoring import Measure, parse_measure
from assay.scoring.match import MATCHING_RULE
from assay.settings import check_counts, read_settings
from assay.stats.config import DEFAULT
from assay.types import OLD_ROLES, AnalysisPlan, CorpusInfo, EngineRole, Scores, Status, Unit, current_keys

SCHEMA = "assay/baseline/3"
_HINT = "record it again: assay gate RESULTS --write-baseline FILE"
_NO_BASELINE_HINT = "record one: assay gate RESULTS --write-baseline FILE"
_INVALID = (InputError, KeyError, TypeError, ValueError, OverflowError)
#: Fields of `QueryScores` that the file has under the same names.
_ORIGIN, _EXTENT = ("assay", "date", "gold_hash"), ("k", "repeats", "golds", "synthetic")
_CORPUS_KEYS = ("repository", "revision", "digest", "files")
#: Hexadecimal digits of a file: of its path, and of its content.
_HALF, _PRINT = 6, 12
_ENGINE_KEYS = ("name", "role", "settings", "asked", "failed", "answers", "changed")


def write_baseline(path: Path, side: QueryScores, plan: AnalysisPlan) -> None:
    """Write a baseline; raise EngineError if an engine under test has too many failed queries or no results."""
    engines = [engine for engine in side.engines if engine.name in competing_engines(side)]
    for engine in engines:
        if engine.role == "candidate" and (
            engine.silent or engine.foreign or engine.failed > FAILED_SHARE * engine.asked
        ):
            raise EngineError(
                f"{engine.name}: {answered_text(engine, side.repeats)}",
                hint="fix the engine and run again; a baseline of failed queries would let every run pass",
            )
    write_atomic(path, _format(side, plan, engines))


def _format(side: QueryScores, plan: AnalysisPlan, engines: Sequence[EngineScores]) -> str:
    """Format scores as JSON with one line per corpus, engine and query, for readable diffs."""
    head = {"schema": SCHEMA} | _fields(side, _ORIGIN) | {"matching": MATCHING_RULE} | _fields(side, _EXTENT)
    head |= {"analysis_plan": asdict(plan)}
    columns = [side.scores.measures.index(name) for name in plan.measures]
    corpora = {name: _corpus_entry(corpus) for name, corpus in side.corpora.items()}
    lines = [
        "{",
        *(f"{_json(key)}: {_json(value)}," for key, value in head.items()),
        '"corpora": {',
        ",\n".join(f" {_json(name)}: {_json(facts)}" for name, facts in corpora.items()),
        "},",
        '"engines": [',
        ",\n".join(f" {_json(_engine_entry(engine, columns))}" for engine in engines),
        "],",
        '"queries": [',
        ",\n".join(f" {_json(entry)}" for entry in _query_entries(side, columns, engines)),
        "]}\n",
    ]
    return "\n".join(filter(None, lines))


def _corpus_entry(corpus: CorpusInfo) -> dict[str, object]:
    entry: dict[str, object] = _fields(corpus, _CORPUS_KEYS)
    entry |= {"root_commit": corpus.root_commit} if corpus.root_commit else {}
    prints = sorted(path_key(path)[1:] + digest for path, digest in corpus.file_digests.items())
    return entry | ({"prints": b64encode(bytes.fromhex("".join(prints))).decode("ascii")} if prints else {})


def _fields(record: object, keys: Sequence[str]) -> dict[str, Any]:
    return {key: getattr(record, key) for key in keys}


def _json(value: object) -> str:
    def shorten(item: object) -> object:
        if isinstance(item, dict):
            return {key: shorten(inner) for key, inner in item.items()}
        if isinstance(item, list):
            return [shorten(inner) for inner in item]
        return int(item) if isinstance(item, float) and item.is_integer() else item

    return json.dumps(shorten(plain(value)), ensure_ascii=False, allow_nan=False)


def _engine_entry(engine: EngineScores, columns: Sequence[int]) -> dict[str, object]:
    noise = [engine.noise[at] for at in columns]
    means = [[row[at] for at in columns] for row in engine.means]
    return _fields(engine, _ENGINE_KEYS) | {"noise": noise, "means": means}


def _query_entries(
    side: QueryScores, columns: Sequence[int], engines: Sequence[EngineScores]
) -> Iterator[dict[str, object]]:
    scores = side.scores
    rows = {engine.name: scores.values[scores.engines.index(engine.name)] for engine in engines}
    troubles = {(engine.name, t.gold, t.query, t.form): t for engine in engines for t in engine.troubles}
    for at, unit in enumerate(scores.units):
        corpus = side.corpora.get(unit.gold)
        entry = _fields(unit, ("gold", "query", "form", "hash"))
        entry |= {"tags": dict(unit.tags)} if unit.tags else {}
        entry |= {"shared": unit.shared} if unit.shared else {}
        entry |= {} if corpus and corpus.repository == unit.repository else {"repository": unit.repository}
        entry["values"] = {name: [float(row[column, at]) for column in columns] for name, row in rows.items()}
        keys = {name: (name, unit.gold, unit.query, unit.form) for name in rows}
        status = {name: list(map(str, troubles[key].statuses)) for name, key in keys.items() if key in troubles}
        yield entry | ({"status": status} if status else {})


@dataclass(frozen=True, slots=True)
class _CorpusEntry:
    """`CorpusInfo` with six bytes per source file, half of them a digest of its path."""

    repository: str
    revision: str | None
    digest: str
    files: int
    root_commit: str | None = None
    prints: str = ""  # in base64; file names would make the file large

    def info(self) -> CorpusInfo:
        data = b64decode(self.prints, validate=True).hex()
        prints = [data[at : at + _PRINT] for at in range(0, len(data), _PRINT)]
        digests = {f"/{both[:_HALF]}": both[_HALF:] for both in prints}
        return CorpusInfo(**_fields(self, _CORPUS_KEYS), root_commit=self.root_commit, file_digests=digests)


@dataclass(frozen=True, slots=True)
class _EngineEntry:
    name: str
    role: EngineRole
    settings: str
    asked: int
    failed: int
    answers: tuple[str, ...]
    changed: float
    noise: tuple[float, ...]
    means: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, slots=True)
class _QueryEntry:
    gold: str
    query: str
    form: str
    hash: str
    values: Mapping[str, tuple[float | None, ...]]  # by engine, in the order of the measures
    tags: Mapping[str, str] = field(default_factory=dict)
    repository: str | None = None  # None: that of its corpus
    shared: str = ""  # that of its `Unit`
    status: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of failed engines, one per repeat


@dataclass(frozen=True, slots=True)
class _File:
    """A baseline file; its queries are decoded one by one, so that errors name their lines."""

    schema: str
    assay: str
    date: str
    gold_hash: str
    matching: int
    k: int
    repeats: int
    golds: tuple[str, ...]
    synthetic: tuple[str, ...]
    analysis_plan: AnalysisPlan
    corpora: Mapping[str, _CorpusEntry]
    engines: tuple[_EngineEntry, ...]
    queries: tuple[Mapping[str, object], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(engine.name for engine in self.engines)


class _Row(NamedTuple):
    unit: Unit
    values: list[list[float]]  # engines × measures
    troubles: Mapping[str, UnstableQuery]  # by engine


def read_baseline(path: Path) -> QueryScores:
    """Read and check a baseline file."""
    text = read_utf8(path, hint=_NO_BASELINE_HINT)
    data = _parse(text, path)
    try:
        file = read_settings(_File, data, "baseline")
        measures = tuple(map(parse_measure, file.analysis_plan.measures))
        _check_file(file, measures)
        corpora = {name: entry.info() for name, entry in file.corpora.items()}
    except _INVALID as error:
        raise InputError(f"invalid baseline: {_reason(error)}", file=path, hint=_HINT) from error
    rows = _read_rows(file, measures, text, path)
    shape = (len(rows), len(file.engines), len(measures))
    values = np.array([row.values for row in rows], dtype=np.float64).reshape(shape)
    engines = []
    for entry in file.engines:
        means = tuple(tuple(math.nan if value is None else value for value in row) for row in entry.means)
        troubles = tuple(row.troubles[entry.name] for row in rows if entry.name in row.troubles)
        engines.append(EngineScores(**asdict(entry) | {"means": means, "troubles": troubles}))
    baseline = QueryScores(
        name=str(path),
        engines=tuple(engines),
        scores=Scores(
            file.names, file.analysis_plan.measures, tuple(row.unit for row in rows), np.moveaxis(values, 0, 2)
        ),
        corpora=corpora,
        plan=file.analysis_plan,
        is_file=True,
        **_fields(file, _ORIGIN + _EXTENT),
    )
    _check_sums(baseline, path)
    return baseline


def _reason(error: Exception) -> str:
    return f"missing {error}" if isinstance(error, KeyError) else str(getattr(error, "message", error))


def _parse(text: str, path: Path) -> Mapping[str, object]:
    try:
        data = json.loads(text, parse_constant=_parse_float, parse_float=_parse_float, object_pairs_hook=_parse_object)
    except (RecursionError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"invalid JSON: {getattr(error, 'msg', error)}", file=path, line=line, hint=_HINT) from error
    schema = data.get("schema") if isinstance(data, dict) else None
    again = f"record it again: assay gate RESULTS --write-baseline {path}"
    if schema == SCHEMA:
        if (rule := data.get("matching")) != MATCHING_RULE and isinstance(rule, int):
            message = f"recorded under matching rule {rule}, this version of Assay uses rule {MATCHING_RULE}"
            raise NotComparableError(message, file=path, hint=again)
        return current_keys(data)
    if isinstance(schema, str) and schema.startswith("assay/baseline/"):
        raise NotComparableError(f"expected the format {SCHEMA}, got {schema}", file=path, hint=again)
    raise InputError("not a baseline file", file=path, hint=_NO_BASELINE_HINT)


def _parse_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {text}")
    return value


def _parse_object(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        twice = next(key for at, key in enumerate(keys) if key in keys[:at])
        raise ValueError(f"duplicate key {twice!r}")
    made = dict(pairs)
    role = made.get("role")
    return {**made, "role": OLD_ROLES[role]} if isinstance(role, str) and role in OLD_ROLES else made


def _check_file(file: _File, measures: Sequence[Measure]) -> None:
    check_counts("baseline", k=file.k, repeats=file.repeats, engines=len(file.names))
    if len(set(file.names)) < len(file.names):
        raise ValueError("duplicate engine")
    if not measures or tuple(map(repr, measures)) != file.analysis_plan.measures:
        raise ValueError(f"expected full names of measures, got {', '.join(file.analysis_plan.measures)}")
    for engine in file.engines:
        lengths = {len(engine.means), len(engine.answers)}
        if lengths != {file.repeats} or {len(row) for row in engine.means} != {len(measures)}:
            raise ValueError(f"{engine.name!r}: expected one mean and one digest per repeat")
        if not 0 <= engine.failed <= engine.asked:
            raise ValueError(f"{engine.name!r}: expected 'failed' from 0 to {engine.asked}, got {engine.failed}")
        if len(engine.noise) != len(measures) or min(engine.noise) < 0.0:
            raise ValueError(f"{engine.name!r}: expected one non-negative variance per measure in 'noise'")
        if not 0.0 <= engine.changed <= 1.0:
            raise ValueError(f"{engine.name!r}: expected 'changed' from 0 to 1, got {engine.changed:g}")


def _read_rows(file: _File, measures: Sequence[Measure], text: str, path: Path) -> list[_Row]:
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines, 2) if line.startswith('"queries"')), 1)
    rows: dict[tuple[str, str], _Row] = {}
    for at, entry in enumerate(file.queries):
        try:
            row = _read_row(read_settings(_QueryEntry, entry, "entry"), file, measures)
            if (row.unit.intent, row.unit.form) in rows:
                raise ValueError(f"duplicate query {row.unit.intent}")
        except _INVALID as error:
            raise InputError(f"query {at + 1}: {_reason(error)}", file=path, line=first + at, hint=_HINT) from error
        rows[row.unit.intent, row.unit.form] = row
    return list(rows.values())


def _read_row(entry: _QueryEntry, file: _File, measures: Sequence[Measure]) -> _Row:
    unknown = sorted({*entry.values, *entry.status} - {*file.names})
    if unknown:
        raise ValueError(f"unknown engine {', '.join(unknown)}")
    repository = file.corpora[entry.gold].repository if entry.repository is None else entry.repository
    unit = Unit(entry.gold, entry.query, entry.form, repository, entry.hash, tags=entry.tags, shared=entry.shared)
    values = [_read_values(entry.values[name], measures) for name in file.names]
    if len({tuple(map(math.isnan, row)) for row in values}) > 1:
        raise ValueError("a measure has values for some engines only")
    troubles = {}
    for name, statuses in entry.status.items():
        if len(statuses) != file.repeats:
            raise ValueError(f"expected {file.repeats} statuses, got {len(statuses)}")
        troubles[name] = UnstableQuery(unit.gold, unit.query, unit.form, tuple(map(Status, statuses)))
    return _Row(unit, values, troubles)


def _read_values(values: Sequence[float | None], measures: Sequence[Measure]) -> list[float]:
    if len(values) != len(measures):
        raise ValueError(f"expected {len(measures)} values, got {len(values)}")
    for value, measure in zip(values, measures, strict=True):
        if value is None and measure.everywhere:
            raise ValueError(f"missing value of {measure!r}")
        if value is not None and not measure.low - DEFAULT.tie <= value <= measure.high + DEFAULT.tie:
            raise ValueError(f"expected {measure!r} from {measure.low:g} to {measure.high:g}, got {value:g}")
    return [math.nan if value is None else value for value in values]


def _check_sums(baseline: QueryScores, path: Path) -> None:
    """Raise InputError if the means or failures of an engine do not match its queries."""
    means = means_over(baseline.scores.values)
    for at, engine in enumerate(baseline.engines):
        stored = np.mean(np.array(engine.means), axis=0)
        listed = sum(trouble.failed for trouble in engine.troubles)
        others = max(0, engine.asked - len(baseline.scores.units) * baseline.repeats)  # asked in other phrasings
        if not np.allclose(stored, means[at], rtol=1e-9, atol=DEFAULT.tie, equal_nan=True):
            problem = f"the means of {engine.name!r} do not match its queries"
        elif not listed <= engine.failed <= listed + others:
            problem = f"{engine.name!r} has {engine.failed} failures, its queries have {listed}"
        else:
            continue
        raise InputError(f"{problem}: a line was changed, added or removed", file=path, hint=_HINT)
