"""Is a source nested more deeply than its parser can bear?

Some grammars take time that grows with the square of the depth, after the last byte was read, when nothing can stop
them; that of YAML writes beyond its buffer. No program nests as deeply as any of these numbers, so what is refused
here is data, or made to hurt. Only the bytes decide: the same file is refused everywhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NestingLimits:
    """How deep is too deep."""

    brackets: int = 1_000  # open at once; C# needs 2 s for 10,000 open `<`, and four times that for 20,000
    comments: int = 200  # open at once; Swift needs 20 s for 5,000
    hashes: int = 255  # in a row before a string; Swift reads on from each of them
    columns: int = 240  # of indentation; the grammar of YAML has room for some 255 levels of one column each


LIMITS = NestingLimits()

_OPENING, _CLOSING = b"([{", b")]}"
#: An angle bracket that may be part of a type, not of a comparison, a shift, a stream or an arrow.
_ANGLES = re.compile(rb"(?<![<=-])[<>](?![<=])|[;{}()]")
#: Where a type may have types in angle brackets.
_GENERIC = frozenset({"cpp", "csharp", "dart", "java", "kotlin", "rust", "scala", "swift", "tsx", "typescript"})
_INDENTED = re.compile(rb"^[ \t?:-]{%d}" % LIMITS.columns, re.MULTILINE)
_HASHES = re.compile(rb"#{%d}" % LIMITS.hashes)


def nesting_problem(source: bytes, grammar: str) -> str | None:
    """Say why a source is nested too deeply to be parsed; None when it is not."""
    depth = max(_bracket_depth(source), _angle_depth(source) if grammar in _GENERIC else 0)
    if depth > LIMITS.brackets:
        return f"more than {LIMITS.brackets:,} brackets are open at once"
    if grammar == "yaml" and _INDENTED.search(source):
        return f"it is indented by more than {LIMITS.columns} columns"
    if grammar == "swift" and (_comment_depth(source) > LIMITS.comments or _HASHES.search(source)):
        return f"more than {LIMITS.comments} comments are open at once, or as many # stand in a row"
    return None


def _bracket_depth(source: bytes) -> int:
    """Count the brackets that are open at once, wherever they stand; a closing one too many closes nothing."""
    if sum(map(source.count, (b"(", b"[", b"{"))) <= LIMITS.brackets:
        return 0
    import numpy as np

    step = np.zeros(256, dtype=np.int8)
    step[list(_OPENING)], step[list(_CLOSING)] = 1, -1
    depth = np.cumsum(step[np.frombuffer(source, dtype=np.uint8)], dtype=np.int32)
    return int((depth - np.minimum(np.minimum.accumulate(depth), 0)).max())


def _angle_depth(source: bytes) -> int:
    """Count the angle brackets that are open at once within one statement."""
    if source.count(b"<") <= LIMITS.brackets:
        return 0
    depth = deepest = 0
    for sign in _ANGLES.findall(source):
        depth = depth + 1 if sign == b"<" else max(depth - 1, 0) if sign == b">" else 0
        deepest = max(deepest, depth)
    return deepest


def _comment_depth(source: bytes) -> int:
    """Count comments that are opened and never closed."""
    return source.count(b"/*") - source.count(b"*/")
