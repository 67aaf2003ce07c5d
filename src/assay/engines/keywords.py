"""Keyword baseline: ranks files by distinct query words, then by occurrences, like grep for every word."""

from __future__ import annotations

import heapq
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.corpus import read_bytes
from assay.engines.base import EngineContext, EngineDefaults, Session, SessionUsage, identity_of
from assay.engines.tool import UsageTracker, describe_failure, run_engine_command
from assay.errors import ConfigError, EngineError
from assay.processes.running import ProcessLimits, ProgramSpec
from assay.settings import read_settings, setting
from assay.syntax.identifiers import STOP_WORDS
from assay.syntax.text import count_lines
from assay.types import Corpus, EngineRole, Hit


@dataclass(frozen=True, slots=True)
class CountingLimits:
    cached_bytes: int = 512_000_000  # bytes of file contents in memory; other files are read again for every word
    argument_bytes: int = 200_000  # bytes of paths in one command line: the smallest common system limit is 256 KiB
    seconds: float = 120.0  # seconds for one run of a tool, even after its query was abandoned
    # bytes of output: git lists every tracked file, and a million paths of 100 bytes must fit
    process: ProcessLimits = field(default_factory=lambda: ProcessLimits(stdout=100_000_000))


LIMITS = CountingLimits()
Backend = Literal["auto", "rg", "git", "python"]
_HINT = 'set backend = "python"'
_WORD = re.compile(r"\w+")
_ASCII_WORD = re.compile(rb"\w+")


class PythonCounter:
    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._paths = tuple(sorted(file.path for file in corpus.files))
        self._cache: dict[str, tuple[bytes, bytes]] = {}  # content and distinct words of a file, in lower case
        self._free = LIMITS.cached_bytes
        self.tracker = UsageTracker()  # resources of the counting programs

    def count(self, word: str, paths: Iterable[str] | None = None) -> Mapping[str, int]:
        """Return the number of occurrences of a lowercase word by path; files without the word are omitted."""
        encoded = word.encode() if word.isascii() else None
        counts = {}
        for path in self._paths if paths is None else paths:
            data, distinct = self._cache.get(path) or self._read(path)
            if encoded is not None and encoded not in distinct:
                continue
            if encoded is None and data.isascii():
                continue
            count = _fold(data).count(word) if encoded is None else data.count(encoded)
            if count:
                counts[path] = count
        return counts

    def _read(self, path: str) -> tuple[bytes, bytes]:
        data = read_bytes(self._corpus, path).lower()
        distinct = b"\n".join(set(_ASCII_WORD.findall(data)))  # a tenth of the file: most words are found absent here
        if len(data) <= self._free:
            self._free -= len(data)
            self._cache[path] = data, distinct
        return data, distinct

    def _output(self, arguments: Sequence[str], *, may_fail: bool = False) -> bytes:
        environment = {**os.environ, "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1"}
        task = ProgramSpec(tuple(arguments), self._corpus.root, environment)
        done = run_engine_command(
            task, LIMITS.seconds, hint=_HINT, limits=LIMITS.process, record=self.tracker.record_query_run
        )
        if done.code not in (0, 1) and not may_fail:
            raise EngineError(describe_failure(task, done), hint=_HINT)
        return b"" if done.code else done.stdout


def _fold(data: bytes) -> str:
    try:
        return data.decode("utf-8").lower()
    except UnicodeDecodeError:
        return data.decode("latin-1").lower()


class RipgrepCounter(PythonCounter):
    """A word counter that runs `rg --count-matches`; non-ASCII words are counted in Python."""

    # Raw bytes (-a, no BOM detection), ASCII case only, no user configuration or ignore files.
    FLAGS = ("--no-config", "--no-unicode", "-i", "-F", "-a", "--encoding", "none", "--count-matches", "--null", "-H")

    def count(self, word: str, paths: Iterable[str] | None = None) -> Mapping[str, int]:
        if paths is not None or not word.isascii():
            return super().count(word, paths)
        counts: dict[str, int] = {}
        for batch in _batches(self._paths):
            arguments = ["rg", *self.FLAGS, "-e", word, "--", *(f"./{path}" for path in batch)]
            for line in self._output(arguments).splitlines():
                name, _, number = line.rpartition(b"\0")
                counts[os.fsdecode(name).removeprefix("./")] = int(number)
        return counts


def _batches(paths: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    free = LIMITS.argument_bytes
    for path in paths:
        size = len(os.fsencode(path)) + 3  # "./" and a NUL
        if batch and size > free:
            yield batch
            batch, free = [], LIMITS.argument_bytes
        batch.append(path)
        free -= size
    if batch:
        yield batch


class GitCounter(PythonCounter):
    """A word counter that counts in Python, but reads a tracked file only if `git grep` finds the word in it.

    Untracked files and symbolic links are always read, so counts are also correct outside a Git repository.
    """

    # User configuration could turn on full names or submodules.
    GIT = ("git", "-c", "grep.fullName=false", "-c", "submodule.recurse=false")
    FLAGS = ("-l", "-z", "-a", "-i", "-F", "--no-color")

    def __init__(self, corpus: Corpus) -> None:
        super().__init__(corpus)
        listed = self._output([*self.GIT, "ls-files", "-v", "-z"], may_fail=True)  # fails outside a repository
        entries = (os.fsdecode(entry).partition(" ") for entry in listed.split(b"\0"))
        tracked = frozenset(path for tag, _, path in entries if tag == "H")
        root = os.path.realpath(corpus.root)
        plain = [path for path in self._paths if os.path.realpath(os.path.join(root, path)) == os.path.join(root, path)]
        self._tracked = tracked.intersection(plain)
        self._untracked = tuple(path for path in self._paths if path not in self._tracked)

    def count(self, word: str, paths: Iterable[str] | None = None) -> Mapping[str, int]:
        if paths is not None or not word.isascii():
            return super().count(word, paths)
        output = self._output([*self.GIT, "grep", *self.FLAGS, "-e", word]) if self._tracked else b""
        matching = self._tracked.intersection(map(os.fsdecode, output.split(b"\0")))
        return super().count(word, (*sorted(matching), *self._untracked))


def densest_window(text: str, words: Sequence[str], size: int) -> tuple[int, int]:
    """Return the first and last line of the best window: most distinct words, then most occurrences, then earliest."""
    data = text.encode()
    newlines = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    occurrences = [np.searchsorted(newlines, _positions(word.encode(), data)) + 1 for word in words]
    starts = np.unique(np.concatenate([np.empty(0, np.intp), *occurrences]))
    best_line = 1
    if starts.size:
        counts = [np.searchsorted(lines, starts + size) - np.searchsorted(lines, starts) for lines in occurrences]
        matches, distinct = np.sum(counts, axis=0), np.count_nonzero(counts, axis=0)
        best_line = int(starts[np.lexsort((starts, -matches, -distinct))[0]])
    last = max(1, count_lines(text))  # an empty file is shown as its first line
    return best_line, min(best_line + size - 1, last)


def _positions(word: bytes, data: bytes) -> NDArray[np.intp]:
    return np.fromiter((match.start() for match in re.finditer(re.escape(word), data)), np.intp)


@dataclass(frozen=True, slots=True)
class KeywordsSettings:
    # not in `config`, because the ranking does not depend on it
    backend: Backend = setting("auto", "program that counts words; auto: the first installed of rg, git, python")
    # the chunk size of builtin
    window: int = setting(40, "lines per result: those with the most distinct words", least=1)
    shortest: int = setting(2, "minimum length of counted words", least=1)  # single letters are in every file
    # queries in a suite share most words
    cached_words: int = setting(4096, "maximum number of words with cached counts", least=1)


@dataclass(frozen=True, slots=True)
class KeywordsEngine(EngineDefaults):
    settings: KeywordsSettings
    role: EngineRole = "reference"

    @property
    def config(self) -> Mapping[str, object]:
        return {"kind": "keywords", "window": self.settings.window, "shortest": self.settings.shortest}

    @property
    def notes(self) -> tuple[str, ...]:  # type: ignore[override]  # computed
        return (f"words counted by {_choose_backend(self.settings.backend)}",)

    @property
    def identity(self) -> str | None:  # type: ignore[override]  # computed
        backend = _choose_backend(self.settings.backend)
        path = None if backend == "python" else shutil.which(backend)
        stat = os.stat(path) if path else None
        tool = [path, stat.st_size, stat.st_mtime_ns] if stat else []
        return identity_of(self.config, "engines/keywords.py", facts=[backend, tool])

    def open(self, corpus: Corpus) -> Session:
        counters = {"rg": RipgrepCounter, "git": GitCounter, "python": PythonCounter}
        return KeywordsSession(self.settings, corpus, counters[_choose_backend(self.settings.backend)](corpus))


class KeywordsSession:
    def __init__(self, settings: KeywordsSettings, corpus: Corpus, counter: PythonCounter) -> None:
        self._settings = settings
        self._corpus = corpus
        self._counter = counter
        self._count = lru_cache(settings.cached_words)(counter.count)

    def search(self, query: str, k: int) -> Sequence[Hit]:
        words = query_keywords(query, self._settings.shortest)
        distinct: Counter[str] = Counter()
        total: Counter[str] = Counter()
        for word in words:
            counts = self._count(word)
            distinct.update(counts.keys())
            total.update(counts)
        ranked = heapq.nsmallest(max(k, 0), distinct, key=lambda path: (-distinct[path], -total[path], path))
        hits = []
        for path in ranked:
            text = _fold(read_bytes(self._corpus, path).lower())
            start, end = densest_window(text, words, self._settings.window)
            hits.append(Hit(path, start, end, distinct[path] + total[path] / (total[path] + 1)))
        return tuple(hits)

    def usage(self) -> SessionUsage:
        return SessionUsage(peak_bytes=self._counter.tracker.peak_bytes)

    def close(self) -> None:
        self._count.cache_clear()


def query_keywords(query: str, shortest: int) -> list[str]:
    """Return the distinct lowercase words of a query, without stop words and short words if others remain."""
    every = list(dict.fromkeys(word.lower() for word in _WORD.findall(query)))
    return [word for word in every if word not in STOP_WORDS and len(word) >= shortest] or every


def _choose_backend(wanted: Backend) -> Literal["rg", "git", "python"]:
    if wanted == "auto":
        return "rg" if shutil.which("rg") else "git" if shutil.which("git") else "python"
    if wanted != "python" and shutil.which(wanted) is None:
        hint = f'install {wanted}, or set backend = "auto"'
        raise ConfigError(f"engine keywords: {wanted} is not installed", hint=hint, keys=["backend"])
    return wanted


def make(settings: Mapping[str, object], _context: EngineContext) -> KeywordsEngine:
    read = read_settings(KeywordsSettings, settings, "engine keywords")
    _choose_backend(read.backend)
    return KeywordsEngine(read)
