"""Assay's own files: experiments, gold sets, access logs and ledgers, which a corpus excludes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from assay.errors import AssayError, ConfigError
from assay.experiment.spec import Spec
from assay.experiment.spec.assay_toml import EXTENDS, KEYS, PRESET
from assay.experiment.spec.experiment_spec import TABLES
from assay.gold.load import SHIPPED, load_gold
from assay.gold.split import access_log_path
from assay.settings import iter_leaves
from assay.toml import read_toml
from assay.types import CorpusSpec

#: Tables that identify a TOML file as an experiment; [search] or [tune] alone may belong to another tool.
_DEFINING = ("run", "engines", "variants", "sweeps", EXTENDS)
_TEMPLATE = "config.template"  # engine setting: a configuration file of the tool
LEDGER_FILE = "ledger.jsonl"
LEDGER_START = b'{"assay_ledger": '  # of every line
_GOLD = re.compile(rb"^assay: *\d", re.MULTILINE)  # at the start of a gold set in the native format, after comments


def find_experiments(directories: Iterable[Path]) -> list[Path]:
    """Return experiments in directories and their direct subdirectories, the files they extend and their templates."""
    experiments: dict[Path, Mapping[str, Any]] = {}
    patterns = ("*.toml", "*/*.toml")
    left = [file for directory in directories for pattern in patterns for file in sorted(directory.glob(pattern))]
    while left:
        file = left.pop(0).resolve()
        with suppress(OSError):
            status = file.stat()
            data = _read_experiment(file, (status.st_mtime_ns, status.st_size))
            if data is not None and file not in experiments:
                experiments[file] = data
                left += _extended(file, data)
    templates = []
    for file, data in experiments.items():
        directories = dict.fromkeys(path.parent for path in (file, *_extended(file, data)) if path in experiments)
        names = dict.fromkeys(_template_names(data))
        templates += [directory / name for name in names for directory in directories if (directory / name).is_file()]
    return [*experiments, *templates]


@cache
def _read_experiment(file: Path, _version: tuple[int, int]) -> Mapping[str, Any] | None:
    with suppress(ConfigError):
        data = read_toml(file).data
        return data if is_experiment(data) else None
    return None


def is_experiment(data: Mapping[str, Any]) -> bool:
    """Return whether a TOML document is an experiment: only tables of assay.toml, and only known keys in [run]."""
    tables = [value for key, value in data.items() if key != EXTENDS]
    known = set(data) <= {*TABLES, EXTENDS} and not set(data).isdisjoint(_DEFINING)
    return known and all(isinstance(table, Mapping) for table in tables) and set(data.get("run", {})) <= set(KEYS)


def _extended(file: Path, data: Mapping[str, Any]) -> list[Path]:
    value = data.get(EXTENDS, [])
    names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [(file.parent / name).resolve() for name in names if isinstance(name, str) and not name.startswith(PRESET)]


def _template_names(data: Mapping[str, Any]) -> Iterator[str]:
    for table in ("engines", "variants", "sweeps"):
        for keys, value in iter_leaves(data.get(table, {})):
            if ".".join(keys).endswith(f".{_TEMPLATE}"):
                yield from (name for name in (value if isinstance(value, list) else [value]) if isinstance(name, str))


def own_files(spec: Spec) -> tuple[Path, ...]:
    """Return the gold sets, access logs, configuration, templates and ledgers; empty if all gold sets are shipped."""
    gold: list[Path] = []
    for source in (Path(source) for source in spec.gold if source not in SHIPPED):
        if not source.is_dir():
            gold.append(source)
            continue
        with suppress(AssayError):
            gold += sorted({Path(one.source) for one in load_gold(source).golds if one.source})
    if not gold:
        return ()
    logs = [access_log_path(file) for file in gold]
    experiments = find_experiments(dict.fromkeys((spec.directory, *(file.parent for file in gold))))
    return tuple(dict.fromkeys((*gold, *logs, *map(Path, spec.files), *experiments, *_ledgers_above(spec.directory))))


def changing_files(corpus: CorpusSpec, base: Path | None, source: Path) -> list[str]:
    """Return the gold sets, ledgers and experiments in a corpus, from its root down to the gold file.

    All are excluded, used or not, so that every experiment has the same corpus.
    """
    root, directory = _root(corpus, base), source.parent.resolve()
    if root is None:
        return []
    inside = [root, *(path for path in (directory, *directory.parents) if path != root and path.is_relative_to(root))]
    yaml = (file for path in inside for pattern in ("*.y*ml", "*/*.y*ml") for file in path.glob(pattern))
    golds = [file for gold in sorted(yaml) if _GOLD.search(_read_start(gold)) for file in (gold, access_log_path(gold))]
    return paths_inside(corpus, base, dict.fromkeys((*_ledgers_above(directory), *find_experiments(inside), *golds)))


def paths_inside(corpus: CorpusSpec, base: Path | None, files: Iterable[Path]) -> list[str]:
    """Return the files that are inside a corpus, as paths relative to the root of the corpus."""
    root = _root(corpus, base)
    if root is None:
        return []
    return [file.resolve().relative_to(root).as_posix() for file in files if file.resolve().is_relative_to(root)]


def _root(corpus: CorpusSpec, base: Path | None) -> Path | None:
    root = ((base or Path()) / corpus.value / (corpus.root or "")).resolve()
    return root if corpus.kind in ("path", "git") and root.is_dir() else None


def exclude_paths(corpus: CorpusSpec, paths: Sequence[str]) -> CorpusSpec:
    escaped = (re.sub(r"([\\*?\[\]!# ])", r"\\\1", path) for path in paths)
    return replace(corpus, exclude=(*corpus.exclude, *(f"/{path}" for path in escaped)))


def ledger_head(path: Path) -> Path:
    """Return the head file of a ledger, which stores its number of entries and last hash."""
    return path.with_name(f"{path.stem}.head.json")


def _ledgers_above(directory: Path) -> list[Path]:
    """Return the ledgers and head files in a directory and its parents; they grow, so a corpus excludes them."""
    found = []
    for parent in (directory.resolve(), *directory.resolve().parents):
        for file in sorted(parent.glob(f"*{LEDGER_FILE}")):
            found += [file, ledger_head(file)] if _read_start(file).startswith(LEDGER_START) else []
    return found


def _read_start(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(4096)
    except OSError:
        return b""
