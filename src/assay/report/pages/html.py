"""The report as one self-contained HTML file: no network, no script, light and dark. Everything is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from html import escape
from math import ceil
from textwrap import wrap

from assay.report.pages.document import (
    Bars,
    Beside,
    Block,
    Cell,
    Code,
    Document,
    Estimate,
    Folded,
    Forest,
    Heading,
    Paragraph,
    Spark,
    Sparks,
    Table,
)
from assay.report.pages.texts import code_spans, tame

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2129; --soft: #5d6673; --rule: #dfe3e8; --page: #fff; --panel: #f6f7f9;
  --good: #11734b; --bad: #b3261e; --warn: #8a5a00; --mark: #2b6cb0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --soft: #9aa4b1; --rule: #343a43; --page: #15181d;
  --panel: #1d2128; --good: #5fd39b; --bad: #ff8a80; --warn: #e6b450; --mark: #7fb4ea; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 84rem; padding: 2rem 1.25rem 4rem; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
p { max-width: 52rem; margin: .5rem 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; margin: .5rem 0; }
th, td { padding: .35rem .8rem .35rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
th { color: var(--soft); font-weight: 600; vertical-align: bottom; }
.right { text-align: right; } td.right { white-space: nowrap; }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--page); overflow-wrap: anywhere;
  min-width: 6rem; max-width: 22rem; }
table.many { font-size: .8rem; } .many th, .many td { padding-right: .55rem; }
code { font: .92em ui-monospace, monospace; background: var(--panel); padding: .05em .3em; }
.good { color: var(--good); font-weight: 600; } .bad { color: var(--bad); font-weight: 600; }
.quiet, .note { color: var(--soft); font-size: .9rem; }
p.warning { border-left: 3px solid var(--warn); background: var(--panel); padding: .5rem .8rem; }
td.warning { color: var(--warn); }
details { margin: .5rem 0; max-width: 84rem; } summary { cursor: pointer; }
pre { margin: .4rem 0; padding: .6rem .8rem; max-height: 24rem; overflow: auto; background: var(--panel);
  font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
svg { display: block; margin: .75rem 0; font: 13px system-ui, sans-serif; }
td.prose { min-width: 16rem; white-space: normal; overflow-wrap: anywhere; }
svg text { fill: var(--ink); } svg .soft { fill: var(--soft); } svg .axis { stroke: var(--rule); }
svg .zero { stroke: var(--soft); stroke-dasharray: 3 3; } svg .bar { fill: var(--mark); }
svg .plain, svg .quiet { stroke: var(--mark); fill: var(--mark); }
svg .good { stroke: var(--good); fill: var(--good); } svg .bad { stroke: var(--bad); fill: var(--bad); }
.beside { display: flex; flex-wrap: wrap; gap: 0 2rem; }
svg.spark { margin: 0; } tbody th { font-weight: 400; color: var(--ink); }
svg .warning { stroke: var(--warn); fill: var(--warn); }
@media print { body { max-width: none; padding: 0; } h2 { break-after: avoid; } table, svg { break-inside: avoid; } }
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_ROW = 24  # height of one row of a drawing whose label has one line
_LINE = 15  # height of each further line
_AXIS = 550  # width of what is drawn beside the labels
_LETTER = 7.2  # width of one character of a label, on average of those in names
_LABEL = 44  # characters of a label in one line; longer ones are wrapped
_LEAST = 190  # room for labels, so that drawings with short ones stand below each other
_SPARK, _TALL = 9, 20  # width of a small bar with its gap, and height of the tallest
_MANY = 10  # columns from which a table is set smaller
_PROSE = 48  # characters from which a cell is a text


def to_html(document: Document) -> str:
    """Write a report as one HTML page."""
    body = "\n".join(_render(block) for block in document.blocks)
    title = _safe(document.title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n"
        f'<body><main><h1 class="{document.tone}">{title}</h1>\n{body}\n</main></body></html>\n'
    )


def _safe(text: str) -> str:
    """Make a text one that a browser shows and never reads, also inside an attribute."""
    return escape(tame(text), quote=True)


def _prosaic(text: str) -> str:
    """Write sentences; commands in them are set as code."""
    parts = code_spans(tame(text))
    return "".join(f"<code>{_safe(part)}</code>" if code else _safe(part) for part, code in parts)


@singledispatch
def _render(block: Block) -> str:
    """Write one block."""
    raise TypeError(f"no HTML for {type(block).__name__}")


@_render.register
def _(block: Heading) -> str:
    return f"<h2>{_safe(block.text)}</h2>"


@_render.register
def _(block: Paragraph) -> str:
    return f'<p class="{block.tone}">{_prosaic(block.text)}</p>'


@_render.register
def _(block: Code) -> str:
    return f"<pre>{_safe(block.text)}</pre>"


@_render.register
def _(block: Table) -> str:
    heads = "".join(f'<th scope="col" class="{c.align}">{_foldable(c.title)}</th>' for c in block.columns)
    rows = "\n".join(
        "<tr>"
        + "".join(
            f'<td class="{column.align} {cell.tone}{_prose(cell)}">{_safe(cell.text)}</td>'
            for column, cell in zip(block.columns, row, strict=True)
        )
        + "</tr>"
        for row in block.rows
    )
    note = f'<p class="note">{_prosaic(block.note)}</p>' if block.note else ""
    many = ' class="many"' if len(block.columns) > _MANY else ""
    return (
        f'<div class="wide"><table{many}><thead><tr>{heads}</tr></thead><tbody>\n{rows}\n</tbody></table></div>{note}'
    )


@_render.register
def _(block: Beside) -> str:
    parts = "\n".join(f"<div>{_render(listing.as_table())}</div>" for listing in block.listings)
    return f'<div class="beside">{parts}</div>'


@_render.register
def _(block: Folded) -> str:
    return "\n".join(
        f"<details><summary>{_safe(leaf.title)}</summary><pre>{_safe(leaf.text)}</pre></details>"
        for leaf in block.leaves
    )


@_render.register
def _(block: Bars) -> str:
    most = max((bar.value for bar in block.bars), default=0) or 1
    labels = _Labels.of([bar.label for bar in block.bars])
    rows = []
    for place, bar in enumerate(block.bars):
        y, length = labels.middle(place), (_AXIS - 160) * bar.value / most
        rows.append(
            f"{labels.text(place)}"
            f'<rect class="bar" x="{labels.left}" y="{y - 8:g}" width="{length:.1f}" height="15" rx="2"/>'
            f'<text class="soft" x="{labels.left + length + 8:.1f}" y="{y + 4:g}">{_safe(bar.text)}</text>'
        )
    spoken = "; ".join(f"{bar.label}: {bar.text}" for bar in block.bars)
    return _svg(labels, 4, spoken, "\n".join(rows))


@_render.register
def _(block: Sparks) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{_safe(spark.label)}</th><td>{_spark(spark, block.most)}</td>'
        f"<td>{_safe(spark.text)}</td></tr>"
        for spark in block.sparks
    )
    note = f'<p class="note">{_prosaic(block.note)}</p>' if block.note else ""
    return f'<div class="wide"><table><tbody>\n{rows}\n</tbody></table></div>{note}'


@_render.register
def _(block: Forest) -> str:
    labels = _Labels.of([item.label for item in block.estimates])
    left, end = labels.left, labels.height + 6
    parts = [f'<line class="axis" x1="{left}" x2="{left + _AXIS}" y1="{end}" y2="{end}"/>']
    if block.line is not None:
        x = _x(block, block.line, left)
        parts.append(f'<line class="zero" x1="{x}" x2="{x}" y1="0" y2="{end}"/>')
    parts += [
        f'<text class="soft" x="{_x(block, value, left)}" y="{end + 18}" text-anchor="middle">{value:g}</text>'
        for value in (block.low, (block.low + block.high) / 2, block.high)
    ]
    parts += [labels.text(place) + _estimate(block, item, labels, place) for place, item in enumerate(block.estimates)]
    spoken = "; ".join(f"{e.label}: {e.value:.3f}, from {e.low:.3f} to {e.high:.3f}" for e in block.estimates)
    return _svg(labels, 32, spoken, "\n".join(parts))


def _spark(spark: Spark, most: float) -> str:
    """Draw a distribution as small bars, with a gap before what stands apart; its words stand beside it."""
    bars = [*enumerate(spark.values), (len(spark.values) + 0.6, spark.apart)]
    drawn = "".join(
        f'<rect class="bar" x="{_SPARK * at:.1f}" y="{_TALL - _TALL * value / most:.1f}" '
        f'width="{_SPARK - 2}" height="{_TALL * value / most:.1f}"/>'
        for at, value in bars
        if value > 0
    )
    width = _SPARK * (len(spark.values) + 2)
    return f'<svg class="spark" viewBox="0 0 {width} {_TALL}" width="{width}" aria-hidden="true">{drawn}</svg>'


def _foldable(title: str) -> str:
    """Let the name of a measure be wrapped where it is read apart: nDCG(level=lines)@10."""
    return _safe(title).replace("(", "(<wbr>").replace("@", "<wbr>@")


def _prose(cell: Cell) -> str:
    """Give long texts room, so that they do not become a column of single words."""
    return " prose" if len(cell.text) > _PROSE else ""


@dataclass(frozen=True, slots=True)
class _Labels:
    """What stands left of a drawing, one label a row, each in as many lines as it needs."""

    lines: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, labels: Sequence[str]) -> _Labels:
        """Wrap labels that are too long for one line."""
        return cls(tuple(tuple(wrap(tame(label), _LABEL)) or ("",) for label in labels))

    @property
    def left(self) -> int:
        """Where the drawing begins: right of the longest label."""
        return max(_LEAST, 20 + ceil(_LETTER * max((len(line) for label in self.lines for line in label), default=0)))

    @property
    def row(self) -> int:
        """The height of every row."""
        return _ROW + _LINE * (max((len(label) for label in self.lines), default=1) - 1)

    @property
    def height(self) -> int:
        """The height of all rows."""
        return self.row * len(self.lines)

    def middle(self, place: int) -> float:
        """The middle of a row."""
        return place * self.row + self.row / 2

    def text(self, place: int) -> str:
        """Write a label, its lines around the middle of its row."""
        lines = self.lines[place]
        first = self.middle(place) + 4 - _LINE * (len(lines) - 1) / 2
        return "".join(
            f'<text x="{self.left - 10}" y="{first + _LINE * at:g}" text-anchor="end">{_safe(line)}</text>'
            for at, line in enumerate(lines)
        )


def _estimate(block: Forest, item: Estimate, labels: _Labels, place: int) -> str:
    """Draw one estimate with its interval."""
    low, value, high = (_x(block, at, labels.left) for at in (item.low, item.value, item.high))
    y = f"{labels.middle(place):g}"
    return (
        f'<line class="{item.tone}" stroke-width="2" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>'
        f'<circle class="{item.tone}" cx="{value}" cy="{y}" r="4"/>'
    )


def _x(block: Forest, value: float, left: int) -> str:
    """Place a value on the axis."""
    share = (value - block.low) / ((block.high - block.low) or 1.0)
    return f"{left + _AXIS * min(1.0, max(0.0, share)):.1f}"


def _svg(labels: _Labels, more: int, spoken: str, body: str) -> str:
    """Wrap a drawing, with its content in words for those who do not see it."""
    width, height = labels.left + _AXIS + 20, labels.height + more
    size = f'viewBox="0 0 {width} {height}" width="{width}"'
    return f'<div class="wide"><svg {size} role="img" aria-label="{_safe(spoken)}">\n{body}\n</svg></div>'
