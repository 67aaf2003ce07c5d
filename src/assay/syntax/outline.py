"""Extract definitions, comments, imports and references from a file in any language with a grammar.

Captures of the queries in `queries/`: `definition.KIND`, `name`, `body`, `doc`, `decorator`, `comment`, `import`,
`reference`.
"""

from __future__ import annotations

import re
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from assay.processes.forks import Fork, ForkError, ForkTimeout, can_fork
from assay.records import dataclass
from assay.syntax.parsing import (
    PARSING,
    TIMED_OUT,
    ParsingLimits,
    is_malformed,
    nesting_problem,
    parse,
    query_matches,
    repeats_errors,
    time_limit,
    tree_problem,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_DEFINITION = "definition."
_CLAUSES = frozenset({"elixir", "haskell"})  # consecutive definitions of one name are clauses of one function
_CONTAINERS = frozenset({"class", "interface", "enum"})
#: Comment markers at the edges of lines, in all supported languages.
_MARKERS = re.compile(
    r"^[ \t]*(?:///?!?|/\*+!?|\*+/|\*|#+!?|--+|;+|%+|<!--|\{-\|?|\"\"\"|''')[ \t]?|(?:\*+/|-->|-\}|\"\"\"|''')[ \t]*$",
    re.M,
)
_BLANK_BYTES = frozenset(b" \t\r\n\f")


@dataclass(frozen=True, slots=True)
class OutlineLimits:
    signature: int = 400  # characters; longer signatures are generated
    doc: int = 2_000  # characters; longer comments are manuals, and their lines are indexed anyway
    long_lines: int = 40  # nodes longer than this get split points
    deep: int = 12  # maximum depth of split points; deeper ones are inside expressions
    indent: int = 200  # maximum column of a comment that is alone on its line


LIMITS = OutlineLimits()


class Definition(NamedTuple):
    """A definition and its lines, including the comments and decorators directly above it."""

    name: str
    kind: str
    start: int
    end: int
    name_line: int
    signature: str
    doc: str
    parent: int  # index of the enclosing definition, or -1


class LineSpan(NamedTuple):
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Outline:
    definitions: tuple[Definition, ...]  # by first line, enclosing definitions first
    comments: tuple[LineSpan, ...]
    imports: tuple[str, ...]
    references: tuple[str, ...]  # distinct names
    breaks: tuple[tuple[int, int], ...]  # (line, depth) of top-level nodes and of the parts of long nodes
    broken: bool  # whether the file has a syntax error or too many query matches
    problem: str | None = None  # why the file was not parsed; the outline is then empty and `broken`


def parse_outline(text: str, grammar: str, limits: ParsingLimits = PARSING) -> Outline:
    """Parse a text and return its outline; if parsing fails, the outline is empty and has a `problem`."""
    source = text.encode("utf-8", "replace")  # query predicates expect UTF-8
    if problem := nesting_problem(source, grammar):
        return _unknown(problem)
    if repeats_errors(source, grammar):
        return _unknown("the same malformed text again and again")
    if not is_malformed(source, grammar) or not can_fork():
        return _outline(source, grammar, limits)
    try:
        return Fork(partial(_outline, source, grammar, limits), 2 + int(time_limit(source, limits))).result()
    except ForkTimeout:
        return _unknown(TIMED_OUT)
    except ForkError:
        return _unknown("the parser crashed")


def _unknown(problem: str) -> Outline:
    return Outline((), (), (), (), (), broken=True, problem=problem)


def _outline(source: bytes, grammar: str, limits: ParsingLimits) -> Outline:
    tree = parse(source, grammar, limits)
    if isinstance(tree, str):
        return _unknown(tree)
    if problem := tree_problem(tree, limits):
        return _unknown(problem)
    found, too_many = query_matches(tree, grammar, PARSING)
    matches: dict[int, _DefinitionMatch] = {}  # by the first byte of the name
    headers: list[_Header] = []
    imports: dict[str, None] = {}
    references: dict[bytes, None] = {}  # in order of first use
    for pattern, captures in found:
        if "reference" in captures:  # four of five matches, which capture nothing else
            for node in captures["reference"]:
                references[source[node.start_byte : node.end_byte]] = None
            continue
        for capture, nodes in captures.items():
            if capture in ("comment", "decorator"):
                headers += [_header(node, source, comment=capture == "comment") for node in nodes]
            elif capture == "import":
                imports.update(dict.fromkeys([_flat(_text(n, source), LIMITS.signature) for n in nodes]))
            elif capture.startswith(_DEFINITION) and "name" in captures and _size(captures["name"][0]):
                new = _match(pattern, capture.removeprefix(_DEFINITION), nodes[0], captures, source)
                old = matches.get(new.name_byte)
                if old is None or (_size(new.node), -new.pattern) > (_size(old.node), -old.pattern):
                    matches[new.name_byte] = new
    return Outline(
        _definitions(list(matches.values()), headers, source, grammar),
        tuple(LineSpan(header.start, header.end) for header in headers if header.comment is not None),
        tuple(imports),
        tuple(name.decode("utf-8", "replace") for name in references),
        tuple(_breaks(tree.root_node, 0, [])),
        tree.root_node.has_error or too_many,
    )


class _Header(NamedTuple):
    start: int
    end: int
    comment: bytes | None
    alone: bool  # whether only whitespace precedes it on its line


class _DefinitionMatch(NamedTuple):
    """A match; ordered by position, since names of a file have distinct bytes."""

    start_byte: int
    before_end: int  # negative position after the last non-blank character of the node, or of a body after it (Dart)
    name_byte: int
    pattern: int
    kind: str
    node: Node
    name: Node
    body: Node | None
    doc: Node | None


def _header(node: Node, source: bytes, *, comment: bool) -> _Header:
    start = node.start_byte
    row, column = node.start_point
    end_row, end_column = node.end_point
    end = end_row if end_column == 0 and end_row > row else end_row + 1
    alone = column <= LIMITS.indent and not source[start - column : start].strip()
    return _Header(row + 1, end, source[start : node.end_byte] if comment else None, alone)


def _match(pattern: int, kind: str, node: Node, captures: dict[str, list[Node]], source: bytes) -> _DefinitionMatch:
    body, doc = captures.get("body", [None])[0], captures.get("doc", [None])[0]
    start, end, name = node.start_byte, node.end_byte, captures["name"][0]
    if body is not None:
        end = max(end, body.end_byte)
    while end > start and source[end - 1] in _BLANK_BYTES:
        end -= 1
    return _DefinitionMatch(start, -end, name.start_byte, pattern, kind, node, name, body, doc)


def _size(node: Node) -> int:
    return node.end_byte - node.start_byte


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _flat(text: str, limit: int) -> str:
    return " ".join(text[: 2 * limit].split())[:limit]


def _plain(comment: str) -> str:
    return _flat(_MARKERS.sub("", comment[: 4 * LIMITS.doc]), LIMITS.doc)  # markers take less than three quarters


def _definitions(
    matches: list[_DefinitionMatch], headers: list[_Header], source: bytes, grammar: str
) -> tuple[Definition, ...]:
    ends = {each.end: each for each in headers if each.alone}

    @cache  # a minified file has thousands of definitions on one line
    def header(line: int) -> tuple[int, str]:
        start, docs = line, list[str]()
        while (above := ends.get(start - 1)) is not None and above.start < start:
            if above.comment is not None:
                docs.append(above.comment.decode("utf-8", "replace"))
            start = above.start
        return start, _plain("\n".join(reversed(docs))) if docs else ""

    ordered = sorted(matches)
    definitions: list[Definition] = []
    enclosing: list[tuple[int, int]] = []  # (last byte, position) of the definitions around the next one
    latest: dict[int, int] = {}  # parent -> its latest child, which ends before the next one
    for match in ordered:
        node, end_byte = match.node, -match.before_end
        while enclosing and (enclosing[-1][0] < end_byte or ordered[enclosing[-1][1]].node == node):
            enclosing.pop()
        parent = enclosing[-1][1] if enclosing else -1
        in_container = parent >= 0 and definitions[parent].kind in _CONTAINERS
        row = node.start_point[0] + 1
        start, doc = header(row)
        if match.doc is not None:
            doc = f"{doc} {_plain(_text(match.doc, source))}".strip()[: LIMITS.doc]
        before = latest.get(parent)
        if before is not None and definitions[before].end >= start > definitions[before].start:
            definitions[before] = definitions[before]._replace(end=start - 1)
        latest[parent] = len(definitions)
        definitions.append(
            Definition(
                _flat(_text(match.name, source), LIMITS.signature),
                "method" if match.kind == "function" and in_container else match.kind,
                start,
                row + source.count(b"\n", match.start_byte, end_byte),
                match.name.start_point[0] + 1,
                _signature(match, source),
                doc,
                parent,
            )
        )
        enclosing.append((end_byte, len(definitions) - 1))
    if grammar in _CLAUSES:
        definitions = _join_clauses(definitions)
    order = sorted(range(len(definitions)), key=lambda i: (definitions[i].start, -definitions[i].end, i))
    if order == list(range(len(definitions))):
        return tuple(definitions)
    new_positions = {old: new for new, old in enumerate(order)} | {-1: -1}
    return tuple(definitions[i]._replace(parent=new_positions[definitions[i].parent]) for i in order)


def _signature(match: _DefinitionMatch, source: bytes) -> str:
    start, end = match.name_byte - match.name.start_point[1], match.name.end_byte
    stop = 0 if match.body is None else match.body.start_byte
    if stop <= end:
        newline = source.find(b"\n", end)
        stop = newline if newline >= 0 else len(source)
    return _flat(source[start : min(stop, start + 2 * LIMITS.signature)].decode("utf-8", "replace"), LIMITS.signature)


def _join_clauses(definitions: list[Definition]) -> list[Definition]:
    new_positions: dict[int, int] = {-1: -1}
    joined: list[Definition] = []
    last: dict[int, int] = {}  # parent -> its latest child so far, after joining
    for position, definition in enumerate(definitions):
        parent = new_positions[definition.parent]
        before = last.get(parent, -1)
        old = joined[before] if before >= 0 else None
        same = old is not None and old.kind == definition.kind == "function" and old.name == definition.name
        if old is not None and same and definition.start <= old.end + 2 and not definition.doc:
            joined[before] = old._replace(end=max(definition.end, old.end))
        else:
            joined.append(definition._replace(parent=parent))
            before = last[parent] = len(joined) - 1
        new_positions[position] = before
    return joined


def _breaks(node: Node, depth: int, breaks: list[tuple[int, int]]) -> list[tuple[int, int]]:
    for child in node.children:
        row = child.start_point[0]
        breaks.append((row + 1, depth))
        if depth < LIMITS.deep and child.end_point[0] - row > LIMITS.long_lines:
            _breaks(child, depth + 1, breaks)
    return breaks
