"""A specification as a matrix of cells: planned, run by a fleet or in shards, put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.errors import ConfigError
from assay.experiment.cells.estimating import Estimate, estimate, learn, read_rates
from assay.experiment.cells.keeping import Keeper, unfinished
from assay.experiment.cells.outline import outline_of, run_of
from assay.experiment.cells.planning import Asked, Plan
from assay.experiment.cells.running import Work, run_cells, survey_all
from assay.experiment.cells.tree import Node, kept_indexes, plan_tree
from assay.experiment.corpora import Missing
from assay.experiment.executors.base import Fleet, Here
from assay.experiment.executors.processes import Processes
from assay.experiment.running.asking import Limits, Tell
from assay.experiment.spec import Spec, Subject, recipe_of, unmet
from assay.gold.looks import log_looks
from assay.gold.split import select
from assay.types import Run, Suite


@dataclass(frozen=True, slots=True)
class How:
    """How a run is carried out; nothing of it shows in the results."""

    folder: Path | None = None  # of the results, where what is unfinished is kept; none: in the cache
    fleet: Fleet | None = None  # none: processes on this machine
    fresh: bool = False  # ask again what is kept
    reuse_index: bool = False  # let tools take up the indexes of earlier runs


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is run of a specification now, and what is not, with the reason."""

    run: tuple[Subject, ...]
    skipped: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A run that was made of cells, and the work that went into it."""

    run: Run
    work: Work
    keeper: Keeper


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a run would do."""

    tree: Node
    left: Estimate
    skipped: Mapping[str, str]
    timed: bool
    strangers: tuple[str, ...] = ()  # engines that every run asks, for nobody knows whether they are what they were


def is_timed(spec: Spec, how: How | None = None) -> bool:
    """Tell whether times are measured: said so, or nothing asks for cells."""
    return spec.timed and (spec.times is not None or how is None or how.fleet is None)


def asked_now(spec: Spec) -> Chosen:
    """Choose what is run: what `only` names, without what lacks something that it needs and is checked all the same."""
    wanted = [subject for subject in spec.subjects() if not spec.only or subject.name in spec.only]
    lacking = {subject.name: reason for subject in wanted if (reason := unmet(subject.requires))}
    for name in lacking:
        recipe_of(spec, name).check()
    chosen = tuple(subject for subject in wanted if subject.name not in lacking)
    if not any(subject.name in spec.engines or subject.variation for subject in chosen) and lacking:
        name, reason = next(iter(lacking.items()))
        raise ConfigError(f"nothing is left to run: {name}: {reason}", hint="provide what is missing, or run others")
    return Chosen(chosen, lacking)


def plan_of(spec: Spec, suite: Suite, missing: Missing | None = None, *, reuse_index: bool = False) -> Plan:
    """Plan the matrix; every engine is made once here, so that what is wrong with one shows before anything runs."""
    chosen = asked_now(spec)
    picked = select(suite, spec.split).suite
    asked = {subject.name: _asked(spec, subject, picked) for subject in chosen.run}
    limits = Limits(spec.timeout, spec.index_timeout, spec.give_up)
    return Plan(picked, asked, spec.k, spec.forms, missing, limits, chosen.skipped, reuse_index)


def _asked(spec: Spec, subject: Subject, suite: Suite) -> Asked:
    """Make one engine of the matrix."""
    recipe = recipe_of(spec, subject.name, suite)
    return Asked(recipe, recipe.make(), subject.variation)


def matrix(
    spec: Spec,
    suite: Suite,
    *,
    missing: Missing | None = None,
    progress: Tell | None = None,
    how: How | None = None,
) -> Matrix:
    """Run every cell of a specification and put them together."""
    how = how or How()
    plan = plan_of(spec, suite, missing, reuse_index=how.reuse_index)
    keeper = keeper_of(plan, how)
    log_looks(plan.suite, "run", list(plan.asked))
    with fleet_of(spec, how) as fleet:
        work = run_cells(plan, plan.slots, fleet, keeper, progress or (lambda _: None))
    learn(plan, work)
    return Matrix(run_of(outline_of(plan, spec.claim()), work), work, keeper)


def prospect(
    spec: Spec, suite: Suite, *, missing: Missing | None = None, how: How | None = None, width: int = 1
) -> Prospect:
    """Look what a run would have to do; corpora are opened, no engine is asked and nothing is written."""
    how = how or How()
    plan = plan_of(spec, suite, missing, reuse_index=how.reuse_index)
    grounds = survey_all(plan, (gold.name for gold in plan.suite.golds), Here(), lambda _: None)
    keeper = keeper_of(plan, how)
    timed = is_timed(spec, how)
    left = [slot for slot in plan.slots if timed or not keeper.has(plan.key(slot, grounds[slot.gold]))]
    there = () if timed else kept_indexes(plan, left, grounds)
    guess = estimate(plan, left, grounds, read_rates(), 1 if timed else width, there)
    tree = plan_tree(plan, grounds, None if timed else keeper)
    strangers = tuple(name for name, one in plan.asked.items() if not timed and one.engine.identity is None)
    return Prospect(tree, guess, plan.skipped, timed, strangers)


def keeper_of(plan: Plan, how: How) -> Keeper:
    """Say where cells are kept."""
    return Keeper(how.folder or unfinished() / plan.digest[:16], fresh=how.fresh)


@contextmanager
def fleet_of(spec: Spec, how: How) -> Iterator[Fleet]:
    """Give whoever runs the cells; a fleet of our own ends with the run."""
    if how.fleet is not None:
        yield how.fleet
        return
    fleet: Fleet = Here() if spec.jobs == 1 else Processes(spec.jobs or 0)
    try:
        yield fleet
    finally:
        fleet.close()
