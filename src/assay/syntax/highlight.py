"""Syntax highlighting: split each line into colored runs.

The concatenated runs of a line equal the line. Text without a grammar, and files and lines above the limits are plain.
"""

from __future__ import annotations

import time
from functools import cache
from itertools import groupby
from typing import Any, Final, Literal, get_args

from assay.records import dataclass
from assay.syntax.text import split_lines

Color = Literal["plain", "comment", "string", "number", "keyword", "definition", "type"]
COLORS: tuple[Color, ...] = get_args(Color)
#: Pygments' token types by color; the longest prefix of a type counts.
_TYPES: Final[dict[str, Color]] = {
    "Comment": "comment",
    "Comment.Preproc": "keyword",
    "Keyword": "keyword",
    "Keyword.Type": "type",
    "Literal.Number": "number",
    "Literal.Scalar": "string",
    "Literal.String": "string",
    "Literal.String.Interpol": "plain",
    "Name.Attribute": "type",
    "Name.Builtin": "type",
    "Name.Builtin.Pseudo": "keyword",
    "Name.Class": "definition",
    "Name.Function": "definition",
    "Name.Tag": "keyword",
    "Operator.Word": "keyword",
}


@dataclass(frozen=True, slots=True)
class HighlightSpan:
    text: str
    color: Color


@dataclass(frozen=True, slots=True)
class ColorLimits:
    characters: int = 400_000  # of a file: a second for the slowest lexer; larger files are data or generated
    columns: int = 5_000  # of a line: longer lines are data, and may have one run per character
    seconds: float = 2.0  # for a file, because a web page waits for the colors


LIMITS = ColorLimits()


def highlight(text: str, grammar: str | None, limits: ColorLimits = LIMITS) -> tuple[tuple[HighlightSpan, ...], ...]:
    """Split each line of a text into colored runs; without a grammar, lines are plain. An empty line has no runs."""
    lines = split_lines(text)
    marks = _marks(text, _lexer(grammar), limits) if grammar and len(text) <= limits.characters else None
    rows: list[tuple[HighlightSpan, ...]] = []
    at = 0
    for line in lines:
        colors = marks[at : at + len(line)] if marks and len(line) <= limits.columns else bytes(len(line))
        spans, start = [], 0
        for color, run in groupby(colors):
            end = start + sum(1 for _ in run)
            spans.append(HighlightSpan(line[start:end], COLORS[color]))
            start = end
        rows.append(tuple(spans))
        at += len(line) + 1
    return tuple(rows)


@cache
def _lexer(grammar: str) -> Any:  # noqa: ANN401 - pygments has no types
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(grammar)


def _marks(text: str, lexer: Any, limits: ColorLimits) -> bytearray | None:  # noqa: ANN401 - pygments has no types
    """Return the index of the color of each character; None if that takes too long."""
    marks, end = bytearray(len(text)), time.monotonic() + limits.seconds
    for at, kind, value in lexer.get_tokens_unprocessed(text):
        marks[at : at + len(value)] = bytes((_color(kind),)) * len(value)
        if time.monotonic() > end:
            return None
    return marks


@cache
def _color(kind: tuple[str, ...]) -> int:
    names = [".".join(kind[:length]) for length in range(len(kind), 0, -1)]
    return COLORS.index(next((_TYPES[name] for name in names if name in _TYPES), "plain"))
