"""Build index tables in several processes, store them on disk, and refresh them when files change.

The table of a file depends on no other file, so the result does not depend on the number of processes.
"""

from __future__ import annotations

import gc
import hashlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Final

from assay.corpus import StatCache, decode_text, open_corpus, parse_spec, path_resolver, read_bytes
from assay.digests import code_digest, digest_of
from assay.errors import CorpusError, SetupError
from assay.processes.forks import Fork, ForkError, can_fork
from assay.records import dataclass
from assay.search.analysis import analyze
from assay.search.chunking import SourceText
from assay.search.config import IndexConfig
from assay.search.table import IndexTable, combine_tables, read_table, table_arrays
from assay.store.array_file import IndexFormatError, read_store, write_store
from assay.store.kinds import INDEX
from assay.store.store import Store, writer_lock
from assay.syntax.parsing import TIMED_OUT, grammar_name, grammar_packages, load_grammar
from assay.types import Corpus, SourceFile

FILE_NAME: Final = "index.assay"
#: Size, times and hashes of all files at the last refresh.
_STATS: Final = "seen.assay"
#: Modules whose code determines the contents of a table.
TABLE_CODE: Final = (
    "syntax", "corpus", "search/building.py", "search/chunking.py", "search/analysis.py", "search/describe.py",
    "search/query.py", "search/table.py",
)  # fmt: skip

#: Minimum bytes of source per process: analyzing them takes 0.1 s, starting a process 0.02 s.
SHARE_BYTES = 60_000
#: Bytes of source analyzed at a time, to bound memory.
BATCH_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class OpenedTable:
    corpus: Corpus
    table: IndexTable
    notes: tuple[str, ...]  # notes for the user, such as "the index is rebuilt"
    changed: int  # number of files analyzed
    directory: Path


def index_directory(root: Path, shape: str) -> Path:
    """Return the cache directory of the index of `root`; `shape` is a digest of the index settings and code.

    The root is identified by its real path, so each work tree of a repository has a separate index.
    """
    real = os.path.realpath(root)
    label = re.sub(r"[^a-z0-9]+", "-", os.path.basename(real).lower())[:40].strip("-") or "root"
    return Store().path(INDEX.name, f"{real}\0{shape}", label)


def open_table(root: Path, config: IndexConfig, workers: int | None = None, *, keep: bool = False) -> OpenedTable:
    """Open, refresh or build the index of a directory.

    If the index cannot be written, add a note and keep the table in memory; with `keep`, raise SetupError instead.
    """
    directory = index_directory(root, index_key(config))
    stats = StatCache()
    with suppress(IndexFormatError, KeyError, ValueError):
        stats = StatCache.from_columns(read_store(directory / _STATS).arrays)
    corpus = open_corpus(parse_spec(str(root)), memory=stats)
    read = _version(directory)
    table, notes = _read_stored(directory)
    changed = 0
    if table is None or is_stale(table, corpus):
        with ExitStack() as stack:
            failure: SetupError | None = None
            try:
                stack.enter_context(writer_lock(directory, what="index", variable="ASSAY_INDEX_DIR"))
                if _version(directory) != read:  # another process has refreshed the index
                    table, notes = _read_stored(directory)
            except SetupError as error:
                if keep:
                    raise
                failure = error
            old = table
            table, changed = update_table(old, corpus, config, workers)
            if not failure and (changed or old is None or len(table.files) != len(old.files)):
                try:
                    write_store(directory / FILE_NAME, {"root": str(corpus.root)}, table_arrays(table))
                except SetupError as error:
                    if keep:
                        raise
                    failure = error
            if failure:
                notes = (*notes, f"{failure.message}; the index is kept in memory only")
    with suppress(SetupError, OSError):
        if stats.changed:
            directory.mkdir(parents=True, exist_ok=True)
            write_store(directory / _STATS, {"root": str(corpus.root)}, stats.columns())
    return OpenedTable(corpus, table, notes, changed, directory)


def _version(directory: Path) -> tuple[int, int] | None:
    try:
        state = os.stat(directory / FILE_NAME)
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns


def _read_stored(directory: Path) -> tuple[IndexTable | None, tuple[str, ...]]:
    try:
        return read_table(read_store(directory / FILE_NAME).arrays), ()
    except IndexFormatError as problem:
        return None, () if problem.kind == "missing" else (f"{problem.message}; the index is rebuilt",)
    except (KeyError, TypeError, ValueError) as problem:
        return None, (f"invalid column in the index ({problem}); the index is rebuilt",)


def timeout_notes(table: IndexTable) -> tuple[str, ...]:
    """Return a note for each file whose parsing timed out; whether a file times out depends on the machine."""
    files = zip(table.files.paths, table.files.problems, strict=True)
    return tuple(f"{path}: {TIMED_OUT}; its definitions are missing" for path, why in files if why.endswith(TIMED_OUT))


def is_stale(table: IndexTable, corpus: Corpus) -> bool:
    files = table.files
    stored = list(zip(files.paths, files.hashes, files.languages, strict=True))
    return stored != [(file.path, corpus.hashes.get(file.path), file.language or "") for file in corpus.files]


def update_table(
    table: IndexTable | None, corpus: Corpus, config: IndexConfig, workers: int | None = None
) -> tuple[IndexTable, int]:
    store = Store()
    if table is None:
        return build_table(corpus, corpus.files, config, workers, store), len(corpus.files)
    known = dict(zip(table.files.paths, zip(table.files.hashes, table.files.languages, strict=True), strict=True))
    new = [file for file in corpus.files if known.get(file.path) != (corpus.hashes[file.path], file.language or "")]
    unchanged = {file.path for file in corpus.files} - {file.path for file in new}
    dropped = {row for row, path in enumerate(table.files.paths) if path not in unchanged}
    if not new and not dropped:
        return table, 0
    added = [build_table(corpus, new, config, workers, store)] if new else []
    return combine_tables([table, *added], dropped), len(new)


@cache
def index_key(config: IndexConfig) -> str:
    """Return a digest of the settings, grammars and code that determine an index table."""
    versions = package_versions("tree-sitter", "PyStemmer", *grammar_packages())
    description = ""
    if config.description.enabled:
        from assay.search.describe import description_identity

        description = description_identity(config.description)
    settings = asdict(config) | {"description": description}
    return digest_of([settings, versions, code_digest(*TABLE_CODE)])


def package_versions(*names: str) -> dict[str, str]:
    """Return the versions of packages from the names of their `.dist-info` directories; metadata files take 30 ms."""
    found: dict[str, str] = {}
    for directory in reversed(sys.path):
        with suppress(OSError):
            for entry in os.listdir(directory or "."):
                if entry.endswith(".dist-info"):
                    name, _, version = entry.removesuffix(".dist-info").partition("-")
                    found[name.replace("_", "-").lower()] = version
    if any(name.lower() not in found for name in names):
        from importlib import metadata

        return {name: metadata.version(name) for name in names}
    return {name: found[name.lower()] for name in names}


def build_table(
    corpus: Corpus,
    files: Sequence[SourceFile],
    config: IndexConfig,
    workers: int | None = None,
    store: Store | None = None,
) -> IndexTable:
    """Build the table of the given files of a corpus; `store` caches descriptions written by a chat model."""
    count = min(sum(file.size for file in files) // SHARE_BYTES, len(files))
    if count > 1:
        count = min(workers or len(os.sched_getaffinity(0)), count) if can_fork() else 1
    shares = _distribute(files, max(count, 1))
    if len(shares) > 1:  # load grammars before forking, so that children inherit them
        firsts = {(file.language, Path(file.path).suffix): file for file in reversed(files)}
        for source in _inputs(corpus, list(firsts.values())):
            if grammar := grammar_name(source.path, source.language, source.text):
                load_grammar(grammar)
    children = []
    collecting = gc.isenabled()
    gc.disable()  # analysis makes no cycles, and collecting takes an eighth of its time
    try:
        children += [Fork(partial(_analyze, corpus, share, config)) for share in shares[1:]]
        tables = [_analyze(corpus, shares[0], config)]
        tables += [child.result() for child in children]
        table = combine_tables(tables)
    except ForkError as error:
        raise SetupError("an indexing process crashed", hint="free some memory, or use --workers 1") from error
    finally:
        if collecting:
            gc.enable()
        for child in children:
            child.end()
    if not config.description.enabled:
        return table
    from assay.search.describe import describe_chunks  # lazy: imports the HTTP client

    return describe_chunks(table, config.description, store)


def _distribute(files: Sequence[SourceFile], count: int) -> list[list[SourceFile]]:
    shares: list[list[SourceFile]] = [[] for _ in range(count)]
    load = [0] * count
    for file in sorted(files, key=lambda file: (-file.size, file.path)):
        least = load.index(min(load))
        shares[least].append(file)
        load[least] += file.size + 1
    return [sorted(share, key=lambda file: file.path) for share in shares]


def _analyze(corpus: Corpus, files: Sequence[SourceFile], config: IndexConfig) -> IndexTable:
    batches: list[list[SourceFile]] = [[]]
    size = 0
    for file in files:
        if size + file.size > BATCH_BYTES and batches[-1]:
            batches.append([])
            size = 0
        batches[-1].append(file)
        size += file.size
    return combine_tables([analyze(_inputs(corpus, batch), config) for batch in batches])


def _inputs(corpus: Corpus, files: Sequence[SourceFile]) -> Iterator[SourceText]:
    resolve = path_resolver(corpus)
    for file in files:
        try:
            data = read_bytes(corpus, file.path, resolve)
        except CorpusError as error:
            removed = isinstance(error.__cause__, FileNotFoundError | NotADirectoryError) and corpus.root.is_dir()
            if removed:  # deleted after the walk
                continue
            raise
        yield SourceText(file.path, decode_text(data), file.kind, file.language, hashlib.sha256(data).hexdigest())
