"""Conversion of replies to hits, and normalization of rankings: unambiguous repairs, and notes on contract violations.

A path is never matched by its suffix: `encoder.py` is not `json/encoder.py`. Normalization is idempotent.
"""

from __future__ import annotations

import math
import os
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TypeGuard, cast

from assay.corpus import read_text
from assay.corpus.opening import ListedPaths
from assay.engines.base import MAX_HITS, EngineReply
from assay.engines.text_output import parse_location
from assay.errors import EngineError
from assay.syntax.text import count_lines
from assay.types import Corpus, Hit

ABSOLUTE = "absolute, read as relative to the corpus root"
UNKNOWN = "not in the corpus"
BACKWARDS = "ending before they start, read as one line"
BEFORE_FIRST = "starting before line 1, clipped"
PAST_END = "past the end of the file, clipped"
NO_RANGE = "without integer lines, read as the whole file"
BAD_SCORE = "not a number, dropped"
BAD_SNIPPET = "not a string, dropped"


def read_reply(answer: object) -> EngineReply:
    """Convert an engine's return value, an EngineReply or an iterable of results; raise EngineError for other types."""
    reply = answer if isinstance(answer, EngineReply) else EngineReply(cast("tuple[Hit, ...]", answer))
    results: object = reply.hits
    if isinstance(results, str | bytes | Mapping | Hit) or not isinstance(results, Iterable):
        raise EngineError(
            f"expected a list of results, got {type(results).__name__}",
            hint="return a list of Hit objects, paths or strings such as 'path:10-20'",
        )
    return replace(reply, hits=tuple(map(read_hit, islice(results, MAX_HITS))))


def read_hit(result: object) -> Hit:
    """Convert a Hit, location, path object or mapping with a path to a Hit; raise EngineError for other values."""
    if isinstance(result, Hit):
        return result
    if isinstance(result, str):
        return parse_location(result)
    if isinstance(result, os.PathLike):
        return Hit(str(os.fspath(result)))
    if isinstance(result, Mapping) and isinstance(result.get("path"), str):
        return Hit(**{name: result[name] for name in Hit._fields if name in result})
    raise EngineError(
        f"cannot convert a result of type {type(result).__name__}: {result!r:.80}",
        hint="return a Hit, a path, 'path:10-20' or a mapping with path, start, end, score",
    )


@dataclass(frozen=True, slots=True)
class NormalizedHits:
    hits: tuple[Hit, ...]
    notes: tuple[str, ...] = ()


_Violation = tuple[str, str, str]  # subject (paths, ranges, scores, snippets), problem, example


class Normalizer:
    """A normalizer for rankings on one corpus; the length of each file is read once."""

    def __init__(self, corpus: Corpus, lines: Callable[[str], int] | None = None, *, also: Sequence[Path] = ()) -> None:
        self._known = frozenset(file.path for file in corpus.files)
        roots = [form for root in (corpus.root, *also) for form in (root.as_posix(), root.resolve().as_posix())]
        self._roots = tuple(dict.fromkeys(f"{root.rstrip('/')}/" for root in roots))
        self._listed = tuple(ListedPaths(corpus, root) for root in (corpus.root, *also))
        self._lines = cache(lines or (lambda path: count_lines(read_text(corpus, path))))

    def __call__(self, hits: Iterable[Hit], k: int, *, oversample: int = 1) -> NormalizedHits:
        """Repair the first k × oversample hits, drop the rest, and return notes on contract violations."""
        given = tuple(hits)
        requested = given[: k * oversample]
        if len(given) == len(requested) and all(map(self._is_fine, requested)):
            return NormalizedHits(requested)
        violations: list[_Violation] = []
        hits = tuple([self._repair(hit, violations) for hit in requested])
        counts = Counter((subject, problem) for subject, problem, _ in violations)
        first = {(subject, problem): example for subject, problem, example in reversed(violations)}
        total = len(requested)
        notes = [f"{count} of {total} {' '.join(kind)}, e.g. {first[kind]}" for kind, count in counts.items()]
        if len(given) > total:
            notes.append(f"expected at most {total} results, got {len(given)}; the others were dropped")
        return NormalizedHits(hits, tuple(notes))

    def path(self, text: str) -> str:
        """Return the file of the corpus that a path denotes, or the normalized path if there is none."""
        if text in self._known:
            return text
        path = self._tidy(text)
        listed = (paths.find(path) for paths in self._listed)  # the path may be a symbolic link to a file of the corpus
        return next((match for match in listed if match is not None), path)

    def _tidy(self, text: str) -> str:
        if not text:
            return text
        for form in (text, text.replace("\\", "/")):
            tidy = posixpath.normpath(form)
            root = next((root for root in self._roots if tidy.startswith(root)), "")
            if tidy[len(root) :] in self._known or (form.startswith("/") and root):
                return tidy[len(root) :]
        return text if tidy.startswith(("/", "..")) else tidy

    def _repair(self, hit: object, violations: list[_Violation]) -> Hit:
        if self._is_fine(hit):
            return hit
        if not isinstance(hit, Hit) or not isinstance(hit.path, str):
            raise EngineError(
                f"expected a Hit with a path, got {hit!r:.80}", hint="set the path of every Hit to a string"
            )
        path = self.path(hit.path)
        if hit.path.startswith("/") and not path.startswith("/"):
            violations.append(("paths", ABSOLUTE, hit.path))
        if path not in self._known:
            violations.append(("paths", UNKNOWN, hit.path))
        hit = self._repair_range(hit._replace(path=path), violations)
        score: object = hit.score
        if score is not None:
            usable = isinstance(score, int | float) and not isinstance(score, bool) and math.isfinite(score)
            if not usable:
                violations.append(("scores", BAD_SCORE, f"{score!r:.40}"))
            hit = hit._replace(score=float(hit.score) if usable and hit.score is not None else None)
        if hit.snippet is not None and not isinstance(hit.snippet, str):
            violations.append(("snippets", BAD_SNIPPET, f"{hit.snippet!r:.40}"))
            hit = hit._replace(snippet=None)
        return hit

    def _is_fine(self, hit: object) -> TypeGuard[Hit]:
        if type(hit) is not Hit or hit.path not in self._known or not isinstance(hit.snippet, str | None):
            return False
        if type(hit.start) is not int or type(hit.end) is not int:
            return False
        ranged = 1 <= hit.start <= hit.end <= self._lines(hit.path)
        return ranged and (hit.score is None or (type(hit.score) is float and math.isfinite(hit.score)))

    def _repair_range(self, hit: Hit, violations: list[_Violation]) -> Hit:
        if hit.start is None and hit.end is None:
            return hit
        given = f"{hit.path}:{hit.start}-{hit.end}"
        start, end = _whole(hit.start), _whole(hit.start if hit.end is None else hit.end)
        if start is None or end is None:
            violations.append(("ranges", NO_RANGE, given))
            return hit._replace(start=None, end=None)
        if end < start:
            violations.append(("ranges", BACKWARDS, given))
            end = start
        if start < 1:
            violations.append(("ranges", BEFORE_FIRST, given))
            start, end = 1, max(end, 1)
        last = self._lines(hit.path) if hit.path in self._known else end
        if end > last:
            violations.append(("ranges", PAST_END, given))
            start, end = min(start, last), last
        return hit._replace(start=start, end=end) if last else hit._replace(start=None, end=None)


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if math.isfinite(value) and value == int(value) else None
