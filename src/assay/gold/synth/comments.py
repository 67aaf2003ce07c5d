"""Where comments lie, and which of them document a definition.

The outline of a file tells what a comment says; to take one out of a file its exact place is needed.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from assay.syntax.grammars import load_grammar
from assay.syntax.outline import Definition

if TYPE_CHECKING:
    from tree_sitter import Node

#: The quotes of a documentation string. They stay when it is blanked, or a body of nothing else would not parse.
_QUOTES: Final = re.compile(rb"""[rRbBuUfF]{0,2}(\"\"\"|'''|"|')""")


@dataclass(frozen=True, slots=True)
class Stretch:
    """A comment or a documentation string: its lines, and its bytes in the UTF-8 of the text."""

    start: int
    end: int
    first: int
    last: int
    text: str
    inside: bool  # a documentation string in the body of what it documents
    alone: bool  # nothing but blanks stands before it on its line


def comments(text: str, grammar: str) -> tuple[Stretch, ...]:
    """List the comments and documentation strings of a text, in order."""
    from tree_sitter import QueryCursor

    loaded = load_grammar(grammar)
    source = text.encode("utf-8", "surrogatepass")
    captures = QueryCursor(loaded.query).captures(loaded.parser.parse(source).root_node)
    docs = {(n.start_byte, n.end_byte): _stretch(n, source, inside=True) for n in captures.get("doc", ())}
    plain = {(n.start_byte, n.end_byte): _stretch(n, source, inside=False) for n in captures.get("comment", ())}
    found = plain | docs
    return tuple(found[place] for place in sorted(found))


def documentation(definitions: Sequence[Definition], stretches: Sequence[Stretch]) -> tuple[tuple[Stretch, ...], ...]:
    """Give what documents each definition: the string in its body, else the comments directly above."""
    starts = [definition.start for definition in definitions]
    strings: dict[int, Stretch] = {}
    for stretch in stretches:
        if stretch.inside:
            strings.setdefault(_innermost(definitions, starts, stretch), stretch)
    above = [s for s in stretches if s.alone and not s.inside]
    lines = [s.start for s in above]
    return tuple(
        (strings[position],) if position in strings else _above(definition, above, lines)
        for position, definition in enumerate(definitions)
    )


def blank(text: str, stretches: Sequence[Stretch]) -> str:
    """Take stretches out of a text; every line keeps its number."""
    source = text.encode("utf-8", "surrogatepass")
    pieces: list[bytes] = []
    at = 0
    for stretch in sorted(set(stretches), key=lambda s: (s.first, s.last)):
        pieces += [source[at : stretch.first], re.sub(rb"[^\r\n]+", b"", source[stretch.first : stretch.last])]
        at = stretch.last
    return b"".join([*pieces, source[at:]]).decode("utf-8", "surrogatepass")


def _above(definition: Definition, alone: Sequence[Stretch], lines: Sequence[int]) -> tuple[Stretch, ...]:
    """Give the comments between where a definition begins and its name; what lies there was found to belong to it."""
    between = alone[bisect_left(lines, definition.start) : bisect_left(lines, definition.name_line)]
    return tuple(stretch for stretch in between if stretch.end < definition.name_line)


def _innermost(definitions: Sequence[Definition], starts: Sequence[int], stretch: Stretch) -> int:
    """Find the definition that a string lies in: of those around it the one that begins last."""
    for position in range(bisect_right(starts, stretch.start) - 1, -1, -1):
        if definitions[position].name_line <= stretch.start and stretch.end <= definitions[position].end:
            return position
    return -1


def _stretch(node: Node, source: bytes, *, inside: bool) -> Stretch:
    """Note where a comment stands; of a quoted string, what is between the quotes."""
    first, last = node.start_byte, node.end_byte
    quotes = _QUOTES.match(source, first, last) if inside else None
    if quotes is not None:
        first, last = quotes.end(), max(quotes.end(), last - len(quotes[1]))
    elif source[first:last].endswith(b"\n"):
        last -= 1  # some grammars count the end of the line in
    line_start = source.rfind(b"\n", 0, node.start_byte) + 1
    start = node.start_point[0] + 1
    end = start + source.count(b"\n", node.start_byte, last)
    text = source[first:last].decode("utf-8", "replace")
    return Stretch(start, end, first, last, text, inside, not source[line_start : node.start_byte].strip())
