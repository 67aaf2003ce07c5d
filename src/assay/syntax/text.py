r"""Count and split lines, which end only at `\n`, and estimate tokens."""

from __future__ import annotations

from collections.abc import Sequence

#: UTF-8 bytes per token: close to tokenizers on source, and the same for every model.
BYTES_PER_TOKEN = 4

_and_newline = (1).__add__  # a C function: a run counts millions of lines


def count_lines(text: str) -> int:
    """Return the number of lines; the last line may lack its newline, and an empty text has no lines."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def split_lines(text: str) -> tuple[str, ...]:
    r"""Split a text into `count_lines(text)` lines, without `\n`."""
    lines = text.split("\n")
    return tuple(lines if lines[-1] else lines[:-1])


def estimate_tokens(nbytes: int) -> int:
    return -(-nbytes // BYTES_PER_TOKEN)


def line_bytes(text: str) -> tuple[int, ...]:
    # the text may contain lone surrogates
    return line_sizes(text.encode("utf-8", "surrogatepass").split(b"\n"))


def line_sizes(lines: Sequence[str] | Sequence[bytes]) -> tuple[int, ...]:
    r"""Return the size in bytes of each line of a text, from `text.split("\n")`; str lines must be ASCII."""
    last = (len(lines[-1]),) if lines[-1] else ()
    return (*map(_and_newline, map(len, lines[:-1])), *last)
