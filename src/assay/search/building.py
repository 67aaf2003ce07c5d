"""From files to a table, on several cores.

The files are dealt out by size; this process takes one share and a forked child each of the others. What a share
holds does not depend on the others, so neither does the table on how many there are.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final

import numpy as np

from assay.corpus import StatCache, decode_text, open_corpus, parse_spec, read_bytes
from assay.corpus.cache import cache_dir
from assay.digests import digest_of
from assay.errors import CorpusError, SetupError
from assay.search.analysis import FileInput, analyse
from assay.search.chunking import SourceText
from assay.search.config import IndexConfig
from assay.search.index_files import index_folder, writer_lock
from assay.search.table import IndexTable, combine, pick, read_table, table_arrays
from assay.store import code_digest
from assay.store.array_file import IndexFormatError, read_store, write_store
from assay.store.paths import DESCRIPTIONS
from assay.syntax.fork_guard import end_with
from assay.syntax.grammars import grammar_name, load_grammar, packages
from assay.types import Corpus, SourceFile


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """When work is dealt out; no effect on any answer."""

    bytes: int = 60_000  # a share of this size is 0.1 s of work; a child costs 0.02 s
    batch: int = 4_000_000  # bytes of source analysed at a time, so that working memory stays flat


SHARING = WorkerConfig()


def build_table(
    corpus: Corpus,
    files: Sequence[SourceFile],
    config: IndexConfig,
    workers: int | None = None,
    descriptions: Path | None = None,
) -> IndexTable:
    """Analyse files of a corpus; `descriptions` is where answers of a model that describes are kept, if anywhere."""
    shares = _deal(files, _workers(files, workers))
    if len(shares) > 1:
        _load_grammars(files)
    children = [_fork(corpus, share, config) for share in shares[1:]]
    try:
        tables = [_analyse(corpus, shares[0], config)]
        tables += [child.result() for child in children]
    finally:
        for child in children:
            child.end()
    table = combine(tables)
    if not config.description.enabled:
        return table
    from assay.search.describe import describe_units  # loads the HTTP client

    return describe_units(table, config.description, descriptions)


def _workers(files: Sequence[SourceFile], wanted: int | None) -> int:
    """Choose how many processes; where forking is not safe there is one."""
    if not sys.platform.startswith("linux") or threading.active_count() > 1:
        return 1
    most = max(1, sum(file.size for file in files) // SHARING.bytes)
    return min(wanted or len(os.sched_getaffinity(0)), most, max(len(files), 1))


def _load_grammars(files: Sequence[SourceFile]) -> None:
    for language in sorted({file.language for file in files if file.language}):
        if grammar_name("", language, ""):
            load_grammar(language)


def _deal(files: Sequence[SourceFile], shares: int) -> list[list[SourceFile]]:
    dealt: list[list[SourceFile]] = [[] for _ in range(shares)]
    load = [0] * shares
    for file in sorted(files, key=lambda file: (-file.size, file.path)):
        least = load.index(min(load))
        dealt[least].append(file)
        load[least] += file.size + 1
    return [sorted(share, key=lambda file: file.path) for share in dealt]


def _analyse(corpus: Corpus, files: Sequence[SourceFile], config: IndexConfig) -> IndexTable:
    batches: list[list[SourceFile]] = [[]]
    size = 0
    for file in files:
        if size + file.size > SHARING.batch and batches[-1]:
            batches.append([])
            size = 0
        batches[-1].append(file)
        size += file.size
    return combine([analyse(_documents(corpus, batch), config) for batch in batches])


def _documents(corpus: Corpus, files: Sequence[SourceFile]) -> Iterator[FileInput]:
    for file in files:
        data = _contents(corpus, file.path)
        if data is not None:
            source = SourceText(file.path, decode_text(data), file.kind, file.language)
            yield FileInput(source, hashlib.sha256(data).hexdigest())


def _contents(corpus: Corpus, path: str) -> bytes | None:
    """Read a file; None when it was removed since the walk, as if the walk had come a moment later."""
    try:
        return read_bytes(corpus, path)
    except CorpusError as error:
        if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError) and corpus.root.is_dir():
            return None
        raise


@dataclass(frozen=True, slots=True)
class _Child:
    """A process that analyses a share and writes the table to a pipe."""

    pid: int
    pipe: int

    def result(self) -> IndexTable:
        with os.fdopen(os.dup(self.pipe), "rb") as stream:
            answer = stream.read()
        try:
            found = pickle.loads(answer)  # noqa: S301 (written by our own child, over a pipe nobody else has)
        except (EOFError, pickle.UnpicklingError) as error:  # it wrote nothing, or not to the end
            raise SetupError(
                "a process that was indexing ended without a result", hint="free some memory, or use --workers 1"
            ) from error
        if isinstance(found, BaseException):
            raise found
        assert isinstance(found, IndexTable)
        return found

    def end(self) -> None:
        os.close(self.pipe)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def _fork(corpus: Corpus, files: Sequence[SourceFile], config: IndexConfig) -> _Child:
    reader, writer = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid:
        os.close(writer)
        return _Child(pid, reader)
    status = 1
    try:
        os.close(reader)
        end_with(parent)
        with os.fdopen(writer, "wb") as stream:
            stream.write(pickle.dumps(_attempt(corpus, files, config), protocol=5))
        status = 0
    finally:
        os._exit(status)


def _attempt(corpus: Corpus, files: Sequence[SourceFile], config: IndexConfig) -> IndexTable | Exception:
    try:
        return _analyse(corpus, files, config)
    except Exception as error:
        return error


#: The code that decides what is in a table, beside its settings.
_ANALYSERS: Final = (
    "syntax",
    "search/chunking.py",
    "search/analysis.py",
    "search/words.py",
    "search/noise.py",
    "search/table.py",
)
_TABLE = "index.assay"
_SEEN = "seen.assay"


@dataclass(frozen=True, slots=True)
class OpenedTable:
    """A table that fits its folder as it is now."""

    corpus: Corpus
    table: IndexTable
    notes: tuple[str, ...]  # what a person should see, such as that an old index was built anew
    changed: int  # files that were analysed
    folder: Path


def open_table(root: Path, config: IndexConfig, workers: int | None = None, *, keep: bool = False) -> OpenedTable:
    """Open, refresh or build the index of a folder.

    Where it cannot be written, the table is made in memory and a note says so; with `keep` that is an error.
    """
    folder = index_folder(root, index_key(config))
    memory = _remembered(folder)
    corpus = open_corpus(parse_spec(str(root)), memory=memory)
    found = _stored(folder)
    if found.table is not None and not is_stale(found.table, corpus):
        _remember(folder, memory, corpus)
        return OpenedTable(corpus, found.table, found.notes, 0, folder)
    opened = _renewed(found, folder, corpus, _Making(config, workers, keep))
    _remember(folder, memory, corpus)
    return opened


@dataclass(frozen=True, slots=True)
class _Making:
    """How a table is made, and whether it must be kept."""

    config: IndexConfig
    workers: int | None
    keep: bool


def _renewed(found: _Stored, folder: Path, corpus: Corpus, making: _Making) -> OpenedTable:
    notes: tuple[str, ...] = ()
    with ExitStack() as held:
        try:
            held.enter_context(writer_lock(folder))
            found = _stored(folder)  # somebody may have brought it up to date while we waited
        except SetupError as failure:
            notes = _unkept(failure, making)
        table, changed = update(found.table, corpus, making.config, making.workers)
        if not notes and (changed or found.table is None or len(table.files) != len(found.table.files)):
            try:
                write_store(folder / _TABLE, {"root": str(corpus.root)}, table_arrays(table))
            except SetupError as failure:
                notes = _unkept(failure, making)
    return OpenedTable(corpus, table, (*found.notes, *notes), changed, folder)


def _unkept(failure: SetupError, making: _Making) -> tuple[str, ...]:
    """Put up with an index that cannot be written, unless it must be."""
    if making.keep:
        raise failure
    return (f"{failure.message}; it is not kept",)


def update(
    table: IndexTable | None, corpus: Corpus, config: IndexConfig, workers: int | None = None
) -> tuple[IndexTable, int]:
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
def index_key(config: IndexConfig) -> str:
    """Digest everything but the files that decides a table: settings, grammars, and the way of analysing."""
    versions = {name: metadata.version(name) for name in ("tree-sitter", "PyStemmer", *packages())}
    description = ""
    if config.description.enabled:
        from assay.search.describe import description_identity

        description = description_identity(config.description)
    settings = asdict(config) | {"description": description}
    return digest_of([settings, versions, code_digest(*_ANALYSERS)])


@dataclass(frozen=True, slots=True)
class _Stored:
    """What lay in the cache."""

    table: IndexTable | None
    notes: tuple[str, ...]


def _stored(folder: Path) -> _Stored:
    try:
        return _Stored(read_table(read_store(folder / _TABLE).arrays), ())
    except IndexFormatError as problem:
        return _Stored(None, () if problem.kind == "missing" else (f"{problem.message}; the index is built anew",))
    except (KeyError, TypeError, ValueError) as problem:
        return _Stored(None, (f"the index lacks a column ({problem}); it is built anew",))


def is_stale(table: IndexTable, corpus: Corpus) -> bool:
    """Tell whether a table does not fit its corpus."""
    if len(table.files) != len(corpus.files):
        return True
    return any(
        path != file.path or sha != corpus.hashes[path] or language != (file.language or "")
        for path, sha, language, file in zip(
            table.files.paths, table.files.hashes, table.files.languages, corpus.files, strict=True
        )
    )


def _remembered(folder: Path) -> StatCache:
    with suppress(IndexFormatError, KeyError, ValueError):
        return StatCache.from_columns(read_store(folder / _SEEN).arrays)
    return StatCache()


def _remember(folder: Path, memory: StatCache, corpus: Corpus) -> None:
    with suppress(SetupError, OSError):
        if memory.changed:
            folder.mkdir(parents=True, exist_ok=True)
            write_store(folder / _SEEN, {"root": str(corpus.root)}, memory.columns())
