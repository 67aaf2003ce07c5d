from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.report.render.formatting import code_spans, strip_control

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


#: Markup at any position; escaped `:` and `.` keep addresses from becoming links.
_MARKUP = re.compile(r"[\\`*_\[\]|~$]|:(?=//)|(?<=www)\.")
#: The start of a line that would make it a heading, a list or a rule.
_OPENING = re.compile(r"^(?:[#+=-]|\d+(?=[.)](?:\s|$)))")
#: A mention: pages that render Markdown notify the person. A number after `@` is a cutoff.
_MENTION = re.compile(r"(?<!\w)@(?!\d+\b)(?=\w)")
#: A number that would become a link to an issue: `#1`, `octo/shop#1`, `GH-1`.
_ISSUE = re.compile(r"#(?=\d)|\bGH(?=-\d)", re.IGNORECASE)


def to_markdown(document: Document) -> str:
    parts = [f"# {_escape(document.title)}", *(block_markdown(block) for block in document.blocks)]
    return "\n\n".join(part for part in parts if part) + "\n"


def block_markdown(block: Block, level: int = 2) -> str:
    """Return one block as Markdown, headings at `level`."""
    match block:
        case Heading():
            return f"{'#' * level} {_escape(block.text)}"
        case Paragraph():
            return f"> **Note:** {_prose(block.text)}" if block.tone == "warning" else _line(block.text)
        case Code():
            text = strip_control(block.text)
            longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
            fence = "`" * max(3, longest + 1)  # longer than any fence in the text
            return f"{fence}text\n{text}\n{fence}"
        case Card():
            return block_markdown(Code(block.text))
        case Table():
            heads = [_escape(column.title) for column in block.columns]
            rules = ["---:" if column.align == "right" else "---" for column in block.columns]
            rows = [heads, rules, *([_cell(cell) for cell in row] for row in block.rows)]
            lines = [f"| {' | '.join(row)} |" for row in rows]
            return "\n".join(lines) + (f"\n\n{_line(block.note)}" if block.note else "")
        case SideBySide():
            return "\n\n".join(block_markdown(listing.as_table()) for listing in block.listings)


def _cell(cell: Cell) -> str:
    text = _escape(cell.text)
    return f"**{text}**" if text and cell.tone in ("good", "bad") else text


def _escape(text: str) -> str:
    flat = _MARKUP.sub(r"\\\g<0>", " ".join(strip_control(text).split()))
    flat = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _ISSUE.sub("\\g<0>\u2060", _MENTION.sub("@\u2060", flat))


def _prose(text: str) -> str:
    # parts are escaped one by one, which strips them: spaces at their ends are put back
    def spaced(part: str) -> str:
        return f"{' ' * part.startswith(' ')}{_escape(part)}{' ' * (part.endswith(' ') and part != ' ')}"

    flat = " ".join(strip_control(text).split())
    return "".join(f"`{part}`" if code else spaced(part) for part, code in code_spans(flat))


def _line(text: str) -> str:
    return _OPENING.sub(lambda found: f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}", _prose(text))
