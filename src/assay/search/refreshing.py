"""The index of a folder in the cache: opened if it is there, brought up to date if the folder changed.

Two files: the table, and what the files were like when they were last read. The second only spares work, so the two
need not agree. Both are replaced whole; readers take no lock, writers one at a time.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final

import numpy as np

from assay.artefacts import code_digest
from assay.artefacts.kinds import DESCRIPTIONS
from assay.corpus import Memory, open_corpus, parse_spec
from assay.corpus.cache import cache_dir
from assay.digests import digest_of
from assay.errors import EnvironmentFailure
from assay.search.building import build_table
from assay.search.columns import read_table, table_arrays
from assay.search.config import IndexConfig
from assay.search.describing import description_identity
from assay.search.store.format import StoreProblem, read_store, write_store
from assay.search.store.lock import writer_lock
from assay.search.store.place import index_folder
from assay.search.tables import Table, combine, pick
from assay.syntax.grammars import packages
from assay.types import Corpus

#: The code that decides what is in a table, beside its settings.
_ANALYSERS: Final = (
    "syntax",
    "search/chunking",
    "search/analysis.py",
    "search/words.py",
    "search/naming.py",
    "search/noise.py",
    "search/tables.py",
)
_TABLE = "index.assay"
_SEEN = "seen.assay"


@dataclass(frozen=True, slots=True)
class Opened:
    """A table that fits its folder as it is now."""

    corpus: Corpus
    table: Table
    notes: tuple[str, ...]  # what a person should see, such as that an old index was built anew
    changed: int  # files that were analysed
    folder: Path


def open_table(root: Path, config: IndexConfig, workers: int | None = None, *, keep: bool = False) -> Opened:
    """Open, refresh or build the index of a folder.

    Where it cannot be written, the table is made in memory and a note says so; with `keep` that is an error.
    """
    folder = index_folder(root, shape(config))
    memory = _remembered(folder)
    corpus = open_corpus(parse_spec(str(root)), memory=memory)
    found = _stored(folder)
    if found.table is not None and not is_stale(found.table, corpus):
        _remember(folder, memory, corpus)
        return Opened(corpus, found.table, found.notes, 0, folder)
    opened = _renewed(found, folder, corpus, _Making(config, workers, keep))
    _remember(folder, memory, corpus)
    return opened


@dataclass(frozen=True, slots=True)
class _Making:
    """How a table is made, and whether it must be kept."""

    config: IndexConfig
    workers: int | None
    keep: bool


def _renewed(found: _Stored, folder: Path, corpus: Corpus, making: _Making) -> Opened:
    """Bring the table up to date, alone, and write it; where that is not possible, say so."""
    notes: tuple[str, ...] = ()
    with ExitStack() as held:
        try:
            held.enter_context(writer_lock(folder))
            found = _stored(folder)  # somebody may have brought it up to date while we waited
        except EnvironmentFailure as failure:
            notes = _unkept(failure, making)
        table, changed = update(found.table, corpus, making.config, making.workers)
        if not notes and (changed or found.table is None or len(table.files) != len(found.table.files)):
            try:
                write_store(folder / _TABLE, {"root": str(corpus.root)}, table_arrays(table))
            except EnvironmentFailure as failure:
                notes = _unkept(failure, making)
    return Opened(corpus, table, (*found.notes, *notes), changed, folder)


def _unkept(failure: EnvironmentFailure, making: _Making) -> tuple[str, ...]:
    """Put up with an index that cannot be written, unless it must be."""
    if making.keep:
        raise failure
    return (f"{failure.message}; it is not kept",)


def update(table: Table | None, corpus: Corpus, config: IndexConfig, workers: int | None = None) -> tuple[Table, int]:
    """Make a table fit a corpus: only files whose contents or language changed are analysed."""
    kept = cache_dir() / DESCRIPTIONS.name
    if table is None:
        return build_table(corpus, corpus.files, config, workers, kept), len(corpus.files)
    known = dict(zip(table.files.paths, zip(table.files.hashes, table.files.languages, strict=True), strict=True))
    new = [file for file in corpus.files if known.get(file.path) != (corpus.hashes[file.path], file.language or "")]
    there = {file.path for file in corpus.files} - {file.path for file in new}
    stay = np.array([i for i, path in enumerate(table.files.paths) if path in there], dtype=np.int64)
    if not new and len(stay) == len(table.files):
        return table, 0
    rest = table if len(stay) == len(table.files) else pick(table, stay)
    return (combine([rest, build_table(corpus, new, config, workers, kept)]) if new else rest), len(new)


@cache
def shape(config: IndexConfig) -> str:
    """Digest everything but the files that decides a table: settings, grammars, and the way of analysing."""
    versions = {name: metadata.version(name) for name in ("tree-sitter", "PyStemmer", *packages())}
    settings = asdict(config) | {"description": description_identity(config.description)}
    return digest_of([settings, versions, code_digest(*_ANALYSERS)])


@dataclass(frozen=True, slots=True)
class _Stored:
    """What lay in the cache."""

    table: Table | None
    notes: tuple[str, ...]


def _stored(folder: Path) -> _Stored:
    """Read the table; one that cannot be used is built anew, with a sentence unless there was none."""
    try:
        return _Stored(read_table(read_store(folder / _TABLE).arrays), ())
    except StoreProblem as problem:
        return _Stored(None, () if problem.kind == "missing" else (f"{problem.message}; the index is built anew",))
    except (KeyError, TypeError, ValueError) as problem:
        return _Stored(None, (f"the index lacks a column ({problem}); it is built anew",))


def is_stale(table: Table, corpus: Corpus) -> bool:
    """Tell whether a table does not fit its corpus."""
    if len(table.files) != len(corpus.files):
        return True
    return any(
        path != file.path or sha != corpus.hashes[path] or language != (file.language or "")
        for path, sha, language, file in zip(
            table.files.paths, table.files.hashes, table.files.languages, corpus.files, strict=True
        )
    )


def _remembered(folder: Path) -> Memory:
    """Read what the files were like."""
    with suppress(StoreProblem, KeyError, ValueError):
        return Memory.from_columns(read_store(folder / _SEEN).arrays)
    return Memory()


def _remember(folder: Path, memory: Memory, corpus: Corpus) -> None:
    """Write down what the files are like, if that is news; a folder that cannot be written only costs time."""
    with suppress(EnvironmentFailure, OSError):
        if memory.changed:
            folder.mkdir(parents=True, exist_ok=True)
            write_store(folder / _SEEN, {"root": str(corpus.root)}, memory.columns())
