"""`assay search` as a user meets it."""

import json
import os
import signal
import subprocess
import sys

import pytest

from assay.cli.console import ResultPrinter, clean, fit
from assay.cli.main import main
from assay.search import Index
from tests.conftest import write_tree
from tests.waiting import WATCHDOG


@pytest.fixture(autouse=True)
def _own_index(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_INDEX_DIR", str(tmp_path / "index"))


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(["search", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def hits(capsys, *arguments: str) -> list[dict]:
    code, out, err = call(capsys, *arguments, "--json", "--quiet")
    assert code == 0, err
    found: list[dict] = json.loads(out)["hits"]
    return found


def test_results_have_place_score_and_numbered_lines(shop, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, out, _ = call(capsys, "tax rate of a country")
    assert code == 0
    first = out.splitlines()[0]
    assert first.startswith("  1  shop/tax.py:")
    assert "│ " in out
    start = int(out.splitlines()[1].partition("│")[0])
    line = out.splitlines()[1].partition("│ ")[2]
    assert (shop / "shop/tax.py").read_text().split("\n")[start - 1].rstrip() == line.rstrip()


def test_piped_results_are_paths_lines_and_texts_without_gold_sets(shop, capsys):
    _, out, _ = call(capsys, "tax rate of a country", "-k", "8")
    for line in out.splitlines():
        path, number, text = line.split(":", 2)
        assert (shop / path).read_text().split("\n")[int(number) - 1].expandtabs(4) == text
        assert path != "gold.yaml"
    assert "gold.yaml" not in {hit["path"] for hit in hits(capsys, "which percentage is charged")}
    assert call(capsys, "tax rate", "-k", "1", "--no-snippets")[1].startswith("shop/tax.py:")
    assert call(capsys, "zzyzx")[1] == ""


def test_first_use_says_on_stderr_what_is_indexed_and_the_second_is_silent(shop, capsys):
    _, _, err = call(capsys, "tax")
    assert str(shop) in err
    assert "8 files" in err
    assert call(capsys, "tax")[2] == ""


def test_json_has_a_versioned_schema_and_says_the_same_as_the_library(shop, capsys):
    code, out, _ = call(capsys, "cart total", "--json", "--per", "span", "-k", "2")
    data = json.loads(out)
    assert code == 0
    assert data["schema"] == "assay/search/2"
    found = [hit for hit in Index.build(shop).search("cart total", 3, per="span") if hit.path != "gold.yaml"]
    assert [(h["path"], h["start"], h["end"], h["score"], h["snippet"]) for h in data["hits"]] == [
        (h.path, h.start, h.end, h.score, h.snippet) for h in found
    ]


def test_all_is_every_match_and_begins_with_the_best(shop, capsys):
    every = hits(capsys, "cart", "--all")
    assert every[:2] == hits(capsys, "cart", "-k", "2")
    assert len(every) > 2
    assert [hit["rank"] for hit in every] == list(range(1, len(every) + 1))


def test_filters_only_strike_out(shop, capsys):
    every = [hit["path"] for hit in hits(capsys, "cart total tax", "--all")]
    python = [hit["path"] for hit in hits(capsys, "cart total tax", "--all", "--language", "Python")]
    assert python == [path for path in every if path.endswith(".py")] != every
    assert [hit["path"] for hit in hits(capsys, "cart total tax", "--path", "*.md")] == ["README.md"]
    assert [hit["path"] for hit in hits(capsys, "cart total tax", "--kind", "docs")] == ["README.md"]
    assert {hit["path"] for hit in hits(capsys, "cart total tax", "--regex", r"def with_tax\(")} == {"shop/tax.py"}
    assert hits(capsys, "cart total tax", "--min-score", "99") == []


def test_no_match_is_a_sentence_and_no_error(shop, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, out, _ = call(capsys, "zzyzx")
    first, *rest = out.splitlines()
    assert (code, first) == (0, "No match in 8 files.")
    assert len(rest) == 7  # the gold set is left out
    assert all(line.endswith("  no match") for line in rest), "the other files fill the list, without a snippet"
    assert call(capsys, "zzyzx", "--all")[1] == "No match in 8 files.\n"
    assert all(hit["score"] <= 0 for hit in hits(capsys, "zzyzx"))


def test_trace_has_raw_lists_with_files_that_are_not_returned(shop, capsys):
    err = call(capsys, "charge customers", "-k", "1", "--trace", "-")[2]
    rows = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    lists = {row["stage"]: [hit["path"] for hit in row["top"]] for row in rows if "top" in row}
    assert len(lists["results"]) == 1
    assert len(lists["dense"]) > 1


def test_environment_switches_traces_on(shop, capsys, monkeypatch):
    call(capsys, "tax")
    flag = call(capsys, "tax", "--trace", "-")[2]
    assert '"dense"' in flag
    monkeypatch.setenv("ASSAY_TRACE", "1")
    assert call(capsys, "tax")[2] == flag
    monkeypatch.setenv("ASSAY_TRACE", "0")
    assert call(capsys, "tax")[2] == ""


def test_snippets_can_be_left_out(shop, capsys):
    _, out, _ = call(capsys, "tax", "--no-snippets")
    assert "│" not in out
    assert "snippet" not in hits(capsys, "tax", "--no-snippets")[0]


def test_snippets_are_short_and_around_what_matches(shop, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    before, after = ("".join(f"    {name}_{i} = {i}\n" for i in range(20)) for name in ("step", "more"))
    write_tree(shop, {"long.py": f"def work():\n{before}    zebra = 1\n{after}"})
    _, out, _ = call(capsys, "zebra", "--lines", "3", "-k", "1")
    lines = [line for line in out.splitlines() if "│" in line]
    assert len(lines) == 3
    assert "zebra" in lines[1]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["x", "nowhere"], "nowhere"),
        (["x", "shop/tax.py"], "pass its directory"),
        (["x", "--kind", "functoin"], "'function'"),
        (["x", "--language", "pythn"], "did you mean 'python'?"),
        (["x", "--regex", "("], "regular expression"),
        (["x", "-k", "0"], "1 or more"),
        (["x", "--all", "-k", "3"], "-k"),
        (["x", "--lines", "-1"], "--lines"),
        (["x", "--min-score", "nan"], "--min-score"),
        (["x", "--workers", "0"], "--workers"),
        (["x", "--set", "stem.fils=1"], "stem.files"),
        (["x", "--config", "nowhere.toml"], "nowhere.toml"),
        (["  "], "expected a query"),
        ([], "expected a query"),
        (["x", "--show-config"], "remove QUERY"),
    ],
    ids=" ".join,
)
def test_bad_input_ends_in_two_with_the_next_step(shop, capsys, arguments, word):
    code, out, err = call(capsys, *arguments)
    assert code == 2, err
    assert out == ""
    assert word in err
    assert "\nhint: " in err


def test_language_that_nothing_here_is_in_is_no_error(shop, capsys):
    assert hits(capsys, "tax", "--language", "rust") == []


def test_settings_come_from_file_environment_and_flags(shop, capsys, monkeypatch):
    (shop / "assay.toml").write_text("[search.stem]\nfiles = 0.11\nspans = 0.11\nprefix = 0.11\n")
    monkeypatch.setenv("ASSAY_SEARCH__STEM__SPANS", "0.22")
    code, out, _ = call(capsys, "--show-config", "--set", "stem.prefix=0.33")
    assert code == 0
    stem = out.partition("[search.stem]")[2].partition("\n\n")[0]
    assert [text in stem for text in ("files = 0.11", "spans = 0.22", "prefix = 0.33")] == [True] * 3
    _, out, _ = call(capsys, "--show-config", "--json")
    assert json.loads(out)["search"]["stem"]["spans"] == 0.22


def test_setting_changes_the_answer(shop, capsys):
    before = hits(capsys, "tax")[0]["score"]
    assert hits(capsys, "tax", "--set", "without=stem")[0]["score"] < before


def test_trace_goes_to_a_file_or_to_stderr(shop, capsys):
    call(capsys, "tax", "--trace", "trace.jsonl", "--quiet")
    rows = [json.loads(line) for line in (shop / "trace.jsonl").read_text().splitlines()]
    assert rows[0]["query"] == "tax"
    lists = {row["stage"]: row["top"] for row in rows if "top" in row}
    assert list(lists) == [*rows[0]["stages"], "results"]
    assert lists["results"][0]["path"] == "shop/tax.py"
    assert {"path", "stage", "score", "rank"} <= rows[-1].keys()
    _, _, err = call(capsys, "tax", "--trace", "-", "--quiet")
    assert [json.loads(line) for line in err.splitlines()][0]["query"] == "tax"


@pytest.mark.parametrize(
    "arguments",
    [
        ["tax", "shop", "-k", "1"],
        ["tax", "-k", "1", "shop"],
        ["-k", "1", "tax", "shop"],
        ["-k", "1", "tax", "--json", "shop"],
    ],
)
def test_folder_may_stand_anywhere(shop, capsys, arguments):
    assert [hit["path"] for hit in hits(capsys, *arguments)] == ["tax.py"]


def test_two_leftover_words_are_no_folder(shop, capsys):
    assert main(["search", "tax", "shop", "-k", "1", "cart"]) == 2


def test_nothing_is_written_into_the_folder(shop, capsys):
    before = sorted(shop.rglob("*"))
    call(capsys, "tax")
    assert sorted(shop.rglob("*")) == before


def started(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "assay.cli.main", "search", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.nightly
def test_output_into_a_closed_pipe_is_no_error(shop):
    write_tree(shop, {f"part{i}.py": f"def zebra{i}():\n    return 'zebra'\n" for i in range(300)})
    with started("zebra", "--all") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
    assert first.startswith("  1  "), err
    assert process.returncode == 0, err
    assert "Traceback" not in err


def test_interrupt_is_a_sentence(shop):
    write_tree(shop, {f"part{i}.py": "def f():\n    pass\n" * 3_000 for i in range(40)})
    with started("f") as process:
        assert process.stderr is not None
        first = process.stderr.readline()  # indexing begins, and takes seconds
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WATCHDOG)
    assert "indexing" in first, err
    assert process.returncode == 130, err
    assert (out, "Traceback" in err, "interrupted" in err) == ("", False, True)


def test_source_cannot_act_on_the_terminal(shop, capsys):
    (shop / "evil.py").write_bytes(b"def quagga():\n    '\x1b[2J\x07 quagga'\n")
    _, out, _ = call(capsys, "quagga")
    assert "quagga" in out
    assert not {"\x1b", "\x07"} & set(out)


def test_lines_are_cut_by_columns_and_not_by_characters():
    assert fit("x" * 50, 10) == "x" * 9 + "…"
    assert fit("漢" * 50, 11) == "漢" * 5 + "…"
    assert fit("\tx", 10) == "    x"
    assert clean("a\u202eb") == "a�b"


def test_colour_is_only_painted_where_it_is_wanted():
    assert ResultPrinter(80, color=False).bold("x") == "x"
    assert ResultPrinter(80, color=True).bold("x") == "\033[1mx\033[0m"


@pytest.mark.parametrize(
    ("name", "value", "painted"), [("X", "", True), ("NO_COLOR", "1", False), ("TERM", "dumb", False)]
)
def test_terminal_gets_colour_unless_told_otherwise(shop, monkeypatch, name, value, painted):
    pty = pytest.importorskip("pty")
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)
    parent, child = pty.openpty()
    with open(child, "w") as terminal:
        monkeypatch.setattr("sys.stdout", terminal)
        assert main(["search", "tax", "-k", "1", "--quiet"]) == 0
        terminal.flush()
        assert (b"\x1b[" in os.read(parent, 65_536)) == painted
    os.close(parent)
