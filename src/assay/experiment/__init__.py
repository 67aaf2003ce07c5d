"""Experiments: gold sets × engines, run and recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.experiment.records import check_directory, lock_directory, read_run, write_run

if TYPE_CHECKING:
    from assay.experiment.running.asking import Progress
    from assay.experiment.running.turns import run

#: What asks engines is fetched on first use: whoever reads records needs none.
_HOMES = {"Progress": "assay.experiment.running.asking", "run": "assay.experiment.running.turns"}

__all__ = ["Progress", "check_directory", "lock_directory", "read_run", "run", "write_run"]


def __getattr__(name: str) -> object:
    """Fetch what runs engines."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
