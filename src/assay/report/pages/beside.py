"""Rankings side by side on a screen: each in its column, line by line; one below the other where that is too narrow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from assay.report.pages.document import Beside, Entry, Listing
from assay.report.pages.folding import cells, fold
from assay.report.pages.grids import STYLES
from assay.report.pages.texts import tame

if TYPE_CHECKING:
    from rich.text import Text

#: Below this many columns a path is cut into pieces that nobody reads.
_LEAST: Final = 36
#: What stands between two rankings.
_RULE: Final = " │ "


def draw_beside(block: Beside, width: int) -> Iterator[Text]:
    """Draw rankings; all columns are equally wide."""
    many = max(1, len(block.listings))
    column = (width - len(_RULE) * (many - 1)) // many
    if many == 1 or column < _LEAST:
        for number, listing in enumerate(block.listings):
            yield from _stacked(listing, width, first=not number)
        return
    drawn = [list(_listing(listing, column)) for listing in block.listings]
    for lines in zip_longest(*drawn):
        yield _joined(lines, column)
    yield from _notes(block, width)


def _stacked(listing: Listing, width: int, *, first: bool) -> Iterator[Text]:
    """Draw one ranking in all of the width, with its note."""
    if not first:
        yield _text("")
    yield from _listing(listing, width)
    yield from _notes(Beside((listing,)), width)


def _listing(listing: Listing, width: int) -> Iterator[Text]:
    """Draw a ranking: its title, a rule, and its entries."""
    for line in fold(tame(listing.title), width):
        yield _text(line, "bold")
    yield _text("─" * width, "dim")
    shape = [max((cells(tame(getattr(e, part))) for e in listing.entries), default=0) for part in _COLUMNS]
    for entry in listing.entries:
        yield from _entry(entry, shape, width)


#: The narrow columns of an entry: what stands before its text, and what behind it.
_COLUMNS: Final = ("rank", "sign", "tail")


def _entry(entry: Entry, shape: list[int], width: int) -> Iterator[Text]:
    """Draw one entry; a long text goes on below itself."""
    rank, sign, tail = shape
    room = max(1, width - rank - sign - tail - 2 - (1 if tail else 0))
    for number, line in enumerate(fold(tame(entry.text), room)):
        head = f"{_right(entry.rank, rank)} {_left(entry.sign, sign)}" if not number else " " * (rank + 1 + sign)
        text = _text(f"{head} ")
        text.append(_left(line, room), style=STYLES[entry.tone])
        if tail and not number:
            text.append(f" {_right(entry.tail, tail)}")
        text.stylize(STYLES[entry.tone], rank + 1, rank + 1 + sign)
        yield text


def _joined(lines: tuple[Text | None, ...], column: int) -> Text:
    """Put the lines of several rankings into one; a ranking that has ended leaves its room."""
    whole = _text("")
    for number, line in enumerate(lines):
        if number:
            whole.append(_RULE, style="dim")
        shown = _text("") if line is None else line
        whole.append_text(shown)
        whole.append(" " * (column - cells(shown.plain)))
    return whole


def _notes(block: Beside, width: int) -> Iterator[Text]:
    """Say what belongs to each ranking."""
    alone = len(block.listings) == 1
    for listing in block.listings:
        if listing.note:
            said = listing.note if alone else f"{listing.title}: {listing.note}"
            for line in fold(tame(said), width):
                yield _text(line, "dim")


def _left(text: str, width: int) -> str:
    """Fill a text up behind it."""
    shown = tame(text)
    return shown + " " * (width - cells(shown))


def _right(text: str, width: int) -> str:
    """Fill a text up before it."""
    shown = tame(text)
    return " " * (width - cells(shown)) + shown


def _text(text: str, style: str = "") -> Text:
    """Make a text of rich."""
    from rich.text import Text

    return Text(text, style=style)
