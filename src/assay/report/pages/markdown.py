"""The report as Markdown, for RESULTS.md and pull requests."""

from __future__ import annotations

import re
from functools import singledispatch

from assay.report.pages.document import (
    Bars,
    Beside,
    Block,
    Cell,
    Code,
    Document,
    Folded,
    Forest,
    Heading,
    Paragraph,
    Sparks,
    Table,
    spark_text,
)
from assay.report.pages.texts import code_spans, tame

#: What is markup wherever it stands; `:` of an address and the dot of `www.` keep it from becoming a link.
_MARKUP = re.compile(r"[\\`*_\[\]|~$]|:(?=//)|(?<=www)\.")
#: What makes a heading, a list or a rule of a line that begins with it.
_OPENING = re.compile(r"^(?:[#+=-]|\d+(?=[.)](?:\s|$)))")
#: A name that would be told of it: pages that show Markdown send people a message where they are mentioned.
_MENTION = re.compile(r"(?<!\w)@(?!\d+\b)(?=\w)")  # a number behind it is a cut-off

#: A number that would become a link to an issue: `#1`, `octo/shop#1`, `GH-1`.
_ISSUE = re.compile(r"#(?=\d)|\bGH(?=-\d)", re.IGNORECASE)


def to_markdown(document: Document) -> str:
    """Write a report as Markdown."""
    parts = [f"# {_escape(document.title)}", *(block_markdown(block) for block in document.blocks)]
    return "\n\n".join(part for part in parts if part) + "\n"


def block_markdown(block: Block, level: int = 2) -> str:
    """Write one block, the title of a section at a level; empty where Markdown cannot show it."""
    return f"{'#' * level} {_escape(block.text)}" if isinstance(block, Heading) else _render(block)


@singledispatch
def _render(block: Block) -> str:
    """Write one block."""
    raise TypeError(f"no Markdown for {type(block).__name__}")


@_render.register
def _(block: Paragraph) -> str:
    return f"> **Note:** {_prosaic(block.text)}" if block.tone == "warning" else _line(block.text)


@_render.register
def _(block: Code) -> str:
    text = tame(block.text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)  # so that what is inside cannot end it
    return f"{fence}text\n{text}\n{fence}"


@_render.register
def _(block: Table) -> str:
    heads = [_escape(c.title) for c in block.columns]
    rules = ["---:" if c.align == "right" else "---" for c in block.columns]
    rows = [[_cell(cell) for cell in row] for row in block.rows]
    lines = [f"| {' | '.join(row)} |" for row in [heads, rules, *rows]]
    return "\n".join(lines) + (f"\n\n{_line(block.note)}" if block.note else "")


@_render.register
def _(block: Bars) -> str:
    most = max((bar.value for bar in block.bars), default=0) or 1
    wide = max((len(bar.label) for bar in block.bars), default=0)
    lines = [f"{b.label:>{wide}} {'█' * round(30 * b.value / most) or '·'} {b.text}" for b in block.bars]
    return "```text\n" + "\n".join(_fenced(line) for line in lines) + "\n```"


@_render.register
def _(block: Sparks) -> str:
    wide = max((len(_fenced(spark.label)) for spark in block.sparks), default=0)
    lines = [f"{_fenced(s.label):>{wide}} {spark_text(s, block.most)}  {_fenced(s.text)}" for s in block.sparks]
    return "```text\n" + "\n".join(lines) + "\n```" + (f"\n\n{_line(block.note)}" if block.note else "")


@_render.register
def _(block: Beside) -> str:
    return "\n\n".join(_render(listing.as_table()) for listing in block.listings)


@_render.register
def _(block: Folded) -> str:
    return _line(block.elsewhere)


@_render.register
def _(_: Forest) -> str:
    return ""  # its numbers stand in the table beside it; Markdown has no axis to draw them on


def _fenced(text: str) -> str:
    """Keep a line inside its fence."""
    return " ".join(tame(text).replace("`", "'").split("\n"))


def _cell(cell: Cell) -> str:
    """Write a cell, the good and the bad in bold."""
    text = _escape(cell.text)
    return f"**{text}**" if text and cell.tone in ("good", "bad") else text


def _escape(text: str) -> str:
    """Keep text from being read as markup, HTML, a link or a call to somebody."""
    flat = _MARKUP.sub(r"\\\g<0>", " ".join(tame(text).split()))
    flat = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _ISSUE.sub("\\g<0>\u2060", _MENTION.sub("@\u2060", flat))


def _prosaic(text: str) -> str:
    """Write sentences; what stands in backticks stays code, in which nothing is markup and nothing ends it."""
    # A cut removes no space, and parts are escaped one by one: spaces at their ends are put back.
    flat = " ".join(tame(text).split())
    return "".join(f"`{part}`" if code else _spaced(part) for part, code in code_spans(flat))


def _spaced(part: str) -> str:
    """Escape a part of a sentence and keep the spaces around it."""
    return f"{' ' * part.startswith(' ')}{_escape(part)}{' ' * (part.endswith(' ') and part != ' ')}"


def _line(text: str) -> str:
    """Write a paragraph; of a number at its beginning it is the mark behind it that would make a list."""
    return _OPENING.sub(lambda found: f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}", _prosaic(text))
