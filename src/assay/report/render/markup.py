from __future__ import annotations

import re

from assay.report.render.document import (
    Block,
    Card,
    Cell,
    Code,
    Document,
    Heading,
    Paragraph,
    SideBySide,
    Table,
)
from assay.report.render.formatting import code_spans, strip_control

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
