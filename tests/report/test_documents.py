"""The same document for terminal, Markdown and HTML: nothing is lost, nothing is executed."""

import io
import re
from html.parser import HTMLParser

import pytest

from assay.report.document import Bar, Bars, Cell, Document, Estimate, Forest, Heading, Paragraph, table
from assay.report.html import to_html
from assay.report.markdown import to_markdown
from assay.report.terminal import print_document

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> [link](javascript:x) `code` | pipe"

DOCUMENT = Document(
    EVIL,
    (
        Heading(EVIL),
        Paragraph(EVIL, "warning"),
        table(["engine", f">{EVIL}"], [[EVIL, Cell(EVIL, "good")], ["b", "0.5"]], EVIL),
        Bars((Bar(EVIL, 3, EVIL), Bar("rank 2", 0, "0"))),
        Forest((Estimate(EVIL, 0.5, 0.25, 0.75, "bad"),), 0.0, 1.0, line=0.5),
    ),
)


class Tags(HTMLParser):
    """Collects the elements and attributes that a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_html_shows_everything_as_text():
    page = to_html(DOCUMENT)
    seen = Tags()
    seen.feed(page)
    assert not seen.tags & {"script", "img", "a", "iframe", "link", "object"}
    assert not {name for name in seen.attributes if name.startswith("on")}
    assert "&lt;script&gt;" in page


def test_html_asks_the_network_for_nothing():
    page = to_html(DOCUMENT)
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=|url\(|@import", page.replace(EVIL, "").replace("src=x", ""))


def test_html_says_drawings_in_words():
    assert re.search(r'role="img" aria-label="[^"]*0\.500, from 0\.250 to 0\.750', to_html(DOCUMENT))


def test_markdown_cells_cannot_break_the_table_or_the_page():
    page = to_markdown(DOCUMENT)
    outside, *fenced = page.split("```")
    assert len(fenced) == 2  # one fence, opened and closed by us: nothing in it is read as markup
    assert "<script" not in outside + fenced[1]
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {3}
    assert "](javascript" not in (outside + fenced[1]).replace("\\]", "")


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
    assert "\x1b" not in stream.getvalue()
