"""From words as they stand to the engine's own terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from assay.search.naming import folder_name, stem_name
from assay.search.question import ask
from assay.search.words import runs, terms

_REMEMBERED: Final = 300_000  # runs; those of the largest repositories, some 100 MB
_LONGEST: Final = 64  # characters of a run; longer ones are data: hashes, base64


class _Terms(dict[str, tuple[str, ...]]):
    """Remember the terms of runs, bounded."""

    def __missing__(self, run: str) -> tuple[str, ...]:
        if len(run) > _LONGEST:
            return ()
        if len(self) >= _REMEMBERED:
            self.clear()
        found = self[run] = terms(run)
        return found


_TERMS: Final = _Terms()


def code_terms(counted: Mapping[str, int]) -> dict[str, int]:
    """Count the terms of runs."""
    found: dict[str, int] = {}
    for run, count in counted.items():
        for term in _TERMS[run]:
            found[term] = found.get(term, 0) + count
    return found


def query_terms(text: str) -> tuple[str, ...]:
    """Give the terms that a search for a text looks up."""
    return ask(text).terms


def path_terms(path: str) -> tuple[str, ...]:
    """Give the terms of a file's name and folders, each once."""
    words = runs(f"{stem_name(path)} {folder_name(path)}")
    return tuple(dict.fromkeys(term for run in words for term in _TERMS[run]))
