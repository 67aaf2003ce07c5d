"""The hash chain of a ledger file.

Each line has the hash of its content and the hash of the line before; a head file stores the number of lines, so that
an edited, moved or missing line is detected.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.digests import text_digest
from assay.errors import InputError
from assay.files import check_regular, write_atomic

FILE = "ledger.jsonl"
FORMAT = 1
_START = b'{"assay_ledger": '  # of every line
_HASHED = re.compile(rb'(\{.*), "hash": "([0-9a-f]{64})"\}', re.DOTALL)


@dataclass(frozen=True, slots=True)
class ChainError:
    """A problem of one line."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class ChainLine:
    """A line with a valid hash."""

    line: int
    hash: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class LedgerScan:
    """The lines of a ledger, and all problems."""

    links: tuple[ChainLine, ...] = ()
    problems: tuple[ChainError, ...] = ()
    torn: int = 0  # bytes of an incomplete last line, left by a killed writer
    unended: bool = False  # the last line is complete but has no newline
    headless: bool = False  # there is no head file


def scan(path: Path) -> LedgerScan:
    """Read a ledger and verify every line; the head is read first, because other writers may add lines meanwhile."""
    check_regular(path, InputError)
    head, problems = _read_head(path)
    missing_head = head is None and not problems
    raw = _read(path)
    whole, _, tail = raw.rpartition(b"\n")
    lines = whole.split(b"\n") if b"\n" in raw else []
    unended = bool(tail) and _valid_hash(tail) is not None
    lines += [tail] if unended else []
    torn = 0 if unended else len(tail)
    links, broken = _verify_chain(lines)
    problems = [*broken, *problems, *_compare_head(head, lines, links, torn=torn > 0)]
    return LedgerScan(tuple(links), tuple(problems), torn, unended, headless=missing_head and bool(lines))


def scan_notes(path: Path, scanned: LedgerScan) -> tuple[str, ...]:
    """Return notes on harmless irregularities of the file."""
    notes = []
    if scanned.torn:
        line = len(scanned.links) + 1
        notes.append(f"{path}:{line}: {scanned.torn} bytes of an incomplete entry; the next entry replaces them")
    if scanned.headless:
        notes.append(f"{path}: its head file is missing, so lines removed from the end cannot be detected")
    return tuple(notes)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        raise InputError(message, file=path, hint="check its permissions") from error


def _read_head(path: Path) -> tuple[tuple[int, str] | None, list[ChainError]]:
    """Return the number of entries and the hash of the last one."""
    raw = _read(head_file(path))
    if not raw:
        return None, []
    try:
        data = json.loads(raw)
        return (int(data["entries"]), str(data["hash"])), []
    except (ValueError, TypeError, KeyError):
        message = f"{head_file(path).name} beside it is damaged, so missing lines cannot be detected"
        return None, [ChainError(1, message)]


def _valid_hash(line: bytes) -> str | None:
    found = _HASHED.fullmatch(line)
    if found is None or hashlib.sha256(found[1]).hexdigest() != found[2].decode():
        return None
    return found[2].decode()


def _verify_chain(lines: Sequence[bytes]) -> tuple[list[ChainLine], list[ChainError]]:
    links: list[ChainLine] = []
    problems: list[ChainError] = []
    last: str | None = ""  # hash of the line before; None: unknown, because that line is broken
    for number, line in enumerate(lines, 1):
        own = _valid_hash(line)
        if own is None:
            text = "was changed after it was written" if line.startswith(_START) else "is no entry of a ledger"
            problems.append(ChainError(number, text))
            stated = _HASHED.fullmatch(line)
            last = stated[2].decode() if stated else None
            continue
        data = json.loads(line)
        if text := _misplacement(data, number, last):
            problems.append(ChainError(number, text))
        links.append(ChainLine(number, own, data))
        last = own
    return links, problems


def _misplacement(data: Mapping[str, Any], number: int, last: str | None) -> str:
    if data.get("assay_ledger") != FORMAT:
        return f"has format {data.get('assay_ledger')}, this Assay reads {FORMAT}"
    if last is not None and data.get("before") != last:
        return f"entry {data.get('number')} does not follow the line before: a line was removed or moved"
    if data.get("number") != number:
        return f"entry {data.get('number')} is out of place: a line above was removed or inserted"
    return ""


def _compare_head(
    head: tuple[int, str] | None, lines: Sequence[bytes], links: Sequence[ChainLine], *, torn: bool
) -> Iterator[ChainError]:
    if head is None:
        return
    entries, last_hash = head
    missing = entries - len(lines)
    if missing > 0 and torn:
        yield ChainError(len(lines) + 1, "is cut off, though it was complete before")
    elif missing > 0:
        text = f"{missing} {'line is' if missing == 1 else 'lines are'} missing at the end"
        yield ChainError(len(lines) + 1, text)
    elif entries:
        last = next((link for link in links if link.line == entries), None)
        if last is not None and last.hash != last_hash:
            yield ChainError(entries, "is not the line that was written there: it, or one before it, was replaced")


def add_hash(body: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a line with the hash of all of them."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False)[:-1]
    return {**body, "hash": text_digest(text)}


def write_head(path: Path, entries: int, last: str) -> None:
    """Write the number of entries and the hash of the last one."""
    write_atomic(head_file(path), json.dumps({"entries": entries, "hash": last}) + "\n")


def head_file(path: Path) -> Path:
    return path.with_name(f"{path.stem}.head.json")


def ledgers_above(directory: Path) -> list[Path]:
    """Return the ledgers in a directory and its parents, which must not be part of a corpus because they grow."""
    found = []
    for parent in (directory.resolve(), *directory.resolve().parents):
        for file in sorted(parent.glob(f"*{FILE}")):
            found += [file, head_file(file)] if _is_ledger(file) else []
    return found


def _is_ledger(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(_START)) == _START
    except OSError:
        return False
