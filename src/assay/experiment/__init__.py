"""Run engines on gold sets, and read and write run directories."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.experiment.records import check_directory, lock_directory, read_run, write_run

if TYPE_CHECKING:
    from assay.experiment.execution import run
    from assay.experiment.interleaved import Progress

#: Imported on first use: readers of records need no engines.
_MODULES = {"Progress": "assay.experiment.interleaved", "run": "assay.experiment.execution"}

__all__ = ["Progress", "check_directory", "lock_directory", "read_run", "run", "write_run"]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)
