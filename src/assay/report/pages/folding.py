"""Texts in narrow columns: cut at words, then where a name is read apart, and inside a word only as the last resort."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

#: Where a long word may be cut: a path, a measure with its settings and its cut-off, a list without spaces.
_JOINTS: Final = re.compile(r"(?<=[/:,;(=_|])|(?=@)")


def cells(text: str) -> int:
    """Count the columns that a text takes; wide characters take two."""
    from rich.cells import cell_len

    return cell_len(text)


def fold(text: str, width: int) -> list[str]:
    """Cut a text into lines of at most `width` columns; nothing but spaces at the cuts is lost."""
    lines: list[str] = []
    for line in text.replace("\t", " ").split("\n"):
        lines += _folded(line, max(1, width))
    return lines


def _folded(line: str, width: int) -> Iterator[str]:
    """Fold one line, as many words on each as fit."""
    now, used = "", 0
    for word in line.split():
        space = 1 if now else 0
        wide = cells(word)
        if used + space + wide <= width:
            now, used = f"{now}{' ' * space}{word}", used + space + wide
            continue
        if now:
            yield now
        *whole, now = _parts(word, width)
        yield from whole
        used = cells(now)
    yield now


def _parts(word: str, width: int) -> list[str]:
    """Cut a word that is too long, at its joints as far as they help."""
    parts = [""]
    for piece in _JOINTS.split(word) if cells(word) > width else [word]:
        for bit in _chopped(piece, width):
            if cells(parts[-1] + bit) <= width:
                parts[-1] += bit
            else:
                parts.append(bit)
    return parts


def _chopped(piece: str, width: int) -> Iterator[str]:
    """Cut what has no joint, sign by sign."""
    if cells(piece) <= width:
        yield piece
        return
    now = ""
    for sign in piece:
        if now and cells(now + sign) > width:
            yield now
            now = ""
        now += sign
    yield now
