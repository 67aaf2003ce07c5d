"""The report on a terminal, by rich: colour only where it is wanted, lines that fit the width."""

from __future__ import annotations

import io
import os
import shutil
import sys
from functools import singledispatch
from typing import IO, TYPE_CHECKING

from assay.report.pages.document import Bars, Block, Code, Document, Folded, Forest, Heading, Paragraph, Table, Tone
from assay.report.pages.texts import tame

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

_STYLES: dict[Tone, str] = {"plain": "", "good": "green", "bad": "red", "warning": "yellow", "quiet": "dim"}

#: Without a terminal there is no width to fit; wide enough that no table of ours is folded.
_PIPE_WIDTH = 160
#: A column of prose is folded at this width, so that it leaves room for the others.
_PROSE = 32
#: What rich puts between two columns.
_GAP = 3


def print_document(document: Document, stream: IO[str] | None = None) -> None:
    """Print a report to a stream, by default stdout."""
    out = stream or sys.stdout
    console = _console(out)
    console.print(tame(document.title), style="bold", markup=False, highlight=False)
    for block in document.blocks:
        _show(block, console)
    text = console.file.getvalue() if isinstance(console.file, io.StringIO) else ""
    out.write(text)


def _console(stream: IO[str]) -> Console:
    """Make a console that draws into memory: rich itself ends the process when a pipe closes.

    It honours NO_COLOR and TERM; the width is the terminal's, or COLUMNS.
    """
    from rich.console import Console

    width = shutil.get_terminal_size().columns if stream.isatty() or "COLUMNS" in os.environ else _PIPE_WIDTH
    return Console(file=io.StringIO(), width=width, force_terminal=stream.isatty(), highlight=False, emoji=False)


@singledispatch
def _show(block: Block, console: Console) -> None:  # noqa: ARG001  # the signature that the renderers share
    """Print one block."""
    raise TypeError(f"nothing prints a {type(block).__name__}")


@_show.register(Heading)
def _(block: Heading, console: Console) -> None:
    """Print a section's title."""
    console.print(f"\n{tame(block.text)}", style="bold", markup=False)


@_show.register(Paragraph)
def _(block: Paragraph, console: Console) -> None:
    """Print sentences, folded at words."""
    mark = "! " if block.tone == "warning" else ""
    console.print(mark + tame(block.text), style=_STYLES[block.tone], markup=False)


@_show.register(Code)
def _(block: Code, console: Console) -> None:
    """Print lines as they stand: folded ones could not be copied."""
    console.print(tame(block.text), markup=False, soft_wrap=True)


@_show.register(Table)
def _(block: Table, console: Console) -> None:
    """Print a table; one that is too wide is printed in parts, each with the first column."""
    widths = [min(_PROSE, max(len(text) for text in _texts(block, at))) + _GAP for at in range(len(block.columns))]
    for part in _parts(widths, console.width):
        console.print(_grid(block, part))
    if block.note:
        console.print(tame(block.note), style="dim", markup=False)


def _texts(block: Table, at: int) -> list[str]:
    """List what stands in one column."""
    return [tame(text) for text in (block.columns[at].title, *(row[at].text for row in block.rows))]


def _parts(widths: list[int], room: int) -> list[list[int]]:
    """Choose columns for each part so that every part fits; the first column names the rows of each."""
    parts, used = [[0]], widths[0]
    for at, width in enumerate(widths[1:], start=1):
        if used + width > room and len(parts[-1]) > 1:
            parts.append([0])
            used = widths[0]
        parts[-1].append(at)
        used += width
    return parts


def _grid(block: Table, part: list[int]) -> RichTable:
    """Draw some columns of a table without heavy rules."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim")
    for at in part:
        column = block.columns[at]
        grid.add_column(Text(tame(column.title)), justify=column.align, overflow="fold", no_wrap=at == 0)
    for row in block.rows:
        grid.add_row(*(Text(tame(row[at].text), style=_STYLES[row[at].tone]) for at in part))
    return grid


@_show.register(Folded)
def _(block: Folded, console: Console) -> None:
    """Say where to read it."""
    console.print(tame(block.elsewhere), style="dim", markup=False)


@_show.register(Bars)
def _(block: Bars, console: Console) -> None:
    """Print a distribution as bars of blocks."""
    most = max((bar.value for bar in block.bars), default=0) or 1
    wide = max((len(bar.label) for bar in block.bars), default=0)
    for bar in block.bars:
        length = round(30 * bar.value / most)
        console.print(tame(f"{bar.label:>{wide}} {'█' * length or '·'} {bar.text}"), markup=False)


@_show.register(Forest)
def _(block: Forest, console: Console) -> None:
    """Print intervals as lines on one axis."""
    if block.on_pages:
        return
    wide = max((len(e.label) for e in block.estimates), default=0)
    width = 40
    span = (block.high - block.low) or 1.0

    def place(value: float) -> int:
        return min(width - 1, max(0, round((width - 1) * (value - block.low) / span)))

    for item in block.estimates:
        axis = [" "] * width
        if block.line is not None:
            axis[place(block.line)] = "┊"
        for at in range(place(item.low), place(item.high) + 1):
            axis[at] = "─"
        axis[place(item.value)] = "●"
        console.print(f"{tame(item.label):>{wide}} {''.join(axis)}", style=_STYLES[item.tone], markup=False)
