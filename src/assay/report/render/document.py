from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Tone = Literal["plain", "good", "bad", "warning", "quiet"]
Align = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Heading:
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    align: Align = "left"


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    text: str


@dataclass(frozen=True, slots=True)
class RankingLine:
    rank: str
    sign: str  # target or adversary
    text: str
    tail: str = ""  # change of rank
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class RankingBlock:
    title: str
    entries: tuple[RankingLine, ...]
    note: str = ""

    def as_table(self) -> Table:
        """Return the ranking as a table, for formats without columns."""
        rows = [[Cell(e.rank), Cell(e.sign, e.tone), Cell(e.text, e.tone), Cell(e.tail)] for e in self.entries]
        return table([">#", "", self.title, "Move"], rows, self.note)


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Rankings side by side, or below each other if the terminal is narrow."""

    listings: tuple[RankingBlock, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """The lines of a decision, the outcome first."""

    lines: tuple[str, ...]
    tone: Tone

    @property
    def text(self) -> str:
        return "\n  ".join(self.lines)


Block = Heading | Paragraph | Table | SideBySide | Code | Card


@dataclass(frozen=True, slots=True)
class Document:
    title: str  # empty if the last block, a card, has it
    blocks: tuple[Block, ...]
    tone: Tone = "plain"  # of the title


def table(columns: Sequence[str], rows: Sequence[Sequence[str | Cell]], note: str = "") -> Table:
    """Build a table; columns whose title begins with `>` are right-aligned."""
    heads = tuple(Column(c.removeprefix(">"), "right" if c.startswith(">") else "left") for c in columns)
    cells = tuple(tuple(c if isinstance(c, Cell) else Cell(c) for c in row) for row in rows)
    return Table(heads, cells, note)


def drop_empty_columns(block: Table) -> Table:
    """Return a table without the columns that have no value in any row; the first column stays."""
    empty = {at for at in range(1, len(block.columns)) if all(row[at].text in ("", "–") for row in block.rows)}
    shown = [at for at in range(len(block.columns)) if at not in empty or not block.rows]
    rows = tuple(tuple(row[at] for at in shown) for row in block.rows)
    return Table(tuple(block.columns[at] for at in shown), rows, block.note)
