"""Estimate run time from earlier cells, per megabyte of source and per query."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass

from assay.errors import SetupError
from assay.experiment.cells.planning import RunPlan
from assay.experiment.cells.records import CellId, CorpusSnapshot
from assay.experiment.cells.running import PlanResult
from assay.store import Store
from assay.store.kinds import RATES

#: How much the newest run counts against all before it: machines change slowly, the first runs are cold.
_NEWEST = 0.5


@dataclass(frozen=True, slots=True)
class Rate:
    """What engines of a kind took on this machine."""

    index: float  # seconds for a megabyte of source
    query: float  # seconds for a question


@dataclass(frozen=True, slots=True)
class TimeEstimate:
    """What is left to do, and how long it may take; None where nothing like it was ever run here."""

    cells: int
    questions: int
    seconds: float | None
    unknown: tuple[str, ...] = ()  # kinds that were never run here


def read_rates() -> dict[str, Rate]:
    """Read what earlier runs took; what cannot be read was never known."""
    try:
        rows = json.loads(Store().get(RATES.name, "rates") or b"{}")
        return {kind: Rate(float(row["index"]), float(row["query"])) for kind, row in rows.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def learn(plan: RunPlan, work: PlanResult) -> None:
    """Remember what a run took; where that cannot be written, the next estimate is the worse for it."""
    rates = read_rates()
    for kind in sorted({kind_of(plan, slot.engine) for slot in work.cells}):
        seen = _seen(plan, work, kind)
        if seen is not None:
            old = rates.get(kind, seen)
            rates[kind] = Rate(_mixed(old.index, seen.index), _mixed(old.query, seen.query))
    plain = {kind: asdict(rate) for kind, rate in sorted(rates.items())}
    with suppress(SetupError):
        Store().put(RATES.name, "rates", json.dumps(plain).encode())


def estimate(
    plan: RunPlan,
    slots: Iterable[CellId],
    grounds: Mapping[str, CorpusSnapshot],
    rates: Mapping[str, Rate],
    width: int,
    there: Collection[tuple[str, str]] = (),
) -> TimeEstimate:
    """Guess how long some cells take: an index once for those that share it, every question for every engine.

    `there` has the indexes that are kept, by gold set and company.
    """
    cells = list(slots)
    kinds = {slot.engine: kind_of(plan, slot.engine) for slot in cells}
    unknown = tuple(sorted({kind for kind in kinds.values() if kind not in rates}))
    asked = sum(grounds[slot.gold].questions for slot in cells)
    if unknown:
        return TimeEstimate(len(cells), asked, None, unknown)
    indexes = {(slot.gold, plan.asked[slot.engine].company): kinds[slot.engine] for slot in cells}
    made = {place: kind for place, kind in indexes.items() if place not in there}
    seconds = sum(grounds[gold].size / 1e6 * rates[kind].index for (gold, _), kind in made.items())
    seconds += sum(grounds[slot.gold].questions * rates[kinds[slot.engine]].query for slot in cells)
    return TimeEstimate(len(cells), asked, seconds / max(1, min(width, len(indexes))))


def kind_of(plan: RunPlan, engine: str) -> str:
    """Name engines that take alike: those of one kind, tools by their own name."""
    asked = plan.asked[engine]
    kind = str(asked.kind or engine)
    return kind if asked.ours else f"{kind}:{engine}"


def _seen(plan: RunPlan, work: PlanResult, kind: str) -> Rate | None:
    mine = [(slot, cell) for slot, cell in work.cells.items() if kind_of(plan, slot.engine) == kind]
    fresh = [(slot, cell) for slot, cell in mine if cell.spent.worker and slot not in work.kept]
    if not fresh:
        return None
    questions = sum(work.grounds[slot.gold].questions for slot, _ in fresh)
    built = {slot.gold: cell.spent.index_seconds or 0.0 for slot, cell in reversed(fresh) if cell.spent.made}
    size = sum(work.grounds[gold].size for gold in built) / 1e6
    index = sum(built.values()) / size if size else 0.0
    return Rate(index, sum(cell.spent.query_seconds for _, cell in fresh) / max(questions, 1))


def _mixed(old: float, new: float) -> float:
    return (1 - _NEWEST) * old + _NEWEST * new if new else old
