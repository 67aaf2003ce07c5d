from __future__ import annotations

from collections.abc import Sequence


def count_lines(text: str) -> int:
    r"""Return the number of lines; only `\n` ends a line, the last line may lack it, and an empty text has no lines."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def line_at(text: str, position: int) -> int:
    """Return the line number of a character position, counting from 1."""
    return text.count("\n", 0, position) + 1


def split_lines(text: str) -> tuple[str, ...]:
    r"""Split a text into lines without `\n`; their number is that of `count_lines`."""
    lines = text.split("\n")
    return tuple(lines if lines[-1] else lines[:-1])


#: UTF-8 bytes per token: close to tokenizers on source, and the same for every model.
BYTES_PER_TOKEN = 4


_and_newline = (1).__add__  # a C function: a run counts millions of lines


def approx4(nbytes: int) -> int:
    """Estimate the tokens of a text from its size: one per four UTF-8 bytes, rounded up."""
    return -(-nbytes // BYTES_PER_TOKEN)


def line_bytes(text: str) -> tuple[int, ...]:
    """Return the length of each line in UTF-8 bytes, including the newline."""
    # the text may contain lone surrogates
    return sizes_of(text.encode("utf-8", "surrogatepass").split(b"\n"))


def sizes_of(lines: Sequence[str] | Sequence[bytes]) -> tuple[int, ...]:
    r"""Return the length in bytes, including newlines, of lines split at `\n`; lines of type str must be ASCII."""
    last = (len(lines[-1]),) if lines[-1] else ()
    return (*map(_and_newline, map(len, lines[:-1])), *last)
