"""How `assay run` is carried out: here, in processes, on a cluster, in shards, or only planned."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.common.output import counted, emit, say, teller

if TYPE_CHECKING:
    from assay.experiment.places.place import Missing
    from assay.experiment.running.experiments import Carried
    from assay.experiment.running.matrix import How
    from assay.experiment.spec import Spec
    from assay.types import Suite


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


def carried_out(args: argparse.Namespace, spec: Spec, suite: Suite, missing: Missing | None, how: How) -> Carried:
    """Carry it out, showing how far it is, and say what was kept and what went wrong beside it."""
    from assay.experiment.running.experiments import carry_out

    carried = carry_out(spec, suite, missing=missing, progress=teller(args), how=how)
    for trouble in carried.troubles:
        say(args, trouble)
    if carried.work is not None:
        cells, kept = len(carried.work.cells), len(carried.work.kept)
        say(args, f"{counted(cells, 'cell')}: {kept} were kept, {cells - kept} asked now")
    return carried


def write_down(folder: Path, carried: Carried) -> None:
    """Write what is beside the results: what cells took; what was kept for this run alone goes."""
    from assay.experiment.cells.running import timings
    from assay.experiment.records.timings import write_timings

    if carried.work is not None:
        write_timings(folder, timings(carried.work))
    carried.finish()


def show_plan(args: argparse.Namespace, spec: Spec, suite: Suite, missing: Missing | None) -> int:
    """Show what a run would do; no engine is asked, nothing is written."""
    from assay.engines.resources import available_threads
    from assay.experiment.running.matrix import prospect
    from assay.report.commands.prospect import prospect_document, prospect_json

    with how_of(args, Path(spec.out)) as how:
        width = how.fleet.width if how.fleet else spec.jobs or available_threads()
        found = prospect(spec, suite, missing=missing, how=how, width=width)
    emit(args, prospect_document(found, width), prospect_json(found))
    return 0
