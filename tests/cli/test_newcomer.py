"""What a newcomer tried in the first hour."""

import re
import subprocess

import pytest

from assay.cli.arguments import COMMANDS
from assay.cli.main import GROUPS, build_parser, main
from tests.cli.changing import SMALL, call, gold_of
from tests.conftest import copy_finished, finish, write_tree

GOLD_WITHOUT_SPLITS = gold_of(["none"] * 10)
LONG = "the-words-of-a-rather-long-name-of-a-query-0"
DRAFTS = SMALL | {
    "gold.yaml": re.sub(r"(?m)^  - id: (\w+)$", rf"  - id: {LONG}\1\n    tags: {{status: draft}}", GOLD_WITHOUT_SPLITS),
    "assay.toml": '[run]\ngold = "gold.yaml"\n',
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return finish(tmp_path_factory.mktemp("drafts"), DRAFTS, "run", "--quiet", "--no-times")


@pytest.fixture
def drafts(finished, tmp_path, monkeypatch, capsys):
    root = copy_finished(finished, tmp_path, monkeypatch)
    monkeypatch.setenv("COLUMNS", "200")
    return root


def test_drafts_come_first_and_get_no_check_mark(drafts, capsys):
    code, out, _ = call(capsys, "score", "results")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("! Drafts only: builtin is better than keywords")
    assert lines[-1] == "  ! 10 of 10 queries are drafts (+1: assay score --full)"
    assert "run `assay gold review` before you rely on them" in (drafts / "results/RESULTS.md").read_text()


def test_drafts_are_named_by_gate_and_compare(drafts, capsys):
    engines = ("--engine", "random", "--engine", "builtin", "--baseline", "random")
    assert main(["run", "--quiet", "--no-times", "--out", "two", *engines]) == 0
    capsys.readouterr()
    for command in (["gate", "two"], ["gate", "two", "--against", "two"], ["compare", "two"]):
        code, *texts = call(capsys, *command)
        assert code == 0
        lines = "".join(texts).splitlines()
        assert any(line.startswith("! Drafts only: ") for line in lines), lines
        assert any(line.startswith("  ! 10 of 10 queries are drafts") for line in lines), lines


def test_paths_outside_the_corpus_are_the_outcome(drafts, capsys):
    (drafts / "far.py").write_text(
        "def search(query, k):\n    return ['/srv/old/notes.md', 'elsewhere/README.md'][:k]\n"
    )
    out = run(capsys, "far", "mine=python:far:search")
    _, gated, _ = call(capsys, "gate", "far", "--baseline", "builtin", "--engine", "mine")
    assert call(capsys, "gate", "far", "--against", "far", "--engine", "mine")[0] == 4
    assert "--kind code" not in out
    for text in (out, gated):
        lines = text.splitlines()
        assert any("mine returned no path that exists in the corpus" in line for line in lines), text
        assert any(re.match("  Next: .*/srv/old/notes.md$", line) for line in lines), text
    assert gated.splitlines()[-1] == "assay gate: engine failed (exit 4)"


def run(capsys, name, *engines):
    specs = [part for engine in ("builtin", *engines) for part in ("--engine", engine)]
    _, out, err = call(capsys, "run", "--no-times", "--out", name, "--baseline", "builtin", *specs)
    return out + err


LINES = SMALL | {
    "gold.yaml": re.sub(r"primary: \[(thing\d+\.py)\]", r'primary: ["\1:4-5"]', GOLD_WITHOUT_SPLITS),
    "assay.toml": '[run]\ngold = "gold.yaml"\n',
    "paths.py": "def search(query, k):\n    return [f'thing{at}.py' for at in range(k)]\n",
}


def test_engine_without_lines_is_measured_by_file(tmp_path_factory, tmp_path, monkeypatch, capsys):
    engine = "mine=python:paths:search"
    made = finish(tmp_path_factory.mktemp("lines"), LINES, "run", "--quiet", "--no-times", "--engine", engine)
    root = copy_finished(made, tmp_path, monkeypatch)
    for command in (["score"], ["score", "results", "--margin", "0.1"]):
        out = call(capsys, *command)[1]
        assert ", by file (nDCG@10)" in out.splitlines()[0]
        assert "  ! Measured by file, as mine returns no lines" in out
    assert '"auto_level": true' in (root / "results/run.json").read_text()
    by_lines = call(capsys, "score", "--level", "lines")[1]
    assert ", by lines (nDCG@10)" in by_lines
    assert "! mine returns no lines: use --level file" in by_lines
    above = call(capsys, "score", "--full")[1].splitlines()
    assert "nDCG@10 by lines" not in above[0]
    assert not any("--full)" in line for line in above)
    assert main(["run", "--quiet", "--no-times", "--engine", "two=python:paths.py:search"]) == 0
    assert "replaced the rankings of mine; to keep both runs, pass another --out" in capsys.readouterr()[1]
    assert main(["run", "--quiet", "--no-times", "--engine", "builtin", "--out", "other"]) == 0
    assert ", by lines (nDCG@10)" in capsys.readouterr()[0].splitlines()[0]
    compared = call(capsys, "compare", "results", "other")[1]
    assert ", by file (nDCG@10)" in compared


def test_abbreviated_flag_is_an_error(drafts, capsys):
    assert call(capsys, "run", "--eng", "builtin")[0] == 2
    assert "hint: did you mean '--engine'?" in call(capsys, "run", "--eng", "builtin")[2]


def test_engine_without_results_is_told_what_to_do(drafts, capsys):
    out = call(capsys, "run", "--no-times", "--engine", "mine=command:true {query}", "--out", "none")[1]
    hint = "  Next: split the query into words, or compare with --engine "
    engine = next(line.removeprefix(hint) for line in out.splitlines() if line.startswith(hint))
    hinted = ("--engine", "mine=command:true {query}", "--engine", engine)
    status, _, err = call(capsys, "run", "--no-times", *hinted, "--out", "hinted")
    assert status == 0, err


def test_untracked_files_of_the_corpus_are_named(tmp_path, monkeypatch, capsys):
    root = tmp_path / "shop"
    write_tree(root, {"thing0.py": SMALL["code/thing0.py"], "thing1.py": SMALL["code/thing1.py"]})
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    gold = gold_of(["none"] * 2).replace("{path: code}", "{path: .}")
    write_tree(root, {"helper.py": "x = 1\n", "gold.yaml": gold})
    monkeypatch.chdir(root)
    assert main(["run", "--no-times", "--gold", "gold.yaml", "--engine", "builtin"]) == 0
    assert "1 untracked file is in the corpus: helper.py; .assayignore leaves files out" in capsys.readouterr()[1]


def test_thresholds_are_for_the_engine_and_not_for_its_baseline(drafts, capsys):
    engines = ("--engine", "random", "--engine", "builtin")
    assert main(["run", "--quiet", "--no-times", "--out", "two", *engines]) == 0
    capsys.readouterr()
    err = call(capsys, "gate", "two", "--require", "Hit@5>=0.999", "--full")
    assert "builtin: Hit@5 by file >= 0.999" in err[1]
    assert "random: Hit@5" not in err[1]


def test_loss_on_the_card_can_be_pasted(drafts, capsys):
    for name in (f"{LONG}q3", f"{LONG}q3"[:-1] + "3…"):
        assert call(capsys, "show", "results", name)[0] == 0
    assert call(capsys, "show", "results", f"{LONG}q")[0] == 2


def test_explain_is_short_answers_first_and_ranks_what_search_ranks(drafts, capsys):
    code, out, _ = call(capsys, "explain", "where is apple kept?", "--expect", "code/thing3.py")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("code/thing3.py is found at rank ")
    assert "gold.yaml" not in out
    assert "  lexical     words and names in common (BM25)" in lines
    assert len(lines) < 40
    found = call(capsys, "search", "where is apple kept?", "--json")[1]
    assert re.findall(r'"path": "(.+?)"', found)[0] == "code/thing0.py"
    assert "  1  code/thing0.py" in out


def test_results_above_are_named(drafts, capsys, monkeypatch):
    (drafts / ".git").mkdir()
    monkeypatch.chdir(drafts / "code")
    for command in (["score", "results"], ["show", "results", "q1"], ["gate", "results"]):
        code, _, err = call(capsys, *command)
        assert (code, err) == (2, "error: results: no such directory\nhint: did you mean ../results?\n")


def test_search_of_a_directory_prints_paths_that_open(drafts, capsys):
    out = call(capsys, "search", "apple", "code")[1]
    assert out.startswith("code/thing0.py:")


def test_audit_without_problems_is_short_and_ends_with_the_outcome(drafts, capsys):
    code, out, _ = call(capsys, "audit", "keywords", "code", "--queries", "3", "--only", "answers,prefix")
    lines = out.splitlines()
    assert code == 0
    assert len(lines) < 12
    assert "✓ keywords on code: 4 properties checked: 4 ok" in lines
    assert "top 5 of top 10" in call(capsys, "audit", "keywords", "code", "--queries", "3", "--full")[1]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("audit", "python3 ../mine.py {query} {k}"), "did you mean 'command:python3 ../mine.py {query} {k}'?"),
        (("audit",), "assay audit builtin"),
        (("compare",), "assay compare results"),
        (("completion",), "assay completion zsh"),
    ],
)
def test_hint_of_an_incomplete_command_is_the_command(drafts, capsys, words, hint):
    code, _, err = call(capsys, *words)
    assert code == 2
    assert err.splitlines()[-1].startswith(f"hint: {hint}"), err


def test_toml_error_at_the_end_has_a_line(drafts, capsys):
    (drafts / "assay.toml").write_text("[run]\ngold = [\n")
    assert call(capsys, "run")[2].startswith("error: assay.toml:2: invalid TOML: ")


def test_failure_is_printed_once_and_has_no_score(drafts, capsys):
    engines = ("--engine", "builtin", "--engine", "mine=command:no-such-tool {query}")
    assert main(["run", "--no-times", "--out", "failed", *engines]) == 4
    out, err = capsys.readouterr()
    assert (out + err).count("no-such-tool not found") == 1
    assert "mine 0.000" not in out


def test_commands_are_grouped_in_the_help(capsys):

    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    assert "positional arguments" not in out
    listed = [name for names in GROUPS.values() for name in names]
    build_parser()
    assert sorted(listed) == sorted(name for name in COMMANDS if " " not in name)
    assert all(f"\n  {name} " in out for name in listed)
