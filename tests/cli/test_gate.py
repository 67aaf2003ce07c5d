"""`assay gate` on repeats and baseline files, `assay run --repeat`, and what GitHub is told by gate and lint."""

import json
import math
import re

import pytest

from assay.cli.main import main
from assay.report.gate_checks import Gate, GateCheck
from assay.report.gate_document import gate_summary
from tests.conftest import copy_finished, enter, finish, write_tree

QUERIES = 20
#: A repository whose engine says what a file tells it to: a number of right answers, and a query that fails.
FLAKY = {f"code/part{i}.py": f"thing = {i}\n" for i in range(QUERIES)} | {
    "many.yaml": "assay: 1\nname: many\ncorpus: {path: code}\nqueries:\n"
    + "".join(
        f"  - id: q{i}\n    retrieval: {{primary: [part{i}.py]}}\n    cognitive: {{human: where is thing{i}}}\n"
        for i in range(QUERIES)
    ),
    "assay.toml": (
        '[run]\ngold = "many.yaml"\nreferences = false\nbaseline = "mine"\nmeasures = ["RR@10"]\n'
        '[engines.mine]\nkind = "command"\nformat = "text"\nargv = ["sh", "{here}/tool.sh", "{query}"]\n'
    ),
    "tool.sh": (
        'n="${1##*thing}"\nhere="$(dirname "$0")"\nread right down < "$here/skill"\necho x >> "$here/asked"\n'
        'if [ "$n" = "$down" ] && [ "$(wc -l < "$here/asked")" -gt 20 ]; then exit 3; fi\n'
        'if [ "$n" -lt "$right" ]; then echo "part$n.py:1"; else echo "part0.py:1"; fi\n'
    ),
    "skill": f"{QUERIES} \n",
}


@pytest.fixture
def flaky(tmp_path, monkeypatch):
    write_tree(tmp_path / "repo", FLAKY)
    return enter(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return finish(tmp_path_factory.mktemp("flaky"), FLAKY, "run", "--quiet")


@pytest.fixture
def run_of_flaky(finished, tmp_path, monkeypatch):
    """A copy of the same with a finished run in `results`, in which every answer is right."""
    return copy_finished(finished, tmp_path, monkeypatch)


def skill(root, right, down=""):
    (root / "skill").write_text(f"{right} {down}\n")
    (root / "asked").unlink(missing_ok=True)


def as_json(capsys, *arguments):
    code = main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_repeats_are_run_gated_and_written_as_a_baseline(flaky, capsys):
    skill(flaky, 20, down="3")  # fails from the second repeat on
    code, data = as_json(capsys, "run", "--repeat", "2", "--out", "old", "--quiet")
    assert (code, data["schema"]) == (0, "assay/repeats/2")
    assert data["stability"][0]["means"] == [1.0, 0.95]
    assert data["stability"][0]["wavering"][0]["query"] == "q3"
    assert main(["gate", "old", "--write-baseline", "baseline.json"]) == 0
    skill(flaky, 5)
    assert main(["run", "--repeat", "2", "--out", "new", "--quiet"]) == 0
    capsys.readouterr()
    code, data = as_json(capsys, "gate", "new", "--against", "baseline.json")
    assert (code, data["exit_code"], data["verdict"]) == (1, 1, "fail")
    row = data["comparison"]["rows"][0]
    assert (row["queries"], row["baseline_mean"]) == (20, 0.975)
    for against in (["--against", "old"], ["--against", "old/1", "--against", "old/2"]):
        code, same = as_json(capsys, "gate", "new/1", "new/2", *against)
        mine = {key: value for key, value in same["comparison"]["rows"][0].items() if key not in ("engine", "baseline")}
        assert mine == {key: row[key] for key in mine}
    assert {one["engine"] for one in data["regressions"]} == {"mine"}
    assert data["stability"][1]["changed"] == 0.05


def test_tool_that_ends_with_1_on_every_query_has_failed(run_of_flaky, capsys):
    (run_of_flaky / "tool.sh").write_text("exit 1\n")  # as grep does that finds nothing
    assert main(["run", "--out", "new", "--quiet"]) == 0
    capsys.readouterr()
    code, data = as_json(capsys, "gate", "new", "--against", "results")
    assert (code, data["verdict"]) == (4, "engine failed")
    assert "no query returned a result" in data["checks"][0]["detail"]


def test_repeats_ask_again_what_is_kept(shop, capsys):
    arguments = ["run", "--gold", "gold.yaml", "--no-times", "--jobs", "1"]
    arguments += ["--engine", "keywords", "--baseline", "keywords", "--no-references"]
    assert main([*arguments, "--out", "first"]) == 0
    assert main([*arguments, "--out", "second"]) == 0
    assert "1 cell: 1 cached, 0 run now" in capsys.readouterr().err
    assert main([*arguments, "--out", "repeats", "--repeat", "2"]) == 0
    assert capsys.readouterr().err.count("1 cell: 0 cached, 1 run now") == 2


def test_repeats_never_mix_with_others(run_of_flaky, capsys):
    for number in (1, 2, 3):
        (run_of_flaky / "old" / str(number)).mkdir(parents=True)
    assert main(["run", "--repeat", "2", "--out", "old", "--quiet"]) == 2
    assert "contains more than 2 repeats: 3" in capsys.readouterr().err
    assert main(["run", "--out", "old", "--quiet"]) == 2
    assert main(["run", "--repeat", "2", "--quiet"]) == 2
    assert "contains a single run" in capsys.readouterr().err
    gold = run_of_flaky / "many.yaml"
    gold.write_text(gold.read_text().replace("where is thing1}", "find thing1}"))
    assert main(["run", "--out", "other", "--quiet"]) == 0
    assert main(["gate", "results", "other", "--require", "RR@10>=0"]) == 5
    assert "repeat 2 differs from the first in its gold" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["run", "--repeat", "1"], "--repeat: expected 2 or more, got 1"),
        (["run", "--repeat", "2", "--shard", "1/2"], "--repeat cannot be used with --shard"),
        (["gate", "--no-comment"], "--no-comment requires --github"),
        (["gate", "--write-baseline", "b.json", "--strict"], "--strict cannot be used with --write-baseline"),
        (["gate", "--write-baseline", "b.json", "--against", "x"], "--against cannot be used with --write-baseline"),
    ],
)
def test_flags_that_mean_nothing_are_refused(flaky, capsys, flags, said):
    assert main(flags) == 2
    assert said in capsys.readouterr().err


def test_baseline_file_stands_alone_and_is_no_folder(run_of_flaky, capsys):
    assert main(["gate", "--write-baseline", "b.json"]) == 0
    assert main(["gate", "--against", "b.json", "--against", "results"]) == 2
    assert "expected one baseline file" in capsys.readouterr().err
    assert main(["gate", "--against", "nowhere.json"]) == 2
    assert main(["gate", "--against", "b.json", "--primary", "Hit@5"]) == 5
    assert "has no Hit@5 scores" in capsys.readouterr().err
    assert main(["gate", "--against", "b.json", "--strict"]) == 0  # nothing changed


def test_results_of_a_run_that_failed_are_not_judged(run_of_flaky):
    made = run_of_flaky / "run.json"
    gate = ["gate", "--require", "RR@10>=0.5", "--made-by", "run.json"]
    for text, code in (('{"schema": "assay/error/1", "error": "no", "exit_code": 5}', 5), ("", 4), ("[]", 4)):
        made.write_text(text)
        assert main(gate) == code
    made.write_text('{"schema": "assay/results/2"}')
    assert main(gate) == 0


def test_gold_that_cannot_be_read_is_shown_at_its_line_by_lint_and_by_the_gate(shop, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(shop / "summary.md"))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(shop))
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    (shop / "assay.toml").write_text('[run]\ngold = "gold.yaml"\n')
    text = (shop / "gold.yaml").read_text()
    (shop / "gold.yaml").write_text(text.replace("queries:\n", "'##[add-mask]pass': 1\nqueries:\n", 1))
    line = text.splitlines().index("queries:") + 1
    assert main(["gold", "lint", "--github", "--quiet"]) == 2
    told = capsys.readouterr().err
    assert re.search(rf"^::error file=gold.yaml,line={line},title=assay gold lint::", told, re.M)
    assert "add-mask" in told
    assert "##[" not in told
    code, data = as_json(capsys, "run", "--quiet")
    assert (code, data["file"], data["line"]) == (2, "gold.yaml", line)
    assert data["message"] in data["error"]
    (shop / "run.json").write_text(json.dumps(data))
    assert main(["gate", "--made-by", "run.json", "--github"]) == 2
    told = capsys.readouterr()
    assert re.search(rf"^::error file=gold.yaml,line={line},title=assay gate::", told.err, re.M)
    assert "##[" not in told.err + told.out


def test_summary_of_lint_lists_every_finding(shop, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(shop / "summary.md"))
    queries = "".join(
        f"  - id: q{n}\n    retrieval: {{primary: [gone{n}.py]}}\n    cognitive: {{human: where is it {n}}}\n"
        for n in range(20)
    )
    (shop / "many.yaml").write_text(f"assay: 1\nname: many\ncorpus: {{path: shop}}\nqueries:\n{queries}")
    assert main(["gold", "lint", "many.yaml", "--github", "--quiet", "--select", "G1"]) == 2
    told = capsys.readouterr()
    assert "and 32 more: the job summary lists them" in told.err
    assert "12 more; --json has them all" in " ".join(told.out.split())
    summary = (shop / "summary.md").read_text()
    assert all(f"gone{n}.py" in summary for n in range(20))


def test_github_is_told_of_errors_too(flaky, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(flaky / "summary.md"))
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    code, data = as_json(capsys, "gate", "nowhere", "--github")
    assert (code, data["schema"], data["verdict"]) == (2, "assay/error/1", "bad input")
    assert "no such directory" in (flaky / "summary.md").read_text()


def test_lint_shows_findings_beside_their_lines(shop, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(shop / "summary.md"))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(shop))
    text = (shop / "gold.yaml").read_text().replace("shop/tax.py::tax_rate", "shop/tax.py::gone")
    (shop / "gold.yaml").write_text(text)
    (shop / "assay.toml").write_text('[run]\ngold = "gold.yaml"\n')
    assert main(["gold", "lint", "--github", "--quiet"]) == 2
    line = text.splitlines().index('    retrieval: {primary: ["shop/tax.py::gone"]}') + 1
    told = capsys.readouterr().err.splitlines()
    assert [one for one in told if one.startswith(f"::error file=gold.yaml,line={line},title=assay gold lint G106::")]
    assert "assay gold lint" in (shop / "summary.md").read_text()


def test_lint_without_a_set_needs_a_file_that_names_one(shop, capsys):
    assert main(["gold", "lint"]) == 2
    assert "no gold set given" in capsys.readouterr().err


def test_gate_against_a_baseline_file_that_is_not_there_says_how_to_make_one(finished_shop, capsys):
    assert main(["gate", "results", "--against", "nope.json"]) == 2
    said = capsys.readouterr().err
    assert "nope.json: no such baseline file" in said
    assert "--write-baseline nope.json" in said


@pytest.mark.parametrize("command", [["report", "old"], ["score", "old"], ["compare", "old"], ["show", "old", "q"]])
def test_folder_of_repeats_says_where_its_runs_are(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old" / "2").mkdir(parents=True)
    (tmp_path / "old" / "1").mkdir()
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "no run found" in said
    assert "pass one repeat, such as old/1" in said


def test_regression_wins_over_a_missing_engine_and_both_are_printed():
    worse = GateCheck("comparison", "a (new) against a (old) on nDCG@10", False, 1, "-0.300: worse")
    others = [GateCheck("comparison", f"{n} (new) against {n} (old) on nDCG@10", True, 3, "", True) for n in range(3)]
    gone = GateCheck("counterpart", "b: in this run", False, 5, "this run does not have it")
    gate = Gate((*others, worse, gone), None, strict=False)
    assert gate.exit_code == 1
    lines = list(map(str, gate_summary(gate, "assay show").blocks))
    assert "fail: a (new)" in lines[0]
    assert "fail: b: in this run" in lines[1]


def pyckle_results(path, right, queries=QUERIES):
    """Write an eval_results.json in which the first queries find their file at once, and the others below another."""
    rows = [
        {
            "query": f"where is thing{i}",
            "expected": f"part{i}.py",
            "ranked": ["other.py"] * (i >= right) + [f"part{i}.py"],
        }
        for i in range(queries)
    ]
    path.write_text(json.dumps({"mrr_at_10": 1.0, "results": rows}, indent=2))


@pytest.mark.parametrize(("right", "outcome"), [(QUERIES, (1, "worse")), (0, (0, "inconclusive"))])
def test_results_of_pyckle_are_a_baseline(flaky, capsys, right, outcome):
    skill(flaky, QUERIES // 2)
    assert main(["run", "--quiet"]) == 0
    pyckle_results(flaky / "eval_results.json", right)
    capsys.readouterr()
    code, data = as_json(capsys, "gate", "results", "--against", "eval_results.json")
    assert (code, data["decision"]["outcome"]) == outcome
    assert as_json(capsys, "gate", "results", "--baseline", "eval_results.json") == (code, data)
    at_once = right / QUERIES
    assert data["decision"]["baseline"]["mean"] == pytest.approx(at_once + (1 - at_once) / math.log2(3))  # nDCG@10


def test_results_of_pyckle_without_some_queries_are_not_comparable(run_of_flaky, capsys):
    pyckle_results(run_of_flaky / "eval_results.json", 3, queries=3)
    assert main(["gate", "results", "--against", "eval_results.json"]) == 5
    assert "eval_results.json: no result for 17 of 20 queries, e.g. 'where is thing3'" in capsys.readouterr().err
