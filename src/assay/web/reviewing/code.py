"""The code of a corpus for a page: files by their path, lines in colour, definitions. No path leaves the corpus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from assay.corpus import read_text
from assay.gold.review.viewing import Desk
from assay.syntax.grammars import grammar_name
from assay.syntax.highlight import COLOURS, Stretch, coloured
from assay.syntax.parsing import looks_torn
from assay.syntax.symbols import symbols
from assay.types import SourceFile
from assay.web.messages import Refused, Request, Response, json_response


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """How much of the code one answer holds."""

    lines: int = 1_000  # of a file; the page asks for more as one scrolls
    columns: int = 2_000  # of a line: beyond it there is nothing to read, and much to draw
    paths: int = 60  # that a search lists; who sees none that fits types on


#: Files whose colours are kept: those that a few reviewers look at just now.
_KEPT_FILES = 16
_coloured = lru_cache(maxsize=_KEPT_FILES)(coloured)


@dataclass(frozen=True)
class Code:
    """Answers what a page asks of the code."""

    desk: Desk
    limits: CodeLimits = CodeLimits()

    def lines(self, request: Request) -> Response:
        """Give some lines of a file, as runs of `[colour, text]`."""
        file = self._file(request)
        text = read_text(self.desk.corpus, file.path)
        rows = _coloured(text, grammar_name(file.path, file.language, text))
        start = max(1, _number(request, "start", 1))
        end = min(len(rows), start + self.limits.lines - 1, _number(request, "end", len(rows)))
        shown = [self._row(row) for row in rows[start - 1 : end]]
        answer = {"path": file.path, "language": file.language or "", "total": len(rows), "start": start, "rows": shown}
        return json_response(answer)

    def definitions(self, request: Request) -> Response:
        """List what a file defines; one that may crash its parser defines nothing here."""
        file = self._file(request)
        text = read_text(self.desk.corpus, file.path)
        grammar = grammar_name(file.path, file.language, text)
        torn = grammar is not None and looks_torn(text.encode("utf-8", "replace"), grammar)
        found = () if torn else symbols(file.path, text, file.language)
        return json_response({"path": file.path, "definitions": [[s.name, s.kind, s.start, s.end] for s in found]})

    def paths(self, request: Request) -> Response:
        """Find files whose path holds every word that was typed: names before folders, short before long."""
        words = request.query.get("find", "").casefold().split()
        found = [file.path for file in self.desk.corpus.files if all(word in file.path.casefold() for word in words)]

        def key(path: str) -> tuple[int, int, str]:
            name = path.casefold().rpartition("/")[2]
            return (-sum(word in name for word in words), len(path), path)

        return json_response({"paths": sorted(found, key=key)[: self.limits.paths], "total": len(found)})

    def _file(self, request: Request) -> SourceFile:
        """Find the file that was asked for among those of the corpus: no other is ever read."""
        path = request.query.get("path", "")
        for file in self.desk.corpus.files:
            if file.path == path:
                return file
        raise Refused(404, f"the corpus has no file '{path[:200]}'", hint="choose one that the search lists")

    def _row(self, runs: tuple[Stretch, ...]) -> list[list[object]]:
        """Write the runs of a line, cut where nobody reads on."""
        row: list[list[object]] = []
        left = self.limits.columns
        for run in runs:
            row.append([COLOURS.index(run.colour), run.text[:left]])
            left -= len(run.text)
            if left <= 0:
                break
        if (size := sum(len(run.text) for run in runs)) > self.limits.columns:
            row.append([COLOURS.index("comment"), f" … {size - self.limits.columns} more characters"])
        return row


def _number(request: Request, name: str, otherwise: int) -> int:
    """Read a line number of an address."""
    text = request.query.get(name, "")
    if not text:
        return otherwise
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise Refused(400, f"{name} is no line number")
    return int(text)
