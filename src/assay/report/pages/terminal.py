"""The report on a terminal, by rich: colour only where it is wanted, lines that fit the width, plain where it is piped.

A verdict has a sign before it and not only a colour. Where blocks and lines cannot be shown they are drawn in ASCII.
"""

from __future__ import annotations

import io
import sys
from functools import singledispatch
from typing import IO, TYPE_CHECKING, Final

from assay.report.pages.beside import draw_beside
from assay.report.pages.document import (
    NOTHING,
    Bars,
    Beside,
    Block,
    Code,
    Document,
    Estimate,
    Folded,
    Forest,
    Heading,
    Paragraph,
    Sparks,
    Table,
    Tone,
    spark_text,
)
from assay.report.pages.folding import cells, fold
from assay.report.pages.grids import STYLES, draw_table
from assay.report.pages.texts import tame
from assay.screen import Screen, screen_of

if TYPE_CHECKING:
    from rich.console import Console

#: Without a terminal there is no width to fit; wide enough that no table of ours is folded.
_PIPE_WIDTH = 160
#: What stands before a verdict, for those who see no colour.
_SIGNS: Final[dict[Tone, str]] = {"plain": "", "good": "✓ ", "bad": "✗ ", "warning": "! ", "quiet": ""}
#: Columns of a drawing: enough to tell hundredths of a measure in forty steps apart, and half of a small terminal.
_AXIS = 40
#: Columns of the longest bar, and of one that has hardly any room.
_BAR, _LEAST_BAR = 30, 4
#: Below this many columns beside its label a drawing gets a line of its own.
_LEAST_AXIS = 16
#: Before a drawing that stands below its label.
_INDENT = "  "


def print_document(document: Document, stream: IO[str] | None = None) -> None:
    """Print a report to a stream, by default stdout."""
    out = stream or sys.stdout
    screen = screen_of(out, _PIPE_WIDTH)
    out.write(render_document(document, screen))


def render_document(document: Document, screen: Screen) -> str:
    """Write a report as it is shown on a screen."""
    console = _console(screen)
    _say(console, _SIGNS[document.tone] + document.title, f"bold {STYLES[document.tone]}".strip())
    for block in document.blocks:
        _show(block, console)
    return screen.written(console.file.getvalue() if isinstance(console.file, io.StringIO) else "")


def _console(screen: Screen) -> Console:
    """Make a console that draws into memory: rich itself ends the process when a pipe closes."""
    from rich.console import Console

    return Console(
        file=io.StringIO(), width=screen.width, force_terminal=screen.colour, highlight=False, emoji=False, markup=False
    )


def _say(console: Console, text: str, style: str = "") -> None:
    """Print sentences, folded at words."""
    _lines(console, fold(tame(text), console.width), style)


def _lines(console: Console, lines: list[str], style: str = "") -> None:
    """Print lines that fit already."""
    from rich.text import Text

    console.print(Text("\n".join(lines), style=style), soft_wrap=True)


@singledispatch
def _show(block: Block, console: Console) -> None:  # noqa: ARG001  # the signature that the renderers share
    """Print one block."""
    raise TypeError(f"nothing prints a {type(block).__name__}")


@_show.register(Heading)
def _(block: Heading, console: Console) -> None:
    """Print a section's title."""
    console.print()
    _say(console, block.text, "bold")


@_show.register(Paragraph)
def _(block: Paragraph, console: Console) -> None:
    """Print sentences."""
    _say(console, ("! " if block.tone == "warning" else "") + block.text, STYLES[block.tone])


@_show.register(Code)
def _(block: Code, console: Console) -> None:
    """Print lines as they stand: folded ones could not be copied."""
    console.print(tame(block.text), soft_wrap=True)


@_show.register(Table)
def _(block: Table, console: Console) -> None:
    """Print a table, and what belongs to it."""
    for part in draw_table(block, console.width):
        console.print(part)
    if block.note:
        _say(console, block.note, "dim")


@_show.register(Beside)
def _(block: Beside, console: Console) -> None:
    """Print rankings side by side, or below each other."""
    for line in draw_beside(block, console.width):
        console.print(line, soft_wrap=True)


@_show.register(Folded)
def _(block: Folded, console: Console) -> None:
    """Say where to read it."""
    _say(console, block.elsewhere, "dim")


@_show.register(Bars)
def _(block: Bars, console: Console) -> None:
    """Print a distribution as bars of blocks."""
    most = max((bar.value for bar in block.bars), default=0) or 1
    texts = max((cells(tame(bar.text)) for bar in block.bars), default=0)
    label = _label_width([bar.label for bar in block.bars], console.width)
    room = max(_LEAST_BAR, min(_BAR, console.width - label - texts - 3))
    for bar in block.bars:
        drawn = "█" * round(room * bar.value / most) or NOTHING
        _drawn(console, bar.label, label, f"{drawn} {tame(bar.text)}")


@_show.register(Sparks)
def _(block: Sparks, console: Console) -> None:
    """Print distributions below each other, a line each."""
    label = _label_width([spark.label for spark in block.sparks], console.width)
    for spark in block.sparks:
        _drawn(console, spark.label, label, f"{spark_text(spark, block.most)}  {tame(spark.text)}")
    if block.note:
        _say(console, block.note, "dim")


@_show.register(Forest)
def _(block: Forest, console: Console) -> None:
    """Print intervals as lines on one axis, with its ends below."""
    if block.on_pages:
        return
    label = _label_width([item.label for item in block.estimates], console.width)
    room = min(_AXIS, _room(console, label))
    for item in block.estimates:
        _drawn(console, item.label, label, _interval(block, item, room), STYLES[item.tone])
    _drawn(console, "", label, _scale(block, room), "dim")


def _label_width(labels: list[str], width: int) -> int:
    """Give labels the room they need, or none where a line of their own is better."""
    longest = max((cells(tame(label)) for label in labels), default=0)
    return longest if longest + 1 + _LEAST_AXIS <= width else 0


def _room(console: Console, label: int) -> int:
    """Count the columns that a drawing has: behind labels of some width, or on a line of its own."""
    return console.width - (label + 1 if label else len(_INDENT))


def _drawn(console: Console, label: str, width: int, drawing: str, style: str = "") -> None:
    """Print a drawing behind its label, or below it where both have no room in a line; words are folded."""
    name = " ".join(tame(label).split("\n"))
    first, *rest = _kept_spaces(drawing, _room(console, width))
    if not width:
        if name:
            _say(console, name, style)
        lines = [_INDENT + line for line in (first, *rest)]
    else:
        lines = [" " * (width - cells(name)) + f"{name} {first}", *(" " * (width + 1) + line for line in rest)]
    _lines(console, lines, style)


def _kept_spaces(drawing: str, width: int) -> list[str]:
    """Keep a drawing that fits as it is; else fold the words behind it."""
    return [drawing] if cells(drawing) <= width else fold(drawing, width)


def _place(block: Forest, value: float, room: int) -> int:
    """Find the column of a value."""
    span = (block.high - block.low) or 1.0
    return min(room - 1, max(0, round((room - 1) * (value - block.low) / span)))


def _interval(block: Forest, item: Estimate, room: int) -> str:
    """Draw one estimate with its interval."""
    axis = [" "] * room
    if block.line is not None:
        axis[_place(block, block.line, room)] = "┊"
    for at in range(_place(block, item.low, room), _place(block, item.high, room) + 1):
        axis[at] = "─"
    axis[_place(block, item.value, room)] = "●"
    return "".join(axis)


def _scale(block: Forest, room: int) -> str:
    """Write the ends of the axis below it, and its line of no difference."""
    marks = [block.low, block.high] if block.line is None else [block.low, block.line, block.high]
    scale = [" "] * room
    for value in marks:
        text = f"{value:g}"
        at = min(max(0, _place(block, value, room) - len(text) // 2), room - len(text))
        scale[at : at + len(text)] = text
    return "".join(scale)
