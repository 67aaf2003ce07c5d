"""Syntax highlighting: split each line into colored runs.

Colors depend on node types, which most grammars name alike. The concatenated runs of a line equal the line. Text
without a grammar, unknown syntax, and files and lines above the limits are plain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Final, Literal, get_args

from assay.records import dataclass
from assay.syntax.parsing import ParsingLimits, parse_in_process, query_matches
from assay.syntax.text import split_lines

if TYPE_CHECKING:
    from tree_sitter import Node


Color = Literal["plain", "comment", "string", "number", "keyword", "definition", "type"]
COLORS: tuple[Color, ...] = get_args(Color)
_PLAIN, _COMMENT, _STRING, _NUMBER, _KEYWORD, _DEFINITION, _TYPE = range(len(COLORS))


@dataclass(frozen=True, slots=True)
class HighlightSpan:
    text: str
    color: Color


@dataclass(frozen=True, slots=True)
class ColorLimits:
    bytes: int = 400_000  # of a file: a second for the slowest grammar; larger files are data or generated
    columns: int = 5_000  # of a line: longer lines are data, and may have one run per character


LIMITS = ColorLimits()
#: A web page waits for the colors, so the time limit is low: that of ordinary code.
_PARSING: Final = ParsingLimits(seconds=1.0, seconds_per_byte=5e-6)

#: Node types by pattern; the first match counts.
_TYPES: Final = tuple(
    (re.compile(pattern), color)
    for pattern, color in (
        (r"\w*comment|haddock|hash_bang_line|shebang", _COMMENT),
        (r"\w*interpolat(?:ion|ed_expression)|\w*substitution|\w*expansion", _PLAIN),
        (
            r"(?:\w*_)?(?:string|regex)(?:_literal|_value|_content|_fragment|_text|_expression)?"
            r"|heredoc_(?:body|content)|nowdoc_body|heredoc|char(?:acter)?(?:_literal)?|rune_literal|charlist|sigil"
            r"|(?:simple|delimited|bare)_symbol|(?:quoted_)?atom|(?:double|single)_quote_scalar|block_scalar"
            r"|quoted_attribute_value|attribute_value",
            _STRING,
        ),
        (
            r"(?:(?:decimal|hex|octal|binary|bin|oct)_)?(?:number|integer|float|int|floating_point|real|imaginary)"
            r"(?:_literal|_value|_scalar)?|(?:hex|bin|oct)_literal",
            _NUMBER,
        ),
        (
            r"\w+_keyword|true|false|null|nil|none|undefined|this|self|super|break_statement|visibility"
            r"|(?:boolean|bool|null|nil)(?:_literal|_scalar)?|tag_name|mutable_specifier|crate|\w*_modifier|var_modifier",
            _KEYWORD,
        ),
        (
            r"(?:\w+_)?type_identifier|(?:primitive|predefined|builtin|void|integral|floating_point|boolean|named|user)"
            r"_type|type|type_qualifier|sized_type_specifier|attribute_name|property_name",
            _TYPE,
        ),
    )
)
#: Node types whose color depends on the grammar.
_OWN_TYPES: Final[Mapping[str, Mapping[str, int]]] = {
    "elixir": {"alias": _TYPE, "keyword": _KEYWORD},
    "haskell": {"name": _TYPE, "constructor": _TYPE},
    "ruby": {"constant": _TYPE},
    "sql": {"literal": _NUMBER},
    "zig": {"builtin_identifier": _KEYWORD},
}
#: Keywords that the grammar parses as identifiers.
_WORDS: Final = {
    "elixir": frozenset(
        b"alias case cond def defdelegate defexception defguard defimpl defmacro defmacrop defmodule defp defprotocol "
        b"defstruct for if import quote raise receive require try unless unquote use with".split()
    ),
    "kotlin": frozenset({b"null"}),
    "scala": frozenset({b"this", b"super"}),
}
_WORD: Final = re.compile(rb"[#@]?[A-Za-z_]\w*!?")
_DIGITS: Final = frozenset(b"0123456789.+-")


def highlight(text: str, grammar: str | None, limits: ColorLimits = LIMITS) -> tuple[tuple[HighlightSpan, ...], ...]:
    """Split each line of a text into colored runs; without a grammar, lines are plain. An empty line has no runs."""
    lines = split_lines(text)
    marks = _marks(text.encode("utf-8", "replace"), grammar, limits) if grammar else None
    rows: list[tuple[HighlightSpan, ...]] = []
    at = 0
    for line in lines:
        size = len(line.encode("utf-8", "replace"))
        if marks is None or len(line) > limits.columns:
            rows.append((HighlightSpan(line, "plain"),) if line else ())
        else:
            colors: Iterable[int] = marks[at : at + size]
            if size > len(line):
                starts = accumulate((len(char.encode("utf-8", "replace")) for char in line), initial=at)
                colors = [marks[start] for start, _ in zip(starts, line, strict=False)]
            spans, start = [], 0
            for color, run in groupby(colors):
                end = start + sum(1 for _ in run)
                spans.append(HighlightSpan(line[start:end], COLORS[color]))
                start = end
            rows.append(tuple(spans))
        at += size + 1
    return tuple(rows)


def _marks(source: bytes, grammar: str, limits: ColorLimits) -> bytearray | None:
    if len(source) > limits.bytes or (tree := parse_in_process(source, grammar, _PARSING)) is None:
        return None
    marks = bytearray(len(source))
    cursor, entered = tree.walk(), True
    while entered or cursor.goto_parent():
        node, color = cursor.node, None
        if entered and node is not None and node.end_byte > node.start_byte:
            color = _color(node, grammar, source, marks[node.start_byte])
            if color is not None:
                marks[node.start_byte : node.end_byte] = bytes((color,)) * (node.end_byte - node.start_byte)
        if not (entered and color != _COMMENT and cursor.goto_first_child()):
            entered = cursor.goto_next_sibling()
    for _, captures in query_matches(tree, grammar, _PARSING)[0]:
        if any(capture.startswith("definition.") for capture in captures):
            for node in captures.get("name", ()):
                marks[node.start_byte : node.end_byte] = bytes((_DEFINITION,)) * (node.end_byte - node.start_byte)
    return marks


def _color(node: Node, grammar: str, source: bytes, around: int) -> int | None:
    """Return the color of a node; None to inherit the color of the parent node."""
    if not node.is_named:
        word = node.child_count == 0 and _WORD.fullmatch(source, node.start_byte, node.end_byte)
        return _KEYWORD if word and around != _TYPE else None  # `int` is a keyword and a type
    color = _type_color(node.type, grammar)
    if color == _NUMBER and source[node.start_byte] not in _DIGITS:
        return _STRING if source[node.start_byte] in b"'\"" else _TYPE  # `float` is a number or a type's name
    if node.child_count == 0 and grammar in _WORDS and source[node.start_byte : node.end_byte] in _WORDS[grammar]:
        return _KEYWORD
    return color


@cache
def _type_color(type_: str, grammar: str) -> int | None:
    own = _OWN_TYPES.get(grammar, {}).get(type_)
    if grammar == "sql" and type_.startswith("keyword_"):
        return _KEYWORD
    return own if own is not None else next((color for known, color in _TYPES if known.fullmatch(type_)), None)
