"""Parse a source in bounded time: parsers are written in C, and nothing but the end of its source stops one."""

from __future__ import annotations

import threading
import time
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
        """Give what begins at an offset; when the parser is done, its tree goes on asking for the text of nodes."""
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


def is_tangled(tree: Tree, limits: ParsingLimits) -> bool:
    """Tell whether a tree holds so many errors that a query would take too long in it."""
    return tree.root_node.has_error and _tangle(tree.root_node) > limits.tangle


def _tangle(root: Node) -> int:
    """Foresee what a query costs in a broken tree: it looks at all later children of each child of an error."""
    cost, stack = 0, [root]
    while stack:
        children = stack.pop().children
        cost += len(children) ** 2
        stack.extend(child for child in children if child.has_error)
    return cost
