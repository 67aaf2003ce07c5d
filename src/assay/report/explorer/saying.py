"""What a page says of what is not in it, and how to get it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import NamedTuple

from assay.report.explorer.limits import PageLimits
from assay.report.wording import count

_KILOBYTE, _MEGABYTE = 1_000, 1_000_000
#: From here on a size is said in megabytes.
_LARGE = 100_000


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of the source that was wanted is in the page, counted in queries."""

    differing: int  # on which engines differ
    complete: int  # of those: all of theirs is here
    begun: int  # of those: some of theirs is here
    others: bool  # whether what belongs to the other queries is here
    told: Sequence[str]  # the engines whose results come first
    empty: bool = False  # there is none at all, for want of room


@dataclass(frozen=True, slots=True)
class Shown:
    """What is in a page."""

    coverage: Coverage | None  # None: there is nobody to ask for source
    scores: bool
    traces: bool  # False: there were some, but no room


class Absence(NamedTuple):
    """A sentence on what is not in a page, and the block that would have it."""

    block: str
    text: str


def left_out(shown: Shown, limits: PageLimits, notes: Mapping[str, Sequence[str]]) -> list[Absence]:
    """Say what is not in a page; `notes` are those of whoever was asked for a block."""
    return [
        *(Absence("sources", text) for text in _sources(shown.coverage, limits)),
        *_dropped(shown, limits),
        *(Absence(block, text) for block, said in notes.items() for text in said),
    ]


def _sources(coverage: Coverage | None, limits: PageLimits) -> Iterator[str]:
    """Say which source is not here."""
    if not limits.source:
        yield "No source is in this file, as --no-source asked for: `assay report FOLDER` puts it in."
        return
    if coverage is None:
        yield "No source is in this file: nobody opened the corpora. `assay report FOLDER` does."
        return
    if coverage.empty:
        yield f"No source is in this file: there was no room for any. {_larger(limits)}"
        return
    yield (
        f"Source is shown around gold places and the first {limits.top} results of each engine, up to {limits.lines} "
        "lines of a place, for queries on which engines differ; of other queries around gold places only."
    )
    if coverage.complete < coverage.differing or not coverage.others:
        yield f"{_counts(coverage)} {_larger(limits)}"


def _counts(coverage: Coverage) -> str:
    """Count the queries whose source had no room."""
    if coverage.complete == coverage.differing:
        return "The gold places of queries on which no engine differs are not all here: the file would be too large."
    every = f"of {count(coverage.differing, 'query', 'queries')} that differ, those that differ most first"
    some, told = coverage.begun - coverage.complete, ", ".join(("gold", *coverage.told))
    if not coverage.begun:
        return f"There was room for none {every}."
    if not coverage.complete:
        return f"There was room for {some:,} {every}, and of those for {told} only."
    part = f"; {some:,} more have that of {told} only" if some else ""
    return f"There was room for all of {coverage.complete:,} {every}{part}."


def _dropped(shown: Shown, limits: PageLimits) -> Iterator[Absence]:
    """Say what else had no room."""
    large = f"the file would be too large. {_larger(limits)}"
    if not shown.scores:
        yield Absence("rankings", f"The scores that engines gave their results are not here: {large}")
    if not shown.traces:
        yield Absence("traces", f"The traces are not here: {large}")


def _larger(limits: PageLimits) -> str:
    """Give the command that makes a larger page."""
    return f"`assay report FOLDER --max-size {size_text(2 * limits.max_bytes)}` makes room."


def size_text(size: int) -> str:
    """Write a size so that --max-size reads it back, rounded up: whoever names it gets what it is about."""
    if size < _KILOBYTE:
        return f"{size}B"
    unit, name = (_KILOBYTE, "kB") if size < _LARGE else (_MEGABYTE, "MB")
    return f"{ceil(size / unit * 1000) / 1000:g}{name}"


def size_words(size: int) -> str:
    """Write a size for a sentence."""
    return count(size, "byte") if size < _KILOBYTE else size_text(size)


def in_folder(text: str, folder: str | Path) -> str:
    """Name the folder in a sentence for who is told it now; a page says FOLDER, for it is read anywhere."""
    return text.replace("`assay report FOLDER", f"`assay report {folder}")
