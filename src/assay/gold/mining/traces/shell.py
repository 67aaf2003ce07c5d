"""Read a shell history that the user named: bash, zsh (plain or extended) or fish; anything else is refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay.errors import InputError
from assay.files import check_regular
from assay.gold.mining.config import TRACES

#: zsh writes some bytes as this one and the byte with its sixth bit turned over.
_META: Final = 0x83
_ZSH: Final = re.compile(rb"^: \d+:\d+;")
_FISH: Final = re.compile(rb"^- cmd: ")
_STAMP: Final = re.compile(rb"^#\d{9,}\s*$")


@dataclass(frozen=True, slots=True)
class Command:
    """A command and the line of the history it stands in."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class History:
    """The commands of a file, and how many lines were left out for their length."""

    commands: tuple[Command, ...]
    too_long: int = 0


def read_shell(path: Path) -> History:
    """Read a history of any of the three shells."""
    raw = check_text(path, "a shell history")
    lines = raw.split(b"\n")
    first = next((line for line in lines if line.strip() and not _STAMP.match(line)), b"")
    if _FISH.match(first):
        found: Iterable[Command] = _fish(lines)
    else:
        found = _plain(lines, zsh=any(_ZSH.match(line) for line in lines[: TRACES.first_lines]))
    every = list(found)
    kept = tuple(command for command in every if len(command.text) <= TRACES.command)
    return History(kept, len(every) - len(kept))


def check_text(path: Path, what: str) -> bytes:
    """Read a file of the user's, refusing what is too large and what is no text."""
    check_regular(path)
    try:
        size = path.stat().st_size
        if size > TRACES.bytes:
            hint = f"cut it first: tail -c {TRACES.bytes} {path.name} > recent"
            raise InputError(f"{size:,} bytes; of {what} at most {TRACES.bytes:,} are read", file=path, hint=hint)
        raw = path.read_bytes()
    except OSError as error:
        hint = "name a file that you can read"
        raise InputError(f"cannot be read: {error.strerror or error}", file=path, hint=hint) from error
    if b"\0" in raw[: TRACES.sniffed]:
        raise InputError(f"is binary, not {what}", file=path, hint="name the text file that your tool writes")
    return raw


def _plain(lines: list[bytes], *, zsh: bool) -> Iterator[Command]:
    """Yield the commands of bash, or of zsh, which ends the lines of one command in a backslash."""
    start, parts = 0, list[bytes]()
    for number, raw in enumerate(lines, 1):
        start = start if parts else number
        line = raw if parts else _ZSH.sub(b"", raw)
        if zsh and line.endswith(b"\\"):
            parts.append(line[:-1])
            continue
        text = b"\n".join([*parts, line])
        parts = []
        if text.strip() and not _STAMP.match(text):
            yield Command(start, _decoded(_unmeta(text) if zsh else text))


def _fish(lines: list[bytes]) -> Iterator[Command]:
    """Yield the commands of fish, which writes them as a kind of YAML."""
    for number, line in enumerate(lines, 1):
        if _FISH.match(line):
            text = _decoded(line[len(b"- cmd: ") :])
            yield Command(number, re.sub(r"\\(n|\\)", lambda m: "\n" if m[1] == "n" else "\\", text))


def _unmeta(text: bytes) -> bytes:
    """Read bytes as zsh wrote them."""
    if _META not in text:
        return text
    return re.sub(rb"\x83(.)", lambda m: bytes([m[1][0] ^ 32]), text, flags=re.DOTALL)


def _decoded(text: bytes) -> str:
    """Read bytes as text; what is none becomes a sign that no query has."""
    return text.decode("utf-8", "replace")
