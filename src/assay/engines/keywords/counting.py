"""How often does a word stand in each file? Three counters, one answer.

The definition, which the tools are held to: occurrences that do not overlap, of the word as bytes, ASCII letters in
any case; a word with other letters is looked for in the decoded, lower-cased text, always by Python, because tools
differ in what they call the same letter.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from assay.corpus import read_bytes
from assay.engines.running import describe_failure, run_tool
from assay.engines.witness import Witness
from assay.errors import EngineError
from assay.processes import Finished, ProcessLimits, Task
from assay.types import Corpus


@dataclass(frozen=True, slots=True)
class CountingLimits:
    """Memory, time and command line lengths; no effect on any count."""

    cached_bytes: int = 512_000_000  # file contents kept in memory; the rest is read again for every word
    argument_bytes: int = 200_000  # of paths in one command line: the smallest system limit in use is 256 KiB
    seconds: float = 120.0  # for one run of a tool: what an abandoned query may leave running
    # git names every file it tracks, and a million paths of 100 bytes must fit
    process: ProcessLimits = field(default_factory=lambda: ProcessLimits(stdout=100_000_000))


LIMITS = CountingLimits()
_WAY_OUT = 'use backend = "python"'


class WordCounter(Protocol):
    """Counts words in the files of one corpus."""

    def count(self, word: str) -> Mapping[str, int]:
        """Give the number of occurrences by path, for the files that have any."""

    @property
    def peak_bytes(self) -> int | None:
        """The most memory that a program of its took; None when there was none, or too short to be seen."""


def fold(data: bytes) -> str:
    """Decode as the corpus does and lower the case."""
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
    """Find a program on the PATH."""
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
        """Give a file's bytes with ASCII letters lower-cased, from memory while there is room."""
        data = self._cache.get(path)
        if data is None:
            data = read_bytes(self._corpus, path).lower()
            if len(data) <= self._room:
                self._room -= len(data)
                self._cache[path] = data
        return data


class _ToolCounter:
    """What counters share that let a program help them."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._python = PythonCounter(corpus)
        self._witness = Witness()

    @property
    def peak_bytes(self) -> int | None:
        """The most memory that a run of the tool took."""
        return self._witness.peak_bytes

    def _output(self, arguments: Sequence[str]) -> bytes:
        """Run a grep in the corpus; 1 means that nothing was found."""
        done = self._run(arguments)
        if done.code not in (0, 1):
            raise EngineError(describe_failure(Task(tuple(arguments)), done), hint=_WAY_OUT)
        return done.stdout

    def _run(self, arguments: Sequence[str]) -> Finished:
        """Run a tool in the corpus, with bytes for letters and without the machine's git configuration."""
        environment = {**os.environ, "LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1"}
        task = Task(tuple(arguments), self._corpus.root, environment)
        return run_tool(task, LIMITS.seconds, hint=_WAY_OUT, limits=LIMITS.process, seen=self._witness.see_query)


class RipgrepCounter(_ToolCounter):
    """Counts with `rg --count-matches`, over the corpus's own list of files."""

    # Bytes as they are (-a, no BOM sniffing), ASCII case only, no configuration or ignore file of the user's.
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
    """Lets `git grep` name the tracked files that hold the word, and counts in those; it can only count lines itself.

    Files that git does not track or reads from elsewhere are counted without its help, so a corpus that is no
    repository is a slower one and nothing else.
    """

    # The user's configuration could turn on full names or submodules.
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
        """List the files whose text `git grep` takes from the folder; tag H leaves out those it has reasons not to."""
        listed = self._run([*self.GIT, "ls-files", "-v", "-z"])
        if listed.code:
            return frozenset()  # no repository
        entries = (os.fsdecode(entry).partition(" ") for entry in listed.stdout.split(b"\0"))
        return frozenset(path for tag, _, path in entries if tag == "H")

    def _holding(self, word: str) -> frozenset[str]:
        """Ask git for the tracked files that hold a word."""
        if not self._seen:
            return frozenset()
        output = self._output([*self.GIT, "grep", *self.FLAGS, "-e", word])
        return frozenset(os.fsdecode(name) for name in output.split(b"\0") if name)


def _is_plain(corpus: Corpus, path: str) -> bool:
    """Tell whether a path leads through no link, so that git reads what we read."""
    root = os.path.realpath(corpus.root)
    return os.path.realpath(os.path.join(root, path)) == os.path.join(root, path)


def _batches(paths: Sequence[str]) -> Iterator[list[str]]:
    """Cut a list of paths into command lines of bounded length."""
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
