"""Comparison of two separate runs on the queries that are the same in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ConfigError, NotComparableError
from assay.stats.compare import assemble
from assay.stats.config import DEFAULT, Settings
from assay.stats.means import table_means
from assay.stats.records import Comparison, MeanRow, RunNames
from assay.stats.rows import EnginePair, comparison_rows
from assay.stats.tables import MeasureColumn, ScoreTable, columns, headline
from assay.types import Scores

if TYPE_CHECKING:
    from assay.stats.records import MeasureLike
    from assay.stats.units import BoolArray
    from assay.types import FloatArray, Scores


_NAMES = RunNames()


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two runs: the shared queries, and the measures with the primary one first."""

    table: ScoreTable
    columns: tuple[MeasureColumn, ...]
    name: str

    def display_name(self, engine: str) -> str:
        return f"{engine} ({self.name})"

    def means(self, settings: Settings) -> tuple[MeanRow, ...]:
        rows = table_means(self.table, self.columns, settings.alpha, settings.cluster)
        return tuple(replace(row, engine=self.display_name(row.engine)) for row in rows)


def compare_scores(
    a: Scores,
    b: Scores,
    *,
    primary: MeasureLike | str,
    names: RunNames = _NAMES,
    margin: float = DEFAULT.margin,
    alpha: float = DEFAULT.alpha,
    seed: int = DEFAULT.seed,
    measures: Sequence[MeasureLike | str] | None = None,
    B: int = DEFAULT.resamples,
    family: Sequence[str] | None = None,
    cluster: str = "auto",
) -> Comparison:
    """Compare each engine's second run with its first, on the queries whose hash agrees; `a` is the baseline.

    `family` has the engines of the second run whose comparisons were declared [default: all].
    """
    settings = Settings(margin, alpha, seed, B, cluster=cluster)
    wanted = [name for name in a.measures if name in b.measures] if measures is None else measures
    first, second = headline(a, cluster), headline(b, cluster)
    kept = match_queries(first, second)
    old = _Side(take_queries(first, list(kept)), columns(a, primary, wanted), names.old)
    new = _Side(take_queries(second, list(kept.values())), columns(b, primary, wanted), names.new)
    old = replace(old, table=_with_shared(old.table, new.table))
    engines = _match_engines(a, b)
    whole = (has_values(first, old.columns[0].at), has_values(second, new.columns[0].at))
    sentence = compared_sentence(*whole, kept, old.columns[0].name, names)
    rows = comparison_rows(_pairs(engines, old, new), old.table.units, settings)
    declared = _declared(engines, new, family)
    found = assemble(rows, [*old.means(settings), *new.means(settings)], old.columns[0], names.old, settings, declared)
    return replace(found, notes=(sentence, *found.notes))


def has_values(table: ScoreTable, measure: int) -> BoolArray:
    """Return for each query whether every engine of a table has a value of the measure."""
    found: BoolArray = np.asarray(~np.isnan(table.values[:, measure]).any(axis=0))
    return found


def compared_sentence(old: BoolArray, new: BoolArray, kept: Mapping[int, int], measure: str, names: RunNames) -> str:
    """Return a sentence on how many queries are compared: the same ones, with a value on both sides."""
    total = max(int(old.sum()), int(new.sum()))
    if not total or (old.all() and new.all()):  # without any value the comparison itself raises an error
        return shared_sentence(len(kept), max(len(old), len(new)), names)
    shared = sum(bool(old[i] and new[j]) for i, j in kept.items())
    return shared_sentence(shared, total, names, f"queries with a value of {measure}")


def shared_sentence(shared: int, total: int, names: RunNames, queries: str = "queries") -> str:
    """Return a sentence on how many queries are the same in both results; raise if too few are."""
    share = shared / total if total else 0.0
    if share < DEFAULT.shared_queries:
        raise NotComparableError(
            f"only {shared} of {total} {queries} ({share:.0%}) are the same in {names.old} and {names.new}",
            hint=f"at least {DEFAULT.shared_queries:.0%} must be: run both on the same gold set",
        )
    return f"Compared on the {shared} of {total} {queries} that are the same in {names.old} and {names.new}."


def match_queries(old: ScoreTable, new: ScoreTable) -> dict[int, int]:
    """Map the columns of one table to those of the other with the same query hash; queries without one never match."""
    place = {(unit.intent, unit.form, unit.hash): i for i, unit in enumerate(new.units) if unit.hash}
    keys = ((i, (unit.intent, unit.form, unit.hash)) for i, unit in enumerate(old.units))
    return {i: place[key] for i, key in keys if key in place}


def take_queries(table: ScoreTable, kept: Sequence[int]) -> ScoreTable:
    """Return some queries of a table, in the given order."""
    return ScoreTable(table.engines, tuple(table.units[i] for i in kept), table.values[:, :, list(kept)])


def _with_shared(old: ScoreTable, new: ScoreTable) -> ScoreTable:
    pairs = zip(old.units, new.units, strict=True)
    return replace(old, units=tuple(replace(unit, shared=other.shared or unit.shared) for unit, other in pairs))


def _match_engines(a: Scores, b: Scores) -> tuple[tuple[str, str], ...]:
    """Pair the engines of two runs by name; the only engines of two runs are a pair whatever their names."""
    shared = tuple((engine, engine) for engine in a.engines if engine in b.engines)
    if not shared and len(a.engines) == len(b.engines) == 1:
        return ((a.engines[0], b.engines[0]),)
    if not shared:
        raise NotComparableError(
            "the two runs have no engine in common",
            hint=f"one has {', '.join(a.engines)}; the other {', '.join(b.engines)}",
        )
    return shared


def _declared(engines: Sequence[tuple[str, str]], new: _Side, family: Sequence[str] | None) -> list[str] | None:
    declared = None if family is None else [new.display_name(engine) for _, engine in engines if engine in family]
    if declared == []:
        raise NotComparableError(
            "no engine of the declared family is in both runs",
            hint=f"the family is {', '.join(family or ())}; both have {', '.join(engine for _, engine in engines)}",
        )
    return declared


def _pairs(engines: Sequence[tuple[str, str]], old: _Side, new: _Side) -> list[EnginePair]:
    return [
        EnginePair(
            engine=new.display_name(second),
            baseline=old.display_name(first),
            measure=before.name,
            bounds=before.bounds,
            new=new.table.row(second, after),
            old=old.table.row(first, before),
        )
        for before, after in zip(old.columns, new.columns, strict=True)
        for first, second in engines
    ]


@dataclass(frozen=True, slots=True)
class EngineOfRun:
    """An engine of one of two runs."""

    scores: Scores
    engine: str
    run: str  # the display name of the run


@dataclass(frozen=True, slots=True)
class JoinedEngines:
    """Both engines on their shared queries, and a sentence on how many those are."""

    scores: Scores
    names: RunNames
    sentence: str


def join_sides(old: EngineOfRun, new: EngineOfRun, measure: str) -> JoinedEngines:
    """Join one engine of each run in one table; raise if the runs share too few queries."""
    called = (old.engine, new.engine)
    if old.engine == new.engine:
        called = (f"{old.engine} ({old.run})", f"{new.engine} ({new.run})")
    first, second = headline(old.scores), headline(new.scores)
    kept = match_queries(first, second)
    tables = take_queries(first, list(kept)), take_queries(second, list(kept.values()))
    values = [_values(side, table, measure) for side, table in zip((old, new), tables, strict=True)]
    whole = (~np.isnan(_values(old, first, measure)), ~np.isnan(_values(new, second, measure)))
    sentence = compared_sentence(*whole, kept, measure, RunNames(old.run, new.run))
    scores = Scores(called, (measure,), tables[0].units, np.array(values)[:, None, :])
    return JoinedEngines(scores, RunNames(*called), sentence)


def _values(side: EngineOfRun, table: ScoreTable, measure: str) -> FloatArray:
    if side.engine not in table.engines:
        raise ConfigError(f"no engine {side.engine!r} in {side.run}", hint=f"there are: {', '.join(table.engines)}")
    row: FloatArray = table.values[table.engines.index(side.engine), side.scores.measures.index(measure)]
    return row
