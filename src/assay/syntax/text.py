"""Lines as editors number them, counted in one way everywhere."""

from __future__ import annotations

from collections.abc import Sequence


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


#: UTF-8 bytes in a token: near what tokenizers give on source, the same for every model, checked by hand.
BYTES_PER_TOKEN = 4


_and_newline = (1).__add__  # called without a frame of Python's: a run counts millions of lines


def approx4(nbytes: int) -> int:
    """Count tokens: four UTF-8 bytes each, rounded up."""
    return -(-nbytes // BYTES_PER_TOKEN)


def line_bytes(text: str) -> tuple[int, ...]:
    r"""Count the UTF-8 bytes of each line, newline included; only `\n` ends a line, as editors number them."""
    # no file read as UTF-8 or Latin-1 holds a lone surrogate, but a caller's own string must not crash a count
    return sizes_of(text.encode("utf-8", "surrogatepass").split(b"\n"))


def sizes_of(lines: Sequence[str] | Sequence[bytes]) -> tuple[int, ...]:
    r"""Count the bytes of lines that were split at `\n`; as text they are ASCII, where a letter is a byte."""
    last = (len(lines[-1]),) if lines[-1] else ()
    return (*map(_and_newline, map(len, lines[:-1])), *last)
