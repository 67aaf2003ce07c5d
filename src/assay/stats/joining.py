"""Two engines of two runs in one table, on the queries that are still the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ConfigError
from assay.stats.records import Names
from assay.stats.runs import agreeing, compared_sentence, take
from assay.stats.tables import Table, headline
from assay.types import Scores

if TYPE_CHECKING:
    from assay.types import FloatArray


@dataclass(frozen=True, slots=True)
class Side:
    """An engine of one of two runs."""

    scores: Scores
    engine: str
    run: str  # how the run is called


@dataclass(frozen=True, slots=True)
class Joined:
    """Both engines on the queries they share, and the sentence that says how many those are."""

    scores: Scores
    names: Names
    sentence: str


def join_sides(old: Side, new: Side, measure: str) -> Joined:
    """Put one engine of each run into one table; refuse runs that share too few queries."""
    called = (old.engine, new.engine)
    if old.engine == new.engine:
        called = (f"{old.engine} ({old.run})", f"{new.engine} ({new.run})")
    first, second = headline(old.scores), headline(new.scores)
    kept = agreeing(first, second)
    tables = take(first, list(kept)), take(second, list(kept.values()))
    values = [_values(side, table, measure) for side, table in zip((old, new), tables, strict=True)]
    whole = (~np.isnan(_values(old, first, measure)), ~np.isnan(_values(new, second, measure)))
    sentence = compared_sentence(*whole, kept, measure, Names(old.run, new.run))
    scores = Scores(called, (measure,), tables[0].units, np.array(values)[:, None, :])
    return Joined(scores, Names(*called), sentence)


def _values(side: Side, table: Table, measure: str) -> FloatArray:
    """Take the values of one engine."""
    if side.engine not in table.engines:
        raise ConfigError(f"no engine {side.engine!r} in {side.run}", hint=f"there are: {', '.join(table.engines)}")
    row: FloatArray = table.values[table.engines.index(side.engine), side.scores.measures.index(measure)]
    return row
