"""Cut documentation by its headings: markdown, reStructuredText, AsciiDoc; a text without any has one section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from assay.search.chunking.config import ChunkConfig
from assay.search.chunking.unit import Unit
from assay.syntax.headings import Heading, headings


def cut_sections(lines: Sequence[str], config: ChunkConfig) -> tuple[Unit, ...]:
    """Cut a text of at least one line: a section a heading, long ones split, short ones put to the next."""
    sections = list(_sections(lines))
    sized = [part for unit in sections for part in _split(unit, lines, config)]
    return tuple(_pack(sized, config))


def _sections(lines: Sequence[str]) -> Iterator[Unit]:
    """Begin a section at each heading; what stands before the first is one too."""
    found = list(headings(lines))
    if not found or found[0].line > 1:
        yield Unit(1, found[0].line - 1 if found else len(lines), "section")
    around: list[Heading] = []
    for nth, heading in enumerate(found):
        while around and around[-1].level >= heading.level:
            around.pop()
        end = found[nth + 1].line - 1 if nth + 1 < len(found) else len(lines)
        scopes = tuple(outer.title for outer in around)
        yield Unit(heading.line, end, "section", (heading.title,), scopes, heading.title)
        around.append(heading)


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
