"""Lines and token counts."""

from __future__ import annotations

from collections.abc import Sequence


def count_lines(text: str) -> int:
    r"""Return the number of lines: only `\n` ends one, the last may lack it, an empty text has none."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def line_at(text: str, position: int) -> int:
    """Return the line of a position, from 1."""
    return text.count("\n", 0, position) + 1


def split_lines(text: str) -> tuple[str, ...]:
    r"""Return the lines of a text without `\n`; as many as `count_lines` counts."""
    lines = text.split("\n")
    return tuple(lines if lines[-1] else lines[:-1])


#: UTF-8 bytes per token: close to tokenizers on source, and the same for every model.
BYTES_PER_TOKEN = 4


_and_newline = (1).__add__  # a C function: a run counts millions of lines


def approx4(nbytes: int) -> int:
    """Return the number of tokens: four UTF-8 bytes each, rounded up."""
    return -(-nbytes // BYTES_PER_TOKEN)


def line_bytes(text: str) -> tuple[int, ...]:
    r"""Return the UTF-8 bytes of each line, newline included."""
    # strings of callers may hold lone surrogates
    return sizes_of(text.encode("utf-8", "surrogatepass").split(b"\n"))


def sizes_of(lines: Sequence[str] | Sequence[bytes]) -> tuple[int, ...]:
    r"""Return the bytes of lines that were split at `\n`; lines of text must be ASCII."""
    last = (len(lines[-1]),) if lines[-1] else ()
    return (*map(_and_newline, map(len, lines[:-1])), *last)
