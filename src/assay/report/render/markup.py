"""Render documents as Markdown and as self-contained HTML; both escape all text."""

from __future__ import annotations

import re
from html import escape

from assay.browser.bundle import GENERATOR
from assay.report.render.document import (
    Block,
    Card,
    Cell,
    Code,
    Document,
    Forest,
    Heading,
    Paragraph,
    SideBySide,
    Sparks,
    Table,
    spark_text,
)
from assay.report.render.text import code_spans, strip_control

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
pre { margin: .4rem 0; padding: .6rem .8rem; max-height: 24rem; overflow: auto; background: var(--panel);
  font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
td.prose { min-width: 16rem; white-space: normal; overflow-wrap: anywhere; }
@media print { body { max-width: none; padding: 0; } h2 { break-after: avoid; } table { break-inside: avoid; } }
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_MANY = 10  # columns from which a table is set smaller
_PROSE = 48  # characters from which a cell is wrapped as prose

#: Markup at any position; escaped `:` and `.` keep addresses from becoming links.
_MARKUP = re.compile(r"[\\`*_\[\]|~$]|:(?=//)|(?<=www)\.")
#: The start of a line that would make it a heading, a list or a rule.
_OPENING = re.compile(r"^(?:[#+=-]|\d+(?=[.)](?:\s|$)))")
#: A mention: pages that render Markdown notify the person. A number after `@` is a cutoff.
_MENTION = re.compile(r"(?<!\w)@(?!\d+\b)(?=\w)")
#: A number that would become a link to an issue: `#1`, `octo/shop#1`, `GH-1`.
_ISSUE = re.compile(r"#(?=\d)|\bGH(?=-\d)", re.IGNORECASE)


def to_html(document: Document) -> str:
    """Return a document of headings, paragraphs, code and tables as one HTML page."""
    body = "\n".join(map(_block_html, document.blocks))
    title = _escape_html(document.title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{GENERATOR}\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n"
        f'<body><main><h1 class="{document.tone}">{title}</h1>\n{body}\n</main></body></html>\n'
    )


def _block_html(block: Block) -> str:
    match block:
        case Heading():
            return f"<h2>{_escape_html(block.text)}</h2>"
        case Paragraph():
            return f'<p class="{block.tone}">{_prose_html(block.text)}</p>'
        case Code():
            return f"<pre>{_escape_html(block.text)}</pre>"
        case Card():
            return _block_html(Code(block.text))
        case Table():
            return _table_html(block)
    raise TypeError(f"no HTML for {type(block).__name__}")


def _table_html(block: Table) -> str:
    heads = "".join(f'<th scope="col" class="{c.align}">{_wrappable(c.title)}</th>' for c in block.columns)
    rows = "\n".join(
        "<tr>"
        + "".join(
            f'<td class="{column.align} {cell.tone}{" prose" if len(cell.text) > _PROSE else ""}">'
            f"{_escape_html(cell.text)}</td>"
            for column, cell in zip(block.columns, row, strict=True)
        )
        + "</tr>"
        for row in block.rows
    )
    note = f'<p class="note">{_prose_html(block.note)}</p>' if block.note else ""
    many = ' class="many"' if len(block.columns) > _MANY else ""
    return (
        f'<div class="wide"><table{many}><thead><tr>{heads}</tr></thead><tbody>\n{rows}\n</tbody></table></div>{note}'
    )


def _wrappable(title: str) -> str:
    """Allow line breaks in the name of a measure: nDCG(level=lines)@10."""
    return _escape_html(title).replace("(", "(<wbr>").replace("@", "<wbr>@")


def _escape_html(text: str) -> str:
    return escape(strip_control(text), quote=True)


def _prose_html(text: str) -> str:
    parts = code_spans(strip_control(text))
    return "".join(f"<code>{_escape_html(part)}</code>" if code else _escape_html(part) for part, code in parts)


def to_markdown(document: Document) -> str:
    parts = [f"# {_escape(document.title)}", *(block_markdown(block) for block in document.blocks)]
    return "\n\n".join(part for part in parts if part) + "\n"


def block_markdown(block: Block, level: int = 2) -> str:
    """Return one block as Markdown, headings at `level`; empty for a chart."""
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
        case Sparks():
            wide = max((len(_fenced(spark.label)) for spark in block.sparks), default=0)
            lines = [f"{_fenced(s.label):>{wide}} {spark_text(s, block.most)}  {_fenced(s.text)}" for s in block.sparks]
            return "```text\n" + "\n".join(lines) + "\n```" + (f"\n\n{_line(block.note)}" if block.note else "")
        case SideBySide():
            return "\n\n".join(block_markdown(listing.as_table()) for listing in block.listings)
        case Forest():
            return ""  # its numbers are in a table; Markdown has no axis


def _cell(cell: Cell) -> str:
    text = _escape(cell.text)
    return f"**{text}**" if text and cell.tone in ("good", "bad") else text


def _fenced(text: str) -> str:
    return " ".join(strip_control(text).replace("`", "'").split("\n"))


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
