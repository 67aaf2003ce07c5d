"""Cut documentation by its headings: markdown, reStructuredText, AsciiDoc; a text without any has one section."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assay.search.chunking.config import ChunkConfig
from assay.search.chunking.unit import Unit

_ATX = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*$")
_ASCIIDOC = re.compile(r"^(={1,6})[ \t]+(\S.*)$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_UNDERLINE = re.compile(r"^([=\-~^\"'`#*+.:_])\1{2,}[ \t]*$")


@dataclass(frozen=True, slots=True)
class _Heading:
    """A line that begins a section."""

    line: int
    level: int
    title: str


def cut_sections(lines: Sequence[str], config: ChunkConfig) -> tuple[Unit, ...]:
    """Cut a text of at least one line: a section a heading, long ones split, short ones put to the next."""
    sections = list(_sections(lines))
    sized = [part for unit in sections for part in _split(unit, lines, config)]
    return tuple(_pack(sized, config))


def _sections(lines: Sequence[str]) -> Iterator[Unit]:
    """Begin a section at each heading; what stands before the first is one too."""
    headings = list(_headings(lines))
    if not headings or headings[0].line > 1:
        yield Unit(1, headings[0].line - 1 if headings else len(lines), "section")
    around: list[_Heading] = []
    for nth, heading in enumerate(headings):
        while around and around[-1].level >= heading.level:
            around.pop()
        end = headings[nth + 1].line - 1 if nth + 1 < len(headings) else len(lines)
        scopes = tuple(outer.title for outer in around)
        yield Unit(heading.line, end, "section", (heading.title,), scopes, heading.title)
        around.append(heading)


def _headings(lines: Sequence[str]) -> Iterator[_Heading]:
    """Find headings outside of fenced code; the level of an underlined one is the order its sign came up in."""
    fence: str | None = None
    signs: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if found := _FENCE.match(line):
            mark = found.group(1)
            if fence is None:
                fence = mark
            elif mark[0] == fence[0] and len(mark) >= len(fence):
                fence = None
            continue
        if fence is not None:
            continue
        if found := _ATX.match(line) or _ASCIIDOC.match(line):
            yield _Heading(number, len(found.group(1)), found.group(2).strip())
        elif number < len(lines) and (under := _UNDERLINE.match(lines[number])) and _is_title(line, lines[number]):
            level = signs.setdefault(under.group(1), len(signs) + 1)
            yield _Heading(number, level, line.strip())


def _is_title(line: str, under: str) -> bool:
    """Tell a title from a table row or a rule: it begins with a word, and its underline is as long."""
    title = line.strip()
    return bool(title) and title[0].isalnum() and "|" not in title and len(under.strip()) >= min(len(title), 4)


def _split(unit: Unit, lines: Sequence[str], config: ChunkConfig) -> Iterator[Unit]:
    """Cut a long section at blank lines into parts of about equal length."""
    if unit.lines <= config.longest:
        yield unit
        return
    parts = -(-unit.lines // config.part)
    start = unit.start
    for nth in range(1, parts):
        wanted = unit.start + round(nth * unit.lines / parts)
        near = range(max(wanted - config.slack, start + 1), min(wanted + config.slack, unit.end) + 1)
        at = min(near, key=lambda line: (lines[line - 2].strip() != "", abs(line - wanted), line))
        yield replace(unit, start=start, end=at - 1)
        start = at
    yield replace(unit, start=start)


def _pack(units: list[Unit], config: ChunkConfig) -> list[Unit]:
    """Put a short section to the one after it."""
    packed: list[Unit] = []
    for unit in units:
        last = packed[-1] if packed else None
        if last is not None and last.lines < config.shortest and last.lines + unit.lines <= config.packed:
            names = tuple(dict.fromkeys(last.names + unit.names))
            packed[-1] = replace(last, end=unit.end, names=names, signature=" ".join(names))
        else:
            packed.append(unit)
    return packed
