"""Bad input: what is wrong, in which file and line, what to do next, exit code 2, and nothing half-written."""

import shutil
from pathlib import Path

import pytest

from assay.cli.main import main
from tests.conftest import GOLD
from tests.corpus.serving import publish_html, sdist, serve
from tests.processes import HANG


def changed(old: str, new: str) -> str:
    assert old in GOLD
    return GOLD.replace(old, new)


#: Case: the gold file's text, the line the message must name (None: any), a word of the message.
CASES: dict[str, tuple[str | bytes, int | None, str]] = {
    "broken YAML": (changed("{path: .}", "{path: ."), 4, "YAML"),
    "unknown key": (changed("    tags: {difficulty: standard}", "    tag: {difficulty: standard}"), 15, "tag"),
    "duplicate id": (changed("id: retry-wait", "id: tax-lookup"), None, "tax-lookup"),
    "path that is not there": (changed('["shop/tax.py::tax_rate"]', '["shop/taxes.py::tax_rate"]'), 17, "taxes.py"),
    "range past the end": (changed("retry.py:6-13", "retry.py:6-1300"), None, "1300"),
    "symbol that does not exist": (changed("Cart.total", "Cart.totall"), 6, "Cart.total"),
    "empty gold set": (GOLD.partition("queries:")[0] + "queries: []\n", 4, "empty"),
    "no queries at all": ("", None, ""),
    "corpus folder that vanished": (changed("{path: .}", "{path: ../gone}"), None, "gone"),
    "non-UTF-8 file": (GOLD.encode() + b"# caf\xe9\n", GOLD.count("\n") + 1, "UTF-8"),
    "unknown phrasing": (
        changed("      keyword: tax rate country", "      keywords: tax rate country"),
        20,
        "keywords",
    ),
    "unknown measure in the evaluation layer": (changed("[RR@10, Displacement@10]", "[nDGC@10]"), 5, "nDGC"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_gold_is_told_with_its_place_and_the_next_step(shop, capsys, case):
    text, line, word = CASES[case]
    (shop / "gold.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    code = main(["run", "--gold", "gold.yaml", "--quiet"])
    out, err = capsys.readouterr()
    assert code == 2, err
    assert out == ""
    assert word.lower() in err.lower()
    assert "\nhint: " in err
    assert "Traceback" not in err
    if line is not None:
        assert f"gold.yaml:{line}:" in err
    assert not (shop / "results").exists()


def test_gold_set_for_another_corpus_is_recognised(shop, capsys):
    shutil.rmtree(shop / "shop")
    (shop / "other.py").write_text("x = 1\n")
    code = main(["run", "--gold", "gold.yaml", "--quiet"])
    err = capsys.readouterr().err
    assert code == 2
    assert "another corpus" in err
    assert not (shop / "results").exists()


def test_bad_input_leaves_an_earlier_result_as_it_was(shop_with_results):
    results = shop_with_results / "results"
    before = {p: p.read_bytes() for p in sorted(results.rglob("*")) if p.is_file()}
    (shop_with_results / "gold.yaml").write_text(changed("Cart.total", "Cart.nope"))
    assert main(["run", "--gold", "gold.yaml", "--quiet"]) == 2
    assert {p: p.read_bytes() for p in sorted(results.rglob("*")) if p.is_file()} == before


def test_archive_that_climbs_out_is_refused_and_leaves_nothing(shop, tmp_path, capsys, monkeypatch):
    evil = sdist(tmp_path, "evil", "1.0", tmp_path / "ran", [("evil-1.0/../../../climbed.py", b"x = 1\n")])
    with serve() as site:
        publish_html(site, "evil", [evil])
        monkeypatch.setenv("PIP_INDEX_URL", f"{site.url}/simple/")
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
        (shop / "q.csv").write_text("query,path\nwhere is x,evil.py\n")
        code = main(["run", "--gold", "q.csv", "--corpus", "pypi:evil==1.0#sdist", "--quiet"])
    err = capsys.readouterr().err
    assert code == 2, err
    assert "climbed.py" in err
    assert not (tmp_path / "ran").exists()
    assert not list(tmp_path.rglob("climbed.py"))
    assert not (shop / "results").exists()


def test_gold_set_without_a_corpus_says_how_to_name_one(shop, capsys):
    (shop / "q.csv").write_text("query,path\nwhere is the cart,shop/cart.py\n")
    code = main(["run", "--gold", "q.csv", "--quiet"])
    err = capsys.readouterr().err
    assert code == 2
    assert "corpus" in err


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (["--engine", "bultin"], "builtin"),
        (["--engine", "python:no_such_module:f"], "no_such_module"),
        (["--measure", "NDCG"], "nDCG"),
        (["--primary", "nDCG"], "cutoff"),
        (["--baseline", "nobody"], "nobody"),
        (["-k", "0"], "-k: expected 1 or more, got 0"),
        (["--phrasings", "cross_module"], "unknown phrasing 'cross_module'"),
        (["--tag", "difficulty=hard:1-99"], "99"),
        (["--config", "nowhere.toml"], "nowhere.toml"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else None,
)
def test_bad_flag_is_told_with_the_next_step(shop, capsys, flags, word):
    code = main(["run", "--gold", "gold.yaml", "--quiet", *flags])
    err = capsys.readouterr().err
    assert code == 2, err
    assert word in err
    assert "\nhint: " in err
    assert not (shop / "results").exists()


HOSTILE = {
    "crashes": ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", "crash"),
    "hangs": (f"import time\ntime.sleep({HANG})\n", "timeout"),
    "prints garbage": ("import sys\nsys.stdout.buffer.write(bytes(range(256)) * 99)\nsys.exit(9)\n", "error"),
    "fails": ("import sys\nprint('no licence', file=sys.stderr)\nsys.exit(3)\n", "error"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_engine_is_scored_by_rule_two_and_shown(shop, capsys, case):
    script, status = HOSTILE[case]
    (shop.parent / "tool.py").write_text(script)
    engine = f"bad=command:python3 {shop.parent / 'tool.py'} {{query}}"
    seconds = "0.05" if status == "timeout" else "300"  # none of the others ends by the clock, however busy the machine
    arguments = [
        "--engine",
        engine,
        "--baseline",
        "bad",
        "--no-references",
        "--timeout",
        seconds,
        "--phrasings",
        "human",
    ]
    code = main(["run", "--gold", "gold.yaml", "--quiet", "--full", *arguments])
    out, err = capsys.readouterr()
    assert code == 4, err
    assert f"bad failed on 3 of 3 queries (3 {status})" in out
    assert "Traceback" not in err


def test_engine_that_returns_absolute_paths_is_scored_and_told(shop, capsys):
    (shop.parent / "tool.sh").write_text(f"echo {shop / 'shop' / 'cart.py'}; echo /etc/passwd\n")
    engine = f"abs=command:sh {shop.parent / 'tool.sh'} {{query}}"
    flags = ["--engine", engine, "--baseline", "abs", "--no-references", "--json"]
    code = main(["run", "--gold", "gold.yaml", "--quiet", *flags])
    out, err = capsys.readouterr()
    assert code == 0, err
    assert "absolute, read as relative" in out
    assert "not in the corpus" in out
    records = next(Path("results/engines").glob("abs*.jsonl")).read_text()
    assert '"path":"shop/cart.py"' in records


def test_bare_name_shows_what_there_is(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["assay"])
    for given in (list[str](), None):
        assert main(given) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert all(f"\n  {command} " in err for command in ("search", "run", "engines"))
        assert "exit codes:\n  0  pass" in err


def test_control_characters_of_an_engine_name_are_not_printed(shop, capsys):
    assert main(["run", "--gold", "gold.yaml", "--engine", "\x1b[31mred=command: x", "-q"]) == 2
    assert "\x1b" not in capsys.readouterr().err
