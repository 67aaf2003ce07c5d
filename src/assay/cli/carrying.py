"""How `assay run` is carried out: here, in processes, on a cluster, in shards, or only planned."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import counted, emit, say, teller

if TYPE_CHECKING:
    from assay.experiment.cells.running import Work
    from assay.experiment.places.place import Missing
    from assay.experiment.running.matrix import How
    from assay.experiment.spec import Spec
    from assay.types import Run, Suite


@dataclass(frozen=True, slots=True)
class Carried:
    """A run, and the work that went into it where it was made of cells."""

    run: Run
    work: Work | None = None
    notes: tuple[str, ...] = field(default=())


@contextmanager
def how_of(args: argparse.Namespace, folder: Path) -> Iterator[How]:
    """Say how a run is carried out, by the flags; a cluster is left when it is over."""
    from assay.experiment.running.matrix import How

    fresh, reuse = getattr(args, "fresh", False), getattr(args, "reuse_index", False)
    address = getattr(args, "cluster", None)
    if not address:
        yield How(folder, fresh=fresh, reuse_index=reuse)
        return
    from assay.experiment.executing.cluster import Cluster

    cluster = Cluster(address)
    try:
        yield How(folder, cluster, fresh=fresh, reuse_index=reuse)
    finally:
        cluster.close()
        for trouble in cluster.troubles:
            say(args, trouble)


def carry_out(args: argparse.Namespace, spec: Spec, suite: Suite, missing: Missing | None, how: How) -> Carried:
    """Run it: engines take turns where times are measured, else cells run side by side."""
    from assay.experiment.running.matrix import is_timed, matrix
    from assay.experiment.running.suites import run_spec

    if is_timed(spec, how):
        return Carried(run_spec(spec, suite, missing=missing, progress=teller(args), how=how))
    made = matrix(spec, suite, missing=missing, progress=teller(args), how=how)
    for trouble in made.troubles:
        say(args, trouble)
    cells = counted(len(made.work.cells), "cell")
    say(args, f"{cells}: {len(made.work.kept)} were kept, {len(made.work.cells) - len(made.work.kept)} asked now")
    return Carried(made.run, made.work)


def write_down(folder: Path, carried: Carried) -> None:
    """Write what is beside the results: what cells took; what was kept for this run alone goes."""
    from assay.experiment.cells.keeping import Keeper
    from assay.experiment.cells.running import timings
    from assay.experiment.records.timings import write_timings

    if carried.work is not None:
        write_timings(folder, timings(carried.work))
    Keeper(folder).finish()


def show_plan(args: argparse.Namespace, spec: Spec, suite: Suite, missing: Missing | None) -> int:
    """Show what a run would do; no engine is asked, nothing is written."""
    from assay.engines.pinning import available_threads
    from assay.experiment.running.matrix import prospect
    from assay.report.commands.prospect import plan_document, plan_json

    jobs = spec.jobs or available_threads()
    found = prospect(spec, suite, missing=missing, folder=Path(spec.out), fresh=args.fresh, width=jobs)
    document = plan_document(found.tree, found.left, found.skipped, jobs, timed=found.timed)
    emit(args, document, plan_json(found.tree, found.left, found.skipped, timed=found.timed))
    return 0
