"""Where it hurts: the queries that an engine lost most on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.report.evidence.record import Evidence
from assay.report.pages.document import Block, Heading, table
from assay.stats.config import DEFAULT
from assay.stats.records import ComparisonRow
from assay.stats.runs import Side, join_sides

#: Queries of one comparison that are kept: who mends ten has mended the reason.
_MOST = 10


@dataclass(frozen=True, slots=True)
class Loss:
    """A query that got worse."""

    engine: str
    measure: str
    gold: str
    query: str
    form: str
    before: float
    after: float

    @property
    def intent(self) -> str:
        """The query with its set."""
        return f"{self.gold}/{self.query}"


def losses(old: Evidence, new: Evidence, name: str, row: ComparisonRow, *, most: int = _MOST) -> tuple[Loss, ...]:
    """List the queries of one comparison between two sides that got worse, the greatest loss first."""
    joined = join_sides(Side(old.scores, name, old.name), Side(new.scores, name, new.name), row.measure).scores
    sign = 1.0 if row.higher_is_better else -1.0
    found = [
        Loss(name, row.measure, unit.gold, unit.query, unit.form, float(before), float(after))
        for unit, before, after in zip(joined.units, joined.values[0, 0], joined.values[1, 0], strict=True)
        if sign * (before - after) > DEFAULT.tie
    ]
    return tuple(sorted(found, key=lambda one: (sign * (one.after - one.before), one.gold, one.query))[:most])


def loss_blocks(found: Sequence[Loss]) -> list[Block]:
    """Show the queries that got worse."""
    if not found:
        return []
    rows = [
        [one.intent, one.engine, f"{one.before:.3f}", f"{one.after:.3f}", f"{one.after - one.before:+.3f}"]
        for one in found
    ]
    return [
        Heading("Queries that lost most"),
        table(["query", "engine", f">{found[0].measure} before", ">now", ">change"], rows),
    ]
