r"""Lines of a text: only `\n` ends a line."""

from __future__ import annotations


def count_lines(text: str) -> int:
    """Return the number of lines; the last line may lack its newline, and an empty text has no lines."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def line_at(text: str, position: int) -> int:
    """Return the number of the line that contains a character offset, counting from 1."""
    return text.count("\n", 0, position) + 1


def split_lines(text: str) -> tuple[str, ...]:
    r"""Split a text into `count_lines(text)` lines, without `\n`."""
    lines = text.split("\n")
    return tuple(lines if lines[-1] else lines[:-1])
