"""Bounded parsing: sources that would take too long or crash a parser are recognized before, or cut off."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.syntax.grammars import load_grammar

if TYPE_CHECKING:
    from tree_sitter import Point, Tree


@dataclass(frozen=True, slots=True)
class ParsingLimits:
    """Limits of parsing a source and of searching its tree."""

    piece: int = 2_048  # bytes per read of the parser; the clock is checked between two
    text: int = 256  # bytes per read of a query predicate; names are shorter
    #: CPU seconds per file and per byte. Only a guard: which files are parsed must not depend on the machine, so it is
    #: 20 times what the slowest code takes (1 s + 5 µs per byte); token soup may take hours.
    seconds: float = 20.0
    seconds_per_byte: float = 1e-4
    tangle: int = 200_000_000  # sum of squared numbers of children of broken nodes; about a second
    open_matches: int = 512  # of a query at once; code needs some dozens, and time grows with it


PARSING = ParsingLimits()


def time_limit(source: bytes, limits: ParsingLimits) -> float:
    """Return the CPU seconds that parsing a source may take."""
    return limits.seconds + limits.seconds_per_byte * len(source)


#: Parsers are shared, and a thread can be switched while one is reading.
_PARSING = threading.Lock()
#: The buffer of reads. py-tree-sitter 0.26 never releases it, so there is only one.
_PIECE = bytearray()


def parse(source: bytes, grammar: str, limits: ParsingLimits) -> Tree | None:
    """Parse a source; None at the time limit, which a single piece never reaches.

    The source is fed piece by piece, and ends at the time limit: the parser's `progress_callback` crashes
    py-tree-sitter 0.26 before Python 3.14.
    """
    parser = load_grammar(grammar).parser
    parsing, late = True, False

    def feed(offset: int, _point: Point) -> bytes | bytearray:
        nonlocal late
        if not parsing:  # a query predicate reads
            return source[offset : offset + limits.text]
        late = late or time.thread_time() > end
        _PIECE[:] = b"" if late else source[offset : offset + limits.piece]
        return _PIECE

    with _PARSING:
        if len(source) <= limits.piece:
            return parser.parse(source)
        # CPU time, so that a busy machine cuts off no more than an idle one
        end = time.thread_time() + time_limit(source, limits)
        tree = parser.parse(feed)
        parsing = False
    return None if late else tree


def has_too_many_errors(tree: Tree, limits: ParsingLimits) -> bool:
    """Return whether a query would take too long in a tree because of its errors."""
    cost, stack = 0, [tree.root_node] if tree.root_node.has_error else []
    while stack:
        children = stack.pop().children
        cost += len(children) ** 2
        stack.extend(child for child in children if child.has_error)
    return cost > limits.tangle


@dataclass(frozen=True, slots=True)
class NestingLimits:
    """Limits of nesting, and signs of a source that is no program."""

    brackets: int = 1_000  # open at once; C# needs 2 s for 10,000 open `<`, and four times that for 20,000
    comments: int = 200  # open at once; Swift needs 20 s for 5,000
    hashes: int = 255  # in a row before a string; Swift scans from each of them
    unmatched: int = 10  # more brackets of one side than of the other; true of 13 of 10,000 files of 18 repositories
    bare: int = 1_000  # bytes per bracket, where blocks are in brackets; code has one in twenty
    columns: int = 240  # of indentation; the grammar of YAML has room for 255 levels of one column


LIMITS = NestingLimits()

_OPENING, _CLOSING = b"([{", b")]}"
_NO_BRACKETS = bytes(set(range(256)) - set(_OPENING + _CLOSING))
#: Angle brackets of types, not of comparisons, shifts, streams or arrows.
_ANGLES = re.compile(rb"(?<![<=-])[<>](?![<=])|[;{}()]")
#: Languages with type arguments in angle brackets.
_GENERIC = frozenset({"cpp", "csharp", "dart", "java", "kotlin", "rust", "scala", "swift", "tsx", "typescript"})
_BRACED = _GENERIC | {"c", "css", "go", "javascript", "json", "php", "zig"}
_INDENTED = re.compile(rb"^[ \t?:-]{%d}" % (LIMITS.columns + 1), re.MULTILINE)
_COMMENTS = re.compile(rb"/\*|\*/")
_HASHES = re.compile(rb"#{%d}" % (LIMITS.hashes + 1))


def nesting_problem(source: bytes, grammar: str) -> str | None:
    """Return why a source is nested too deeply to be parsed, or None."""
    depth = _bracket_depth(source)
    if grammar in _GENERIC and source.count(b"<") > LIMITS.brackets:
        depth = max(depth, _depth(_ANGLES.findall(source), b"<", b">"))
    if depth > LIMITS.brackets:
        return f"more than {LIMITS.brackets:,} brackets are open at once"
    if grammar == "yaml" and _INDENTED.search(source):
        return f"it is indented by more than {LIMITS.columns} columns"
    if grammar == "swift" and _depth(_COMMENTS.findall(source), b"/*", b"*/") > LIMITS.comments:
        return f"more than {LIMITS.comments} comments are open at once"
    if grammar == "swift" and _HASHES.search(source):
        return f"it has more than {LIMITS.hashes} # in a row"
    return None


def is_malformed(source: bytes, grammar: str) -> bool:
    """Return whether a source is probably no program: its brackets do not match, or are missing.

    Parsers try to repair such a source, and some never end or crash.
    """
    brackets = source.translate(None, _NO_BRACKETS)
    pairs = zip(_OPENING, _CLOSING, strict=True)
    unmatched = sum(abs(brackets.count(opening) - brackets.count(closing)) for opening, closing in pairs)
    bare = grammar in _BRACED and len(source) > LIMITS.bare * (len(brackets) + 1)
    return unmatched > LIMITS.unmatched or bare or b"\0" in source


def _bracket_depth(source: bytes) -> int:
    brackets = source.translate(None, _NO_BRACKETS)
    if len(brackets) <= LIMITS.brackets:
        return 0
    import numpy as np

    step = np.zeros(256, dtype=np.int8)
    step[list(_OPENING)], step[list(_CLOSING)] = 1, -1
    depth = np.cumsum(step[np.frombuffer(brackets, dtype=np.uint8)], dtype=np.int32)
    return int((depth - np.minimum(np.minimum.accumulate(depth), 0)).max())


def _depth(signs: Iterable[bytes], opening: bytes, closing: bytes) -> int:
    depth = deepest = 0
    for sign in signs:
        depth = depth + 1 if sign == opening else max(depth - 1, 0) if sign == closing else 0
        deepest = max(deepest, depth)
    return deepest
