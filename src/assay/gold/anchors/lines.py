"""In which line of a gold file does an anchor stand? A query's record only knows where the query begins."""

from __future__ import annotations

from pathlib import Path

from assay.types import Gold, Query


class AnchorLines:
    """Find the line an anchor is written in."""

    def __init__(self, gold: Gold) -> None:
        self._source = gold.source
        self._starts = sorted(query.line for query in gold.queries if query.line is not None)
        self._lines: list[str] | None = None

    def find(self, query: Query, anchor: str) -> int | None:
        """Give the first line of the query that holds the anchor's text, or the line it begins in."""
        if query.line is None:
            return None
        lines = self._read()
        end = next((start - 1 for start in self._starts if start > query.line), len(lines))
        for number in range(query.line, min(end, len(lines)) + 1):
            if anchor in lines[number - 1]:
                return number
        return query.line

    def _read(self) -> list[str]:
        """Read the gold file once; one that is gone by now has no lines."""
        if self._lines is None:
            self._lines = _source_lines(self._source)
        return self._lines


def _source_lines(source: str | None) -> list[str]:
    """Give the lines of a gold file that can still be read."""
    try:
        return Path(source).read_text("utf-8").split("\n") if source else []
    except (OSError, UnicodeDecodeError):
        return []
