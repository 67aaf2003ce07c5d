"""`assay report`, and the flags of report.html elsewhere."""

import json
from bisect import bisect_left

import pytest

from assay.cli.main import main
from tests.conftest import GOLD, SHOP, copy_finished, finish, write_tree
from tests.report.explorer import unpacking


def call(capsys, *arguments):
    code = main(list(arguments))
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    engines = ["--engine", "mine=keywords", "--engine", "base=keywords", "--baseline", "base", "--no-references"]
    return finish(tmp_path_factory.mktemp("made"), SHOP, "run", "--gold", "gold.yaml", *engines, "--quiet")


@pytest.fixture
def made(finished, tmp_path, monkeypatch):
    """A copy of a finished run of two engines."""
    return copy_finished(finished, tmp_path, monkeypatch)


def page(place="results/report.html"):
    with open(place, "rb") as stream:
        return stream.read()


def test_report_is_made_again_as_the_run_made_it(made, capsys):
    before = page()
    code, out, _ = call(capsys, "report")
    assert code == 0
    assert page() == before
    assert "results/report.html" in out
    assert "MB." in out


def test_report_goes_elsewhere_without_source(made, capsys):
    before = page()
    code, out, _ = call(capsys, "report", "results", "--no-source", "--out", "sent.html", "--json")
    data = json.loads(out)
    assert (code, data["schema"], data["file"]) == (0, "assay/report/1", "sent.html")
    assert data["bytes"] == len(page("sent.html"))
    assert page() == before
    assert "self.items.append" in unpacking.everything(before)
    assert "self.items.append" not in unpacking.everything(page("sent.html"))
    assert data["left_out"] == [one["text"] for one in unpacking.summary(page("sent.html"))["left_out"]]


def test_report_that_cannot_be_so_small_is_refused_with_the_size_that_it_needs(made, capsys):
    before = page()
    code, _, err = call(capsys, "report", "--max-size", "5kB")
    assert code == 2
    assert "hint: use `assay report results --max-size" in err
    assert page() == before
    needed = err.rpartition("--max-size ")[2].split("`")[0]
    assert call(capsys, "report", "--max-size", needed)[0] == 0
    assert len(page()) <= float(needed.removesuffix("MB")) * 1e6
    flags = ["--out", "to send.html", "--measure", "RR@10", "--measure", "Hit@1", "--no-source", "--traces", "3"]
    _, _, err = call(capsys, "report", "results", *flags, "--max-size", "5kB")
    assert "results --out 'to send.html' --measure RR@10 --measure Hit@1 --no-source --traces 3 --max-size" in err


def test_run_is_kept_where_its_report_cannot_be_so_small(shop, capsys):
    asked = ["run", "--gold", "gold.yaml", "--engine", "mine=keywords", "--no-references", "--quiet"]
    code, _, err = call(capsys, *asked, "--max-size", "5kB")
    assert code == 2
    assert "all other files are written" in err
    assert not (shop / "results" / "report.html").exists()
    assert (shop / "results" / "results.json").is_file()
    assert call(capsys, "report")[0] == 0
    assert page()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--max-size", "big"], "--max-size: expected a size, got 'big'"),
        (["--traces", "-1"], "--traces: expected 0 or more, got -1"),
        (["--out", "results"], "expected a file, got a directory"),
        (["--out", "nowhere/x.html"], "nowhere: no such directory"),
    ],
)
def test_bad_flags_are_told_with_a_next_step(made, capsys, flags, said):
    code, _, err = call(capsys, "report", *flags)
    assert code == 2
    assert said in err
    assert "\nhint: " in err


def test_report_of_no_run_is_refused(shop, capsys):
    code, _, err = call(capsys, "report", "nothing")
    assert code == 2
    assert "no such directory" in err
    code, _, err = call(capsys, "report", "gold.yaml")
    assert code == 2
    assert "gold.yaml: expected a results directory, got a file" in err


def test_folder_that_holds_runs_is_refused_with_their_names(made, capsys):
    code, _, err = call(capsys, "report", ".")
    assert code == 2
    assert "hint: pass results\n" in err
    code, _, err = call(capsys, "report", "shop")
    assert code == 2
    assert "hint: pass a directory that `assay run` wrote" in err
    (made / "empty").mkdir()
    assert "make one with `assay run --out empty`" in call(capsys, "report", "empty")[2]


def test_table_of_the_configuration_says_what_the_page_holds(made, capsys):
    (made / "assay.toml").write_text('[run]\ngold = "gold.yaml"\n[report]\nsource = false\n')
    assert call(capsys, "report")[0] == 0
    assert "self.items.append" not in unpacking.everything(page())
    (made / "assay.toml").write_text('[run]\ngold = "gold.yaml"\n\n[report]\nmax_size = "tiny"\n')
    code, _, err = call(capsys, "score", "results", "--write")
    assert code == 2
    assert "assay.toml:5" in err
    assert "expected a size, got 'tiny'" in err
    (made / "assay.toml").write_text('[run]\ngold = "gold.yaml"\n[report]\nmaxsize = "3MB"\n')
    code, _, err = call(capsys, "report")
    assert code == 2
    assert "did you mean 'max_size'" in err


def test_flags_of_files_mean_nothing_where_none_is_written(made, capsys):
    for flags in (["--max-size", "3MB"], ["--no-source"]):
        code, _, err = call(capsys, "score", "results", *flags)
        assert code == 2
        assert "requires --write" in err


def test_score_writes_the_page_with_the_same_flags(made, capsys):
    assert call(capsys, "score", "results", "--write", "--no-source", "--quiet")[0] == 0
    assert "sources" not in unpacking.blocks(page())


def test_source_that_changed_since_is_left_out(made, capsys):
    cart = made / "shop" / "cart.py"
    cart.write_text(cart.read_text().replace("Items a customer", "Things a customer"))
    code, out, _ = call(capsys, "report")
    assert code == 0
    assert "No source of shop: the corpus changed since the run." in " ".join(out.split())
    assert "Things a customer" not in unpacking.everything(page())


def test_open_shows_the_page_or_says_that_nobody_can(made, capsys, monkeypatch):
    shown = []

    def nobody(url):
        shown.append(url)
        return False

    monkeypatch.setattr("webbrowser.open", nobody)
    code, _, err = call(capsys, "report", "--open")
    assert code == 0
    assert shown == [(made / "results" / "report.html").resolve().as_uri()]
    assert "cannot start a browser" in err


def test_size_that_nobody_can_keep_is_said_with_its_unit(made, capsys):
    _, _, err = call(capsys, "report", "--max-size", "1")
    assert "the maximum size is 1B" in err


def test_page_without_room_for_source_says_so_once_and_names_the_folder(made, capsys):
    _, _, err = call(capsys, "report", "--max-size", "1")
    needed = float(err.rpartition("--max-size ")[2].split("MB`")[0]) * 1e6
    # it is rounded up: some source may fit into the rest
    sizes = range(int(needed) - 1000, int(needed) + 1)
    least = sizes[bisect_left(sizes, 0, key=lambda size: -call(capsys, "report", "--max-size", f"{size}B")[0])]
    code, out, _ = call(capsys, "report", "--max-size", f"{least}B")
    said = " ".join(out.split())
    assert code == 0
    assert "Size limit: no source excerpts. `assay report results --max-size" in said
    assert "Source excerpts show" not in said
    assert " DIR" not in said


def test_report_keeps_the_traces_of_the_run(shop_with_results, capsys):
    before = page()
    assert "traces" in unpacking.blocks(before)
    assert call(capsys, "report")[0] == 0
    assert page() == before
    assert call(capsys, "report", "--traces", "0")[0] == 0
    assert "traces" not in unpacking.blocks(page())


def test_traces_that_are_left_out_are_told_with_the_command(shop, tmp_path, capsys):
    other = write_tree(tmp_path / "other", SHOP | {"gold.yaml": GOLD.replace("name: shop", "name: other")})
    asked = ["run", "--gold", "gold.yaml", "--gold", "../other/gold.yaml", "--engine", "builtin", "--no-references"]
    assert call(capsys, *asked, "--baseline", "builtin", "--quiet")[0] == 0
    (other / "shop" / "tax.py").write_text("RATES = {}\n")

    def said(*flags):
        return " ".join(call(capsys, "report", *flags)[1].split())

    none, some = said("--traces", "0"), said("--traces", "2")
    assert "Traces of builtin: 0 of 18 queries; `assay report results --traces 40` adds more." in none
    assert "Traces of builtin: 2 of 18 queries; `assay report results --traces 18` adds more." in some
    missing = said()
    assert "No traces of other: its corpus changed since the run." in missing
    assert missing.count("`assay report results --traces") == 1
    assert "`assay report results --traces 18` adds more." in missing
