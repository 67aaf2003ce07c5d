"""What a piece of source costs to read, without a tokenizer: the same on every machine and for every model."""

from __future__ import annotations

from collections.abc import Sequence

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
