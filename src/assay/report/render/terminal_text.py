from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, zip_longest
from typing import IO, Final

from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from assay.report.render.document import (
    Block,
    Card,
    Cell,
    Code,
    Document,
    Heading,
    Paragraph,
    RankingBlock,
    SideBySide,
    Table,
    Tone,
)
from assay.report.render.formatting import strip_control
from assay.terminal import Terminal, detect_terminal

#: Without a terminal there is no width to fit; wide enough that no table is folded.
_PIPE_WIDTH = 160
#: Where a long word may be cut: a path, a measure with its settings and its cutoff, a list without spaces.
_JOINTS: Final = re.compile(r"(?<=[/:,;(=_|])|(?=@)")
_STYLES: Final[dict[Tone, str]] = {"plain": "", "good": "green", "bad": "red", "warning": "yellow", "quiet": "dim"}
#: Signs before a verdict, for output without color.
_SIGNS: Final[dict[Tone, str]] = {"plain": "", "good": "✓ ", "bad": "✗ ", "warning": "! ", "quiet": ""}
#: Colors of engines, in the order of their first appearance; green, red and yellow have meanings.
_ENGINE_COLORS: Final = ("cyan", "magenta", "blue", "bright_cyan", "bright_magenta", "bright_blue")
#: Titles of columns that name engines.
_ENGINE_COLUMNS: Final = ("Engine", "Baseline", "Variant")


@dataclass(frozen=True, slots=True)
class TableShape:
    title_lines: int = 3  # of a folded title
    word: int = 8  # columns of a word in a title that is not cut, such as "(ms)"
    text_lines: int = 2  # of a folded text, such as a verdict
    prose: int = 32  # columns from which a text is folded to leave space for the other columns
    gap: int = 3  # that rich puts between two columns
    name: float = 0.3  # of the width that row names keep when they are folded: a path in two or three lines
    side: float = 1.5  # columns beside the first that parts need on average; with fewer, records read better
    indent: int = 2  # of the fields of a record


_TABLE: Final = TableShape()
#: Columns of a ranking; narrower ones are below each other, because paths would be cut too often.
_LEAST_RANKING: Final = 36
#: Before the lines of a card.
_INDENT: Final = "  "
#: Between two rankings side by side.
_RULE: Final = " │ "


def print_document(document: Document, stream: IO[str] | None = None) -> None:
    """Print a document to a stream, by default stdout."""
    out = stream or sys.stdout
    out.write(render_document(document, detect_terminal(out, _PIPE_WIDTH)))


def render_document(document: Document, terminal: Terminal) -> str:
    out = io.StringIO()
    console = Console(
        file=out,
        width=terminal.width,
        force_terminal=terminal.color,
        color_system="standard" if terminal.color else None,  # rich reads NO_COLOR and TERM, but not --color
        no_color=False,
        highlight=False,
        emoji=False,
        markup=False,
    )
    if document.title:
        _print_text(console, _SIGNS[document.tone] + document.title, f"bold {_STYLES[document.tone]}".strip())
    colors = _engine_colors(document.blocks)
    for block in document.blocks:
        _print_block(block, console, colors)
    return terminal.format(out.getvalue())


def _engine_colors(blocks: Sequence[Block]) -> dict[str, str]:
    names = [
        row[at].text
        for block in blocks
        if isinstance(block, Table)
        for at, column in enumerate(block.columns)
        if column.title in _ENGINE_COLUMNS
        for row in block.rows
    ]
    return dict(zip(dict.fromkeys(names), cycle(_ENGINE_COLORS), strict=False))


def _print_block(block: Block, console: Console, colors: Mapping[str, str]) -> None:
    match block:
        case Heading():
            console.print()
            _print_text(console, block.text, "bold")
        case Paragraph():
            _print_text(console, ("! " if block.tone == "warning" else "") + block.text, _STYLES[block.tone])
        case Code():
            console.print(strip_control(block.text), soft_wrap=True)
        case Card():
            _print_text(console, block.lines[0], f"bold {_STYLES[block.tone]}".strip())
            for text in map(strip_control, block.lines[1:]):
                free = console.width - len(_INDENT)
                parts = [text] if cell_len(text) <= free else fold(text, free)
                _print_lines(console, [f"{_INDENT}{part}" for part in parts], "")
        case Table():
            for part in _draw_table(block, console.width, colors):
                console.print(part)
        case SideBySide():
            for line in _draw_rankings(block, console.width):
                console.print(line, soft_wrap=True)
    if isinstance(block, Table) and block.note:
        _print_text(console, block.note, "dim")


def _print_text(console: Console, text: str, style: str = "") -> None:
    _print_lines(console, fold(strip_control(text), console.width), style)


def _print_lines(console: Console, lines: Sequence[str], style: str) -> None:
    console.print(Text("\n".join(lines), style=style), soft_wrap=True)


def fold(text: str, width: int) -> list[str]:
    """Split a text into lines of at most `width` columns; only spaces at the cuts are lost."""
    width, lines = max(1, width), []
    for line in text.replace("\t", " ").split("\n"):
        now, used = "", 0
        for word in line.split():
            space, wide = 1 if now else 0, cell_len(word)
            if used + space + wide <= width:
                now, used = f"{now}{' ' * space}{word}", used + space + wide
                continue
            if now:
                lines.append(now)
            *whole, now = _split_word(word, width)
            lines += whole
            used = cell_len(now)
        lines.append(now)
    return lines


def _split_word(word: str, width: int) -> list[str]:
    parts = [""]
    for piece in _JOINTS.split(word) if cell_len(word) > width else [word]:
        for bit in _chop(piece, width):
            if cell_len(parts[-1] + bit) <= width:
                parts[-1] += bit
            else:
                parts.append(bit)
    return parts


def _chop(piece: str, width: int) -> list[str]:
    parts = [""]
    for sign in piece if cell_len(piece) > width else [piece]:
        if parts[-1] and cell_len(parts[-1] + sign) > width:
            parts.append("")
        parts[-1] += sign
    return parts


def _draw_table(block: Table, width: int, colors: Mapping[str, str]) -> Iterator[RenderableType]:
    """Draw a table without cutting values: in one grid, in several, or as records."""
    naturals = [_natural_width(block, at) for at in range(len(block.columns))]
    free = width - sum(min(natural, _TABLE.prose) + _TABLE.gap for natural in naturals[1:])
    if free >= _TABLE.name * width:
        naturals[0] = min(naturals[0], free)
    parts = _split_columns(naturals, width)
    if len(parts) > 1:
        least = [_least_width(block, at) for at in range(len(naturals))]
        if sum(least) + _TABLE.gap * (len(least) - 1) <= width:
            yield _draw_grid(block, range(len(least)), _spread_width(least, naturals, width), colors)
            return
    beside = [min(natural, _TABLE.prose) for natural in naturals[1:]]
    if not beside:
        yield _draw_grid(block, [0], [min(naturals[0], width)], colors)
    elif naturals[0] + _TABLE.gap + max(beside) > width or (len(parts) > 1 and len(beside) < _TABLE.side * len(parts)):
        yield from _draw_records(block, width, colors)
    else:
        for number, part in enumerate(parts):
            if number:
                yield ""
            wide = [naturals[at] for at in part]
            folded = [wide[0], *(min(natural, _TABLE.prose) for natural in wide[1:])]
            yield _draw_grid(block, part, _spread_width(folded, wide, width), colors)


def _natural_width(block: Table, at: int) -> int:
    texts = (block.columns[at].title, *(row[at].text for row in block.rows))
    return max(cell_len(line) for text in texts for line in strip_control(text).replace("\t", " ").split("\n"))


def _least_width(block: Table, at: int) -> int:
    """Return the narrowest width of a column: its title in three lines, its texts in two, its numbers in one."""
    title = strip_control(block.columns[at].title)
    words = title.split()
    pieces = [piece for word in words for piece in (_JOINTS.split(word) if cell_len(word) > _TABLE.word else [word])]
    least = _fold_width(title, _TABLE.title_lines, max(map(cell_len, pieces), default=0))
    for text in (strip_control(row[at].text) for row in block.rows):
        wide = cell_len(text)
        if block.columns[at].align == "left":
            word = max(map(cell_len, text.split()), default=0)
            wide = min(_fold_width(text, _TABLE.text_lines, word), max(word, _TABLE.prose))
        least = max(least, wide)
    return least


def _fold_width(text: str, lines: int, least: int) -> int:
    """Return the smallest width, from the least, that folds a text into this many lines."""
    natural = max(cell_len(line) for line in text.split("\n"))
    return next((width for width in range(least, natural) if len(fold(text, width)) <= lines), natural)


def _split_columns(naturals: Sequence[int], width: int) -> list[list[int]]:
    """Divide columns into parts that fit; the first column names the rows of each part."""
    parts, used = [[0]], naturals[0]
    for at, natural in enumerate(naturals[1:], start=1):
        taken = min(natural, _TABLE.prose) + _TABLE.gap
        if used + taken > width and len(parts[-1]) > 1:
            parts.append([0])
            used = naturals[0]
        parts[-1].append(at)
        used += taken
    return parts


def _spread_width(least: Sequence[int], naturals: Sequence[int], width: int) -> list[int]:
    """Widen columns, the first ones first, until no text is folded or the width is used."""
    widths = list(least)
    free = width - sum(widths) - _TABLE.gap * (len(widths) - 1)
    for at, natural in enumerate(naturals):
        more = min(max(free, 0), natural - widths[at])
        widths[at] += more
        free -= more
    return widths


def _draw_grid(block: Table, part: Sequence[int], widths: Sequence[int], colors: Mapping[str, str]) -> RenderableType:
    grid = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim", safe_box=False)
    for at, width in zip(part, widths, strict=True):
        column = block.columns[at]
        grid.add_column(_folded_text(column.title, width), justify=column.align, overflow="fold")
    for row in block.rows:
        cells = [(row[at], _cell_style(block, row, at, colors), width) for at, width in zip(part, widths, strict=True)]
        grid.add_row(*(_folded_text(cell.text, width, style) for cell, style, width in cells))
    return grid


def _cell_style(block: Table, row: Sequence[Cell], at: int, colors: Mapping[str, str]) -> str:
    names_engine = block.columns[at].title in _ENGINE_COLUMNS
    return _STYLES[row[at].tone] or (colors.get(row[at].text, "") if names_engine else "")


def _folded_text(text: str, width: int, style: str = "") -> Text:
    return Text("\n".join(fold(strip_control(text), width)), style=style)


def _draw_records(block: Table, width: int, colors: Mapping[str, str]) -> Iterator[RenderableType]:
    titles = [strip_control(column.title) for column in block.columns]
    label = min(max(map(cell_len, titles[1:]), default=0), (width - 2 * _TABLE.indent) // 2)
    for row in block.rows:
        name, *cells = row
        yield _folded_text(name.text, width, _cell_style(block, row, 0, colors) or "bold")
        for title, cell in zip(titles[1:], cells, strict=True):
            yield _draw_field(title, cell, label, width)


def _draw_field(title: str, cell: Cell, label: int, width: int) -> Text:
    inner = " " * _TABLE.indent
    above = [f"{inner}{line}\n" for line in fold(title, width - _TABLE.indent)] if cell_len(title) > label else []
    text = Text("".join(above), style="dim")
    for number, value in enumerate(fold(strip_control(cell.text), width - label - 2 * _TABLE.indent)):
        name = "" if number or above else title
        text.append("\n" if number else "")
        text.append(inner + name + " " * (label - cell_len(name)) + inner, style="dim" if name else "not dim")
        text.append(value, style=f"not dim {_STYLES[cell.tone]}".strip())
    return text


def _draw_rankings(block: SideBySide, width: int) -> Iterator[Text]:
    """Draw rankings in equally wide columns, or below each other."""
    number = max(1, len(block.listings))
    column = (width - len(_RULE) * (number - 1)) // number
    if number == 1 or column < _LEAST_RANKING:
        for at, listing in enumerate(block.listings):
            if at:
                yield Text("")
            yield from _draw_ranking(listing, width)
            yield from _draw_note(listing.note, width)
        return
    for lines in zip_longest(*(list(_draw_ranking(listing, column)) for listing in block.listings)):
        joined = Text("")
        for at, line in enumerate(lines):
            if at:
                joined.append(_RULE, style="dim")
            cell = line or Text("")
            joined.append_text(cell).append(" " * (column - cell_len(cell.plain)))
        yield joined
    for listing in block.listings:
        yield from _draw_note(listing.note and f"{listing.title}: {listing.note}", width)


def _draw_note(note: str, width: int) -> Iterator[Text]:
    for line in fold(strip_control(note), width) if note else ():
        yield Text(line, style="dim")


def _draw_ranking(listing: RankingBlock, width: int) -> Iterator[Text]:
    for line in fold(strip_control(listing.title), width):
        yield Text(line, style="bold")
    yield Text("─" * width, style="dim")
    entries = [tuple(map(strip_control, (e.rank, e.sign, e.tail, e.text))) for e in listing.entries]
    ranks, signs, tails = (max((cell_len(entry[at]) for entry in entries), default=0) for at in range(3))
    free = max(1, width - ranks - signs - tails - 2 - (1 if tails else 0))
    for (rank, sign, tail, path), entry in zip(entries, listing.entries, strict=True):
        for number, line in enumerate(fold(path, free)):
            head = f"{_pad(rank, ranks)}{rank} {sign}{_pad(sign, signs)}" if not number else " " * (ranks + 1 + signs)
            text = Text(f"{head} ")
            text.append(line + _pad(line, free), style=_STYLES[entry.tone])
            if tails and not number:
                text.append(f" {_pad(tail, tails)}{tail}")
            text.stylize(_STYLES[entry.tone], ranks + 1, ranks + 1 + signs)
            yield text


def _pad(text: str, width: int) -> str:
    return " " * (width - cell_len(text))
