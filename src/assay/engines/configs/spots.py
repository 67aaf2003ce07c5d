"""Changes of a text at known spots: the rest stays as it is, byte for byte."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A part of a text, from its first character to that after its last."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TextEdit:
    """What is to stand at a spot."""

    at: TextSpan
    text: str


def apply(text: str, changes: Iterable[TextEdit]) -> str:
    """Make all changes; they do not overlap, and those at one place stay in their order."""
    parts: list[str] = []
    position = 0
    for change in sorted(changes, key=lambda change: change.at.start):
        parts += [text[position : change.at.start], change.text]
        position = change.at.end
    return "".join([*parts, text[position:]])


def line_end(text: str, position: int) -> int:
    """Find the end of the line that a position is in, before its line break."""
    found = text.find("\n", position)
    end = len(text) if found < 0 else found
    return end - 1 if text[position:end].endswith("\r") else end


def break_of(text: str) -> str:
    """Give the line break that a text has."""
    return "\r\n" if "\r\n" in text else "\n"
