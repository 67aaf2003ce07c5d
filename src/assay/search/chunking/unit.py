"""The pieces a file is cut into."""

from __future__ import annotations

from dataclasses import dataclass

from assay.syntax.outline import Lines, Outline
from assay.types import Kind


@dataclass(frozen=True, slots=True)
class Source:
    """A file to cut."""

    path: str
    text: str
    kind: Kind
    language: str | None


@dataclass(frozen=True, slots=True)
class Unit:
    """Lines `start`-`end` of a file and what they are; an empty file has one unit, lines 1-0."""

    start: int
    end: int
    kind: str  # of a definition, or head, gap, section, lines, file
    names: tuple[str, ...] = ()  # what it defines, the first one first
    scopes: tuple[str, ...] = ()  # the definitions or headings around it, the outermost first
    signature: str = ""
    doc: str = ""
    places: tuple[Lines, ...] = ()  # where each name is defined; a class of which this is the head is longer

    @property
    def lines(self) -> int:
        """Count its lines."""
        return self.end - self.start + 1


@dataclass(frozen=True, slots=True)
class Cut:
    """The units of a file by first line, what its parse told, and what went wrong."""

    units: tuple[Unit, ...]
    outline: Outline | None = None
    problem: str | None = None
