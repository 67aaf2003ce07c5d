"""Unified diffs, seen from the old side: which lines of which files they change.

Removed lines count, context does not. Added lines count as the line they follow, where the author had to look. A new
file has no old side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.gold.building import GoldLocation

_HUNK = re.compile(r"@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? \+[0-9]{1,9}(?:,([0-9]{1,9}))? @@")
_ESCAPE = re.compile(rb'\\([0-3][0-7]{2}|[abtnvfr"\\])')
_ESCAPED = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13, b'"': 34, b"\\": 92}
_CONTEXT = 3  # lines git shows below a change: so many may be missing if blank ones were stripped from a patch
_SIGNATURE = "--"  # ends a mailed patch
_NOWHERE = "/dev/null"
_HINT = "a patch is what `git diff` prints"


@dataclass(frozen=True, slots=True, order=True)
class OldLines:
    """Lines `start` to `end` of the old file, inclusive; 0-0 is before the first line."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The old path, None for a new file, the new path, and the changed old lines."""

    old: str | None
    new: str | None
    lines: tuple[OldLines, ...] = ()


@dataclass(frozen=True, slots=True)
class _Cursor:
    """The lines of a diff and the next one to read."""

    lines: Sequence[str]
    place: GoldLocation
    at: int = 0

    def __bool__(self) -> bool:
        return self.at < len(self.lines)

    @property
    def line(self) -> str:
        return self.lines[self.at]

    def step(self, count: int = 1) -> _Cursor:
        return _Cursor(self.lines, self.place, self.at + count)


def read_diff(text: str, place: GoldLocation) -> tuple[FileDiff, ...]:
    """Parse the files of a unified diff in order; renames, modes and binaries have no lines."""
    cursor = _Cursor(text.split("\n"), place)
    found: list[FileDiff] = []
    while cursor:
        if cursor.line.startswith("diff --git "):
            cursor, file = _git_file(cursor)
            found.append(file)
        elif _has_names(cursor):
            cursor, file = _named_file(cursor)
            found.append(file)
        elif _HUNK.match(cursor.line):
            raise place.error(f"line {cursor.at + 1} of the patch is a hunk of no file", _HINT)
        else:
            cursor = cursor.step()
    if not found:
        raise place.error("the patch holds no file", _HINT)
    return tuple(found)


def _git_file(cursor: _Cursor) -> tuple[_Cursor, FileDiff]:
    head, place, made = cursor.line.removeprefix("diff --git "), cursor.place, False
    cursor = cursor.step()
    old = new = None
    while cursor and not cursor.line.startswith("diff --git "):
        if _has_names(cursor):
            return _named_file(cursor)
        made = made or cursor.line.startswith("new file mode")
        old = _after(cursor, ("rename from ", "copy from ")) or old
        new = _after(cursor, ("rename to ", "copy to ")) or new
        cursor = cursor.step()
    if old is None:
        old = new = _same_name(head, place)
    return cursor, FileDiff(None if made else old, new)


def _named_file(cursor: _Cursor) -> tuple[_Cursor, FileDiff]:
    old, new = _name(cursor.line, "a/", cursor.place), _name(cursor.step().line, "b/", cursor.place)
    cursor = cursor.step(2)
    changed: list[OldLines] = []
    while cursor and (hunk := _HUNK.match(cursor.line)):
        cursor, lines = _hunk(cursor, hunk)
        changed.extend(lines)
    if cursor and cursor.line[:1] in ("+", "-") and not _has_names(cursor) and cursor.line.rstrip() != _SIGNATURE:
        raise cursor.place.error(f"line {cursor.at + 1} of the patch is more than its hunk promises", _HINT)
    return cursor, FileDiff(old, new, _merged(changed))


def _hunk(cursor: _Cursor, hunk: re.Match[str]) -> tuple[_Cursor, list[OldLines]]:
    start, left, added = int(hunk[1]), int(hunk[2] or 1), int(hunk[3] or 1)
    number = start if left else start + 1  # of the next old line; without old lines the hunk follows `start`
    floor = min(number, 1) if left else 0
    first, cursor = cursor, cursor.step()
    block: list[str] = []
    found: list[OldLines] = []
    while (left or added) and not (_at_end(cursor) and left == added <= _CONTEXT):
        sign = _sign(cursor, first)
        cursor = cursor.step()
        if sign == "\\":
            continue
        left, added = left - (sign != "+"), added - (sign != "-")
        if min(left, added) < 0:
            raise first.place.error(f"line {cursor.at} of the patch is more than its hunk promises", _HINT)
        if sign == " ":
            found.extend(_changed(block, number, floor))
            block = []
        else:
            block.append(sign)
        number += sign != "+"
    found.extend(_changed(block, number, floor))
    return cursor.step() if cursor and cursor.line.startswith("\\") else cursor, found


def _at_end(cursor: _Cursor) -> bool:
    return not cursor or (cursor.line == "" and cursor.at + 1 == len(cursor.lines))


def _sign(cursor: _Cursor, first: _Cursor) -> str:
    if _at_end(cursor):
        raise first.place.error(f"the patch ends inside the hunk of its line {first.at + 1}", _HINT)
    sign = cursor.line[:1].strip() or " "
    if sign not in " +-\\":
        raise first.place.error(f"line {cursor.at + 1} of the patch is no line of a hunk", _HINT)
    return sign


def _changed(block: Sequence[str], number: int, floor: int) -> Iterator[OldLines]:
    removed = sum(sign == "-" for sign in block)
    if removed:
        yield OldLines(number - removed, number - 1)
    elif block:
        yield OldLines(max(number - 1, floor), max(number - 1, floor))


def _merged(found: Sequence[OldLines]) -> tuple[OldLines, ...]:
    merged: list[OldLines] = []
    for lines in sorted(found):
        before = merged.pop() if merged and lines.start <= merged[-1].end + 1 else lines
        merged.append(OldLines(max(before.start, min(lines.start, 1)), max(before.end, lines.end)))
    return tuple(merged)


def _has_names(cursor: _Cursor) -> bool:
    return cursor.line.startswith("--- ") and bool(cursor.step()) and cursor.step().line.startswith("+++ ")


def _name(line: str, prefix: str, place: GoldLocation) -> str | None:
    written = line[4:].rstrip("\r")
    name = _unquoted(written, place) if written.startswith('"') else written.partition("\t")[0]
    return None if name == _NOWHERE else name.removeprefix(prefix)


def _after(cursor: _Cursor, words: Sequence[str]) -> str | None:
    line = cursor.line.rstrip("\r")
    written = next((line.removeprefix(word) for word in words if line.startswith(word)), None)
    return _unquoted(written, cursor.place) if written and written.startswith('"') else written


def _same_name(head: str, place: GoldLocation) -> str:
    half = head.strip()[: len(head.strip()) // 2]
    if head.startswith('"'):
        half = _unquoted(half, place)
    return half.removeprefix("a/")


def _unquoted(name: str, place: GoldLocation) -> str:
    inner = name[1:].partition('"\t')[0].removesuffix('"').encode("utf-8", "surrogatepass")
    raw = _ESCAPE.sub(lambda found: bytes([_ESCAPED.get(found[1]) or int(found[1], 8)]), inner)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise place.error(f"the path {name} of the patch is not UTF-8", _HINT) from error
