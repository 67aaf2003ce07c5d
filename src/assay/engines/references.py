"""Reference engines: `random`, the floor, and `oracle`, the ceiling.

Random order sorts files by a hash of seed, query and path: every order is equally likely, and adding or removing a
file does not change the order of other files.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Mapping
from dataclasses import dataclass, replace

from assay.corpus import read_text
from assay.corpus.opening import ListedPaths
from assay.engines.base import EngineContext, EngineDefaults, FunctionSession, Session, identity_of
from assay.errors import ConfigError, EngineError
from assay.settings import read_settings, setting
from assay.syntax.symbols import extract_symbols, find_symbol
from assay.syntax.text import line_bytes, split_lines
from assay.types import Corpus, EngineRole, Hit, Span, Suite, Target


@dataclass(frozen=True, slots=True)
class RandomSettings:
    seed: int = setting(0, "random seed; default: the seed of the run")
    window: int = setting(40, "lines per result", least=1)  # the chunk size of builtin


@dataclass(frozen=True, slots=True)
class RandomEngine(EngineDefaults):
    settings: RandomSettings
    role: EngineRole = "floor"

    @property
    def config(self) -> Mapping[str, object]:
        return {"kind": "random", "draw": "hash", "seed": self.settings.seed, "window": self.settings.window}

    @property
    def identity(self) -> str | None:  # type: ignore[override]  # computed
        return identity_of(self.config, "engines/references.py")

    def open(self, corpus: Corpus) -> Session:
        """Open a session whose rankings depend only on corpus, settings and query; a smaller k returns a prefix."""
        paths, window = sorted(file.path for file in corpus.files), self.settings.window

        def search(query: str, k: int) -> tuple[Hit, ...]:
            keys = {path: random_keys(self.settings.seed, query, path) for path in paths}
            first = heapq.nsmallest(max(k, 0), paths, key=lambda path: (keys[path][0], path))
            return tuple(random_window(path, keys[path][1]) for path in first)

        def random_window(path: str, number: int) -> Hit:
            lines = len(line_bytes(read_text(corpus, path)))
            start = 1 + number % (max(lines - window, 0) + 1)
            return Hit(path, start, min(start + window - 1, lines)) if lines else Hit(path)

        return FunctionSession(search)


def random_keys(seed: int, query: str, path: str) -> tuple[int, int]:
    # not `hash`, which differs between processes
    digest = hashlib.sha256(f"{seed}\0{query}\0{path}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:16], "big"), int.from_bytes(digest[16:], "big")


def make_random(settings: Mapping[str, object], context: EngineContext) -> RandomEngine:
    return RandomEngine(read_settings(RandomSettings, {"seed": context.seed, **settings}, "engine random"))


@dataclass(frozen=True, slots=True)
class OracleSettings:
    """The empty settings of `kind = "oracle"`."""


@dataclass(frozen=True, slots=True)
class OracleEngine(EngineDefaults):
    suite: Suite
    role: EngineRole = "ceiling"

    @property
    def config(self) -> Mapping[str, object]:
        return {"kind": "oracle"}

    @property
    def identity(self) -> str | None:  # type: ignore[override]  # computed
        return identity_of(self.config, "engines/references.py")

    def open(self, corpus: Corpus) -> Session:
        """Open a session that returns the targets in existing files, by descending grade, without duplicates."""
        languages = {file.path: file.language for file in corpus.files}
        listed = ListedPaths(corpus)  # finds the file of a symbolic link
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
            text = read_text(corpus, path)
            symbols = extract_symbols(path, text, languages[path])
            symbol = find_symbol(target.symbol, symbols, split_lines(text), path)
            return [Span(path, symbol.start, symbol.end)] if symbol else []

        return FunctionSession(search)


def make_oracle(settings: Mapping[str, object], context: EngineContext) -> OracleEngine:
    read_settings(OracleSettings, settings, "engine oracle")
    if context.suite is None:
        raise ConfigError("engine oracle requires a gold set", hint="pass a gold set with --gold")
    return OracleEngine(context.suite)
