"""Two runs made apart: compared on the queries that are still the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.errors import NotComparableError
from assay.stats.compare import assemble
from assay.stats.config import DEFAULT, Settings
from assay.stats.means import table_means
from assay.stats.records import Comparison, MeanRow, Names
from assay.stats.rows import Pair, comparison_rows
from assay.stats.tables import Column, Table, columns, headline

if TYPE_CHECKING:
    from assay.stats.traits import MeasureLike
    from assay.types import Scores

_NAMES = Names()


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two runs: its shared queries and its measures, the primary one first."""

    table: Table
    columns: tuple[Column, ...]
    name: str

    def called(self, engine: str) -> str:
        """Name an engine of this run."""
        return f"{engine} ({self.name})"

    def means(self, alpha: float) -> tuple[MeanRow, ...]:
        """Give the means of this run, each under the run's name."""
        rows = table_means(self.table, self.columns, alpha)
        return tuple(replace(row, engine=self.called(row.engine)) for row in rows)


@dataclass(frozen=True, slots=True)
class _Partners:
    """An engine of the first run and the one of the second that it is compared with."""

    old: str
    new: str


def compare_scores(
    a: Scores,
    b: Scores,
    *,
    primary: MeasureLike | str,
    names: Names = _NAMES,
    margin: float = DEFAULT.margin,
    alpha: float = DEFAULT.alpha,
    seed: int = DEFAULT.seed,
    measures: Sequence[MeasureLike | str] | None = None,
    B: int = DEFAULT.resamples,
) -> Comparison:
    """Compare each engine's second run with its first, on the queries whose hash agrees; `a` is the baseline."""
    settings = Settings(margin, alpha, seed, B)
    wanted = [name for name in a.measures if name in b.measures] if measures is None else measures
    first, second = headline(a), headline(b)
    kept = _agreeing(first, second)
    sentence = shared_sentence(len(kept), max(len(first.units), len(second.units)), names)
    old = _Side(_take(first, list(kept)), columns(a, primary, wanted), names.old)
    new = _Side(_take(second, list(kept.values())), columns(b, primary, wanted), names.new)
    rows = comparison_rows(_pairs(_partners(a, b), old, new), old.table.units, settings)
    found = assemble(rows, [*old.means(alpha), *new.means(alpha)], old.columns[0], names.old, settings, None)
    return replace(found, notes=(sentence, *found.notes))


def shared_sentence(shared: int, total: int, names: Names) -> str:
    """Say how many queries are the same in both results; refuse when too few are."""
    share = shared / total if total else 0.0
    if share < DEFAULT.shared_queries:
        raise NotComparableError(
            f"only {shared} of {total} queries ({share:.0%}) are the same in {names.old} and {names.new}",
            hint=f"at least {DEFAULT.shared_queries:.0%} must be: run both on the same gold set",
        )
    return f"Compared on the {shared} of {total} queries that are the same in {names.old} and {names.new}."


def _agreeing(old: Table, new: Table) -> dict[int, int]:
    """Map the columns of one table to those of the other whose query hash agrees; no hash agrees with nothing."""
    place = {(unit.intent, unit.form, unit.hash): i for i, unit in enumerate(new.units) if unit.hash}
    keys = ((i, (unit.intent, unit.form, unit.hash)) for i, unit in enumerate(old.units))
    return {i: place[key] for i, key in keys if key in place}


def _take(table: Table, kept: Sequence[int]) -> Table:
    """Keep some of a table's queries, in the given order."""
    return Table(table.engines, tuple(table.units[i] for i in kept), table.values[:, :, list(kept)])


def _partners(a: Scores, b: Scores) -> tuple[_Partners, ...]:
    """Pair engines of the same name, or the only two there are."""
    shared = tuple(_Partners(engine, engine) for engine in a.engines if engine in b.engines)
    if not shared and len(a.engines) == len(b.engines) == 1:
        return (_Partners(a.engines[0], b.engines[0]),)
    if not shared:
        raise NotComparableError(
            "the two runs have no engine in common",
            hint=f"one has {', '.join(a.engines)}; the other {', '.join(b.engines)}",
        )
    return shared


def _pairs(partners: Sequence[_Partners], old: _Side, new: _Side) -> list[Pair]:
    """Line the engines up, measure by measure."""
    return [
        Pair(
            engine=new.called(pair.new),
            baseline=old.called(pair.old),
            measure=before.name,
            bounds=before.bounds,
            new=new.table.row(pair.new, after),
            old=old.table.row(pair.old, before),
        )
        for before, after in zip(old.columns, new.columns, strict=True)
        for pair in partners
    ]
