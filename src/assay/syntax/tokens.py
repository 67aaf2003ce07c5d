"""Estimate tokens from bytes, and measure lines in bytes."""

from __future__ import annotations

from collections.abc import Sequence

#: UTF-8 bytes per token: close to tokenizers on source, and the same for every model.
BYTES_PER_TOKEN = 4

_and_newline = (1).__add__  # a C function: a run counts millions of lines


def estimate_tokens(nbytes: int) -> int:
    """Estimate the tokens of a text from its size: one per four UTF-8 bytes, rounded up."""
    return -(-nbytes // BYTES_PER_TOKEN)


def line_bytes(text: str) -> tuple[int, ...]:
    """Return the length of each line in UTF-8 bytes, including the newline."""
    # the text may contain lone surrogates
    return line_sizes(text.encode("utf-8", "surrogatepass").split(b"\n"))


def line_sizes(lines: Sequence[str] | Sequence[bytes]) -> tuple[int, ...]:
    r"""Return the size in bytes of each line of `text.split("\n")`, including its newline; str lines must be ASCII."""
    last = (len(lines[-1]),) if lines[-1] else ()
    return (*map(_and_newline, map(len, lines[:-1])), *last)
