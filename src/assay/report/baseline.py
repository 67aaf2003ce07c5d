"""Baseline files: per-query scores in version control, one line per query."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from assay.errors import EngineError, InputError, NotComparableError
from assay.files import read_utf8, write_atomic
from assay.report.evidence import EngineScores, QueryScores, UnstableQuery, answered_text, means_over
from assay.report.render.text import plain
from assay.report.scored_run import FAILED_SHARE, real_engines
from assay.scoring import Measure, parse_measure
from assay.settings import check_counts, read_settings
from assay.stats.config import DEFAULT
from assay.types import AnalysisPlan, CorpusInfo, EngineRole, Scores, Status, Unit

SCHEMA = "assay/baseline/2"


def write_baseline(path: Path, seen: QueryScores, claim: AnalysisPlan) -> None:
    """Write the engines that compete, on the measures of the claim; engines that failed make no baseline."""
    chosen = [engine for engine in seen.engines if engine.name in real_engines(seen)]
    for engine in chosen:
        if engine.role == "contestant" and (engine.silent or engine.failed > FAILED_SHARE * engine.asked):
            raise EngineError(
                f"{engine.name}: {answered_text(engine, seen.repeats, FAILED_SHARE)}",
                hint="a baseline made of failures would let everything pass; run it again",
            )
    write_atomic(path, baseline_text(seen, claim, chosen))


def baseline_text(seen: QueryScores, claim: AnalysisPlan, engines: Sequence[EngineScores]) -> str:
    """Write evidence as JSON whose lines are what changes on its own: a corpus, an engine, a query."""
    head = {
        "schema": SCHEMA,
        "assay": seen.assay,
        "date": seen.date,
        "gold_hash": seen.gold_hash,
        "k": seen.k,
        "repeats": seen.repeats,
        "golds": seen.golds,
        "synthetic": seen.synthetic,
        "claim": asdict(claim),
    }
    lines = ["{", *(f"{_json(key)}: {_json(value)}," for key, value in head.items())]
    lines += ['"corpora": {', *_joined(f" {_json(n)}: {_json(_corpus(f))}" for n, f in seen.corpora.items()), "},"]
    lines += ['"engines": [', *_joined(f" {_json(_engine(engine, seen, claim))}" for engine in engines), "],"]
    lines += ['"queries": [', *_joined(f" {_json(one)}" for one in _queries(seen, claim, engines)), "]}"]
    return "\n".join(lines) + "\n"


def _json(value: object) -> str:
    return json.dumps(_short(plain(value)), ensure_ascii=False, allow_nan=False)


def _short(value: object) -> object:
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_short(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _joined(lines: Iterator[str]) -> list[str]:
    found = list(lines)
    return [f"{line}," for line in found[:-1]] + found[-1:]


def _corpus(facts: CorpusInfo) -> dict[str, object]:
    return {key: getattr(facts, key) for key in ("repository", "revision", "digest", "files")}


def _engine(engine: EngineScores, seen: QueryScores, claim: AnalysisPlan) -> dict[str, object]:
    places = [seen.scores.measures.index(name) for name in claim.measures]
    fields = {
        key: getattr(engine, key) for key in ("name", "role", "settings", "asked", "failed", "answers", "changed")
    }
    means = [[row[place] for place in places] for row in engine.means]
    return fields | {"noise": [engine.noise[place] for place in places], "means": means}


def _queries(seen: QueryScores, claim: AnalysisPlan, engines: Sequence[EngineScores]) -> Iterator[dict[str, object]]:
    scores = seen.scores
    rows = {engine.name: scores.values[scores.engines.index(engine.name)] for engine in engines}
    places = [scores.measures.index(name) for name in claim.measures]
    troubles = {e.name: {(t.gold, t.query, t.form): t for t in e.troubles} for e in engines}
    for at, unit in enumerate(scores.units):
        values = {name: [float(row[place, at]) for place in places] for name, row in rows.items()}
        facts = seen.corpora.get(unit.gold)
        home = {} if facts and facts.repository == unit.repository else {"repository": unit.repository}
        yield _unit(unit) | home | {"values": values} | _statuses(unit, troubles)


def _unit(unit: Unit) -> dict[str, object]:
    found: dict[str, object] = {key: getattr(unit, key) for key in ("gold", "query", "form", "hash")}
    found |= {"tags": dict(unit.tags)} if unit.tags else {}
    return found | ({"shared": unit.shared} if unit.shared else {})


def _statuses(unit: Unit, troubles: Mapping[str, Mapping[tuple[str, str, str], UnstableQuery]]) -> dict[str, object]:
    key = (unit.gold, unit.query, unit.form)
    failed = {name: list(map(str, found[key].statuses)) for name, found in troubles.items() if key in found}
    return {"status": failed} if failed else {}


_HINT = "a merge or an editor may have spoiled it: write it anew with `assay gate RESULTS --write-baseline FILE`"
_WRONG = (InputError, KeyError, TypeError, ValueError, OverflowError)
_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"')


@dataclass(frozen=True, slots=True)
class _Engine:
    """An engine, as it is written."""

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
class _Query:
    """A query, as it is written."""

    gold: str
    query: str
    form: str
    hash: str
    values: Mapping[str, tuple[float | None, ...]]  # by engine, in the order of the claim's measures
    tags: Mapping[str, str] = field(default_factory=dict)
    repository: str | None = None  # None: that of its corpus
    shared: str = ""  # that of its `Unit`
    status: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of engines that failed, one a repeat


@dataclass(frozen=True, slots=True)
class _File:
    """A baseline, as it is written; its queries are read one by one, for the sake of their lines."""

    schema: str
    assay: str
    date: str
    gold_hash: str
    k: int
    repeats: int
    golds: tuple[str, ...]
    synthetic: tuple[str, ...]
    claim: AnalysisPlan
    corpora: Mapping[str, CorpusInfo]
    engines: tuple[_Engine, ...]
    queries: tuple[Mapping[str, object], ...]


def read_baseline(path: Path) -> QueryScores:
    """Read a baseline; what is wrong with it is told with its line, where there is one."""
    text = read_utf8(path, hint="write one with `assay gate RESULTS --write-baseline FILE`")
    data = _parse(text, path)
    try:
        file = read_settings(_File, data, "baseline")
        shape = _shape(file)
    except _WRONG as error:
        raise InputError(f"is no whole baseline ({_why(error)})", file=path, hint=_HINT) from error
    rows = _rows(file.queries, shape, path, _lines(text))
    found = _evidence(file, shape, rows, path)
    _check_sums(found, file, path)
    return found


def _why(error: Exception) -> str:
    return f"lacks {error}" if isinstance(error, KeyError) else str(getattr(error, "message", error))


def _parse(text: str, path: Path) -> Mapping[str, object]:
    try:
        data = json.loads(text, parse_constant=_no_number, parse_float=_number, object_pairs_hook=_table)
    except json.JSONDecodeError as error:
        raise InputError(f"is no JSON: {error.msg}", file=path, line=error.lineno, hint=_HINT) from error
    except _NoNumberError as error:
        line = next((at for at, row in enumerate(text.split("\n"), 1) if error.text in _TEXTS.sub("", row)), None)
        raise InputError(f"{error.text} is no number", file=path, line=line, hint=_HINT) from error
    except (RecursionError, ValueError) as error:
        raise InputError(f"is no JSON that can be read: {error}", file=path, hint=_HINT) from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        known = isinstance(schema, str) and schema.startswith("assay/baseline/")
        if known:
            raise NotComparableError(
                f"is of the format {schema}, this Assay reads {SCHEMA}", file=path, hint="write it anew"
            )
        raise InputError("is no baseline", file=path, hint="write one with `assay gate RESULTS --write-baseline FILE`")
    return dict(data)


class _NoNumberError(Exception):
    """Something that stands for a number and is none."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def _no_number(name: str) -> float:
    raise _NoNumberError(name)


def _number(text: str) -> float:
    found = float(text)
    return found if math.isfinite(found) else _no_number(text)


def _table(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at]))
        raise ValueError(f"{twice!r} stands twice")
    return made


def _lines(text: str) -> Sequence[int]:
    rows = text.split("\n")
    return range(next((at for at, row in enumerate(rows, 2) if row.startswith('"queries"')), 1), sys.maxsize)


@dataclass(frozen=True, slots=True)
class _Shape:
    """What every query must have."""

    engines: tuple[str, ...]
    measures: tuple[Measure, ...]
    repeats: int
    corpora: Mapping[str, CorpusInfo]


def _shape(file: _File) -> _Shape:
    names = tuple(engine.name for engine in file.engines)
    measures = tuple(map(parse_measure, file.claim.measures))
    check_counts("baseline", k=file.k, repeats=file.repeats, engines=len(names))
    if len(set(names)) < len(names):
        raise ValueError("an engine stands twice")
    if not measures or tuple(map(repr, measures)) != file.claim.measures:
        raise ValueError("measures are written by their full names")
    for engine in file.engines:
        _check_engine(engine, file.repeats, len(measures))
    return _Shape(names, measures, file.repeats, file.corpora)


def _check_engine(engine: _Engine, repeats: int, measures: int) -> None:
    if {len(engine.means), len(engine.answers)} != {repeats} or {len(one) for one in engine.means} != {measures}:
        raise ValueError(f"{engine.name!r} has not one mean and one digest a repeat")
    if not 0 <= engine.failed <= engine.asked:
        raise ValueError(f"{engine.name!r} failed on {engine.failed} of {engine.asked}")
    if len(engine.noise) != measures or min(engine.noise) < 0.0:
        raise ValueError(f"{engine.name!r} needs one variance per measure in 'noise', none of them negative")
    if not 0.0 <= engine.changed <= 1.0:
        raise ValueError(f"{engine.name!r} changed {engine.changed:g} of its rankings")


@dataclass(frozen=True, slots=True)
class _Row:
    """One query."""

    unit: Unit
    values: list[list[float]]  # engines × measures
    troubles: Mapping[str, UnstableQuery]  # by engine


def _rows(rows: Sequence[Mapping[str, object]], shape: _Shape, path: Path, lines: Sequence[int]) -> list[_Row]:
    found: list[_Row] = []
    seen: set[tuple[str, str]] = set()
    for at, row in enumerate(rows):
        try:
            one = _row(read_settings(_Query, row, "it"), shape)
            key = (one.unit.intent, one.unit.form)
            if key in seen:
                raise ValueError(f"{one.unit.intent} stands twice")
        except _WRONG as error:
            raise InputError(f"query {at + 1}: {_why(error)}", file=path, line=lines[at], hint=_HINT) from error
        seen.add(key)
        found.append(one)
    return found


def _row(row: _Query, shape: _Shape) -> _Row:
    strangers = sorted({*row.values, *row.status} - {*shape.engines})
    if strangers:
        raise ValueError(f"no engine of the baseline: {', '.join(strangers)}")
    home = shape.corpora[row.gold].repository if row.repository is None else row.repository
    unit = Unit(row.gold, row.query, row.form, home, row.hash, tags=row.tags, shared=row.shared)
    values = [_values(row.values[engine], shape.measures) for engine in shape.engines]
    if len({tuple(map(math.isnan, of_one)) for of_one in values}) > 1:
        raise ValueError("a measure applies to a query, or does not, whatever engine answers")
    failed = {name: _trouble(unit, given, shape.repeats) for name, given in row.status.items()}
    return _Row(unit, values, failed)


def _values(given: Sequence[float | None], measures: Sequence[Measure]) -> list[float]:
    if len(given) != len(measures):
        raise ValueError(f"{len(given)} values of {len(measures)} measures")
    return [_value(value, measure) for value, measure in zip(given, measures, strict=True)]


def _value(value: float | None, measure: Measure) -> float:
    if value is None and measure.everywhere:
        raise ValueError(f"{measure!r} has no value, and it applies to every query")
    if value is None:
        return math.nan
    if value < measure.low - DEFAULT.tie or value > measure.high + DEFAULT.tie:
        raise ValueError(f"{measure!r} cannot be {value:g}")
    return value


def _trouble(unit: Unit, given: Sequence[str], repeats: int) -> UnstableQuery:
    if len(given) != repeats:
        raise ValueError(f"{len(given)} statuses of {repeats} repeats")
    return UnstableQuery(unit.gold, unit.query, unit.form, tuple(map(Status, given)))


def _evidence(file: _File, shape: _Shape, rows: Sequence[_Row], path: Path) -> QueryScores:
    size = (len(rows), len(shape.engines), len(shape.measures))
    values = np.array([row.values for row in rows], dtype=np.float64).reshape(size)
    units = tuple(row.unit for row in rows)
    return QueryScores(
        name=str(path),
        k=file.k,
        engines=tuple(_engine_reading(engine, rows) for engine in file.engines),
        scores=Scores(shape.engines, file.claim.measures, units, np.moveaxis(values, 0, 2)),
        repeats=file.repeats,
        corpora=file.corpora,
        golds=file.golds,
        synthetic=file.synthetic,
        claim=file.claim,
        gold_hash=file.gold_hash,
        assay=file.assay,
        date=file.date,
        is_file=True,
    )


def _engine_reading(row: _Engine, rows: Sequence[_Row]) -> EngineScores:
    means = tuple(tuple(math.nan if value is None else value for value in one) for one in row.means)
    troubles = tuple(one.troubles[row.name] for one in rows if row.name in one.troubles)
    return EngineScores(
        row.name, row.role, row.settings, row.asked, row.failed, row.answers, means, row.changed, row.noise, troubles
    )


def _check_sums(found: QueryScores, file: _File, path: Path) -> None:
    over = means_over(found.scores.values)
    for at, engine in enumerate(found.engines):
        stored = np.mean(np.array(engine.means), axis=0)
        if not np.allclose(stored, over[at], rtol=1e-9, atol=DEFAULT.tie, equal_nan=True):
            raise _changed(f"the values of {engine.name!r} are not those that its means were made of", path)
        told = sum(one.failed for one in engine.troubles)
        beside = max(0, engine.asked - len(found.scores.units) * file.repeats)  # asked in other phrasings
        if not told <= engine.failed <= told + beside:
            raise _changed(f"{engine.name!r} failed {engine.failed} times, and its queries say {told}", path)


def _changed(why: str, path: Path) -> InputError:
    return InputError(f"{why}: lines were changed, added or lost", file=path, hint=_HINT)
