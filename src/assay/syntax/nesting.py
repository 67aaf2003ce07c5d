"""Is a source nested more deeply than its parser can bear? Then it is not parsed.

Some grammars take time that grows with the square of the depth, after the last byte was read, when nothing can stop
them; that of YAML writes beyond its buffer. No program nests as deeply as any of these numbers, so what is refused
here is data, or made to hurt. Only the bytes decide: the same file is refused everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


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


def looks_torn(source: bytes, grammar: str) -> bool:
    """Tell whether a source is likely to be no program: its brackets do not match, or are missing.

    Parsers try to mend such a source, and some never end or crash over it.
    """
    brackets = source.translate(None, _NO_BRACKETS)
    pairs = zip(_OPENING, _CLOSING, strict=True)
    unmatched = sum(abs(brackets.count(opening) - brackets.count(closing)) for opening, closing in pairs)
    bare = grammar in _BRACED and len(source) > LIMITS.bare * (len(brackets) + 1)
    return unmatched > LIMITS.unmatched or bare or b"\0" in source


def _bracket_depth(source: bytes) -> int:
    """Count the brackets that are open at once, wherever they stand; a closing one too many closes nothing."""
    brackets = source.translate(None, _NO_BRACKETS)
    if len(brackets) <= LIMITS.brackets:
        return 0
    import numpy as np

    step = np.zeros(256, dtype=np.int8)
    step[list(_OPENING)], step[list(_CLOSING)] = 1, -1
    depth = np.cumsum(step[np.frombuffer(brackets, dtype=np.uint8)], dtype=np.int32)
    return int((depth - np.minimum(np.minimum.accumulate(depth), 0)).max())


def _angle_depth(source: bytes) -> int:
    """Count the angle brackets that are open at once within one statement."""
    return _depth(_ANGLES.findall(source), b"<", b">") if source.count(b"<") > LIMITS.brackets else 0


def _depth(signs: Iterable[bytes], opening: bytes, closing: bytes) -> int:
    """Count what is open at once; a sign that is neither closes all."""
    depth = deepest = 0
    for sign in signs:
        depth = depth + 1 if sign == opening else max(depth - 1, 0) if sign == closing else 0
        deepest = max(deepest, depth)
    return deepest
