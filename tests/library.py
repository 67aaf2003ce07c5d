"""A standard library of a few dozen files: reading, indexing and searching the whole one takes a minute."""

from __future__ import annotations

import shutil
import sysconfig
from dataclasses import replace
from pathlib import Path

import pytest

from assay.gold import load_gold
from assay.types import GoldSet, Query

_REAL = sysconfig.get_path


def short_gold(name: str, count: int) -> GoldSet:
    """Return the queries of a shipped set whose answers and adversaries lie in the smallest files."""
    top = Path(_REAL("stdlib"))
    (gold,) = load_gold(name).golds
    here = [query for query in gold.queries if all((top / file).is_file() for file in _files(query))]
    short = sorted(here, key=lambda query: sum((top / file).stat().st_size for file in _files(query)))
    return replace(gold, queries=tuple(short[:count]))


def copy_library(gold: GoldSet, folder: Path) -> Path:
    """Copy the files that a set names out of the standard library."""
    for file in {"os.py"}.union(*map(_files, gold.queries)):  # without os.py a folder is no library
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(_REAL("stdlib"), file), folder / file)
    return folder


def use_library(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder the standard library of this interpreter, as far as Assay can tell."""
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(folder) if name == "stdlib" else _REAL(name))


def _files(query: Query) -> set[str]:
    targets = (*query.targets, *(adversary.target for adversary in query.adversaries))
    return {target.span.path for target in targets}
