"""Read a baseline file back. It went through version control, so every word of it is checked."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from assay.errors import InputError, NotComparableError
from assay.files import read_utf8
from assay.report.evidence.baseline import SCHEMA
from assay.report.evidence.record import EngineEvidence, Evidence, Trouble
from assay.scoring import Measure, parse_measure
from assay.stats.config import DEFAULT
from assay.types import Claim, CorpusFacts, Role, Scores, Status, Unit

_HINT = "a merge or an editor may have spoiled it: write it anew with `assay gate RESULTS --write-baseline FILE`"


def read_baseline(path: Path) -> Evidence:
    """Read a baseline; what is wrong with it is told with its line, where there is one."""
    text = read_utf8(path, hint="write one with `assay gate RESULTS --write-baseline FILE`")
    data = _parse(text, path)
    try:
        return _evidence(data, path, _lines(text))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(f"is no whole baseline ({type(error).__name__}: {error})", file=path, hint=_HINT) from error


def _parse(text: str, path: Path) -> Mapping[str, Any]:
    """Read the JSON; another version of the format is another matter than a broken file."""
    try:
        data = json.loads(text, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise InputError(f"is no JSON: {error.msg}", file=path, line=error.lineno, hint=_HINT) from error
    except RecursionError as error:
        raise InputError("is no JSON that can be read", file=path, hint=_HINT) from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema != SCHEMA:
        known = isinstance(schema, str) and schema.startswith("assay/baseline/")
        if known:
            raise NotComparableError(
                f"is of the format {schema}, this Assay reads {SCHEMA}", file=path, hint="write it anew"
            )
        raise InputError("is no baseline", file=path, hint="write one with `assay gate RESULTS --write-baseline FILE`")
    return dict(data)


def _no_number(name: str) -> float:
    """Refuse NaN and Infinity, which are no JSON."""
    raise json.JSONDecodeError(f"{name} is no number", "", 0)


def _lines(text: str) -> Sequence[int]:
    """Give the lines that queries stand on, in their order: one each, as the file was written."""
    rows = text.split("\n")
    return range(next((at for at, row in enumerate(rows, 2) if row.startswith('"queries"')), 1), sys.maxsize)


def _evidence(data: Mapping[str, Any], path: Path, lines: Sequence[int]) -> Evidence:
    """Put the record together."""
    claim, repeats = _claim(data["claim"]), int(data["repeats"])
    engines = [_engine(row, repeats, len(claim.measures)) for row in data["engines"]]
    names = tuple(engine.name for engine in engines)
    corpora = {name: CorpusFacts(**facts) for name, facts in data["corpora"].items()}
    given = _Shape(names, tuple(map(parse_measure, claim.measures)), repeats, corpora)
    rows = _rows(data["queries"], given, path, lines)
    shape = (len(rows), len(names), len(claim.measures))
    values = np.array([row.values for row in rows], dtype=np.float64).reshape(shape)
    troubles = {name: tuple(row.troubles[name] for row in rows if name in row.troubles) for name in names}
    return Evidence(
        name=str(path),
        k=int(data["k"]),
        engines=tuple(replace(engine, troubles=troubles[engine.name]) for engine in engines),
        scores=Scores(names, claim.measures, tuple(row.unit for row in rows), np.moveaxis(values, 0, 2)),
        repeats=repeats,
        corpora=corpora,
        golds=tuple(map(str, data["golds"])),
        synthetic=tuple(map(str, data["synthetic"])),
        claim=claim,
        gold_hash=str(data["gold_hash"]),
        assay=str(data["assay"]),
        date=str(data["date"]),
    )


def _claim(row: Mapping[str, Any]) -> Claim:
    """Read the claim that a baseline was made for."""
    listed = {key: tuple(row[key]) for key in ("measures", "family", "tables")}
    claim = Claim(**{**row, **listed})
    if not claim.measures or tuple(repr(parse_measure(name)) for name in claim.measures) != claim.measures:
        raise ValueError("measures are written by their full names")
    return claim


def _engine(row: Mapping[str, Any], repeats: int, measures: int) -> EngineEvidence:
    """Read one engine."""
    means = tuple(tuple(math.nan if value is None else float(value) for value in one) for one in row["means"])
    found = EngineEvidence(**{**row, "answers": tuple(row["answers"]), "means": means})
    if found.role not in get_args(Role):
        raise ValueError(f"{found.name!r} has the role {found.role!r}")
    if repeats < 1 or {len(means), len(found.answers)} != {repeats} or {len(one) for one in means} != {measures}:
        raise ValueError(f"{found.name!r} has not one mean and one digest a repeat")
    if not 0 <= found.failed <= found.asked:
        raise ValueError(f"{found.name!r} failed on {found.failed} of {found.asked}")
    return found


@dataclass(frozen=True, slots=True)
class _Shape:
    """What every query must have."""

    engines: tuple[str, ...]
    measures: tuple[Measure, ...]
    repeats: int
    corpora: Mapping[str, CorpusFacts]


@dataclass(frozen=True, slots=True)
class _Row:
    """One query."""

    unit: Unit
    values: list[list[float]]  # engines × measures
    troubles: Mapping[str, Trouble]  # by engine


def _rows(rows: Sequence[Mapping[str, Any]], shape: _Shape, path: Path, lines: Sequence[int]) -> list[_Row]:
    """Read the queries; what is wrong with one has its line."""
    found: list[_Row] = []
    seen: set[tuple[str, str]] = set()
    for at, row in enumerate(rows):
        try:
            one = _row(row, shape)
            key = (one.unit.intent, one.unit.form)
            if key in seen:
                raise ValueError(f"{one.unit.intent} stands twice")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            why = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"query {at + 1}: {why}", file=path, line=lines[at], hint=_HINT) from error
        seen.add(key)
        found.append(one)
    return found


def _row(row: Mapping[str, Any], shape: _Shape) -> _Row:
    """Read one query."""
    names = ("gold", "query", "form", "hash")
    if not all(isinstance(row[name], str) for name in names):
        raise ValueError(f"{', '.join(names)} are texts")
    tags = {str(key): str(value) for key, value in row.get("tags", {}).items()}
    home = row["repository"] if "repository" in row else shape.corpora[row["gold"]].repository
    unit = Unit(**{name: row[name] for name in names}, repository=home, tags=tags)
    values = [_values(row["values"][engine], shape.measures) for engine in shape.engines]
    failed = {name: _trouble(unit, given, shape.repeats) for name, given in row.get("status", {}).items()}
    return _Row(unit, values, failed)


def _values(given: Sequence[Any], measures: Sequence[Measure]) -> list[float]:
    """Read the values of one engine; each lies in the range of its measure."""
    found = [math.nan if value is None else float(value) for value in given]
    for value, measure in zip(found, measures, strict=True):
        if value < measure.low - DEFAULT.tie or value > measure.high + DEFAULT.tie:
            raise ValueError(f"{measure!r} cannot be {value:g}")
    return found


def _trouble(unit: Unit, given: Sequence[str], repeats: int) -> Trouble:
    """Read how a query ended in each repeat."""
    if len(given) != repeats:
        raise ValueError(f"{len(given)} statuses of {repeats} repeats")
    return Trouble(unit.gold, unit.query, unit.form, tuple(map(Status, given)))
