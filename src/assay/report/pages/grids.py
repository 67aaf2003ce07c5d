"""Tables on a screen of any width: whole, in parts that each have the first column, or one record below the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from assay.report.pages.document import Cell, Table, Tone
from assay.report.pages.folding import cells, fold
from assay.report.pages.texts import tame

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

STYLES: Final[dict[Tone, str]] = {"plain": "", "good": "green", "bad": "red", "warning": "yellow", "quiet": "dim"}


@dataclass(frozen=True, slots=True)
class Shape:
    """How tables are laid out."""

    prose: int = 32  # columns from which a text is folded, so that it leaves room for the others
    gap: int = 3  # what rich puts between two columns
    name: float = 0.3  # of the width that the names of rows keep when they are folded: a path in two or three lines
    side: float = 1.5  # columns beside the first that parts must have on average; with fewer, records read better
    indent: int = 2  # of what belongs to a record


SHAPE: Final = Shape()


def draw_table(block: Table, width: int) -> Iterator[RenderableType]:
    """Draw a table so that no line is wider than the screen and no value is lost."""
    wide = _narrowed([_natural(block, at) for at in range(len(block.columns))], width)
    parts = _parts(wide, width)
    first, beside = wide[0], [min(one, SHAPE.prose) for one in wide[1:]]
    if len(wide) == 1:
        yield _grid(block, [0], [min(first, width)])
    elif first + SHAPE.gap + max(beside) > width or (len(parts) > 1 and len(beside) < SHAPE.side * len(parts)):
        yield from _records(block, width)
    else:
        for number, part in enumerate(parts):
            if number:
                yield ""
            yield _grid(block, part, _spread([wide[at] for at in part], width))


def _narrowed(wide: Sequence[int], room: int) -> list[int]:
    """Fold long names of rows where the rest then stands beside them, all in one part."""
    left = room - sum(min(one, SHAPE.prose) + SHAPE.gap for one in wide[1:])
    return [min(wide[0], left) if left >= SHAPE.name * room else wide[0], *wide[1:]]


def _natural(block: Table, at: int) -> int:
    """Give the width that a column would like."""
    texts = (block.columns[at].title, *(row[at].text for row in block.rows))
    return max(cells(line) for text in texts for line in _lines(text))


def _lines(text: str) -> list[str]:
    """Give a cell's own lines, without what would move the others."""
    return tame(text).replace("\t", " ").split("\n")


def _parts(wide: Sequence[int], room: int) -> list[list[int]]:
    """Choose columns for each part so that every part fits; the first column names the rows of each."""
    parts, used = [[0]], wide[0]
    for at, natural in enumerate(wide[1:], start=1):
        taken = min(natural, SHAPE.prose) + SHAPE.gap
        if used + taken > room and len(parts[-1]) > 1:
            parts.append([0])
            used = wide[0]
        parts[-1].append(at)
        used += taken
    return parts


def _spread(wide: Sequence[int], room: int) -> list[int]:
    """Give each column of a part its width; what is left goes to folded texts, the first of them first."""
    given = [wide[0], *(min(one, SHAPE.prose) for one in wide[1:])]
    left = room - sum(given) - SHAPE.gap * (len(given) - 1)
    for at, natural in enumerate(wide):
        more = min(max(left, 0), natural - given[at])
        given[at] += more
        left -= more
    return given


def _grid(block: Table, part: Sequence[int], widths: Sequence[int]) -> RenderableType:
    """Draw some columns of a table without heavy rules."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim", safe_box=False)
    for at, width in zip(part, widths, strict=True):
        title = "\n".join(fold(tame(block.columns[at].title), width))
        grid.add_column(Text(title), justify=block.columns[at].align, overflow="fold")
    for row in block.rows:
        grid.add_row(*(_styled(row[at], width) for at, width in zip(part, widths, strict=True)))
    return grid


def _styled(cell: Cell, width: int) -> Text:
    """Fold a cell into its column."""
    from rich.text import Text

    return Text("\n".join(fold(tame(cell.text), width)), style=STYLES[cell.tone])


def _records(block: Table, width: int) -> Iterator[RenderableType]:
    """Write every row as a record: its name, then a line for each further column."""
    from rich.text import Text

    titles = [tame(column.title) for column in block.columns]
    label = min(max(map(cells, titles[1:]), default=0), (width - 2 * SHAPE.indent) // 2)
    for row in block.rows:
        yield Text("\n".join(fold(tame(row[0].text), width)), style=STYLES[row[0].tone] or "bold")
        for title, cell in zip(titles[1:], row[1:], strict=True):
            yield _field(title, cell, label, width)


def _field(title: str, cell: Cell, label: int, width: int) -> Text:
    """Write one value of a record behind its title, or below one that is too long for that."""
    from rich.text import Text

    inner = " " * SHAPE.indent
    above = [f"{inner}{line}\n" for line in fold(title, width - SHAPE.indent)] if cells(title) > label else []
    head = "" if above else title
    text = Text("".join(above), style="dim")
    for number, value in enumerate(fold(tame(cell.text), width - label - 2 * SHAPE.indent)):
        shown = "" if number else head
        text.append("\n" if number else "")
        text.append(inner + shown + " " * (label - cells(shown)) + inner, style="dim" if shown else "not dim")
        text.append(value, style=f"not dim {STYLES[cell.tone]}".strip())
    return text
