"""Score tables: the headline units, selected measures, the values of one engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ConfigError
from assay.stats.config import check_tag
from assay.stats.records import ValueRange, name_of, range_of
from assay.stats.units import average_phrasings

if TYPE_CHECKING:
    from assay.stats.records import MeasureLike
    from assay.stats.units import IntArray
    from assay.types import FloatArray, Scores, Unit


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """One measure of a score table."""

    name: str
    at: int
    bounds: ValueRange


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """A part of the scores, one column per intent."""

    engines: tuple[str, ...]
    units: tuple[Unit, ...]
    values: FloatArray  # (engines, measures, intents)

    def row(self, engine: str, measure: MeasureColumn) -> FloatArray:
        """Return the values of one engine on one measure."""
        return np.asarray(self.values[self.engines.index(engine), measure.at])


def part(scores: Scores, chosen: Sequence[bool]) -> ScoreTable:
    """Select units and average the phrasings of each intent."""
    kept = np.flatnonzero(chosen)
    folded = average_phrasings([scores.units[i] for i in kept], scores.values[:, :, kept])
    return ScoreTable(scores.engines, folded.units, folded.values)


def headline(scores: Scores, cluster: str = "auto") -> ScoreTable:
    """Select the headline units; raise ConfigError if there are none, or if none has the tag of `cluster`."""
    check_tag(cluster, (tag for unit in scores.units for tag in unit.tags))
    table = part(scores, [unit.headline for unit in scores.units])
    if not table.units:
        raise ConfigError("there are no queries to compare", hint="the score table has no headline unit")
    return table


def column(scores: Scores, measure: MeasureLike | str) -> MeasureColumn:
    """Return the column of a measure."""
    name = name_of(measure)
    if name not in scores.measures:
        raise ConfigError(f"{name} was not scored", hint=f"scored are: {', '.join(scores.measures)}")
    return MeasureColumn(name, scores.measures.index(name), range_of(measure))


def columns(
    scores: Scores, primary: MeasureLike | str, measures: Sequence[MeasureLike | str] | None
) -> tuple[MeasureColumn, ...]:
    """Return the columns of the primary measure and of the others [default: all that were scored]."""
    first = column(scores, primary)
    others = [column(scores, measure) for measure in (scores.measures if measures is None else measures)]
    return (first, *(other for other in others if other.name != first.name))


@dataclass(frozen=True, slots=True)
class SameQueries:
    """Columns that have values on the same queries."""

    kept: IntArray
    members: tuple[int, ...]


def same_queries(values: Sequence[FloatArray]) -> tuple[SameQueries, ...]:
    """Group columns by where they are not NaN, so that a group is computed together; omit empty ones."""
    groups: dict[bytes, list[int]] = {}
    for at, column_values in enumerate(values):
        groups.setdefault((~np.isnan(column_values)).tobytes(), []).append(at)
    found = [
        SameQueries(np.flatnonzero(np.frombuffer(mask, dtype=np.bool_)), tuple(members))
        for mask, members in groups.items()
    ]
    return tuple(group for group in found if len(group.kept))


def check_engine(scores: Scores, engine: str, role: str = "engine") -> None:
    """Raise ConfigError for an engine that is not in the table."""
    if engine not in scores.engines:
        raise ConfigError(f"{role} {engine!r} is not among the engines", hint=f"there are: {', '.join(scores.engines)}")
