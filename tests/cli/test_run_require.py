"""Thresholds, cutoffs and the searched files of `assay run`."""

import csv
import json
import sys

from assay.cli.main import main
from assay.experiment import read_run

RUN = ("run", "--gold", "gold.yaml", "--no-references", "--quiet")


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_missed_threshold_exits_with_1_and_is_the_last_line(shop, capsys):
    code, out, err = call(capsys, *RUN, "--require", "Hit@5>=0.5", "--require", "P@5>=0.9")
    assert code == 1
    assert err.splitlines()[-1].startswith("error: below the threshold: builtin: P@5 by lines >= 0.9: 0.267")
    code, out, _ = call(capsys, *RUN, "--require", "P@5>=0.9", "--json")
    assert code == 1
    assert [text.partition(":")[0] for text in json.loads(out)["missed_thresholds"]] == ["builtin"]
    assert call(capsys, *RUN, "--require", "Hit@5>=0.5")[0] == 0


def test_wrong_threshold_is_reported_before_the_run(shop, capsys):
    assert call(capsys, *RUN, "--require", "Hit@50>=0.5")[0] == 2
    assert not (shop / "results").exists()


def test_cutoffs_share_a_row_in_the_short_output(shop, capsys):
    code, out, _ = call(capsys, *RUN, "--k-values", "1", "5", "20")
    assert code == 0
    lines = out.splitlines()
    assert len(lines) <= 15
    assert lines[0].split() == ["Measure", "@1", "@5", "@20"]
    assert [line.split(" by lines")[0] for line in lines[2:7]] == ["nDCG", "Hit", "R", "P", "RR"]


def test_score_prints_the_requested_measure_at_the_level_of_the_run(shop_with_results, capsys):
    code, out, _ = call(capsys, "score", "results", "--measure", "P@5")
    assert code == 0
    assert any(line.startswith("P by lines") for line in out.splitlines())
    assert len(out.splitlines()) <= 15


def test_settings_of_engines_that_only_the_command_line_names(shop, capsys):
    flags = ("--engine", "b=builtin", "--set", "engines.b.search.stem.files=0.0", "--min-score", "1000")
    assert call(capsys, *RUN, *flags)[0] == 0
    (engine,) = read_run(shop / "results").engines
    assert '"stem": {"files": 0.0' in json.dumps(engine.config["search"])
    assert engine.config["min_score"] == 1000
    assert not any(ranking.hits for ranking in engine.rankings)


def test_kind_and_include_restrict_what_engines_search(shop, capsys):
    assert call(capsys, *RUN, "--kind", "code")[0] == 0
    run = read_run(shop / "results")
    assert "*.py" in run.suite.golds[0].corpus.include
    assert all(hit.path.endswith(".py") for ranking in run.engines[0].rankings for hit in ranking.hits)
    assert call(capsys, *RUN, "--include", "*.md")[0] == 2  # no target is left
    assert "--include cannot be used with --kind" in call(capsys, *RUN, "--include", "*.md", "--kind", "docs")[2]


def test_sets_of_documentation_get_a_hint(shop, capsys):
    gold = {"query": "how is it installed?", "path": "README.md"}
    (shop / "docs.jsonl").write_text(json.dumps(gold) + "\n")
    main(["run", "--gold", "docs.jsonl", "--corpus", ".", "--dry-run"])
    assert "1 of 1 targets are documentation; --kind docs searches only documentation" in capsys.readouterr().err


def test_sets_of_code_get_a_hint_if_many_results_are_not_code(shop, capsys):
    hits = ["README.md", "shop/tax.py", "notes.txt"]
    texts = ["how is the tax added?", "where is the tax?"]
    (shop / "run.jsonl").write_text("".join(json.dumps({"text": text, "hits": hits}) + "\n" for text in texts))
    (shop / "code.jsonl").write_text(
        "".join(json.dumps({"query": text, "path": "shop/tax.py"}) + "\n" for text in texts)
    )
    given = ("run", "--gold", "code.jsonl", "--corpus", ".", "--no-references", "--engine", "one=runfile:run.jsonl")
    hint = "2 of 2 targets are code, 50% of the results of one are not; --kind code searches only code"
    assert hint in call(capsys, *given)[2]
    assert "--kind code" not in call(capsys, *given, "--kind", "code")[2]


def test_reuse_index_keeps_an_index_and_tells_how_to_search_a_checkout_if_it_cannot(shop, capsys, tmp_path):
    script = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text('x')"
    argv = [sys.executable, "-c", "print('shop/tax.py')", "{query}"]

    def run(index):
        engine = f'kind = "command"\nformat = "text"\npattern = "(?P<path>.+)"\nargv = {argv!r}\nindex = {index!r}\n'
        (shop / "tool.toml").write_text(f'[preset]\nabout = "a tool"\n[engine]\n{engine}')
        return call(capsys, *RUN[:-1], "--engine", "tool=./tool.toml", "--reuse-index", "--no-cache")[2]

    kept = [sys.executable, "-c", script, "{store}/index"]
    run(kept)
    assert "tool: reused the index built on " in run(kept)
    err = run([sys.executable, "-c", script, str(tmp_path / "elsewhere")])
    assert "tool: the index is outside {root} and {store} and cannot be kept" in err
    assert '--set \'engines.tool.index=[]\' --set \'engines.tool.argv=["env", "-C", "CHECKOUT",' in err


def test_queries_are_found_by_row_and_have_their_text_in_the_table(shop, capsys):
    (shop / "rows.csv").write_text("query,path\nhow is the tax added?,shop/tax.py\n")
    assert call(capsys, "run", "--gold", "rows.csv", "--corpus", ".", "--no-references", "--quiet")[0] == 0
    with (shop / "results/per-query.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    assert row["text"] == "how is the tax added?"
    assert "how is the tax added?" in call(capsys, "show", "results", row["query"].removeprefix("row-"))[1]


def test_removed_flag_is_explained(capsys):
    assert main(["compare", "a", "b", "--allow-changed-corpus"]) == 2
    assert "hint: remove it: " in capsys.readouterr().err
