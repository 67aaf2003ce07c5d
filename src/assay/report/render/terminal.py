"""Render documents on a terminal."""

from __future__ import annotations

import io
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import singledispatch
from itertools import zip_longest
from typing import IO, TYPE_CHECKING, Final

from assay.report.render.document import (
    NOTHING,
    Bars,
    Block,
    Cell,
    Code,
    Collapsible,
    Document,
    Forest,
    Heading,
    IntervalPoint,
    Paragraph,
    RankingBlock,
    RankingLine,
    SideBySide,
    Sparks,
    Table,
    Tone,
    spark_text,
)
from assay.report.render.text import strip_control
from assay.terminal import Terminal, detect_terminal

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text


#: Where a long word may be cut: a path, a measure with its settings and its cut-off, a list without spaces.
_JOINTS: Final = re.compile(r"(?<=[/:,;(=_|])|(?=@)")


def cells(text: str) -> int:
    """Count the columns that a text takes; wide characters take two."""
    from rich.cells import cell_len

    return cell_len(text)


def fold(text: str, width: int) -> list[str]:
    """Cut a text into lines of at most `width` columns; nothing but spaces at the cuts is lost."""
    lines: list[str] = []
    for line in text.replace("\t", " ").split("\n"):
        lines += _folded(line, max(1, width))
    return lines


def _folded(line: str, width: int) -> Iterator[str]:
    now, used = "", 0
    for word in line.split():
        space = 1 if now else 0
        wide = cells(word)
        if used + space + wide <= width:
            now, used = f"{now}{' ' * space}{word}", used + space + wide
            continue
        if now:
            yield now
        *whole, now = _parts(word, width)
        yield from whole
        used = cells(now)
    yield now


def _parts(word: str, width: int) -> list[str]:
    parts = [""]
    for piece in _JOINTS.split(word) if cells(word) > width else [word]:
        for bit in _chopped(piece, width):
            if cells(parts[-1] + bit) <= width:
                parts[-1] += bit
            else:
                parts.append(bit)
    return parts


def _chopped(piece: str, width: int) -> Iterator[str]:
    if cells(piece) <= width:
        yield piece
        return
    now = ""
    for sign in piece:
        if now and cells(now + sign) > width:
            yield now
            now = ""
        now += sign
    yield now


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
    parts = _parts_grids(wide, width)
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
    left = room - sum(min(one, SHAPE.prose) + SHAPE.gap for one in wide[1:])
    return [min(wide[0], left) if left >= SHAPE.name * room else wide[0], *wide[1:]]


def _natural(block: Table, at: int) -> int:
    texts = (block.columns[at].title, *(row[at].text for row in block.rows))
    return max(cells(line) for text in texts for line in _lines(text))


def _lines(text: str) -> list[str]:
    return strip_control(text).replace("\t", " ").split("\n")


def _parts_grids(wide: Sequence[int], room: int) -> list[list[int]]:
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
    given = [wide[0], *(min(one, SHAPE.prose) for one in wide[1:])]
    left = room - sum(given) - SHAPE.gap * (len(given) - 1)
    for at, natural in enumerate(wide):
        more = min(max(left, 0), natural - given[at])
        given[at] += more
        left -= more
    return given


def _grid(block: Table, part: Sequence[int], widths: Sequence[int]) -> RenderableType:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim", safe_box=False)
    for at, width in zip(part, widths, strict=True):
        title = "\n".join(fold(strip_control(block.columns[at].title), width))
        grid.add_column(Text(title), justify=block.columns[at].align, overflow="fold")
    for row in block.rows:
        grid.add_row(*(_styled(row[at], width) for at, width in zip(part, widths, strict=True)))
    return grid


def _styled(cell: Cell, width: int) -> Text:
    from rich.text import Text

    return Text("\n".join(fold(strip_control(cell.text), width)), style=STYLES[cell.tone])


def _records(block: Table, width: int) -> Iterator[RenderableType]:
    from rich.text import Text

    titles = [strip_control(column.title) for column in block.columns]
    label = min(max(map(cells, titles[1:]), default=0), (width - 2 * SHAPE.indent) // 2)
    for row in block.rows:
        yield Text("\n".join(fold(strip_control(row[0].text), width)), style=STYLES[row[0].tone] or "bold")
        for title, cell in zip(titles[1:], row[1:], strict=True):
            yield _field(title, cell, label, width)


def _field(title: str, cell: Cell, label: int, width: int) -> Text:
    from rich.text import Text

    inner = " " * SHAPE.indent
    above = [f"{inner}{line}\n" for line in fold(title, width - SHAPE.indent)] if cells(title) > label else []
    head = "" if above else title
    text = Text("".join(above), style="dim")
    for number, value in enumerate(fold(strip_control(cell.text), width - label - 2 * SHAPE.indent)):
        shown = "" if number else head
        text.append("\n" if number else "")
        text.append(inner + shown + " " * (label - cells(shown)) + inner, style="dim" if shown else "not dim")
        text.append(value, style=f"not dim {STYLES[cell.tone]}".strip())
    return text


#: Below this many columns a path is cut into pieces that nobody reads.
_LEAST: Final = 36
#: What stands between two rankings.
_RULE: Final = " │ "


def draw_beside(block: SideBySide, width: int) -> Iterator[Text]:
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


def _stacked(listing: RankingBlock, width: int, *, first: bool) -> Iterator[Text]:
    if not first:
        yield _text("")
    yield from _listing(listing, width)
    yield from _notes(SideBySide((listing,)), width)


def _listing(listing: RankingBlock, width: int) -> Iterator[Text]:
    for line in fold(strip_control(listing.title), width):
        yield _text(line, "bold")
    yield _text("─" * width, "dim")
    shape = [max((cells(strip_control(getattr(e, part))) for e in listing.entries), default=0) for part in _COLUMNS]
    for entry in listing.entries:
        yield from _entry(entry, shape, width)


#: The narrow columns of an entry: what stands before its text, and what behind it.
_COLUMNS: Final = ("rank", "sign", "tail")


def _entry(entry: RankingLine, shape: list[int], width: int) -> Iterator[Text]:
    rank, sign, tail = shape
    room = max(1, width - rank - sign - tail - 2 - (1 if tail else 0))
    for number, line in enumerate(fold(strip_control(entry.text), room)):
        head = f"{_right(entry.rank, rank)} {_left(entry.sign, sign)}" if not number else " " * (rank + 1 + sign)
        text = _text(f"{head} ")
        text.append(_left(line, room), style=STYLES[entry.tone])
        if tail and not number:
            text.append(f" {_right(entry.tail, tail)}")
        text.stylize(STYLES[entry.tone], rank + 1, rank + 1 + sign)
        yield text


def _joined(lines: tuple[Text | None, ...], column: int) -> Text:
    whole = _text("")
    for number, line in enumerate(lines):
        if number:
            whole.append(_RULE, style="dim")
        shown = _text("") if line is None else line
        whole.append_text(shown)
        whole.append(" " * (column - cells(shown.plain)))
    return whole


def _notes(block: SideBySide, width: int) -> Iterator[Text]:
    alone = len(block.listings) == 1
    for listing in block.listings:
        if listing.note:
            said = listing.note if alone else f"{listing.title}: {listing.note}"
            for line in fold(strip_control(said), width):
                yield _text(line, "dim")


def _left(text: str, width: int) -> str:
    shown = strip_control(text)
    return shown + " " * (width - cells(shown))


def _right(text: str, width: int) -> str:
    shown = strip_control(text)
    return " " * (width - cells(shown)) + shown


def _text(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(text, style=style)


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
    terminal = detect_terminal(out, _PIPE_WIDTH)
    out.write(render_document(document, terminal))


def render_document(document: Document, terminal: Terminal) -> str:
    """Write a report as it is shown on a screen."""
    console = _console(terminal)
    _say(console, _SIGNS[document.tone] + document.title, f"bold {STYLES[document.tone]}".strip())
    for block in document.blocks:
        _show(block, console)
    return terminal.format(console.file.getvalue() if isinstance(console.file, io.StringIO) else "")


def _console(terminal: Terminal) -> Console:
    from rich.console import Console

    return Console(
        file=io.StringIO(),
        width=terminal.width,
        force_terminal=terminal.color,
        highlight=False,
        emoji=False,
        markup=False,
    )


def _say(console: Console, text: str, style: str = "") -> None:
    _lines_terminal(console, fold(strip_control(text), console.width), style)


def _lines_terminal(console: Console, lines: list[str], style: str = "") -> None:
    from rich.text import Text

    console.print(Text("\n".join(lines), style=style), soft_wrap=True)


@singledispatch
def _show(block: Block, console: Console) -> None:  # noqa: ARG001  # the signature that the renderers share
    raise TypeError(f"nothing prints a {type(block).__name__}")


@_show.register(Heading)
def _(block: Heading, console: Console) -> None:
    console.print()
    _say(console, block.text, "bold")


@_show.register(Paragraph)
def _(block: Paragraph, console: Console) -> None:
    _say(console, ("! " if block.tone == "warning" else "") + block.text, STYLES[block.tone])


@_show.register(Code)
def _(block: Code, console: Console) -> None:
    console.print(strip_control(block.text), soft_wrap=True)


@_show.register(Table)
def _(block: Table, console: Console) -> None:
    for part in draw_table(block, console.width):
        console.print(part)
    if block.note:
        _say(console, block.note, "dim")


@_show.register(SideBySide)
def _(block: SideBySide, console: Console) -> None:
    for line in draw_beside(block, console.width):
        console.print(line, soft_wrap=True)


@_show.register(Collapsible)
def _(block: Collapsible, console: Console) -> None:
    _say(console, block.elsewhere, "dim")


@_show.register(Bars)
def _(block: Bars, console: Console) -> None:
    most = max((bar.value for bar in block.bars), default=0) or 1
    texts = max((cells(strip_control(bar.text)) for bar in block.bars), default=0)
    label = _label_width([bar.label for bar in block.bars], console.width)
    room = max(_LEAST_BAR, min(_BAR, console.width - label - texts - 3))
    for bar in block.bars:
        drawn = "█" * round(room * bar.value / most) or NOTHING
        _drawn(console, bar.label, label, f"{drawn} {strip_control(bar.text)}")


@_show.register(Sparks)
def _(block: Sparks, console: Console) -> None:
    label = _label_width([spark.label for spark in block.sparks], console.width)
    for spark in block.sparks:
        _drawn(console, spark.label, label, f"{spark_text(spark, block.most)}  {strip_control(spark.text)}")
    if block.note:
        _say(console, block.note, "dim")


@_show.register(Forest)
def _(block: Forest, console: Console) -> None:
    if block.on_pages:
        return
    label = _label_width([item.label for item in block.estimates], console.width)
    room = min(_AXIS, _room(console, label))
    for item in block.estimates:
        _drawn(console, item.label, label, _interval(block, item, room), STYLES[item.tone])
    _drawn(console, "", label, _scale(block, room), "dim")


def _label_width(labels: list[str], width: int) -> int:
    longest = max((cells(strip_control(label)) for label in labels), default=0)
    return longest if longest + 1 + _LEAST_AXIS <= width else 0


def _room(console: Console, label: int) -> int:
    return console.width - (label + 1 if label else len(_INDENT))


def _drawn(console: Console, label: str, width: int, drawing: str, style: str = "") -> None:
    name = " ".join(strip_control(label).split("\n"))
    first, *rest = _kept_spaces(drawing, _room(console, width))
    if not width:
        if name:
            _say(console, name, style)
        lines = [_INDENT + line for line in (first, *rest)]
    else:
        lines = [" " * (width - cells(name)) + f"{name} {first}", *(" " * (width + 1) + line for line in rest)]
    _lines_terminal(console, lines, style)


def _kept_spaces(drawing: str, width: int) -> list[str]:
    return [drawing] if cells(drawing) <= width else fold(drawing, width)


def _place(block: Forest, value: float, room: int) -> int:
    span = (block.high - block.low) or 1.0
    return min(room - 1, max(0, round((room - 1) * (value - block.low) / span)))


def _interval(block: Forest, item: IntervalPoint, room: int) -> str:
    axis = [" "] * room
    if block.line is not None:
        axis[_place(block, block.line, room)] = "┊"
    for at in range(_place(block, item.low, room), _place(block, item.high, room) + 1):
        axis[at] = "─"
    axis[_place(block, item.value, room)] = "●"
    return "".join(axis)


def _scale(block: Forest, room: int) -> str:
    marks = [block.low, block.high] if block.line is None else [block.low, block.line, block.high]
    scale = [" "] * room
    for value in marks:
        text = f"{value:g}"
        at = min(max(0, _place(block, value, room) - len(text) // 2), room - len(text))
        scale[at : at + len(text)] = text
    return "".join(scale)


def plain(value: object) -> object:
    """Make a value JSON can hold in UTF-8, records by field: no number is null, half a character its code."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value


def indented(value: object, pad: str = "\n") -> str:
    """Write a plain value as `json.dumps(value, indent=1, ensure_ascii=False)` does, several times as fast."""
    if isinstance(value, dict) and value:
        inner = f",{pad} ".join([f"{_quoted(key)}: {indented(item, pad + ' ')}" for key, item in value.items()])
        return f"{{{pad} {inner}{pad}}}"
    if isinstance(value, list) and value:
        inner = f",{pad} ".join([indented(item, pad + " ") for item in value])
        return f"[{pad} {inner}{pad}]"
    if isinstance(value, str):
        return _quoted(value)
    return repr(value) if type(value) in (int, float) else _encoded(value)


_quoted = json.encoder.encode_basestring
_encoded = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
