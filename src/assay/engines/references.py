"""Reference engines: `random`, the floor; `oracle`, the ceiling; `keywords`, a baseline like grep for every word.

Random order sorts files by a hash of seed, query and path: every order is equally likely, and adding or removing a
file does not change the order of other files.
"""

from __future__ import annotations

import hashlib
import heapq
import re
from abc import ABC, abstractmethod
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from assay.corpus import read_bytes, read_text
from assay.corpus.opening import ListedPaths
from assay.engines.base import EngineContext, EngineDefaults, FunctionSession, Session, identity_of
from assay.errors import ConfigError, EngineError
from assay.settings import read_settings, setting
from assay.syntax.identifiers import STOP_WORDS
from assay.syntax.symbols import extract_symbols, find_symbol
from assay.syntax.text import line_bytes, split_lines
from assay.types import Corpus, EngineRole, Hit, Span, Suite, Symbol, Target


@dataclass(frozen=True, slots=True)
class RandomSettings:
    seed: int = setting(0, "random seed; default: the seed of the run")
    window: int = setting(40, "lines per result", least=1)  # the chunk size of builtin


class ReferenceEngine(EngineDefaults, ABC):
    __slots__ = ()

    @property
    @abstractmethod
    def config(self) -> Mapping[str, object]: ...

    @property
    def identity(self) -> str | None:  # type: ignore[override]  # computed
        return identity_of(self.config, "engines/references.py")


@dataclass(frozen=True, slots=True)
class RandomEngine(ReferenceEngine):
    settings: RandomSettings
    role: EngineRole = "floor"

    @property
    def config(self) -> Mapping[str, object]:
        return {"kind": "random", "draw": "hash", "seed": self.settings.seed, "window": self.settings.window}

    def open(self, corpus: Corpus) -> Session:
        """Open a session whose rankings depend only on corpus, settings and query; a smaller k returns a prefix."""
        paths, window = sorted(file.path for file in corpus.files), self.settings.window

        def search(query: str, k: int) -> tuple[Hit, ...]:
            order = sorted(zip(random_digests(self.settings.seed, query, paths), paths, strict=True))
            return tuple(random_window(path, int.from_bytes(digest[16:], "big")) for digest, path in order[: max(k, 0)])

        def random_window(path: str, number: int) -> Hit:
            lines = len(line_bytes(read_text(corpus, path)))
            start = 1 + number % (max(lines - window, 0) + 1)
            return Hit(path, start, min(start + window - 1, lines)) if lines else Hit(path)

        return FunctionSession(search)


def random_digests(seed: int, query: str, paths: Sequence[str]) -> list[bytes]:
    # not `hash`, which differs between processes
    start = hashlib.sha256(f"{seed}\0{query}\0".encode("utf-8", "surrogatepass")).copy
    digests = []
    for path in paths:
        digest = start()
        digest.update(path.encode("utf-8", "surrogatepass"))
        digests.append(digest.digest())
    return digests


def make_random(settings: Mapping[str, object], context: EngineContext) -> RandomEngine:
    return RandomEngine(read_settings(RandomSettings, {"seed": context.seed, **settings}, "engine random"))


@dataclass(frozen=True, slots=True)
class OracleSettings:
    """The empty settings of `kind = "oracle"`."""


@dataclass(frozen=True, slots=True)
class OracleEngine(ReferenceEngine):
    suite: Suite
    role: EngineRole = "ceiling"

    @property
    def config(self) -> Mapping[str, object]:
        return {"kind": "oracle"}

    def open(self, corpus: Corpus) -> Session:
        """Open a session that returns the targets in existing files, by descending grade, without duplicates."""
        languages = {file.path: file.language for file in corpus.files}
        listed = ListedPaths(corpus)  # finds the file of a symbolic link

        @cache
        def symbols_of(path: str) -> tuple[Sequence[Symbol], Sequence[str]]:
            text = read_text(corpus, path)
            return extract_symbols(path, text, languages[path]), split_lines(text)

        targets: dict[str, list[Target]] = {}
        for query in (query for gold in self.suite.golds if gold.corpus == corpus.spec for query in gold.queries):
            for text in query.forms.values():
                targets.setdefault(text, []).extend(query.targets)

        def search(query: str, k: int) -> tuple[Hit, ...]:
            if query not in targets:
                message = f"unknown query {query!r:.80}"
                raise EngineError(message, hint="use a query of the gold set")
            ranked = sorted(targets[query], key=lambda target: -target.grade)  # stable: gold order decides ties
            spans = dict.fromkeys(span for target in ranked for span in target_spans(target))
            return tuple(Hit(span.path, span.start, span.end) for span in list(spans)[: max(k, 0)])

        def target_spans(target: Target) -> list[Span]:
            path = listed.find(target.span.path)
            if path is None:
                return []
            if target.symbol is None or target.span.start is not None:
                return [replace(target.span, path=path)]
            symbol = find_symbol(target.symbol, *symbols_of(path), path)
            return [Span(path, symbol.start, symbol.end)] if symbol else []

        return FunctionSession(search)


def make_oracle(settings: Mapping[str, object], context: EngineContext) -> OracleEngine:
    read_settings(OracleSettings, settings, "engine oracle")
    if context.suite is None:
        raise ConfigError("engine oracle requires a gold set", hint="pass a gold set with --gold")
    return OracleEngine(context.suite)


@dataclass(frozen=True, slots=True)
class CountingLimits:
    files: int = 256  # whose words are kept: about 200 KB each, and most results are in few large files
    # bytes of distinct words: with those of a corpus (2.6 MB for the standard library), trigrams are 10 times faster
    scanned_bytes: int = 100_000


LIMITS = CountingLimits()
IntArray = NDArray[np.intp]
_WORD = re.compile(r"\w+")
_ASCII_WORD = re.compile(rb"\w+")
_WORDS_AND_LINES = re.compile(rb"\w+|\n")


class WordCounter:
    """An index of the distinct words of each file of a corpus, built for the first query.

    A query word is counted in the longer words that contain it, which gives the same numbers as counting it in the
    files: its occurrences cannot cross the end of a word.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._paths = tuple(sorted(file.path for file in corpus.files))

    @cached_property
    def _index(self) -> tuple[WordRows, IntArray, IntArray, list[str]]:
        """Return a row for each word of each file, the files and counts of the rows, and files with other text."""
        numbers = _numbering()
        ids, files, counts, other = array("q"), array("q"), array("q"), []
        for number, path in enumerate(self._paths):
            data = read_bytes(self._corpus, path).lower()
            if not data.isascii():
                other.append(path)
            words = Counter(_ASCII_WORD.findall(data))
            ids.extend(map(numbers.__getitem__, words))
            files.extend(repeat(number, len(words)))
            counts.extend(words.values())
        rows = WordRows(numbers, np.array(ids, np.intp))
        return rows, np.array(files, np.intp), np.array(counts, np.intp), other

    def count(self, word: str) -> Mapping[str, int]:
        """Return the number of occurrences of a lowercase word by path; files without the word are omitted."""
        words, files, counts, other = self._index
        if not word.isascii():
            found = {path: _fold(read_bytes(self._corpus, path).lower()).count(word) for path in other}
            return {path: count for path, count in found.items() if count}
        rows = words.containing(word)
        total = np.bincount(files[rows], counts[rows], len(self._paths))
        at = np.flatnonzero(total)
        return dict(zip(map(self._paths.__getitem__, at.tolist()), total[at].astype(np.intp).tolist(), strict=True))


def _numbering() -> defaultdict[bytes, int]:
    """Return a mapping that numbers its keys in the order of their first use."""
    numbers: defaultdict[bytes, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    return numbers


class WordRows:
    """An index of rows with one word each; a search finds the rows by a part of the word."""

    def __init__(self, words: Collection[bytes], ids: IntArray) -> None:
        self._text = b"\n".join(words)
        self._ends = np.cumsum([len(word) + 1 for word in words], dtype=np.intp)
        self._rows = np.argsort(ids, kind="stable")  # by word
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=len(words)))])

    def containing(self, word: str) -> IntArray:
        """Return the rows of the words that contain an ASCII word, once for each occurrence without overlaps."""
        small = len(self._text) <= LIMITS.scanned_bytes
        found = _positions(word.encode(), self._text) if small else self._find(word.encode())
        numbers = np.searchsorted(self._ends, found, side="right").tolist()
        parts = [self._rows[self._starts[number] : self._starts[number + 1]] for number in numbers]
        return np.concatenate([np.empty(0, np.intp), *parts])

    @cached_property
    def _trigrams(self) -> tuple[NDArray[np.uint8], NDArray[np.uint32], IntArray]:
        """Return the text, and the sorted codes of its trigrams with their positions."""
        text = np.frombuffer(self._text + b"\0\0", np.uint8)
        first, second, third = (text[at : at + len(self._text)].astype(np.uint32) for at in range(3))
        codes: NDArray[np.uint32] = (first << np.uint32(16)) | (second << np.uint32(8)) | third
        order = np.argsort(codes, kind="stable")
        return text, codes[order], order

    def _find(self, word: bytes) -> IntArray:
        """Return the positions that `_positions` returns, found by the rarest trigram of the word."""
        text, codes, positions = self._trigrams
        parts = [word[at : at + 3] for at in range(max(1, len(word) - 2))]
        low, high = ([int.from_bytes(part.ljust(3, byte), "big") for part in parts] for byte in (b"\0", b"\xff"))
        first = np.searchsorted(codes, np.array(low, np.uint32))
        last = np.searchsorted(codes, np.array(high, np.uint32), side="right")
        rarest = int(np.argmin(last - first))
        found = np.sort(positions[first[rarest] : last[rarest]]) - rarest
        found = found[(found >= 0) & (found + len(word) <= len(self._text))]
        for at, byte in enumerate(word):
            found = found[text[found + at] == byte]
        if not np.any(np.diff(found) < len(word)):
            return found
        kept = [-len(word)]
        for start in found.tolist():
            if start >= kept[-1] + len(word):
                kept.append(start)
        return np.array(kept[1:], np.intp)


def _positions(word: bytes, text: bytes) -> IntArray:
    return np.array([match.start() for match in re.finditer(re.escape(word), text)], np.intp)


def _fold(data: bytes) -> str:
    try:
        return data.decode("utf-8").lower()
    except UnicodeDecodeError:
        return data.decode("latin-1").lower()


class FileWords:
    """The lines of each word of a lowercase file."""

    def __init__(self, data: bytes) -> None:
        numbers = _numbering()
        tokens = [b"\n", *_WORDS_AND_LINES.findall(data)]
        ids = np.fromiter(map(numbers.__getitem__, tokens), np.intp, len(tokens))
        self._lines = np.cumsum(ids == 0)
        self._rows = WordRows(numbers, ids)
        self._data = b"" if data.isascii() else data
        self.last = max(1, int(self._lines[-1]) - data.endswith(b"\n"))  # an empty file is shown as its first line

    def lines(self, word: str) -> IntArray:
        """Return the line of each occurrence of a word, in order."""
        if word.isascii():
            return np.sort(self._lines[self._rows.containing(word)])
        newlines = np.flatnonzero(np.frombuffer(self._data, np.uint8) == ord("\n"))
        return np.searchsorted(newlines, _positions(word.encode(), self._data)) + 1


def densest_window(file: FileWords, words: Sequence[str], size: int) -> tuple[int, int]:
    """Return the first and last line of the best window: most distinct words, then most occurrences, then earliest."""
    occurrences = [file.lines(word) for word in words]
    starts = np.unique(np.concatenate([np.empty(0, np.intp), *occurrences]))
    best_line = 1
    if starts.size:
        counts = [np.searchsorted(lines, starts + size) - np.searchsorted(lines, starts) for lines in occurrences]
        matches, distinct = np.sum(counts, axis=0), np.count_nonzero(counts, axis=0)
        best_line = int(starts[np.lexsort((starts, -matches, -distinct))[0]])
    return best_line, min(best_line + size - 1, file.last)


@dataclass(frozen=True, slots=True)
class KeywordsSettings:
    # the chunk size of builtin
    window: int = setting(40, "lines per result: those with the most distinct words", least=1)
    shortest: int = setting(2, "minimum length of counted words", least=1)  # single letters are in every file
    # queries in a suite share most words
    cached_words: int = setting(4096, "maximum number of words with cached counts", least=1)


@dataclass(frozen=True, slots=True)
class KeywordsEngine(ReferenceEngine):
    settings: KeywordsSettings
    role: EngineRole = "reference"

    @property
    def config(self) -> Mapping[str, object]:
        return {"kind": "keywords", "window": self.settings.window, "shortest": self.settings.shortest}

    def open(self, corpus: Corpus) -> Session:
        return KeywordsSession(self.settings, corpus)


class KeywordsSession:
    def __init__(self, settings: KeywordsSettings, corpus: Corpus) -> None:
        self._settings = settings
        self._corpus = corpus
        self._count = lru_cache(settings.cached_words)(WordCounter(corpus).count)
        self._words = lru_cache(LIMITS.files)(self._read_words)

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
            start, end = densest_window(self._words(path), words, self._settings.window)
            hits.append(Hit(path, start, end, distinct[path] + total[path] / (total[path] + 1)))
        return tuple(hits)

    def _read_words(self, path: str) -> FileWords:
        data = read_bytes(self._corpus, path).lower()
        return FileWords(data if data.isascii() else _fold(data).encode())

    def close(self) -> None:
        self._count.cache_clear()
        self._words.cache_clear()


def query_keywords(query: str, shortest: int) -> list[str]:
    """Return the distinct lowercase words of a query, without stop words and short words if others remain."""
    every = list(dict.fromkeys(word.lower() for word in _WORD.findall(query)))
    return [word for word in every if word not in STOP_WORDS and len(word) >= shortest] or every


def make_keywords(settings: Mapping[str, object], _context: EngineContext) -> KeywordsEngine:
    return KeywordsEngine(read_settings(KeywordsSettings, settings, "engine keywords"))
