"""Run one part of a plan."""

from __future__ import annotations

from assay.experiment.cells.estimating import learn
from assay.experiment.cells.outline import outline_of
from assay.experiment.cells.running import run_cells
from assay.experiment.places.place import Missing
from assay.experiment.records.merging import declared_hashes
from assay.experiment.running.asking import Tell
from assay.experiment.running.matrix import How, fleet_of, keeper_of, plan_of
from assay.experiment.shards.dividing import Shard, choose
from assay.experiment.shards.files import Part
from assay.experiment.spec import Spec
from assay.gold.looks import log_looks
from assay.types import Suite


def run_part(
    spec: Spec,
    suite: Suite,
    shard: Shard,
    how: How,
    *,
    missing: Missing | None = None,
    progress: Tell | None = None,
) -> Part:
    """Run the cells of one shard; it goes only to the gold sets that it needs."""
    plan = plan_of(spec, suite, missing, reuse_index=how.reuse_index)
    slots = choose(plan.slots, shard)
    names = {slot.gold for slot in slots}
    log_looks(Suite(tuple(gold for gold in plan.suite.golds if gold.name in names)), "run", list(plan.asked))
    keeper = keeper_of(plan, how)
    with fleet_of(spec, how) as fleet:
        work = run_cells(plan, slots, fleet, keeper, progress or (lambda _: None))
    learn(plan, work)
    outline = outline_of(plan, spec.claim())
    return Part(shard, outline, work, declared_hashes(spec, suite), keeper)
