"""The same document for terminal, Markdown and HTML: nothing is lost, nothing is executed."""

import io
import re
from html.parser import HTMLParser

import pytest

from assay.report.pages.document import (
    Bar,
    Bars,
    Cell,
    Document,
    Estimate,
    Folded,
    Forest,
    Heading,
    Leaf,
    Paragraph,
    table,
)
from assay.report.pages.html import to_html
from assay.report.pages.markdown import to_markdown
from assay.report.pages.terminal import print_document

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> [link](javascript:x) `code` | pipe"
EVIL += "\x1b[31mred\x1b]0;title\x07\x00\u202e\ud800</pre></details></style>"
UNFIT = {"\x1b", "\x07", "\x00", "\u202e", "\ud800"}

DOCUMENT = Document(
    EVIL,
    (
        Heading(EVIL),
        Paragraph(EVIL, "warning"),
        table(["engine", f">{EVIL}"], [[EVIL, Cell(EVIL, "good")], ["b", "0.5"]], EVIL),
        Bars((Bar(EVIL, 3, EVIL), Bar("rank 2", 0, "0"))),
        Forest((Estimate(EVIL, 0.5, 0.25, 0.75, "bad"),), 0.0, 1.0, line=0.5),
        Folded((Leaf(EVIL, EVIL),), EVIL),
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
    assert (page.count("</details>"), page.count("</pre>"), page.count("</style>")) == (1, 1, 1)
    assert not set(page) & UNFIT


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


def test_folded_text_is_in_html_and_named_elsewhere():
    folded = Document("t", (Folded((Leaf("stderr of x", "line 1\nline 2"),), "x: see report.html"),))
    page = to_html(folded)
    assert "<summary>stderr of x</summary><pre>line 1\nline 2</pre>" in page
    assert "report.html" not in page
    stream = io.StringIO()
    print_document(folded, stream)
    for text in (to_markdown(folded), stream.getvalue()):
        assert "x: see report.html" in text
        assert "line 1" not in text


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
