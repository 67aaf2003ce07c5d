"""Blocks of a document, independent of the output format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Tone = Literal["plain", "good", "bad", "warning", "quiet"]
Align = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Heading:
    """A section's title."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One or more sentences."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title and alignment."""

    title: str
    align: Align = "left"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under columns, with a note that belongs to them."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a distribution."""

    label: str
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Bars:
    """A distribution."""

    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Spark:
    """A distribution in one line: what is counted in order, and what stands apart behind it."""

    label: str
    values: tuple[float, ...]
    apart: float
    text: str  # the numbers that matter, in words


@dataclass(frozen=True, slots=True)
class Sparks:
    """Distributions below each other, drawn to one scale."""

    sparks: tuple[Spark, ...]
    note: str = ""

    @property
    def most(self) -> float:
        """The largest value of all, which the others are drawn against."""
        return max((value for spark in self.sparks for value in (*spark.values, spark.apart)), default=0) or 1


@dataclass(frozen=True, slots=True)
class IntervalPoint:
    """A point with its interval."""

    label: str
    value: float
    low: float
    high: float
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Forest:
    """Estimates over one axis, with a line of no difference where there is one."""

    estimates: tuple[IntervalPoint, ...]
    low: float
    high: float
    line: float | None = None
    on_pages: bool = False  # drawn where one can scroll only: a terminal has no room for every measure


@dataclass(frozen=True, slots=True)
class Preformatted:
    """Lines that a program wrote, as they are, under a title."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Collapsible:
    """Long texts that are unfolded on demand; where nothing can be folded a sentence says where they are."""

    leaves: tuple[Preformatted, ...]
    elsewhere: str


@dataclass(frozen=True, slots=True)
class Code:
    """Lines that are copied as they stand: command lines, rankings."""

    text: str


@dataclass(frozen=True, slots=True)
class RankingLine:
    """One line of a ranking."""

    rank: str
    sign: str  # what it is, in a sign or two
    text: str
    tail: str = ""  # how it moved
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class RankingBlock:
    """A ranking under its title."""

    title: str
    entries: tuple[RankingLine, ...]
    note: str = ""

    def as_table(self) -> Table:
        """Show it where nothing can stand beside it."""
        rows = [[Cell(e.rank), Cell(e.sign, e.tone), Cell(e.text, e.tone), Cell(e.tail)] for e in self.entries]
        return table([">#", "", self.title, "moved"], rows, self.note)


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Rankings side by side where there is room, below each other where there is none."""

    listings: tuple[RankingBlock, ...]


Block = Heading | Paragraph | Table | Bars | Sparks | Forest | SideBySide | Collapsible | Code


@dataclass(frozen=True, slots=True)
class Document:
    """A report."""

    title: str
    blocks: tuple[Block, ...]
    tone: Tone = "plain"  # of the title, where that is a verdict


def table(columns: Sequence[str], rows: Sequence[Sequence[str | Cell]], note: str = "") -> Table:
    """Make a table; a column title that begins with `>` is aligned right."""
    heads = tuple(Column(c.removeprefix(">"), "right" if c.startswith(">") else "left") for c in columns)
    cells = tuple(tuple(c if isinstance(c, Cell) else Cell(c) for c in row) for row in rows)
    return Table(heads, cells, note)


#: Heights of a bar in one character, from the least that is not nothing.
LEVELS = "▁▂▃▄▅▆▇█"
#: What was counted never.
NOTHING = "·"


def spark_text(spark: Spark, most: float) -> str:
    """Draw a distribution in characters; whatever is more than nothing is seen."""
    return f"{''.join(_level(value, most) for value in spark.values)} {_level(spark.apart, most)}"


def _level(value: float, most: float) -> str:
    return LEVELS[min(len(LEVELS) - 1, int(value / most * len(LEVELS)))] if value > 0 else NOTHING
