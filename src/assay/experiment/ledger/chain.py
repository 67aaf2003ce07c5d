"""Lines that are chained: each holds its own hash and that of the line before, and a head beside them names the last.

A line that was changed no longer has its hash; one that was removed, moved or put in breaks the link of the next; lines
that are gone from the end are missed by the head. So accidents are noticed: an editor, a merge, a copy that broke off.
Somebody who writes the whole file and its head anew is not; what version control keeps tells of that.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.digests import text_digest
from assay.errors import InputError
from assay.experiment.ledger.files import FORMAT, MARK, head_file
from assay.files import check_regular, write_atomic

_SEALED = re.compile(rb'(\{.*), "hash": "([0-9a-f]{64})"\}', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a line."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A line that holds together by itself."""

    line: int
    hash: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scan:
    """What a file holds, and all that is wrong with it."""

    links: tuple[Link, ...] = ()
    problems: tuple[Problem, ...] = ()
    torn: int = 0  # bytes behind the last whole line: a write that was cut off before it was finished
    unended: bool = False  # the last line is whole, but its line end is missing
    headless: bool = False  # nothing says how many lines there should be

    @property
    def last(self) -> str:
        """The hash that the next line goes on from; empty for the first one."""
        return self.links[-1].hash if self.links else ""


@dataclass(frozen=True, slots=True)
class _Head:
    """What the head says: how many entries there are, and the hash of the last."""

    entries: int
    hash: str


def seal(body: dict[str, Any]) -> dict[str, Any]:
    """Add to the keys of a line the hash of all that is before it."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False)[:-1]
    return {**body, "hash": text_digest(text)}


def write_head(path: Path, entries: int, last: str) -> None:
    """Write down how many lines there are."""
    write_atomic(head_file(path), json.dumps({"entries": entries, "hash": last}) + "\n")


def scan(path: Path) -> Scan:
    """Read a file and check every link; the head first, so that lines added meanwhile are none too many."""
    check_regular(path, InputError)
    head, damage = _read_head(path)
    raw = _read(path)
    whole, _, tail = raw.rpartition(b"\n")
    lines = whole.split(b"\n") if raw.count(b"\n") else []
    unended = bool(tail) and _own_hash(tail) is not None
    lines = [*lines, tail] if unended else lines
    torn = 0 if unended else len(tail)
    links, problems = _follow(lines)
    problems = [*problems, *damage, *_against_head(head, lines, links, torn)]
    return Scan(tuple(links), tuple(problems), torn, unended, headless=head is None and not damage and bool(lines))


def _read(path: Path) -> bytes:
    """Read the bytes; no file is no line."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path, hint="check its rights") from error


def _read_head(path: Path) -> tuple[_Head | None, list[Problem]]:
    """Read the head; one that is damaged is a problem of the ledger."""
    raw = _read(head_file(path))
    if not raw:
        return None, []
    try:
        data = json.loads(raw)
        return _Head(int(data["entries"]), str(data["hash"])), []
    except (ValueError, TypeError, KeyError):
        return None, [Problem(1, f"{head_file(path).name} beside it is damaged, so missing lines could not be noticed")]


def _own_hash(line: bytes) -> str | None:
    """Give the hash of a line that is as it was written; None for any other."""
    found = _SEALED.fullmatch(line)
    good = found is not None and hashlib.sha256(found[1]).hexdigest() == found[2].decode()
    return found[2].decode() if found is not None and good else None


def _follow(lines: Sequence[bytes]) -> tuple[list[Link], list[Problem]]:
    """Go from line to line; what is wrong with one is not held against the next."""
    links: list[Link] = []
    problems: list[Problem] = []
    last: str | None = ""  # None: a line is broken so that nothing can be said of the link behind it
    for number, line in enumerate(lines, 1):
        own = _own_hash(line)
        if own is None:
            problems.append(Problem(number, _changed(line)))
            said = _SEALED.fullmatch(line)
            last = said[2].decode() if said else None
            continue
        data = json.loads(line)
        problems += _misplaced(data, number, last)
        links.append(Link(number, own, data))
        last = own
    return links, problems


def _changed(line: bytes) -> str:
    """Say what a line is that does not hold together."""
    if not line.startswith(MARK):
        return "is no entry of a ledger: it was put in, or changed beyond recognition"
    return "was changed after it was written"


def _misplaced(data: dict[str, Any], number: int, last: str | None) -> Iterator[Problem]:
    """Check that a line follows the one before it."""
    if data.get("assay_ledger") != FORMAT:
        yield Problem(number, f"has format {data.get('assay_ledger')}, this Assay reads {FORMAT}")
    elif last is not None and data.get("before") != last:
        yield Problem(number, f"entry {data.get('number')} does not follow the line before: one was removed or moved")
    elif data.get("number") != number:
        yield Problem(number, f"entry {data.get('number')} stands here: a line was removed or put in above it")


def _against_head(head: _Head | None, lines: Sequence[bytes], links: Sequence[Link], torn: int) -> Iterator[Problem]:
    """Check that nothing is missing at the end; lines behind the one that the head names were added in a hurry."""
    if head is None:
        return
    if torn and head.entries > len(lines):
        yield Problem(len(lines) + 1, "is cut off, though it was whole once")
    elif head.entries > len(lines):
        missing = head.entries - len(lines)
        yield Problem(len(lines) + 1, f"{missing} {'line is' if missing == 1 else 'lines are'} missing at the end")
    elif head.entries:
        named = next((link for link in links if link.line == head.entries), None)
        if named is not None and named.hash != head.hash:
            yield Problem(named.line, "is not the line that was written there: it, or one before it, was replaced")
