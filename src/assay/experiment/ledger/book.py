"""The ledger as a file: read whole or not at all, and added to under a lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.clock import today
from assay.errors import ConfigError, InputError
from assay.experiment.ledger.chain import Scan, scan, seal, write_head
from assay.experiment.ledger.entry import Entry, as_mapping, from_mapping
from assay.gold.journal import opened

_MEND = (
    "take the file and its head as version control has them, and add what is missing again; "
    "`assay ledger verify` lists all that is wrong"
)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The entries in the order they were made, and what a reader should know of the file."""

    path: Path
    entries: tuple[Entry, ...] = ()
    notes: tuple[str, ...] = ()


def read_ledger(path: Path) -> Ledger:
    """Read all entries; a chain that is broken anywhere is an error with its line, never fewer entries."""
    return _ledger(path, _checked(path))


def _checked(path: Path) -> Scan:
    """Read the lines of a ledger; refuse one that was tampered with."""
    found = scan(path)
    if found.problems:
        first = found.problems[0]
        raise InputError(first.text, file=path, line=first.line, hint=_MEND)
    return found


def _ledger(path: Path, found: Scan) -> Ledger:
    """Make entries of lines."""
    entries = []
    for link in found.links:
        try:
            entries.append(from_mapping(link.data, "entry"))
        except ConfigError as error:
            hint = "was it written by another version of Assay?"
            raise InputError(error.message, file=path, line=link.line, hint=hint) from error
    return Ledger(path, tuple(entries), notes_on(path, found))


def notes_on(path: Path, found: Scan) -> tuple[str, ...]:
    """Say what does no harm but should be known."""
    notes = []
    if found.torn:
        notes.append(
            f"{path}:{len(found.links) + 1}: {found.torn} bytes of an entry that was never finished; it does not "
            "count, and the next entry takes its place"
        )
    if found.headless:
        notes.append(f"{path}: its head file is missing, so lines cut off from the end would not be noticed")
    return tuple(notes)


def add_entries(path: Path, entries: Sequence[Entry], *, again: bool = False) -> tuple[Entry, ...]:
    """Add entries behind the last one, numbered and dated; writers wait for each other, and a kill tears no chain.

    The same comparison twice is refused unless `again`: to ask until the answer pleases is best-of-many too.
    """
    before = _checked(path)  # before the file is touched, or made
    with opened(path, keep=before.unended) as journal:
        found = _checked(path)
        book = _ledger(path, found)
        if not again:
            _refuse_known(book, entries)
        last = found.last
        added: list[Entry] = []
        for entry in entries:
            placed = _placed(entry, (*book.entries, *added))
            line = seal({**as_mapping(placed), "before": last})
            journal.append([line])
            last = line["hash"]
            added.append(placed)
        write_head(path, len(book.entries) + len(added), last)
    return tuple(added)


def _placed(entry: Entry, earlier: Sequence[Entry]) -> Entry:
    """Give an entry its number, its day, and how many were tried on the same gold before it.

    By the names of the sets: one whose queries were edited, or a part of it, is no fresh set.
    """
    tried = sum(bool({*one.gold} & {*entry.gold}) for one in earlier)
    return replace(entry, number=len(earlier) + 1, date=today(), tried=tried)


def _refuse_known(book: Ledger, entries: Sequence[Entry]) -> None:
    """Refuse a comparison that is in the ledger already."""
    known = {entry.identity(): entry for entry in book.entries}
    for entry in entries:
        old = known.get(entry.identity())
        if old is not None:
            raise InputError(
                f"{entry.new.engine} against {entry.old.engine} is entry {old.number} already: the same settings on "
                "the same gold and corpora",
                file=book.path,
                line=old.number,
                hint="--again adds it once more, if the program behind the settings changed",
            )


def find_entry(book: Ledger, number: int) -> Entry:
    """Find an entry by its number."""
    if not 1 <= number <= len(book.entries):
        there = f"there are 1 to {len(book.entries)}" if book.entries else "it is empty"
        raise InputError(f"there is no entry {number}", file=book.path, hint=there)
    return book.entries[number - 1]
