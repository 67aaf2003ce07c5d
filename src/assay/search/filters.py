"""Which results are wanted? A filter only strikes results out: it changes neither score nor order."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

import numpy as np

from assay.corpus.ignore import Globs, select_paths
from assay.corpus.languages import LANGUAGES
from assay.errors import ConfigError, closest_match
from assay.search.table import FILE_KINDS, UNIT_KINDS, IndexTable

KINDS = (*FILE_KINDS, *UNIT_KINDS)


@dataclass(frozen=True, slots=True)
class Filter:
    """What a result must be; an empty tuple asks for nothing."""

    paths: tuple[str, ...] = ()  # globs, as in a corpus: `src/**`, `*.py`
    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()  # of files (code, docs, ...) or of units (function, class, ...); a method is a function
    regex: str | None = None  # must be found in the text of the file, or of the span
    min_score: float | None = None

    def __post_init__(self) -> None:
        """Refuse what no result could ever be."""
        if self.min_score is not None and not isfinite(self.min_score):
            raise ConfigError(f"min_score = {self.min_score}", hint="it is a number")
        for language in self.languages:
            if language not in LANGUAGES:
                near = closest_match(language, LANGUAGES)
                hint = f"did you mean {near[0]}?" if near else "such as python, go or typescript"
                raise ConfigError(f"unknown language {language!r}", hint=hint)
        for kind in self.kinds:
            if kind not in KINDS:
                raise ConfigError(f"unknown kind {kind!r}", hint=f"kinds: {', '.join(KINDS)}")
        if self.regex is not None:
            try:
                re.compile(self.regex)
            except re.error as error:
                raise ConfigError(f"not a regular expression: {self.regex!r}", hint=str(error)) from error

    def compiled(self, table: IndexTable) -> TableFilter:
        """Make the filter ready for one table."""
        return TableFilter(
            self,
            table,
            select_paths(self.paths) if self.paths else None,
            re.compile(self.regex, re.MULTILINE) if self.regex is not None else None,
        )


@dataclass(frozen=True, slots=True)
class TableFilter:
    """A filter over one table."""

    filter: Filter
    table: IndexTable
    globs: Globs | None
    pattern: re.Pattern[str] | None

    def passes(self, file: int, unit: int, score: float, text: Callable[[], str]) -> bool:
        """Tell whether a result is wanted, found by `unit`; `text` reads what a pattern is looked for in."""
        wanted = self.filter
        files = self.table.files
        if wanted.min_score is not None and score < wanted.min_score:
            return False
        if self.globs is not None and not self.globs.selects(files.paths[file]):
            return False
        if wanted.languages and files.languages[file] not in wanted.languages:
            return False
        return self._is_kind(file, unit) and (self.pattern is None or self.pattern.search(text()) is not None)

    def _is_kind(self, file: int, unit: int) -> bool:
        if not self.filter.kinds:
            return True
        wanted = set(self.filter.kinds) | ({"method"} if "function" in self.filter.kinds else set())
        own = {FILE_KINDS[self.table.files.kind[file]], UNIT_KINDS[self.table.units.kind[unit]]}
        return bool(own & wanted)


def unit_text(table: IndexTable, file: int, first: int, last: int) -> str:
    """Read the lines of units first..last of a file."""
    begin = int(table.files.text_offset[file])
    start, stop = begin + int(table.units.first_byte[first]), begin + int(table.units.last_byte[last])
    return table.files.text[start:stop].tobytes().decode("utf-8", "replace")


def scope_text(table: IndexTable, unit: int) -> str:
    """Give the names around a unit; nothing when nothing is around it."""
    first, last = np.searchsorted(table.scope.owner, [unit, unit + 1]).tolist()
    return " ".join(table.scope.texts[first:last])
