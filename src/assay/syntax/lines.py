"""Lines as editors number them, counted in one way everywhere."""

from __future__ import annotations


def count_lines(text: str) -> int:
    r"""Count the lines of a text: only `\n` ends one, the last may lack it, an empty text has none."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def line_at(text: str, position: int) -> int:
    """Number the line a position stands in, from 1."""
    return text.count("\n", 0, position) + 1


def split_lines(text: str) -> tuple[str, ...]:
    r"""Give the lines of a text without their `\n`; as many as `count_lines` counts."""
    lines = text.split("\n")
    return tuple(lines if lines[-1] else lines[:-1])
