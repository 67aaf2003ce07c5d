"""Keyword baseline: files by distinct query words, then occurrences, as with grep for every word."""

from __future__ import annotations

import heapq
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, Protocol

from assay.corpus import read_bytes
from assay.engines.base import EngineContext, InProcessDefaults, Session, SessionUsage
from assay.engines.fingerprints import identity_of
from assay.engines.tool import UsageTracker, describe_failure, run_tool
from assay.errors import ConfigError, EngineError
from assay.processes import CompletedProgram, ProcessLimits, ProgramSpec
from assay.settings import check_counts, read_settings
from assay.syntax.identifiers import STOP_WORDS
from assay.syntax.text import count_lines
from assay.types import Corpus, Hit, Role


@dataclass(frozen=True, slots=True)
class CountingLimits:
    """Limits of memory, time and command lines; they change no count."""

    cached_bytes: int = 512_000_000  # file contents in memory; other files are read again for every word
    argument_bytes: int = 200_000  # of paths in one command line: the smallest system limit in use is 256 KiB
    seconds: float = 120.0  # for one run of a tool, also after its query was abandoned
    # git names every file it tracks, and a million paths of 100 bytes must fit
    process: ProcessLimits = field(default_factory=lambda: ProcessLimits(stdout=100_000_000))


LIMITS = CountingLimits()
_HINT = 'use backend = "python"'


class WordCounter(Protocol):
    """Counts words in the files of one corpus."""

    def count(self, word: str) -> Mapping[str, int]:
        """Return the number of occurrences by path, for the files that have any."""

    @property
    def peak_bytes(self) -> int | None:
        """Peak memory of its programs; None if there were none, or too short to measure."""


def fold(data: bytes) -> str:
    """Decode as the corpus does, in lower case."""
    lowered = data.lower()
    try:
        return lowered.decode("utf-8").lower()
    except UnicodeDecodeError:
        return lowered.decode("latin-1").lower()


def count_word(data: bytes, word: str) -> int:
    """Count a lower-cased word in bytes whose ASCII letters are lower-cased."""
    if word.isascii():
        return data.count(word.encode())
    return 0 if data.isascii() else fold(data).count(word)


def find_tool(name: str) -> str | None:
    """Return the path of a program, None if it is not installed."""
    return shutil.which(name)


class PythonCounter:
    """Counts in memory."""

    peak_bytes: int | None = None  # no program of its own

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._paths = tuple(sorted(file.path for file in corpus.files))
        self._cache: dict[str, bytes] = {}
        self._room = LIMITS.cached_bytes

    def count(self, word: str) -> Mapping[str, int]:
        """Count in every file."""
        return self.count_in(self._paths, word)

    def count_in(self, paths: Sequence[str], word: str) -> Mapping[str, int]:
        """Count in some files."""
        counts = {path: count_word(self._folded(path), word) for path in paths}
        return {path: count for path, count in counts.items() if count}

    def _folded(self, path: str) -> bytes:
        data = self._cache.get(path)
        if data is None:
            data = read_bytes(self._corpus, path).lower()
            if len(data) <= self._room:
                self._room -= len(data)
                self._cache[path] = data
        return data


class _ToolCounter:
    """Base of counters that run a program."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._python = PythonCounter(corpus)
        self._tracker = UsageTracker()

    @property
    def peak_bytes(self) -> int | None:
        return self._tracker.peak_bytes

    def _output(self, arguments: Sequence[str]) -> bytes:
        done = self._run(arguments)
        if done.code not in (0, 1):
            raise EngineError(describe_failure(ProgramSpec(tuple(arguments)), done), hint=_HINT)
        return done.stdout

    def _run(self, arguments: Sequence[str]) -> CompletedProgram:
        environment = {**os.environ, "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1"}
        task = ProgramSpec(tuple(arguments), self._corpus.root, environment)
        return run_tool(task, LIMITS.seconds, hint=_HINT, limits=LIMITS.process, seen=self._tracker.record_query_run)


class RipgrepCounter(_ToolCounter):
    """Counts with `rg --count-matches`, over the corpus's own list of files."""

    # Raw bytes (-a, no BOM detection), ASCII case only, no configuration or ignore files of the user.
    FLAGS = ("--no-config", "--no-unicode", "-i", "-F", "-a", "--encoding", "none", "--count-matches", "--null", "-H")

    def __init__(self, corpus: Corpus) -> None:
        super().__init__(corpus)
        self._paths = tuple(sorted(file.path for file in corpus.files))

    def count(self, word: str) -> Mapping[str, int]:
        """Count in every file."""
        if not word.isascii():
            return self._python.count(word)
        counts: dict[str, int] = {}
        for batch in _batches(self._paths):
            arguments = ["rg", *self.FLAGS, "-e", word, "--", *(f"./{path}" for path in batch)]
            for line in self._output(arguments).splitlines():
                name, _, number = line.rpartition(b"\0")
                counts[os.fsdecode(name).removeprefix("./")] = int(number)
        return counts


class GitCounter(_ToolCounter):
    """Counts in the tracked files that `git grep` lists, because it can only count lines itself.

    Files that git does not track or reads from elsewhere are always read, so a corpus that is no repository is only
    slower.
    """

    # User configuration could turn on full names or submodules.
    GIT = ("git", "-c", "grep.fullName=false", "-c", "submodule.recurse=false")
    FLAGS = ("-l", "-z", "-a", "-i", "-F", "--no-color")

    def __init__(self, corpus: Corpus) -> None:
        super().__init__(corpus)
        paths = sorted(file.path for file in corpus.files)
        tracked = self._tracked()
        self._seen = frozenset(path for path in paths if path in tracked and _is_plain(corpus, path))
        self._unseen = tuple(path for path in paths if path not in self._seen)

    def count(self, word: str) -> Mapping[str, int]:
        """Count in every file."""
        if not word.isascii():
            return self._python.count(word)
        return self._python.count_in((*sorted(self._holding(word) & self._seen), *self._unseen), word)

    def _tracked(self) -> frozenset[str]:
        listed = self._run([*self.GIT, "ls-files", "-v", "-z"])
        if listed.code:
            return frozenset()  # no repository
        entries = (os.fsdecode(entry).partition(" ") for entry in listed.stdout.split(b"\0"))
        return frozenset(path for tag, _, path in entries if tag == "H")

    def _holding(self, word: str) -> frozenset[str]:
        if not self._seen:
            return frozenset()
        output = self._output([*self.GIT, "grep", *self.FLAGS, "-e", word])
        return frozenset(os.fsdecode(name) for name in output.split(b"\0") if name)


def _is_plain(corpus: Corpus, path: str) -> bool:
    # through a link git would read another file
    root = os.path.realpath(corpus.root)
    return os.path.realpath(os.path.join(root, path)) == os.path.join(root, path)


def _batches(paths: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    room = LIMITS.argument_bytes
    for path in paths:
        size = len(os.fsencode(path)) + 3  # "./" before, a NUL after
        if batch and size > room:
            yield batch
            batch, room = [], LIMITS.argument_bytes
        batch.append(path)
        room -= size
    if batch:
        yield batch


def densest_window(text: str, words: Sequence[str], size: int) -> tuple[int, int]:
    """Return first and last of the `size` lines with the most distinct words, then occurrences, then the first."""
    found = sorted(_occurrences(text, words))
    last = max(1, count_lines(text))  # an empty file is shown as its first line
    best, best_line = (0, 0), 1
    inside: Counter[int] = Counter()
    right = 0
    for left, (line, word) in enumerate(found):
        while right < len(found) and found[right][0] < line + size:
            inside[found[right][1]] += 1
            right += 1
        richness = (len(inside), right - left)
        if richness > best:
            best, best_line = richness, line
        inside[word] -= 1
        if not inside[word]:
            del inside[word]
    return best_line, min(best_line + size - 1, last)


def _occurrences(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    found = []
    for number, word in enumerate(words):
        line, seen, at = 1, 0, text.find(word)
        while at >= 0:
            line, seen = line + text.count("\n", seen, at), at
            found.append((line, number))
            at = text.find(word, at + len(word))
    return found


Backend = Literal["auto", "rg", "git", "python"]
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of `kind = "keywords"`."""

    # Not part of the configuration, because the ranking is the same.
    backend: Backend = field(default="auto", metadata={"about": "what counts the words; the ranking is the same"})
    window: int = field(
        default=40,  # the same size as the reference engine's chunk
        metadata={"about": "lines of a result: those with the most distinct words"},
    )
    shortest: int = field(
        default=2,
        metadata={"about": "characters of the shortest word that is counted: single letters are in every file"},
    )
    cached_words: int = field(
        default=4096,  # queries of one suite share most of theirs
        metadata={"about": "words whose counts are cached; no effect on the ranking"},
    )

    def __post_init__(self) -> None:
        check_counts("engine keywords", window=self.window, shortest=self.shortest, cached_words=self.cached_words)


@dataclass(frozen=True, slots=True)
class KeywordsEngine(InProcessDefaults):
    """Greps for every word of the query."""

    settings: Settings
    oversample: int = 1
    role: Role = "yardstick"

    @property
    def config(self) -> Mapping[str, object]:
        """The settings that shape the ranking."""
        return {"kind": "keywords", "window": self.settings.window, "shortest": self.settings.shortest}

    @property
    def notes(self) -> tuple[str, ...]:
        """The backend on this machine."""
        return (f"words counted by {choose_backend(self.settings.backend)}",)

    @property
    def identity(self) -> str | None:  # type: ignore[override]  # computed
        """Settings, code, and path, size and time of the backend's program."""
        backend = choose_backend(self.settings.backend)
        return identity_of(self.config, "engines/keywords.py", facts=[backend, _tool_facts(backend)])

    def open(self, corpus: Corpus) -> Session:
        """Return a session with a counter."""
        counters: dict[str, Callable[[Corpus], WordCounter]] = {
            "rg": RipgrepCounter,
            "git": GitCounter,
            "python": PythonCounter,
        }
        return KeywordsSession(self.settings, corpus, counters[choose_backend(self.settings.backend)](corpus))


class KeywordsSession:
    """Word counts on one corpus; each word is counted once."""

    def __init__(self, settings: Settings, corpus: Corpus, counter: WordCounter) -> None:
        self._settings = settings
        self._corpus = corpus
        self._counter = counter
        self._count = lru_cache(settings.cached_words)(counter.count)

    def search(self, query: str, k: int) -> Sequence[Hit]:
        """Rank the files that contain any word of the query."""
        words = query_keywords(query, self._settings.shortest)
        distinct: Counter[str] = Counter()
        total: Counter[str] = Counter()
        for word in words:
            counts = self._count(word)
            distinct.update(counts.keys())
            total.update(counts)
        ranked = heapq.nsmallest(max(k, 0), distinct, key=lambda path: (-distinct[path], -total[path], path))
        return tuple(self._hit(path, words, distinct[path] + total[path] / (total[path] + 1)) for path in ranked)

    def usage(self) -> SessionUsage:
        """Return peak memory of the backend's programs."""
        return SessionUsage(peak_bytes=self._counter.peak_bytes)

    def close(self) -> None:
        """Clear the counts."""
        self._count.cache_clear()

    def _hit(self, path: str, words: Sequence[str], score: float) -> Hit:
        start, end = densest_window(fold(read_bytes(self._corpus, path)), words, self._settings.window)
        return Hit(path, start, end, score)


def query_keywords(query: str, shortest: int) -> list[str]:
    """Return the distinct words of a query in lower case; stop words and short ones only if there are no others."""
    every = list(dict.fromkeys(word.lower() for word in _WORD.findall(query)))
    telling = [word for word in every if word not in STOP_WORDS and len(word) >= shortest]
    return telling or every


def choose_backend(wanted: Backend) -> Literal["rg", "git", "python"]:
    """Return the wanted backend, or the first that is installed."""
    if wanted != "auto":
        if wanted != "python" and find_tool(wanted) is None:
            raise ConfigError(f"engine keywords: {wanted} is not installed", hint='install it, or backend = "auto"')
        return wanted
    return "rg" if find_tool("rg") else "git" if find_tool("git") else "python"


def _tool_facts(backend: str) -> list[object]:
    path = None if backend == "python" else find_tool(backend)
    if path is None:
        return []
    facts = os.stat(path)
    return [path, facts.st_size, facts.st_mtime_ns]


def make(settings: Mapping[str, object], _context: EngineContext) -> KeywordsEngine:
    """Make the engine; raise ConfigError if the backend is not installed."""
    read = read_settings(Settings, settings, "engine keywords")
    choose_backend(read.backend)
    return KeywordsEngine(read)
