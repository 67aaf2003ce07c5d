"""How results look to a person: lines that fit, colour only where it is wanted, nothing that acts on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.search.trace import Excerpt
    from assay.types import Hit


@dataclass(frozen=True, slots=True)
class Layout:
    """How wide and how long."""

    lines: int = 6  # of a result: ten results are read in one look
    piped: int = 240  # columns where there is no terminal: code fits, a minified file does not flood
    tab: int = 4
    number: int = 6  # columns of a line number


LAYOUT: Final = Layout()


@dataclass(frozen=True, slots=True)
class Page:
    """Where results are shown."""

    width: int
    colour: bool

    def paint(self, text: str, code: str) -> str:
        """Colour a text, where colours are wanted."""
        return f"\033[{code}m{text}\033[0m" if self.colour else text

    def bold(self, text: str) -> str:
        """Make a text stand out."""
        return self.paint(text, "1")

    def dim(self, text: str) -> str:
        """Make a text stand back."""
        return self.paint(text, "2")

    def match(self, text: str) -> str:
        """Mark a word that was asked for."""
        return self.paint(text, "1;33")


def page() -> Page:
    """Look at where stdout goes."""
    from assay.screen import screen_of

    screen = screen_of(sys.stdout, LAYOUT.piped)
    return Page(screen.width, screen.colour)


def show_hit(page: Page, rank: int, hit: Hit, excerpt: Excerpt | None, weights: Mapping[str, float]) -> Iterator[str]:
    """Write a result as lines."""
    yield headline(page, rank, hit)
    if excerpt is not None:
        for number, line in enumerate(excerpt.lines, start=excerpt.start):
            label = page.dim(f"{number:>{LAYOUT.number}} │ ")
            yield label + _marked(page, fit(line, page.width - LAYOUT.number - 3), weights)


def headline(page: Page, rank: int, hit: Hit, more: str = "") -> str:
    """Write where a result is, and how good."""
    score = "" if hit.score is None else page.dim(f"  {hit.score:.3f}")
    return f"{rank:>3}  {page.bold(clean(str(hit.span)))}{score}{more}"


def _marked(page: Page, line: str, weights: Mapping[str, float]) -> str:
    """Mark the words that were asked for."""
    if not page.colour or not weights:
        return line
    from assay.search.trace import matched_words

    for start, end in reversed(matched_words(line, weights)):
        line = line[:start] + page.match(line[start:end]) + line[end:]
    return line


def clean(text: str) -> str:
    """Take out what would act on a terminal instead of being shown on it."""
    text = text.expandtabs(LAYOUT.tab)
    return text if text.isprintable() else "".join(char if char.isprintable() else "�" for char in text)


def fit(line: str, room: int) -> str:
    """Cut a line at so many columns; wide characters take two."""
    from rich.cells import cell_len, set_cell_size

    line = clean(line[: room * LAYOUT.tab + 1])  # no more can be seen, and a line may have megabytes
    return line if cell_len(line) <= room else set_cell_size(line, room - 1).rstrip() + "…"


def check_lines(count: int) -> int:
    """Refuse fewer lines than none."""
    if count < 0:
        raise ConfigError(f"--lines {count}", hint="it is 0 (no snippets) or more")
    return count
