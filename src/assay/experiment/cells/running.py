"""Execute the missing cells of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from assay.clock import today
from assay.experiment.cells.keeping import CellStore
from assay.experiment.cells.planning import RunPlan
from assay.experiment.cells.records import CellId, CellResult, CorpusSnapshot, labelled
from assay.experiment.cells.working import CellSink, CellTask, open_corpus_snapshot, run_task
from assay.experiment.corpora import questions_of
from assay.experiment.executors.base import Fleet, as_completed
from assay.experiment.records.directory import IN_TURN, KEPT, SHARDED, SIDE_BY_SIDE, CellTiming
from assay.experiment.running.asking import EngineOutcome, Progress, Tell
from assay.experiment.running.engine_runs import engine_run
from assay.types import Ranking, Status

#: The same words whichever worker it was: results do not depend on who ran them.
_DIED = "the worker that asked it died, each time it was tried"


@dataclass(frozen=True, slots=True)
class PlanResult:
    """What became of a plan, or of a part of it."""

    grounds: Mapping[str, CorpusSnapshot]
    cells: Mapping[CellId, CellResult]
    kept: frozenset[CellId] = frozenset()  # those that were there already
    way: str = SHARDED  # why the times of the others are not compared


def snapshot_all(plan: RunPlan, golds: Iterable[str], fleet: Fleet, tell: Tell) -> dict[str, CorpusSnapshot]:
    """Go to every gold set before any engine starts: what is wrong with one shows now, not in an hour."""
    wanted = frozenset(golds)
    ways = [plan.way(gold) for gold in plan.suite.golds if gold.name in wanted]
    found: dict[str, CorpusSnapshot] = {}
    for way, ground in as_completed(fleet, open_corpus_snapshot, ways):
        found[way.gold.name] = ground
        tell(Progress("", way.gold.name, len(found), len(ways), "corpus"))
    return {gold.name: found[gold.name] for gold in plan.suite.golds if gold.name in found}


def run_cells(plan: RunPlan, slots: Iterable[CellId], fleet: Fleet, keeper: CellStore, tell: Tell) -> PlanResult:
    """Give every cell of some slots."""
    wanted = tuple(slots)
    grounds = snapshot_all(plan, (slot.gold for slot in wanted), fleet, tell)
    lines: dict[str, dict[str, tuple[int, ...]]] = {}
    there = cached_cells(plan, wanted, grounds, keeper)
    cells = {slot: _slim(cell, lines.setdefault(slot.gold, {})) for slot, cell in there}
    kept = frozenset(cells)
    missing = [slot for slot in wanted if slot not in kept]
    tell(Progress("", "", len(kept), len(wanted), "cells"))
    ways = [_near(task, plan, grounds, fleet, keeper) for task in plan.visits(missing, grounds, fleet.width)]
    for task, answered in as_completed(fleet, run_task, ways, instead=lambda task, _: lost_cells(plan, task, grounds)):
        for name, cell in answered.items():
            slot = CellId(task.way.gold.name, name)
            key = plan.key(slot, grounds[slot.gold])
            if not keeper.keeps(key):
                keeper.write(key, cell)
            cells[slot] = _slim(cell, lines.setdefault(slot.gold, {}))
        tell(Progress("", task.way.gold.name, len(cells), len(wanted), "cells"))
    way = IN_TURN if fleet.width == 1 else SIDE_BY_SIDE
    return PlanResult(grounds, {slot: cells[slot] for slot in wanted}, kept, way)


def _near(
    task: CellTask, plan: RunPlan, grounds: Mapping[str, CorpusSnapshot], fleet: Fleet, keeper: CellStore
) -> CellTask:
    if not fleet.near:
        return task
    gold = task.way.gold.name
    keys = {recipe.name: plan.key(CellId(gold, recipe.name), grounds[gold]) for recipe in task.recipes}
    return replace(task, keeping=CellSink(keeper.folder.absolute(), keys))


def lost_cells(plan: RunPlan, task: CellTask, grounds: Mapping[str, CorpusSnapshot]) -> dict[str, CellResult]:
    """Count what killed every worker it was sent to as failed: one engine must not cost the others their results."""
    ground = grounds[task.way.gold.name]
    gold = ground.gold.name
    asked = questions_of(ground.gold, task.way.forms)
    rankings = tuple(Ranking(gold, q.query.id, q.form, status=Status.CRASH, error=_DIED) for q in asked)
    stay = EngineOutcome(rankings, None, notes=(f"on {gold}: {_DIED}",))
    made = {recipe.name: plan.asked[recipe.name].engine for recipe in task.recipes}
    said = {name: engine_run(name, engine, gold, stay) for name, engine in made.items()}
    return {name: CellResult(replace(one, resources={}, date=today()), {}) for name, one in said.items()}


def _slim(cell: CellResult, known: dict[str, tuple[int, ...]]) -> CellResult:
    for path, sizes in cell.lines.items():
        known.setdefault(path, sizes)
    return replace(cell, lines=known)


def cached_cells(
    plan: RunPlan, slots: Iterable[CellId], grounds: Mapping[str, CorpusSnapshot], keeper: CellStore
) -> Iterator[tuple[CellId, CellResult]]:
    """Find the cells that need not be asked, one at a time; they may have been asked under other names."""
    for slot in slots:
        cell = keeper.read(plan.key(slot, grounds[slot.gold]))
        if cell is not None:
            yield slot, labelled(cell, slot)


def timings(work: PlanResult) -> list[CellTiming]:
    """Tell what cells took where they ran; those that were kept took that another time."""
    return [
        CellTiming(
            slot.engine,
            slot.gold,
            cell.spent.index_seconds,
            cell.spent.query_seconds,
            cell.spent.worker,
            reason=KEPT if slot in work.kept else work.way,
        )
        for slot, cell in work.cells.items()
    ]
