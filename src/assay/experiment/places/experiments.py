"""Experiments that lie in a corpus: another file beside assay.toml must not make the corpus another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.experiment.spec import KEYS, TABLES
from assay.experiment.spec.extending import EXTENDS, PRESET
from assay.experiment.spec.layers import DROP
from assay.settings import leaves
from assay.toml import read_toml

#: What makes a file an experiment; [search] alone, or [tune], may be anybody's.
_TELLING = ("run", "engines", "variants", "sweeps", EXTENDS)
_TEMPLATE = "config.template"  # the setting of an engine that names a configuration file of its tool


def experiments_near(folders: Iterable[Path]) -> list[Path]:
    """List the experiments in folders and right below them, what they extend, and the templates their engines name."""
    found: dict[Path, Mapping[str, Any]] = {}
    left = [file for folder in folders for pattern in ("*.toml", "*/*.toml") for file in sorted(folder.glob(pattern))]
    while left:
        file = left.pop(0).resolve()
        data = None if file in found else _experiment(file)
        if data is not None:
            found[file] = data
            left += _extended(file, data)
    return [*found, *(template for file, data in found.items() for template in _templates(file, data, found))]


def _experiment(file: Path) -> Mapping[str, Any] | None:
    """Read an experiment; None when it is something else, or cannot be read."""
    try:
        seen = file.stat()
    except OSError:
        return None
    return _read(file, (seen.st_mtime_ns, seen.st_size))


@cache
def _read(file: Path, _state: tuple[int, int]) -> Mapping[str, Any] | None:
    """Read a file once for every state of it: a run asks for each of its tasks."""
    try:
        data = read_toml(file).data
    except ConfigError:
        return None
    return data if is_experiment(data) else None


def is_experiment(data: Mapping[str, Any]) -> bool:
    """Tell an experiment by its content: our tables and no others, and keys of [run] that we know."""
    tables = [value for key, value in data.items() if key not in (EXTENDS, DROP)]
    known = set(data) <= {*TABLES, EXTENDS, DROP} and not set(data).isdisjoint(_TELLING)
    return known and all(isinstance(table, Mapping) for table in tables) and set(data.get("run", {})) <= set(KEYS)


def _extended(file: Path, data: Mapping[str, Any]) -> list[Path]:
    """List the files that an experiment changes."""
    named = data.get(EXTENDS, [])
    names = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    return [(file.parent / name).resolve() for name in names if isinstance(name, str) and not name.startswith(PRESET)]


def _templates(file: Path, data: Mapping[str, Any], known: Mapping[Path, Mapping[str, Any]]) -> Iterator[Path]:
    """List the configuration files of tools; one is named from the folder of whoever declares the engine."""
    folders = dict.fromkeys(path.parent for path in (file, *_extended(file, data)) if path in known)
    for name in dict.fromkeys(_named(data)):
        yield from (folder / name for folder in folders if (folder / name).is_file())


def _named(data: Mapping[str, Any]) -> Iterator[str]:
    """Find the templates that engines, variants and sweeps name."""
    for table in ("engines", "variants", "sweeps"):
        for keys, value in leaves(data.get(table, {})):
            if ".".join(keys).endswith(f".{_TEMPLATE}"):
                yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))
