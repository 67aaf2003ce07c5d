"""Which colour has which piece of a source? Runs of classes, line by line, for every language with a grammar.

No list of words a language: a node of a tree says by its type what it is, and grammars name types much alike. The runs
of a line always join to that line; what is not understood, and what would take too long, is plain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal, get_args

from assay.syntax.grammars import load_grammar
from assay.syntax.parsing import PARSING, has_too_many_errors, is_malformed, nesting_problem, parsed
from assay.syntax.text import split_lines

if TYPE_CHECKING:
    from tree_sitter import Node, Tree


Colour = Literal["plain", "comment", "string", "number", "keyword", "definition", "type"]
COLOURS: tuple[Colour, ...] = get_args(Colour)
_PLAIN, _COMMENT, _STRING, _NUMBER, _KEYWORD, _DEFINITION, _TYPE = range(len(COLOURS))


@dataclass(frozen=True, slots=True)
class HighlightSpan:
    """A piece of a line in one colour."""

    text: str
    colour: Colour


@dataclass(frozen=True, slots=True)
class ColourLimits:
    """How large a source may be to be coloured; the rest is plain."""

    bytes: int = 400_000  # a second for the slowest grammar; longer files are data or generated
    columns: int = 5_000  # of a line; nobody reads a longer one, and it may have a run a character


LIMITS = ColourLimits()

#: The types of named nodes, whole; the first that fits holds.
_TYPES: Final = (
    (re.compile(r"\w*comment|haddock|hash_bang_line|shebang"), _COMMENT),
    (re.compile(r"\w*interpolat(?:ion|ed_expression)|\w*substitution|\w*expansion"), _PLAIN),
    (
        re.compile(
            r"(?:\w*_)?(?:string|regex)(?:_literal|_value|_content|_fragment|_text|_expression)?"
            r"|heredoc_(?:body|content)|nowdoc_body|heredoc|char(?:acter)?(?:_literal)?|rune_literal|charlist|sigil"
            r"|(?:simple|delimited|bare)_symbol|(?:quoted_)?atom|(?:double|single)_quote_scalar|block_scalar"
            r"|quoted_attribute_value|attribute_value"
        ),
        _STRING,
    ),
    (
        re.compile(
            r"(?:(?:decimal|hex|octal|binary|bin|oct)_)?(?:number|integer|float|int|floating_point|real|imaginary)"
            r"(?:_literal|_value|_scalar)?|(?:hex|bin|oct)_literal"
        ),
        _NUMBER,
    ),
    (
        re.compile(
            r"\w+_keyword|true|false|null|nil|none|undefined|this|self|super|break_statement|visibility"
            r"|(?:boolean|bool|null|nil)(?:_literal|_scalar)?|tag_name|mutable_specifier|crate|\w*_modifier|var_modifier"
        ),
        _KEYWORD,
    ),
    (
        re.compile(
            r"(?:\w+_)?type_identifier|(?:primitive|predefined|builtin|void|integral|floating_point|boolean|named|user)"
            r"_type|type|type_qualifier|sized_type_specifier|attribute_name|property_name"
        ),
        _TYPE,
    ),
)
#: Types that mean something in one grammar alone.
_OWN_TYPES: Final[Mapping[str, Mapping[str, int]]] = {
    "elixir": {"alias": _TYPE, "keyword": _KEYWORD},
    "haskell": {"name": _TYPE, "constructor": _TYPE},
    "ruby": {"constant": _TYPE},
    "sql": {"literal": _NUMBER},
    "zig": {"builtin_identifier": _KEYWORD},
}
#: Words that look like calls to the grammar, and like keywords to everybody else.
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


def highlight(text: str, grammar: str | None, limits: ColourLimits = LIMITS) -> tuple[tuple[HighlightSpan, ...], ...]:
    """Give the runs of each line of a text; a line that is empty has none."""
    marks = _marks(text, grammar, limits) if grammar else None
    lines = split_lines(text)
    if marks is None:
        return tuple((HighlightSpan(line, "plain"),) if line else () for line in lines)
    return tuple(_line_runs(lines, marks, limits))


def _marks(text: str, grammar: str, limits: ColourLimits) -> bytearray | None:
    """Give the colour of each byte of a text; None where it is not parsed.

    A source that is torn may crash its parser: elsewhere that happens in a child process, here nothing depends on it.
    """
    source = text.encode("utf-8", "replace")
    if len(source) > limits.bytes or nesting_problem(source, grammar) or is_malformed(source, grammar):
        return None
    tree = parsed(source, grammar, PARSING)
    if tree is None or has_too_many_errors(tree, PARSING):
        return None
    marks = bytearray(len(source))
    _paint_nodes(tree, grammar, source, marks)
    _paint_names(tree, grammar, marks)
    return marks


def _paint_nodes(tree: Tree, grammar: str, source: bytes, marks: bytearray) -> None:
    cursor = tree.walk()
    entered = True
    while True:
        node = cursor.node
        colour = None
        if entered and node is not None and node.end_byte > node.start_byte:
            colour = _colour(node, grammar, source, marks[node.start_byte])
        if colour is not None and node is not None:
            marks[node.start_byte : node.end_byte] = bytes((colour,)) * (node.end_byte - node.start_byte)
        if entered and colour != _COMMENT and cursor.goto_first_child():
            continue
        entered = cursor.goto_next_sibling()
        if not entered and not cursor.goto_parent():
            return


def _colour(node: Node, grammar: str, source: bytes, around: int) -> int | None:
    """Give the colour of a node, None where that around it holds."""
    if not node.is_named:
        word = node.child_count == 0 and _WORD.fullmatch(source, node.start_byte, node.end_byte)
        return _KEYWORD if word and around != _TYPE else None  # `int` is a word of the language, and a type
    colour = _type_colour(node.type, grammar)
    if colour == _NUMBER and source[node.start_byte] not in _DIGITS:
        return _STRING if source[node.start_byte] in b"'\"" else _TYPE  # `float` is a number, or a type's name
    if node.child_count == 0 and grammar in _WORDS and source[node.start_byte : node.end_byte] in _WORDS[grammar]:
        return _KEYWORD
    return colour


@cache
def _type_colour(type_: str, grammar: str) -> int | None:
    own = _OWN_TYPES.get(grammar, {}).get(type_)
    if grammar == "sql" and type_.startswith("keyword_"):
        return _KEYWORD
    return own if own is not None else next((colour for known, colour in _TYPES if known.fullmatch(type_)), None)


def _paint_names(tree: Tree, grammar: str, marks: bytearray) -> None:
    from tree_sitter import QueryCursor

    cursor = QueryCursor(load_grammar(grammar).query, match_limit=PARSING.open_matches)
    for _, captures in cursor.matches(tree.root_node):
        if any(capture.startswith("definition.") for capture in captures):
            for node in captures.get("name", ()):
                marks[node.start_byte : node.end_byte] = bytes((_DEFINITION,)) * (node.end_byte - node.start_byte)


def _line_runs(lines: tuple[str, ...], marks: bytearray, limits: ColourLimits) -> Iterator[tuple[HighlightSpan, ...]]:
    at = 0
    for line in lines:
        size = len(line) if line.isascii() else len(line.encode("utf-8", "replace"))
        if len(line) > limits.columns:
            yield (HighlightSpan(line, "plain"),)
        else:
            yield tuple(_runs(line, marks[at : at + size]))
        at += size + 1


def _runs(line: str, marks: bytearray) -> Iterator[HighlightSpan]:
    colours = marks if len(marks) == len(line) else _by_character(line, marks)
    at = 0
    for colour, group in groupby(colours):
        end = at + sum(1 for _ in group)
        yield HighlightSpan(line[at:end], COLOURS[colour])
        at = end


def _by_character(line: str, marks: bytearray) -> list[int]:
    colours, at = [], 0
    for character in line:
        colours.append(marks[at])
        at += len(character.encode("utf-8", "replace"))
    return colours
