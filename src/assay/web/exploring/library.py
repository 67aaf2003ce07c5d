"""Which runs are there? Found below the folders that were named, and known by an id: no path comes from a browser."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.digests import text_digest
from assay.errors import ConfigError
from assay.experiment.records.folders import is_run
from assay.experiment.records.layout import ENGINES, QRELS, RUNS, SHARDS
from assay.web.exploring.limits import LIMITS, ExploringLimits
from assay.web.messages import Refused

#: Folders that hold no runs of their own: those of a run, and what tools put into repositories.
_SKIPPED = {*(name.rstrip("/") for name in (ENGINES, RUNS, QRELS, SHARDS)), "node_modules", "__pycache__"}
_ID_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Found:
    """The folder of a run."""

    id: str
    name: str  # as people call it: the way to it from the folder that was named
    path: Path


class Library:
    """The runs below some folders, looked for anew whenever somebody asks for the list."""

    def __init__(self, roots: Sequence[Path], limits: ExploringLimits = LIMITS) -> None:
        self.roots = tuple(dict.fromkeys(_root(folder) for folder in roots))
        self.limits = limits
        self._known: dict[str, Found] = {}

    def scan(self) -> tuple[Found, ...]:
        """List the runs that are there now."""
        found: dict[str, Found] = {}
        for root in self.roots:
            for folder in _run_folders(root, self.limits):
                one = Found(text_digest(str(folder))[:_ID_DIGITS], self._called(root, folder), folder)
                found.setdefault(one.id, one)
                if len(found) >= self.limits.runs:
                    break
        self._known = found
        return tuple(found.values())

    def find(self, run_id: str) -> Found:
        """Give the run that an id stands for."""
        if run_id not in self._known:
            self.scan()
        if run_id not in self._known:
            raise Refused(404, "this run is not here, or no longer", hint="go back to the list of runs")
        return self._known[run_id]

    def _called(self, root: Path, folder: Path) -> str:
        """Name a run; where several folders are served, beginning with the folder's own name."""
        way = folder.relative_to(root).as_posix()
        if way == ".":
            return root.name or str(root)
        return f"{root.name}/{way}" if len(self.roots) > 1 else way


def _root(folder: Path) -> Path:
    """Check a folder that is to be served."""
    if not folder.is_dir():
        what = "is a file, not a folder of results" if folder.exists() else "no such folder"
        raise ConfigError(what, file=folder, hint="name a folder of results, or one that holds several")
    return folder.resolve()


def _run_folders(root: Path, limits: ExploringLimits) -> Iterator[Path]:
    """List the folders with a run, a folder before those in it; links are not followed, so nothing leads out."""
    left, looked = [(root, 0)], 0
    while left and looked < limits.folders:
        folder, depth = left.pop(0)
        looked += 1
        if is_run(folder):
            yield folder
        if depth < limits.depth:
            left += [(inner, depth + 1) for inner in _inner_folders(folder)]


def _inner_folders(folder: Path) -> list[Path]:
    """List the folders in a folder where runs may be; one that cannot be read has none."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(
                entry.name
                for entry in entries
                if entry.is_dir(follow_symlinks=False) and entry.name not in _SKIPPED and entry.name[0] != "."
            )
    except OSError:
        return []
    return [folder / name for name in names]
