"""Where the gold files of a run lie, seen from its folder: a run is reopened where it was made, wherever one stands."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay.types import Gold, Suite


def ways_to(suite: Suite, folder: Path) -> dict[str, str]:
    """Give the way from the folder of a run to each gold file that was named from where one stood.

    It holds as long as both move together, as they do in a repository. A file with a whole path needs no way.
    """
    named = {gold.name: Path(gold.source) for gold in suite.golds if gold.source}
    here = {name: file for name, file in named.items() if not file.is_absolute() and file.exists()}
    return {
        name: Path(os.path.relpath(_real(file), os.path.realpath(folder))).as_posix() for name, file in here.items()
    }


def from_here(suite: Suite, folder: Path, ways: Mapping[str, str]) -> Suite:
    """Name gold files as they are found from where one stands now; one that is not there any more stays as it was."""
    return replace(suite, golds=tuple(_found(gold, folder, ways.get(gold.name)) for gold in suite.golds))


def _found(gold: Gold, folder: Path, way: str | None) -> Gold:
    """Follow the way to a gold file."""
    file = None if way is None else Path(os.path.normpath(os.path.join(os.path.realpath(folder), way)))
    if gold.source is None or file is None or not file.exists() or _real(Path(gold.source)) == file:
        return gold
    here = Path.cwd()
    return replace(gold, source=str(file.relative_to(here) if file.is_relative_to(here) else file))


def _real(file: Path) -> Path:
    """Resolve the folder of a file; a link stays one, for what lies beside it is meant."""
    return Path(os.path.realpath(file.parent)) / file.name
