"""`assay train` without its flags: mine, learn, pack; told in lines, and begun again where it was interrupted."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from assay.errors import EnvironmentFailure, InputError
from assay.files import remove_leftovers
from assay.search.store.lock import Patience, writer_lock
from assay.training.config import TrainConfig
from assay.training.making import make_model
from assay.training.mining.exclusion import Barrier, Exclusions
from assay.training.mining.mining import Event, Ready, prepare
from assay.training.mining.reports import Report, read_report
from assay.training.packing import Packed
from assay.training.shards import KINDS
from assay.training.stages import Tell

WORK, MODEL = "work", "model"
_SHOWN: Final = 3  # reasons or names that a line has room for


@dataclass(frozen=True, slots=True)
class Order:
    """What to train on and where to."""

    folder: Path
    out: Path
    exclusions: Exclusions
    corpora: Path | None = None  # repositories whose code is never learned from
    workers: int | None = None


def train(order: Order, config: TrainConfig, tell: Tell) -> Packed:
    """Make the model of a folder of repositories."""
    work = order.out / WORK
    with alone(order.out):
        ready = prepare(order.folder, config.mining, work, order.exclusions, order.workers, corpora=order.corpora)
        if ready.barrier.unchecked:
            tell(unchecked_line(ready.barrier.unchecked))
        reports = _mined(ready, tell)
        used = {report.repository for report in reports if sum(report.pairs.values())}
        if not used:
            raise InputError("no repository gave a pair", file=order.folder, hint=_why_none(reports))
        shards, manifest = _shards(work / "shards", used), make_manifest(reports, ready.barrier)
        return make_model(shards, config, work, order.out / MODEL, manifest=manifest, tell=tell)


@contextmanager
def alone(out: Path) -> Iterator[None]:
    """Keep other trainings away from a folder, and remove what one that was killed left half-written."""
    with ExitStack() as held:
        try:
            held.enter_context(writer_lock(out / WORK, Patience(seconds=0)))
        except EnvironmentFailure as error:
            raise EnvironmentFailure("this folder is taken or cannot be written", file=out, hint=error.hint) from error
        remove_leftovers(out / WORK / "shards")
        for half in sorted(out.glob(f".{MODEL}.*")):
            shutil.rmtree(half)
        yield


def unchecked_line(names: Sequence[str]) -> str:
    """Say of which excluded repositories copies go unnoticed."""
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return (
        f"NOT checked for copies: code of {len(names)} excluded repositories that are not here or cannot be read "
        f"({shown}); lay them under --exclude-corpora"
    )


def _mined(ready: Ready, tell: Tell) -> list[Report]:
    """Mine, and give what became of each repository, by name."""
    reports: list[Report] = []
    for event in ready.mine():
        reports.append(event.report)
        tell(_line(event))
    reports.sort(key=lambda report: report.repository)
    for report in reports:
        if report.reason.startswith("failed:"):  # a model without it would not be the model of these repositories
            hint = "run it again: the others are not mined a second time; or list it in the file of --exclude"
            raise EnvironmentFailure(f"{report.repository}: mining {report.reason}", hint=hint)
    return reports


def _line(event: Event) -> str:
    """Say what became of a repository."""
    report = event.report
    found = report.reason or f"{sum(report.pairs.values()):,} pairs, {report.licence}"
    return f"mined {event.done}/{event.total}: {report.repository}: {found}"


def _shards(folder: Path, names: set[str]) -> list[Path]:
    """Find the shards of some repositories; a folder may hold those of an earlier run too."""
    found = ((path, read_report(path)) for path in sorted(folder.glob("*.json")))
    return [path.with_suffix(".assay") for path, report in found if report and report.repository in names]


def make_manifest(reports: Sequence[Report], barrier: Barrier) -> dict[str, Any]:
    """List what a model was learned from, and whose copied code was looked for; what was left out is only counted."""
    used = [report.to_json() for report in reports if sum(report.pairs.values())]
    left_out = Counter(_category(report) for report in reports if not sum(report.pairs.values()))
    kinds = {kind: sum(report.pairs.get(kind, 0) for report in reports) for kind in KINDS}
    windows = {"checked": dict(barrier.checked), "not_checked": list(barrier.unchecked)}
    return {"repositories": used, "pairs": kinds, "left_out": dict(sorted(left_out.items())), "windows": windows}


def _category(report: Report) -> str:
    """Say in short why a repository gave nothing."""
    if "exclusion list" in report.reason:
        return "on the exclusion list"
    return report.reason.partition(":")[0] or "no pairs"


def _why_none(reports: Sequence[Report]) -> str:
    """Say why there is nothing, and what to do."""
    reasons = Counter(_category(report) for report in reports).most_common(_SHOWN)
    shown = ", ".join(f"{reason} ({count})" for reason, count in reasons)
    return f"{shown}; add permissively licensed repositories with documented code"
