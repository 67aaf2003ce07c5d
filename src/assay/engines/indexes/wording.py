"""Words about a shared index: its places are written as everybody knows them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from assay.engines.indexes.place import Spot
from assay.errors import AssayError, EngineError
from assay.types import Corpus


class Words:
    """Says where things are as everybody knows them: the places of a shared index are nobody's business."""

    def __init__(self, corpus: Corpus, places: Mapping[str, str]) -> None:
        self.corpus = corpus
        self.places = places
        self._roots = tuple(dict.fromkeys((places["root"], os.path.realpath(places["root"]))))
        named = {path: f"{{{name}}}" for name, path in places.items() if path and path != str(corpus.root)}
        self._named = sorted(named.items(), key=lambda item: (-len(item[0]), item[0]))

    def text(self, text: str) -> str:
        """Write placeholders for places."""
        for path, name in self._named:
            text = text.replace(path, name)
        return text

    def path(self, path: str) -> str:
        """Take the path of a result to the corpus that was given."""
        for root in self._roots:
            if path.startswith(f"{root}/"):
                return f"{self.corpus.root.as_posix()}/{path[len(root) + 1 :]}"
        return path

    @contextmanager
    def cleaning(self) -> Iterator[None]:
        """Write placeholders for places in every error of ours."""
        try:
            yield
        except AssayError as problem:
            raise self.error(problem) from None

    def error(self, problem: AssayError) -> AssayError:
        """Say the same with placeholders."""
        hint = None if problem.hint is None else self.text(problem.hint)
        clean = type(problem)(self.text(problem.message), file=problem.file, line=problem.line, hint=hint)
        if isinstance(clean, EngineError) and isinstance(problem, EngineError):
            clean.waited, clean.stderr = problem.waited, self.text(problem.stderr)
        return clean


def words_of(corpus: Corpus, spot: Spot) -> Words:
    """Give the words for a spot where a corpus lies in another place."""
    return Words(corpus, {"root": str(spot.corpus.root), "store": str(spot.store or "")})
