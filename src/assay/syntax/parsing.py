"""Parse a source in bounded time: parsers are written in C, and nothing but the end of its source stops one."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.syntax.grammars import load_grammar

if TYPE_CHECKING:
    from tree_sitter import Node, Point, Tree


@dataclass(frozen=True, slots=True)
class ParsingLimits:
    """How long a source may take to be parsed, and a tree to be searched."""

    piece: int = 2_048  # bytes the parser is handed at a time; the clock is looked at between two
    text: int = 256  # bytes of a node that a predicate of a query is handed at a time; names are shorter
    seconds: float = 1.0  # of the processor, which any file may take to be parsed ...
    seconds_per_byte: float = 5e-6  # ... and for each of its bytes; code takes 0.1 to 0.8 of it, soup takes hours
    tangle: int = 200_000_000  # see `_tangle`; about a second
    open_matches: int = 512  # of a query at once: the oldest goes; code needs some dozens, and time grows with it


PARSING = ParsingLimits()


def allowed(source: bytes, limits: ParsingLimits) -> float:
    """Say how many seconds of the processor a source may take to be parsed."""
    return limits.seconds + limits.seconds_per_byte * len(source)


#: Parsers are shared, and one that is being fed can be left for another thread.
_PARSING = threading.Lock()
#: What the parser is handed. py-tree-sitter 0.26 never lets go of it, so it is one and the same for all.
_PIECE = bytearray()


class _Feed:
    """Hand a source to the parser piece by piece; when its time is up, the source ends.

    The parser's own way to be stopped, `progress_callback`, crashes py-tree-sitter 0.26 before Python 3.14.
    """

    def __init__(self, source: bytes, limits: ParsingLimits) -> None:
        """Start the clock: that of this thread, so that a busy machine cuts off no more than an idle one."""
        self._source = source
        self._limits = limits
        self._end = time.thread_time() + allowed(source, limits)
        self.parsing = True
        self.late = False

    def __call__(self, offset: int, _point: Point) -> bytes | bytearray:
        if not self.parsing:
            return self._source[offset : offset + self._limits.text]
        self.late = self.late or time.thread_time() > self._end
        _PIECE[:] = b"" if self.late else self._source[offset : offset + self._limits.piece]
        return _PIECE


def parsed(source: bytes, grammar: str, limits: ParsingLimits) -> Tree | None:
    """Parse a source; None when it took too long. A single piece never does."""
    parser = load_grammar(grammar).parser
    with _PARSING:
        if len(source) <= limits.piece:
            return parser.parse(source)
        feed = _Feed(source, limits)
        tree = parser.parse(feed)
        feed.parsing = False
    return None if feed.late else tree


def has_too_many_errors(tree: Tree, limits: ParsingLimits) -> bool:
    """Tell whether a tree holds so many errors that a query would take too long in it."""
    return tree.root_node.has_error and _tangle(tree.root_node) > limits.tangle


def _tangle(root: Node) -> int:
    cost, stack = 0, [root]
    while stack:
        children = stack.pop().children
        cost += len(children) ** 2
        stack.extend(child for child in children if child.has_error)
    return cost


@dataclass(frozen=True, slots=True)
class NestingLimits:
    """How deep is too deep."""

    brackets: int = 1_000  # open at once; C# needs 2 s for 10,000 open `<`, and four times that for 20,000
    comments: int = 200  # open at once; Swift needs 20 s for 5,000
    hashes: int = 255  # in a row before a string; Swift reads on from each of them
    unmatched: int = 10  # brackets more of one side than of the other; so have 13 of 10,000 files of 18 repositories
    bare: int = 1_000  # bytes to a bracket, where blocks are in brackets; code has one in twenty
    columns: int = 240  # of indentation; the grammar of YAML has room for some 255 levels of one column each


LIMITS = NestingLimits()

_OPENING, _CLOSING = b"([{", b")]}"
_NO_BRACKETS = bytes(set(range(256)) - set(_OPENING + _CLOSING))
#: An angle bracket that may be part of a type, not of a comparison, a shift, a stream or an arrow.
_ANGLES = re.compile(rb"(?<![<=-])[<>](?![<=])|[;{}()]")
#: Where a type may have types in angle brackets.
_GENERIC = frozenset({"cpp", "csharp", "dart", "java", "kotlin", "rust", "scala", "swift", "tsx", "typescript"})
_BRACED = _GENERIC | {"c", "css", "go", "javascript", "json", "php", "zig"}
_INDENTED = re.compile(rb"^[ \t?:-]{%d}" % (LIMITS.columns + 1), re.MULTILINE)
_COMMENTS = re.compile(rb"/\*|\*/")
_HASHES = re.compile(rb"#{%d}" % (LIMITS.hashes + 1))


def nesting_problem(source: bytes, grammar: str) -> str | None:
    """Say why a source is nested too deeply to be parsed; None when it is not."""
    depth = max(_bracket_depth(source), _angle_depth(source) if grammar in _GENERIC else 0)
    if depth > LIMITS.brackets:
        return f"more than {LIMITS.brackets:,} brackets are open at once"
    if grammar == "yaml" and _INDENTED.search(source):
        return f"it is indented by more than {LIMITS.columns} columns"
    if grammar == "swift" and _depth(_COMMENTS.findall(source), b"/*", b"*/") > LIMITS.comments:
        return f"more than {LIMITS.comments} comments are open at once"
    if grammar == "swift" and _HASHES.search(source):
        return f"more than {LIMITS.hashes} # stand in a row"
    return None


def is_malformed(source: bytes, grammar: str) -> bool:
    """Tell whether a source is likely to be no program: its brackets do not match, or are missing.

    Parsers try to mend such a source, and some never end or crash over it.
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


def _angle_depth(source: bytes) -> int:
    return _depth(_ANGLES.findall(source), b"<", b">") if source.count(b"<") > LIMITS.brackets else 0


def _depth(signs: Iterable[bytes], opening: bytes, closing: bytes) -> int:
    depth = deepest = 0
    for sign in signs:
        depth = depth + 1 if sign == opening else max(depth - 1, 0) if sign == closing else 0
        deepest = max(deepest, depth)
    return deepest
