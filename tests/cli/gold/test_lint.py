import json

import pytest

from assay.cli.gold.vote import set_problems
from assay.cli.main import main
from assay.gold import load_gold
from assay.gold.review.views import ReviewWorkspace

GOLD = """\
assay: 1
name: small
corpus: {path: code}
queries:
  # kept
  - id: first
    retrieval: {primary: [src/A.py]}   # wrong case
    cognitive: {human: how is it opened?}
  - id: second
    retrieval: {primary: ["src/b.py::two"], secondary: ["src/b.py:1-2"]}
    cognitive: {human: how is it shut?}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "code" / "src").mkdir(parents=True)
    (tmp_path / "code" / "src" / "a.py").write_text("def one():\n    return 1\n", "utf-8")
    (tmp_path / "code" / "src" / "b.py").write_text("def two():\n    return 2\n", "utf-8")
    (tmp_path / "gold.yaml").write_text(GOLD, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lint_json(capsys, *flags):
    code = main(["gold", "lint", "gold.yaml", "--json", "--quiet", *flags])
    return code, json.loads(capsys.readouterr().out)


def test_lint_lists_findings_and_ends_with_two_for_errors(folder, capsys):
    code, data = lint_json(capsys)
    assert code == 2
    assert data["schema"] == "assay/gold-lint/1"
    assert data["counts"]["error"] == 2
    found = {finding["code"]: finding for finding in data["findings"]}
    assert found["G104"] == {
        "code": "G104",
        "severity": "error",
        "gold": "small",
        "query": "first",
        "file": "gold.yaml",
        "line": 7,
        "anchor": "src/A.py",
        "message": "src/A.py does not match in case: the corpus has src/a.py",
        "hint": "correct the case",
        "fixable": True,
        "repair": {"anchor": "src/A.py", "instead": "src/a.py"},
    }
    assert set(found) == {"G104", "G111", "G303", "G123", "G604"}


def test_fix_leaves_what_is_not_certain(folder, capsys):
    code, data = lint_json(capsys, "--fix")
    assert code == 0
    assert [finding["code"] for finding in data["repaired"]] == ["G104", "G123"]
    assert "G303" in {finding["code"] for finding in data["findings"]}, "two grades: nobody knows which is meant"


def test_fix_keeps_comments_and_shows_what_it_did(folder, capsys):
    (folder / "gold.yaml").write_text(GOLD.replace(', secondary: ["src/b.py:1-2"]', ""), "utf-8")
    assert main(["gold", "lint", "gold.yaml", "--fix", "--quiet"]) == 0
    assert "G104 small/first: src/A.py became src/a.py" in capsys.readouterr().out
    text = (folder / "gold.yaml").read_text("utf-8")
    assert "src/a.py" in text
    assert "# kept" in text
    code, data = lint_json(capsys, "--fix")
    assert (code, data["repaired"]) == (0, [])
    assert (folder / "gold.yaml").read_text("utf-8") == text


def test_fix_keeps_the_corpus_that_the_file_names(folder, capsys):
    main(["gold", "lint", "gold.yaml", "--fix", "--quiet", "--corpus", "code"])
    assert "corpus: {path: code}" in (folder / "gold.yaml").read_text("utf-8")


def test_strict_makes_warnings_count(folder, capsys):
    (folder / "gold.yaml").write_text(GOLD.replace("src/A.py", "src/a.py"), "utf-8")
    assert main(["gold", "lint", "gold.yaml", "--quiet"]) == 0
    assert main(["gold", "lint", "gold.yaml", "--quiet", "--strict"]) == 2
    assert main(["gold", "lint", "gold.yaml", "--quiet", "--strict", "--ignore", "G303"]) == 0


def test_select_looks_at_some_rules_only(folder, capsys):
    code, data = lint_json(capsys, "--select", "G3")
    assert code == 0
    assert {finding["code"] for finding in data["findings"]} == {"G303"}


def test_unknown_code_is_refused(folder, capsys):
    assert main(["gold", "lint", "gold.yaml", "--select", "G9"]) == 2
    assert "no lint rule code begins with 'G9'" in capsys.readouterr().err


def test_reach_tells_what_an_engine_cannot_return(folder, capsys):
    (folder / "chunks.jsonl").write_text('{"path": "src/b.py", "start": 1, "end": 1}\n', "utf-8")
    (folder / "gold.yaml").write_text(GOLD.replace("src/A.py", "src/a.py"), "utf-8")
    _, data = lint_json(capsys, "--reach", "chunks.jsonl", "--select", "G503")
    assert [(f["query"], f["anchor"]) for f in data["findings"]] == [("first", "src/a.py")]


def test_builtin_engine_can_return_every_line(folder, capsys):
    (folder / "gold.yaml").write_text(GOLD.replace("src/A.py", "src/a.py"), "utf-8")
    _, data = lint_json(capsys, "--reach", "builtin", "--select", "G5")
    assert data["findings"] == []


def test_findings_are_shown_once_for_all_queries_they_are_true_of(folder, capsys):
    (folder / "code" / "src" / "c.ts").write_text("export * from './d';\n", "utf-8")
    queries = "".join(
        f"  - {{id: q{n}, retrieval: {{primary: [src/c.ts]}}, cognitive: {{human: what is done {n} times}}}}\n"
        for n in range(6)
    )
    (folder / "gold.yaml").write_text(GOLD.partition("  # kept")[0] + queries, "utf-8")
    main(["gold", "lint", "gold.yaml", "--quiet", "--select", "G203"])
    out = capsys.readouterr().out
    assert out.count("G203") == 1
    assert "q0, q1 +4" in out
    assert "0 errors, 6 warnings, 0 notes." in out


def test_size_that_cannot_show_the_margin_is_told(folder, capsys):
    assert [f["code"] for f in lint_json(capsys, "--select", "G604")[1]["findings"]] == ["G604"]


def test_review_finds_the_errors_that_lint_finds(folder, capsys):
    (folder / "code" / "test_b.py").write_text("def three():\n    return 3\n", "utf-8")
    include = GOLD.replace("{path: code}", "{path: code, include: [src/*]}").replace("src/A.py", "test_b.py")
    (folder / "gold.yaml").write_text(include, "utf-8")
    gold = load_gold(folder / "gold.yaml").golds[0]
    problems = set_problems(ReviewWorkspace(folder / "gold.yaml"), gold)
    found = [f["code"] for f in lint_json(capsys)[1]["findings"] if f["severity"] == "error"]
    assert [problem.code for problem in problems] == found == ["G102", "G111"]


def test_broken_set_is_refused_with_its_line(folder, capsys):
    (folder / "gold.yaml").write_text("assay: 1\nname: [\n", "utf-8")
    assert main(["gold", "lint", "gold.yaml"]) == 2
    assert "gold.yaml:" in capsys.readouterr().err


def test_hook_runs_this_command_on_gold_files():
    import re
    from pathlib import Path

    import yaml

    from assay.cli.main import build_parser

    root = Path(__file__).parents[3]
    hook = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text("utf-8"))[0]
    build_parser().parse_args([*hook["entry"].split()[1:], "gold.yaml"])
    meant = ["gold.yaml", "data/gold.yml", "shop-gold.yaml", "gold-2.yaml", "a/gold.test.yaml"]
    others = ["golden.yaml", "marigold.yaml", "gold/notes.yaml", "gold.json"]
    assert [name for name in meant + others if re.search(hook["files"], name)] == meant
