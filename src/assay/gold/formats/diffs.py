"""Parse unified diffs into the changed lines of the old files.

Removed lines count as changed. Lines added without a removal count as the line that they follow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from assay.corpus.git import DiffHunk, parse_hunk
from assay.gold.build import GoldLocation

_RENAME = re.compile("(?:rename|copy) (from|to) (.+)")
_ESCAPE = re.compile(rb'\\([0-3][0-7]{2}|[abtnvfr"\\])')
_ESCAPED = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13, b'"': 34, b"\\": 92}
_CONTEXT = 3  # context lines below a change; they may be missing if trailing blank lines were stripped
_SIGNATURE = "--"  # ends a mailed patch
_NOWHERE = "/dev/null"
_GIT = "diff --git "
_HINT = "use the output of `git diff`"


class OldLines(NamedTuple):
    """Lines `start` to `end` of the old file, inclusive; 0-0 means before the first line."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The paths of a file in a diff (old is None for a new file, new for a deleted one) and its changed old lines."""

    old: str | None
    new: str | None
    lines: tuple[OldLines, ...] = ()


def read_diff(text: str, location: GoldLocation) -> tuple[FileDiff, ...]:
    """Return the files of a unified diff in order; mere renames, mode changes and binary files have no lines."""
    reader = _DiffReader(text, location)
    files: list[FileDiff] = []
    while not reader.done:
        if reader.line.startswith(_GIT):
            files.append(reader.read_git_file())
        elif reader.at_names():
            files.append(reader.read_named_file())
        elif parse_hunk(reader.line):
            raise location.error(f"line {reader.at + 1} of the patch is a hunk without a file header", _HINT)
        else:
            reader.at += 1
    if not files:
        raise location.error("the patch contains no file", _HINT)
    return tuple(files)


class _DiffReader:
    def __init__(self, text: str, location: GoldLocation) -> None:
        self.lines = text.split("\n")
        self.location = location
        self.at = 0

    @property
    def done(self) -> bool:
        return self.at >= len(self.lines)

    @property
    def line(self) -> str:
        return self.lines[self.at]

    def at_names(self) -> bool:
        return self.line.startswith("--- ") and "".join(self.lines[self.at + 1 : self.at + 2]).startswith("+++ ")

    def read_git_file(self) -> FileDiff:
        head, made = self.line.removeprefix(_GIT).strip(), False
        self.at += 1
        old = new = None
        while not self.done and not self.line.startswith(_GIT):
            if self.at_names():
                return self.read_named_file()
            made = made or self.line.startswith("new file mode")
            if renamed := _RENAME.match(self.line.rstrip("\r")):
                name = _unquote(renamed[2], self.location)
                old, new = (name, new) if renamed[1] == "from" else (old, name)
            self.at += 1
        if old is None:
            old = new = _unquote(head[: len(head) // 2], self.location).removeprefix("a/")  # `a/name b/name`
        return FileDiff(None if made else old, new)

    def read_named_file(self) -> FileDiff:
        old = _parse_name(self.lines[self.at], "a/", self.location)
        new = _parse_name(self.lines[self.at + 1], "b/", self.location)
        self.at += 2
        changed: list[OldLines] = []
        while not self.done and (hunk := parse_hunk(self.line)):
            changed += self._read_hunk(hunk)
        signed = not self.done and self.line[:1] in ("+", "-")
        if signed and not self.at_names() and self.line.rstrip() != _SIGNATURE:
            raise self.location.error(f"line {self.at + 1} of the patch exceeds the length of its hunk", _HINT)
        return FileDiff(old, new, _merge(changed))

    def _read_hunk(self, hunk: DiffHunk) -> list[OldLines]:
        start, left, _, added = hunk
        number = start if left else start + 1  # of the next old line; without old lines the hunk follows `start`
        floor = min(number, 1) if left else 0
        self.at += 1
        first = self.at  # line of the header, counted from 1
        block: list[str] = []
        changed: list[OldLines] = []
        while left or added:
            if self.done or (self.line == "" and self.at + 1 == len(self.lines)):
                if left == added <= _CONTEXT:
                    break
                raise self.location.error(f"the hunk that starts on line {first} of the patch is incomplete", _HINT)
            sign = self.line[:1].strip() or " "
            self.at += 1
            if sign not in " +-\\":
                raise self.location.error(f"line {self.at} of the patch is not a hunk line", _HINT)
            if sign == "\\":
                continue
            left, added = left - (sign != "+"), added - (sign != "-")
            if min(left, added) < 0:
                raise self.location.error(f"line {self.at} of the patch exceeds the length of its hunk", _HINT)
            if sign == " ":
                changed += _changed_lines(block, number, floor)
                block = []
            else:
                block.append(sign)
            number += sign != "+"
        changed += _changed_lines(block, number, floor)
        if not self.done and self.line.startswith("\\"):
            self.at += 1
        return changed


def _changed_lines(block: Sequence[str], number: int, floor: int) -> list[OldLines]:
    removed = block.count("-")
    if removed:
        return [OldLines(number - removed, number - 1)]
    return [OldLines(max(number - 1, floor), max(number - 1, floor))] if block else []


def _merge(changed: Sequence[OldLines]) -> tuple[OldLines, ...]:
    merged: list[OldLines] = []
    for lines in sorted(changed):
        before = merged.pop() if merged and lines.start <= merged[-1].end + 1 else lines
        merged.append(OldLines(max(before.start, min(lines.start, 1)), max(before.end, lines.end)))
    return tuple(merged)


def _parse_name(line: str, prefix: str, location: GoldLocation) -> str | None:
    written = line[4:].rstrip("\r")
    name = _unquote(written if written.startswith('"') else written.partition("\t")[0], location)
    return None if name == _NOWHERE else name.removeprefix(prefix)


def _unquote(name: str, location: GoldLocation) -> str:
    if not name.startswith('"'):
        return name
    inner = name[1:].partition('"\t')[0].removesuffix('"').encode("utf-8", "surrogatepass")
    raw = _ESCAPE.sub(lambda match: bytes([_ESCAPED.get(match[1]) or int(match[1], 8)]), inner)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise location.error(f"path {name} of the patch is not UTF-8", "remove the file from the patch") from error
