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
from dataclasses import dataclass
from pathlib import Path

from assay.corpus import decode_text, read_bytes
from assay.errors import CorpusError, EnvironmentFailure
from assay.search.analysis import Document, analyse
from assay.search.chunking import Source
from assay.search.config import IndexConfig
from assay.search.describing import describe_units
from assay.search.tables import Table, combine
from assay.syntax.grammars import grammar_name, load_grammar
from assay.syntax.guarding import end_with
from assay.types import Corpus, SourceFile


@dataclass(frozen=True, slots=True)
class Sharing:
    """When work is dealt out; no effect on any answer."""

    bytes: int = 60_000  # a share of this size is 0.1 s of work; a child costs 0.02 s
    batch: int = 4_000_000  # bytes of source analysed at a time, so that working memory stays flat


SHARING = Sharing()


def build_table(
    corpus: Corpus,
    files: Sequence[SourceFile],
    config: IndexConfig,
    workers: int | None = None,
    descriptions: Path | None = None,
) -> Table:
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
    return describe_units(combine(tables), config.description, descriptions)


def _workers(files: Sequence[SourceFile], wanted: int | None) -> int:
    """Choose how many processes; where forking is not safe there is one."""
    if not sys.platform.startswith("linux") or threading.active_count() > 1:
        return 1
    most = max(1, sum(file.size for file in files) // SHARING.bytes)
    return min(wanted or len(os.sched_getaffinity(0)), most, max(len(files), 1))


def _load_grammars(files: Sequence[SourceFile]) -> None:
    """Compile the grammars of files once, before forking, rather than in every child."""
    for language in sorted({file.language for file in files if file.language}):
        if grammar_name("", language, ""):
            load_grammar(language)


def _deal(files: Sequence[SourceFile], shares: int) -> list[list[SourceFile]]:
    """Deal files out, the largest first, each to the share that has least; shares are in path order."""
    dealt: list[list[SourceFile]] = [[] for _ in range(shares)]
    load = [0] * shares
    for file in sorted(files, key=lambda file: (-file.size, file.path)):
        least = load.index(min(load))
        dealt[least].append(file)
        load[least] += file.size + 1
    return [sorted(share, key=lambda file: file.path) for share in dealt]


def _analyse(corpus: Corpus, files: Sequence[SourceFile], config: IndexConfig) -> Table:
    """Read and analyse files, a batch at a time."""
    batches: list[list[SourceFile]] = [[]]
    size = 0
    for file in files:
        if size + file.size > SHARING.batch and batches[-1]:
            batches.append([])
            size = 0
        batches[-1].append(file)
        size += file.size
    return combine([analyse(_documents(corpus, batch), config) for batch in batches])


def _documents(corpus: Corpus, files: Sequence[SourceFile]) -> Iterator[Document]:
    """Read files as they are now; their hashes are of what was read, for a file may have changed since the walk."""
    for file in files:
        data = _contents(corpus, file.path)
        if data is not None:
            source = Source(file.path, decode_text(data), file.kind, file.language)
            yield Document(source, hashlib.sha256(data).hexdigest())


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

    def result(self) -> Table:
        """Wait for the table."""
        with os.fdopen(os.dup(self.pipe), "rb") as stream:
            answer = stream.read()
        try:
            found = pickle.loads(answer)  # noqa: S301 (written by our own child, over a pipe nobody else has)
        except (EOFError, pickle.UnpicklingError) as error:  # it wrote nothing, or not to the end
            raise EnvironmentFailure(
                "a process that was indexing ended without a result", hint="free some memory, or use --workers 1"
            ) from error
        if isinstance(found, BaseException):
            raise found
        assert isinstance(found, Table)
        return found

    def end(self) -> None:
        """See the child off; one whose result nobody wants any more is not waited for."""
        os.close(self.pipe)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def _fork(corpus: Corpus, files: Sequence[SourceFile], config: IndexConfig) -> _Child:
    """Start a child; it ends with this process."""
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


def _attempt(corpus: Corpus, files: Sequence[SourceFile], config: IndexConfig) -> Table | Exception:
    """Analyse, or give the error to whoever waits."""
    try:
        return _analyse(corpus, files, config)
    except Exception as error:
        return error
