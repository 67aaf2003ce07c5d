"""Where do the sections of a document begin? Headings of markdown, reStructuredText and AsciiDoc."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_ATX = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*$")
_ASCIIDOC = re.compile(r"^(={1,6})[ \t]+(\S.*)$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*(.*)")
_UNDERLINE = re.compile(r"^([=\-~^\"'`#*+.:_])\1{2,}[ \t]*$")


@dataclass(frozen=True, slots=True)
class Heading:
    """A line that begins a section."""

    line: int
    level: int
    title: str


def headings(lines: Sequence[str]) -> Iterator[Heading]:
    """Find headings outside of fenced code; the level of an underlined one is the order its sign came up in."""
    signs: dict[str, int] = {}
    for number, line in unfenced(lines):
        if found := _ATX.match(line) or _ASCIIDOC.match(line):
            yield Heading(number, len(found.group(1)), found.group(2).strip())
        elif number < len(lines) and (under := _UNDERLINE.match(lines[number])) and _is_title(line, lines[number]):
            level = signs.setdefault(under.group(1), len(signs) + 1)
            yield Heading(number, level, line.strip())


def unfenced(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines outside of fenced code, counted from 1; the fences are no such lines."""
    fence: str | None = None
    for number, line in enumerate(lines, 1):
        found = _FENCE.match(line)
        if found is None:
            if fence is None:
                yield number, line
            continue
        mark = found.group(1)
        if fence is None:
            fence = mark
        elif mark[0] == fence[0] and len(mark) >= len(fence) and not found.group(2):  # as CommonMark closes it
            fence = None


def _is_title(line: str, under: str) -> bool:
    """Tell a title from a table row or a rule: it begins with a word, and its underline is as long."""
    title = line.strip()
    return bool(title) and title[0].isalnum() and "|" not in title and len(under.strip()) >= min(len(title), 4)
