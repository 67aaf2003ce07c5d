"""The same document for terminal, Markdown and HTML: nothing is lost, nothing is executed."""

import io
import re

import pytest

from assay.report.render.document import (
    Cell,
    Document,
    Heading,
    Paragraph,
    table,
    to_markdown,
)
from assay.report.render.terminal_text import print_document

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> [link](javascript:x) `code` | pipe"
EVIL += "\x1b[31mred\x1b]0;title\x07\x00\u202e\ud800</pre></details></style>"
UNFIT = {"\x1b", "\x07", "\x00", "\u202e", "\ud800"}

DOCUMENT = Document(
    EVIL,
    (
        Heading(EVIL),
        Paragraph(EVIL, "warning"),
        table(["engine", f">{EVIL}"], [[EVIL, Cell(EVIL, "good")], ["b", "0.5"]], EVIL),
    ),
)


def test_markdown_cells_cannot_break_the_table_or_the_page():
    page = to_markdown(DOCUMENT)
    assert "```" not in page
    assert "<script" not in page
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}
    assert "](javascript" not in page.replace("\\]", "")
    assert not set(page) & UNFIT


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# heading", "\\# heading"),
        ("- item", "\\- item"),
        ("12. item", "12\\. item"),
        ("0.5 of it", "0.5 of it"),
        ("=====", "\\====="),
        ("~~gone~~ $x$", "\\~\\~gone\\~\\~ \\$x\\$"),
        ("see https://x.org or www.x.org", "see https\\://x.org or www\\.x.org"),
        (
            "ask @team, (x)@1a, RR@10, nDCG(level=lines)@10",
            "ask @\u2060team, (x)@\u20601a, RR@10, nDCG(level=lines)@10",
        ),
    ],
)
def test_markdown_paragraphs_are_words_only(text, shown):
    assert to_markdown(Document("t", (Paragraph(text),))) == f"# t\n\n{shown}\n"


def test_markdown_numbers_in_cells_are_left_as_they_are():
    assert "| -0.5 | 1.0 |" in to_markdown(Document("t", (table(["a", "b"], [["-0.5", "1.0"]]),)))


@pytest.mark.parametrize("width", [40, 80, 200])
def test_terminal_keeps_to_its_width_and_loses_no_cell(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    cells = [[f"row{r}", *(f"value-{r}-{c}" for c in range(9))] for r in range(3)]
    stream = io.StringIO()
    print_document(Document("title", (table(["name", *(f">col{c}" for c in range(9))], cells),)), stream)
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    for row in cells:
        for cell in row:
            assert cell in stream.getvalue()


def test_terminal_markup_in_text_stays_text():
    stream = io.StringIO()
    print_document(Document("[bold]x[/bold]", (Paragraph("[red]y[/red] :smile:"),)), stream)
    assert "[bold]x[/bold]" in stream.getvalue()
    assert "[red]y[/red] :smile:" in stream.getvalue()


def test_terminal_without_a_terminal_has_no_escape_codes():
    stream = io.StringIO()
    print_document(DOCUMENT, stream)
    assert not set(stream.getvalue()) & UNFIT


def test_commands_in_sentences_are_code_on_pages():
    said = Document("t", (Paragraph("Ask `assay plan --power 0.8` first.", "warning"), table(["a"], [["b"]], "`x|y`.")))
    assert "> **Note:** Ask `assay plan --power 0.8` first." in to_markdown(said)
    assert to_markdown(said).endswith("\n\n`x|y`.\n")
    stream = io.StringIO()
    print_document(said, stream)
    assert "Ask `assay plan --power 0.8` first." in stream.getvalue()  # a terminal has no other way


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("a ` b", "a \\` b"),
        ("``x`` and ` y `", "\\`\\`x\\`\\` and \\` y \\`"),
        ("``x` y", "\\`\\`x\\` y"),
        ("`a` ` `b`", "`a` \\` `b`"),
        ("\\`[x](y)` <b>", "\\\\`[x](y)` &lt;b&gt;"),
        ("@`team` and `@team`", "@`team` and `@team`"),
        ("`# x`", "`# x`"),
        ("`a\nb`", "`a b`"),
    ],
)
def test_backticks_open_nothing_that_they_do_not_close(text, markdown):
    assert to_markdown(Document("t", (Paragraph(text),))) == f"# t\n\n{markdown}\n"


@pytest.mark.parametrize(
    "evil", [f"`{EVIL}`", EVIL.replace("`code`", "`<script>x</script>` `"), "`" * 7 + EVIL + "`" * 5]
)
def test_code_shows_everything_as_text(evil):
    said = Document("t", (Paragraph(evil), table(["a"], [[evil]], evil)))
    page = to_markdown(said)
    outside = re.sub(r"(?<![\\`])`[^`]+`(?!`)", "", page)  # what a reader of Markdown takes for code
    assert not re.search(r"<|(?<!\\)\[|(?<!\\)`", outside)
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {2}
