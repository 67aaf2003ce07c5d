r"""Count and split lines, which end only at `\n`, estimate tokens, and find the headings of documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.records import dataclass

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


_ATX = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*$")
_ASCIIDOC = re.compile(r"^(={1,6})[ \t]+(\S.*)$")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*(.*)")
_UNDERLINE = re.compile(r"^([=\-~^\"'`#*+.:_])\1{2,}[ \t]*$")


@dataclass(frozen=True, slots=True)
class DocHeading:
    line: int
    level: int
    title: str


def find_headings(lines: Sequence[str]) -> Iterator[DocHeading]:
    """Yield the headings outside fenced code; underline characters define heading levels in order of first use."""
    signs: dict[str, int] = {}
    for number, line in iter_unfenced(lines):
        if match := _ATX.match(line) or _ASCIIDOC.match(line):
            yield DocHeading(number, len(match.group(1)), match.group(2).strip())
        elif number < len(lines) and (under := _UNDERLINE.match(lines[number])):
            title = line.strip()
            wide = len(lines[number].strip()) >= min(len(title), 4)
            if title and title[0].isalnum() and "|" not in title and wide:
                yield DocHeading(number, signs.setdefault(under.group(1), len(signs) + 1), title)


def iter_unfenced(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    fence: str | None = None
    for number, line in enumerate(lines, 1):
        match = _FENCE.match(line)
        if match is None:
            if fence is None:
                yield number, line
            continue
        mark = match.group(1)
        if fence is None:
            fence = mark
        elif mark[0] == fence[0] and len(mark) >= len(fence) and not match.group(2):  # a closing fence in CommonMark
            fence = None
