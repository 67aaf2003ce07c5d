"""The report on a terminal: every width, no colour, no terminal, names that want to steer it."""

import io
import re

import pytest
from rich.cells import cell_len

from assay.report.render.document import (
    Cell,
    Document,
    Heading,
    Paragraph,
    RankingBlock,
    RankingLine,
    SideBySide,
    Table,
    drop_empty_columns,
    table,
    to_markdown,
)
from assay.report.render.terminal_text import print_document, render_document
from assay.terminal import Terminal

NAMES = ("builtin", "keywords", "weights:language=0.9,files=0.2,decay=0.5", "東京の検索")
MEASURES = ("nDCG@10", "RR@10", "nDCG(level=lines)@10", "SpanR(iou=0.3)@10", "RecallAtTokens(2000)")


def scores() -> Table:
    rows = [
        [name, *(f"{(7 * r + 3 * c) / 97:.3f} [{r / 13:.2f}, {c / 7 + r:.2f}]" for c in range(len(MEASURES)))]
        for r, name in enumerate(NAMES)
    ]
    return table(["engine", *(f">{name}" for name in MEASURES)], rows, "Mean over 155 queries; 95% intervals.")


def verdicts() -> Table:
    rows: list[list[str | Cell]] = [
        [
            name,
            Cell("better, on this repository", "good"),
            f"+0.{r}01 [+0.{r}36, +0.{r}65]",
            f"{95 + r}/48/12",
            "<0.0001",
        ]
        for r, name in enumerate(NAMES)
    ]
    return table(["engine", "verdict", ">difference [95%]", ">win/tie/loss", ">p"], rows)


def listing(title: str, grade: int) -> RankingBlock:
    paths = [f"src/package/module{at}/implementation.py:{at}0-{at}9" for at in range(1, 11)]
    entries = [RankingLine(str(at), "", path, "new") for at, path in enumerate(paths, start=1)]
    entries[0] = RankingLine("1", f"✓{grade}", paths[0], "↑2", "good")
    entries[1] = RankingLine("2", "✗", paths[1], "=", "bad")
    return RankingBlock(title, tuple(entries), "timeout: it took too long")


DOCUMENT = Document(
    "stdlib: builtin against keywords on nDCG@10: better",
    (
        Paragraph("Only 3 queries: one can move a mean by 0.333.", "warning"),
        Heading("Scores"),
        scores(),
        verdicts(),
        SideBySide((listing("keywords", 2), listing("builtin", 1))),
    ),
    "good",
)
NUMBERS = re.compile(r"[+-]?\d+\.\d+|\d+/\d+/\d+|\d+%")


def shown(width: int, document: Document = DOCUMENT, **how: bool) -> str:
    return render_document(document, Terminal(width, **how))


def numbers_of(*tables: Table) -> list[str]:
    return [number for each in tables for row in each.rows for cell in row[1:] for number in NUMBERS.findall(cell.text)]


@pytest.mark.parametrize(
    "first", [30, 68, *(pytest.param(first, marks=pytest.mark.nightly) for first in (49, *range(87, 201, 19)))]
)
def test_no_line_is_wider_than_the_screen_and_no_number_is_lost(first):
    wanted = numbers_of(scores(), verdicts())
    assert len(wanted) == 4 * 3 * 5 + 4 * 5
    for width in range(first, min(first + 19, 201)):
        text = shown(width)
        assert max(cell_len(line) for line in text.split("\n")) <= width, width
        there = NUMBERS.findall(text)
        missing = [number for number in set(wanted) if there.count(number) < wanted.count(number)]
        assert not missing, (width, missing)
        for at in range(1, 11):  # the end of each path, in both rankings
            assert len(re.findall(rf"\b{at}0-{at}9\b", text)) == 2, (width, at)
        flat = "".join(text.split())
        for name in (*NAMES, *MEASURES):
            assert re.escape(name) in re.escape(flat) or folded_name(name, text), (width, name)


def folded_name(name: str, text: str) -> bool:
    """Whether the pieces of a name that was folded in its column stand below each other."""
    return all(piece in text for piece in re.findall(r"[^/:,;(=_|@]+", name))


@pytest.mark.parametrize("width", [40, 60, 160])
def test_what_is_piped_has_no_escape_and_ends_lines_with_words(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    stream = io.StringIO()
    print_document(DOCUMENT, stream)
    assert "\x1b" not in stream.getvalue()
    assert not re.search(r"[ \t]\n", stream.getvalue())
    assert stream.getvalue() == shown(width)


class Tty(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("name", "value", "escapes"), [("NO_COLOR", "1", False), ("TERM", "dumb", False), ("X", "", True)]
)
def test_colour_is_for_terminals_that_want_it(monkeypatch, name, value, escapes):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv(name, value)
    stream = Tty()
    print_document(DOCUMENT, stream)
    assert ("\x1b[" in stream.getvalue()) is escapes
    bare = re.sub(r"\x1b\[[\d;]*m", "", stream.getvalue())
    assert [line.rstrip() for line in bare.split("\n")] == shown(70).split("\n")


@pytest.mark.parametrize(("tone", "sign"), [("good", "✓ "), ("bad", "✗ "), ("warning", "! "), ("plain", "")])
def test_verdict_has_a_sign_beside_its_colour(tone, sign):
    assert shown(80, Document("mine against yours: better", (), tone)) == f"{sign}mine against yours: better\n"


def test_ascii_is_drawn_where_blocks_cannot_be_shown():
    text = shown(80, unicode=False).replace("東京の検索", "")
    assert text.isascii()
    assert [len(line) for line in text.split("\n")] == [
        len(line) for line in shown(80).replace("東京の検索", "").split("\n")
    ]
    assert "-" in text


def test_narrow_tables_become_records():
    text = shown(34, Document("t", (verdicts(),)))
    assert "\n  verdict" in text
    assert text.index("builtin") < text.index("+0.001") < text.index("keywords") < text.index("+0.101")
    assert "\n  verdict" not in shown(120, Document("t", (verdicts(),)))


def test_tables_too_wide_for_one_look_are_in_parts_that_name_their_rows():
    short = table(
        ["engine", *(f">measure {at}" for at in range(8))], [["mine", *(f"0.{at}23 [0.1, 0.9]" for at in range(8))]]
    )
    text = shown(80, Document("t", (short,)))
    assert text.count("\nmine ") == text.count("engine") == 3
    assert "\n\nengine" in text


def test_rankings_stand_side_by_side_or_below_each_other():
    both = Document("t", (SideBySide((listing("first", 2), listing("second", 1))),))
    wide, narrow = shown(100, both), shown(60, both)
    assert re.search(r"first +│ second", wide)
    assert re.search(r"1 ✓2 src/package/module1/\S+ .*│ +1 ✓1 src", wide)
    assert "│" not in narrow
    assert narrow.index("✓2") < narrow.index("second") < narrow.index("✓1")
    for text in (wide, narrow):
        assert text.count("timeout: it took too long") == 2
    page = to_markdown(both)
    assert page.index("✓2") < page.index("second") < page.index("✓1")


EVIL = "\x1b[31mred\x1b]0;title\x07\x00\u202e\ud800\r[bold]x[/bold] :smile:\x9b2J"


def test_names_steer_nothing():
    evil = Document(
        EVIL,
        (
            SideBySide((RankingBlock(EVIL, (RankingLine(EVIL, EVIL, EVIL, EVIL, "good"),), EVIL),) * 2),
            table([EVIL, EVIL], [[EVIL, EVIL]], EVIL),
        ),
    )
    for width in (30, 120):
        text = shown(width, evil)
        assert not set(text) & {"\x1b", "\x07", "\x00", "\u202e", "\ud800", "\r", "\x9b"}
        assert "[bold]x[/bold]" in "".join(text.split())
    assert "\x1b]" not in shown(120, evil, color=True)
    assert not set(to_markdown(evil)) & {"\x1b", "\x07", "\x00", "\u202e", "\ud800", "\x9b"}


def test_engine_has_one_color_in_all_tables():
    first = table(["Engine", ">Mean"], [["mine", "0.5"], ["other", "0.4"]])
    second = table(["Query", "Engine"], [["q1", "other"], ["mine", "mine"]])
    text = render_document(Document("", (first, second)), Terminal(80, color=True))
    colors = {name: set(re.findall(rf"\033\[(\d+)m{name}", text)) for name in ("mine", "other")}
    assert all(len(found) == 1 for found in colors.values())
    assert colors["mine"] != colors["other"]
    assert "\033" not in render_document(Document("", (first, second)), Terminal(80))


def test_title_is_folded_before_the_table_is_split():
    columns = ["Engine", ">Mean", ">Difference (95% CI)", ">Better/same/worse", ">p", "Verdict"]
    rows = [["whole-file", "0.661", "+0.001 [-0.27, +0.27]", "1/11/0", "1.0", "Can't tell (inconclusive)"]]
    text = render_document(Document("", (table(columns, rows),)), Terminal(80))
    assert text.count("whole-file") == text.count("Engine") == 1
    assert max(map(len, text.splitlines())) <= 80


def test_columns_without_a_value_are_dropped():
    shown = drop_empty_columns(table(["Engine", ">ICC", ">MDE"], [["mine", "–", "0.1"], ["other", "–", "–"]]))
    assert [column.title for column in shown.columns] == ["Engine", "MDE"]
