"""The commands as a user meets them: what they print, what they write, how they end."""

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.experiment import read_run
from tests.conftest import GOLD, RUN, SHOP, enter, write_tree
from tests.waiting import WATCHDOG

#: For tests that are not about engines.
KEYWORDS = ("--engine", "keywords", "--baseline", "keywords", "--no-references")


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def as_json(capsys, *arguments: str) -> tuple[int, dict]:
    code, out, _ = call(capsys, *arguments, "--json")
    return code, json.loads(out)


def test_run_prints_the_decision_last_and_writes_the_files(shop, capsys):
    code, card, _ = call(capsys, *RUN)
    assert code == 0
    assert card.startswith("= builtin and keywords have the same scores on shop, by lines (nDCG@10)\n")
    assert card.splitlines()[-1].startswith("  ! Only 3 queries, fewer than 30")
    assert len(card.splitlines()) <= 6
    code, out, _ = call(capsys, "score", "results", "--full")
    assert out.endswith(card)
    for text in ("nDCG@10", "builtin", "keywords", "random", "oracle", "Only 3 queries"):
        assert text in out
    for text in ("of the way from random", "a keyword search reaches"):
        assert text in " ".join(out.split())
    code, out, _ = call(capsys, "score", "results", "--verbose")
    assert out.endswith(card)
    assert "   1  1.000  tax-lookup: " in out
    written = {p.name for p in (shop / "results").iterdir()}
    assert {"run.json", "RESULTS.md", "results.json", "per-query.csv", "report.html", "engines"} <= written


def test_run_with_a_configuration_file(shop, capsys):
    (shop / "assay.toml").write_text(
        '[run]\ngold = "gold.yaml"\nk = 3\nout = "there"\nbaseline = "lines"\n'
        '[engines.lines]\nkind = "builtin"\nper = "span"\n[engines.files]\nkind = "builtin"\n'
    )
    code, data = as_json(capsys, "run", "--quiet")
    assert code == 0
    assert data["k"] == 3
    assert data["comparison"]["baseline"] == "lines"
    assert (shop / "there" / "report.html").is_file()


def test_run_can_be_scored_again_without_engine_or_corpus(finished_shop, tmp_path, capsys, monkeypatch):
    written = json.loads((finished_shop / "results" / "results.json").read_text())
    shutil.copytree(finished_shop / "results", tmp_path / "kept")
    monkeypatch.chdir(tmp_path)
    _, again = as_json(capsys, "score", "kept")
    assert again == written


def test_score_takes_other_measures(finished_shop, capsys):
    code, data = as_json(capsys, "score", "results", "--measure", "P@5", "--primary", "RR@10")
    assert code == 0
    assert data["measures"] == ["RR(level=lines)@10", "P(level=lines)@5"]


def test_level_chooses_the_primary_beside_other_measures(finished_shop, capsys):
    _, data = as_json(capsys, "score", "results", "--level", "file", "--measure", "R@10")
    assert data["measures"][:2] == ["nDCG@10", "R@10"]


def test_score_refuses_a_cut_off_beyond_what_was_asked_for(finished_shop, capsys):
    code, _, err = call(capsys, "score", "results", "--measure", "nDCG@50")
    assert code == 2
    assert "50" in err


def test_compare_inside_a_run(finished_shop, capsys):
    code, data = as_json(capsys, "compare", "results")
    assert code == 0
    assert [row["engine"] for row in data["rows"]] == ["builtin"]


def test_compare_all_pairs_leaves_out_floor_and_ceiling(finished_shop, capsys):
    code, data = as_json(capsys, "compare", "results", "--all-pairs")
    assert code == 0
    assert {data["rows"][0]["engine"], data["rows"][0]["baseline"]} == {"builtin", "keywords"}
    assert data["leader"] in ("builtin", "keywords")


def test_compare_two_runs_uses_the_queries_that_agree(finished_shop, tmp_path, capsys):
    old = shutil.copytree("results", tmp_path / "old")
    code, data = as_json(capsys, "compare", str(old), "results", "--engine", "builtin")
    assert code == 0
    assert data["rows"][0]["difference"] == 0.0
    assert "3 of 3" in data["notes"][0]


def test_compare_two_runs_on_other_gold_is_not_comparable(shop_with_results, capsys):
    gold = (shop_with_results / "gold.yaml").read_text().replace("percentage is charged", "share is charged")
    (shop_with_results / "gold.yaml").write_text(gold.replace("provider does not answer", "provider is silent"))
    call(capsys, *RUN, *KEYWORDS, "--out", "new")
    code, _, err = call(capsys, "compare", "results", "new")
    assert code == 5
    assert "1 of 3" in err


@pytest.fixture
def csv_tables(tmp_path, monkeypatch):
    """Write tables of thirty values each, in the current folder."""
    monkeypatch.chdir(tmp_path)

    def written(**values):
        for name, value in values.items():
            rows = "".join(f"q{i},{value(i)}\n" for i in range(30))
            (tmp_path / f"{name}.csv").write_text(f"query,value\n{rows}")

    return written


def test_compare_two_tables_needs_no_gold(csv_tables, capsys):
    csv_tables(a=lambda i: 0.5, b=lambda i: 0.5 + 0.01 * i)
    code, data = as_json(capsys, "compare", "a.csv", "b.csv")
    assert code == 0
    assert data["rows"][0]["verdict"] == "better"


def test_compare_writes_the_percentile_bootstrap_of_every_pair(csv_tables, capsys):
    csv_tables(a=lambda i: float(i < 26), b=lambda i: float(i < 27))
    code, data = as_json(capsys, "compare", "a.csv", "b.csv", "--bootstrap", "percentile", "--out", "pairs.csv")
    assert code == 0
    (pair,) = data["bootstrap"]
    assert (pair["published"]["low"], pair["published"]["high"]) == (0.0, pytest.approx(0.1))  # as Karta publishes it
    (row,) = csv.DictReader(Path("pairs.csv").read_text().splitlines())
    assert (row["engine"], row["difference"], row["excludes_zero"]) == ("b.csv", "0.033333", "false")


def test_compare_every_pair_of_a_run_by_percentile_bootstrap(finished_shop, capsys):
    code, data = as_json(capsys, "compare", "results", "--all-pairs", "--bootstrap", "percentile")
    assert code == 0
    assert len(data["bootstrap"]) == len(data["rows"])


def test_compare_every_experiment_of_one_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{name},Q{i},{i % 10 < most}\n" for name, most in (("x", 2), ("y", 5), ("z", 9)) for i in range(30))
    (tmp_path / "sweep.csv").write_text(f"experiment_id,query_id,top1_hit\n{rows}")
    code, data = as_json(capsys, "compare", "sweep.csv", "--primary", "top1_hit")
    assert (code, data["leader"], len(data["rows"])) == (0, "z", 3)
    names = (data["decision"]["candidate"]["name"], data["decision"]["baseline"]["name"])
    assert names == ("z", "y")
    code, data = as_json(capsys, "compare", "sweep.csv", "--primary", "top1_hit", "--baseline", "y")
    assert [row["engine"] for row in data["rows"]] == ["x", "z"]


def test_gate_passes_on_an_unchanged_run(finished_shop, tmp_path, capsys):
    old = shutil.copytree("results", tmp_path / "old")
    assert main(["gate", "results", "--against", str(old), "--json"]) == 0


QUERIES = 40  # enough for a verdict, whatever engine answers them
MANY = {f"part{i}.py": f"def thing{i}():\n    return {i}\n" for i in range(QUERIES)} | {
    "many.yaml": "assay: 1\nname: many\ncorpus: {path: .}\nqueries:\n"
    + "".join(
        f"  - id: q{i}\n    retrieval: {{primary: [part{i}.py]}}\n    cognitive: {{human: where is thing{i}}}\n"
        for i in range(QUERIES)
    )
}
ANSWERS = """\
def search(query, k):
    number = int(query.rpartition('thing')[2])
    if number >= {known}: raise RuntimeError('down')
    return [f'part{{number}}.py'] if number < {right} else []
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Return a function that names a run whose engine answers `right` of forty queries and fails on `broken`.

    Tests share the runs: each is made once.
    """
    base = tmp_path_factory.mktemp("many")
    write_tree(base / "repo", MANY)

    @cache
    def made(right, broken=0, name="mine", references=False):
        module, out = f"answers_{right}_{broken}", base / f"{name}-{right}-{broken}-{references}"
        (base / f"{module}.py").write_text(ANSWERS.format(known=QUERIES - broken, right=right))
        (base / "assay.toml").write_text(f'[engines."{name}"]\nkind = "python"\ntarget = "{module}:search"\n')
        with pytest.MonkeyPatch.context() as patch:
            enter(base, patch)
            patch.syspath_prepend(str(base))
            flags = ["--config", "../assay.toml", "--gold", "many.yaml", "--out", str(out), "--quiet"]
            assert main(["run", *flags, *([] if references else ["--no-references", "--baseline", name])]) == 0
        return str(out)

    return made


def test_gate_fails_on_a_proven_regression(answers, capsys):
    new, old = answers(20, references=True), answers(40, references=True)
    capsys.readouterr()
    code, data = as_json(capsys, "gate", new, "--against", old, "--engine", "mine")
    assert code == data["exit_code"] == 1
    assert data["comparison"]["rows"][0]["verdict"] == "worse"
    code, data = as_json(capsys, "gate", new, "--against", old, "--strict")
    assert code == 1
    assert [row["engine"] for row in data["comparison"]["rows"]] == [f"mine ({new})"]  # the references are not judged


def test_gate_passes_an_improvement(answers, capsys):
    arguments = ["gate", answers(40), "--against", answers(20), "--strict"]
    capsys.readouterr()
    code, out, _ = call(capsys, *arguments)
    assert code == 0, out
    assert "inconclusive" not in out


def test_gate_lets_an_inconclusive_change_pass_with_a_warning_unless_strict(answers, capsys):
    arguments = ["gate", answers(38), "--against", answers(40), "--engine", "mine"]
    capsys.readouterr()
    code, out, _ = call(capsys, *arguments)
    assert code == 0
    assert out.splitlines()[-1] == "assay gate: pass, inconclusive (exit 0)"
    assert main([*arguments, "--strict"]) == 3
    assert "assay gate: inconclusive (exit 3)" in capsys.readouterr().out


def test_gate_ends_in_four_when_too_many_queries_failed(answers, capsys):
    arguments = ["gate", answers(40, broken=3), "--against", answers(40), "--engine", "mine"]
    capsys.readouterr()
    code, data = as_json(capsys, *arguments)
    assert code == 4
    assert "3 of 40" in data["checks"][0]["detail"]


def test_gate_bears_five_percent_of_failures(answers):
    assert main(["gate", answers(40, broken=2), "--engine", "mine", "--require", "Hit@5>=0.5"]) == 0


def test_gate_takes_one_engine(answers, capsys):
    assert main(["gate", answers(40), "--engine", "mine", "--engine", "mine"]) == 2
    assert "--engine: given more than once; name one engine" in capsys.readouterr().err


def test_gate_checks_thresholds_by_the_mean_and_shows_the_interval(answers, capsys):
    arguments = ["gate", answers(32), "--engine", "mine", "--require"]
    capsys.readouterr()
    code, data = as_json(capsys, *arguments, "Hit@5>=0.75")
    assert code == 0
    assert data["checks"][1]["detail"] == "0.800, 95% CI 0.65 to 0.90"
    assert main([*arguments, "Hit@5>=0.60"]) == 0
    assert main([*arguments, "Hit@5>=0.85"]) == 1


def test_gate_puts_failed_engines_before_a_proven_regression(answers):
    assert main(["gate", answers(10, broken=5), "--against", answers(40), "--engine", "mine"]) == 4


def test_gate_lets_a_proven_but_negligible_regression_pass(answers):
    arguments = ["gate", answers(20), "--against", answers(40), "--engine", "mine"]
    assert main(arguments) == 1
    assert main([*arguments, "--margin", "0.75"]) == 0


def test_gate_refuses_a_floor_on_a_measure_that_applies_to_nothing(answers, capsys):
    code, _, err = call(capsys, "gate", answers(40), "--require", "Displacement@10<=0.5")
    assert code == 2
    assert "applies to no query" in err


def test_gate_on_other_gold_is_not_comparable(answers, finished_shop):
    assert main(["gate", "results", "--against", answers(40)]) == 5


def test_gate_with_an_unreadable_rule_is_a_usage_error(finished_shop, capsys):
    code, _, err = call(capsys, "gate", "results", "--require", "Hit@5 at least 0.7")
    assert code == 2
    assert "Hit@5>=0.70" in err


def test_plan_from_a_pilot_and_from_assumptions(answers, capsys):
    pilot = answers(20, references=True)
    capsys.readouterr()
    code, data = as_json(capsys, "plan", pilot, "--detect", "0.02", "--engine", "mine")
    assert code == 0
    assert data["queries"] > 40
    assert data["queries_range"]["low"] < data["queries"] < data["queries_range"]["high"]
    assert (data["icc"], data["icc_source"]) == (pytest.approx(0.1), "assumed")
    code, given = as_json(capsys, "plan", pilot, "--detect", "0.02", "--engine", "mine", "--icc", "0.3")
    assert (code, given["icc"], given["icc_source"]) == (0, pytest.approx(0.3), "given")
    assert given["repositories"] > data["repositories"]
    code, data = as_json(capsys, "plan", "--detect", "0.05", "--sd", "0.3", "--icc", "0.1", "--repositories", "10")
    assert code == 0
    assert data["repositories"] > 10
    assert data["repositories_range"] is None


def test_plan_prints_the_answer_first(answers, capsys):
    pilot = answers(20, references=True)
    capsys.readouterr()
    code, out, _ = call(capsys, "plan", pilot, "--detect", "0.1", "--engine", "mine")
    assert code == 0
    assert out.startswith("A difference of 0.1 needs ")
    assert "95% CI" in out
    assert "set it with --icc" in " ".join(out.split())
    _, out, _ = call(capsys, "plan", "--detect", "0.1", "--sd", "0.3")
    assert "ICC 0.1, assumed; set it with --icc" in " ".join(out.split())
    assert "95% CI" not in out


def test_plan_from_a_pilot_that_shows_nothing_is_refused(finished_shop, capsys):
    code, _, err = call(capsys, "plan", "results", "--detect", "0.1")
    assert code == 2
    assert "at least 6 are needed" in err
    code, _, _ = call(capsys, "plan", *err.split("assay plan ")[1].split())  # the hint works
    assert code == 0


@pytest.mark.parametrize("flag", [["--icc", "2"], ["--queries", "0"], ["--alpha", "0.9"]])
def test_plan_from_impossible_assumptions_is_a_usage_error(capsys, flag):
    code, _, err = call(capsys, "plan", "--detect", "0.1", "--sd", "0.3", *flag)
    assert code == 2
    assert "cannot plan" in err


def test_init_writes_files_that_run_at_once(shop, capsys):
    (shop / "gold.yaml").unlink()
    code, data = as_json(capsys, "init")
    assert code == 0
    assert len(data["targets"]) == 5
    code, out, err = call(capsys, "run", "--quiet", "--full")
    assert code == 0, err
    assert "Only 5 queries" in out
    assert "5 of 5 queries are drafts" in out


def test_init_overwrites_nothing(shop, capsys):
    before = (shop / "gold.yaml").read_text()
    code, _, err = call(capsys, "init")
    assert code == 2
    assert "gold.yaml" in err
    assert (shop / "gold.yaml").read_text() == before
    assert not (shop / "assay.toml").exists()


def test_init_in_a_repository_of_another_language_drafts_files(tmp_path, capsys, monkeypatch):
    (tmp_path / "main.go").write_text("package main\n\nfunc main() {}\n")
    monkeypatch.chdir(tmp_path)
    code, data = as_json(capsys, "init")
    assert code == 0
    assert data["targets"] == ["main.go"]


def test_init_in_a_repository_of_another_language_drafts_its_definitions(tmp_path, capsys, monkeypatch):
    body = "".join(f"\tstep({number})\n" for number in range(10))
    (tmp_path / "main.go").write_text(f"package main\n\nfunc Serve() {{\n{body}}}\n")
    monkeypatch.chdir(tmp_path)
    code, data = as_json(capsys, "init")
    assert code == 0
    assert data["targets"] == ["main.go::Serve"]


def test_init_in_an_empty_folder_says_what_to_do(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = call(capsys, "init")
    assert code == 2
    assert "\nhint: " in err
    assert list(tmp_path.iterdir()) == []


def test_doctor_reports_and_is_ready_here(shop, small_library, capsys):
    code, data = as_json(capsys, "doctor")
    assert code == 0
    assert data["schema"] == "assay/doctor/1"
    assert data["ready"]
    assert {"python", "git", "cache", "standard library"} <= {f["name"] for f in data["findings"]}


def test_doctor_names_what_is_broken(shop, small_library, tmp_path, capsys, monkeypatch):
    (shop / "assay.toml").write_text("[run]\nkk = 1\n")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "file"))
    code, data = as_json(capsys, "doctor")
    found = {f["name"]: f for f in data["findings"]}
    assert (code, data["ready"]) == (4, False)
    assert found["assay.toml"]["state"] == "failed"
    assert "kk" in found["assay.toml"]["detail"]
    assert (found["cache"]["state"], found["cache"]["required"]) == ("failed", True)


JSON_COMMANDS = [
    ["score", "results"],
    ["compare", "results"],
    ["gate", "results"],
    ["plan", "--detect", "0.05", "--sd", "0.3"],
]


@pytest.mark.parametrize("arguments", JSON_COMMANDS, ids=lambda a: a[0])
def test_every_command_speaks_json_with_a_versioned_schema(finished_shop, capsys, arguments):
    _, data = as_json(capsys, *arguments, "--quiet")
    assert data["schema"].startswith("assay/")
    assert data["schema"].rpartition("/")[2].isdigit()


def test_errors_speak_json_too(shop, capsys):
    code, data = as_json(capsys, "run", "--gold", "nowhere.yaml")
    assert code == data["exit_code"] == 2
    assert "nowhere.yaml" in data["error"]


def test_progress_goes_to_stderr_and_the_result_to_stdout(shop, capsys):
    code, out, err = call(capsys, "run", "--gold", "gold.yaml", *KEYWORDS, "--json")
    assert code == 0
    assert json.loads(out)["schema"] == "assay/results/2"
    assert re.fullmatch(r"keywords: 9 searches in [\d.]+ s\nwritten to results/report.html\n", err)


def test_unexpected_exception_ends_in_four_never_in_one(shop_with_results, capsys, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda url: 1 / 0)
    code, _, err = call(capsys, "report", "--open")
    assert code == 4
    assert "ZeroDivisionError" in err
    assert "Traceback" not in err


def test_engine_that_answers_nothing_at_all_ends_in_four_but_is_reported(shop, capsys):
    dead = ("--engine", "dead=command:/nonexistent/tool {query}", "--baseline", "dead", "--no-references")
    code, out, _ = call(capsys, *RUN, *dead)
    assert code == 4
    assert out.startswith("✗ dead failed on every query of shop\n")
    assert (shop / "results" / "report.html").is_file()


def test_help_needs_none_of_the_heavy_packages():
    heavy = (
        *("numpy", "scipy", "rich", "yaml", "pathspec", "mcp", "anyio", "pydantic", "tree_sitter", "tomllib"),
        *("asyncio", "concurrent.futures", "multiprocessing", "subprocess", "tempfile", "logging", "socket", "ssl"),
        *("http.client", "difflib", "hashlib", "traceback"),
        *("assay.search", "assay.engines", "assay.experiment", "assay.report", "assay.audit", "assay.agent"),
        *("assay.types", "assay.corpus", "assay.gold"),
    )
    code = (
        "import sys\nfrom assay.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit: pass\n"
        f"print([m for m in {heavy!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_output_into_a_closed_pipe_is_no_error(finished_shop):
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "assay", "score", "results"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=WATCHDOG)
    assert process.returncode == 0, err
    assert "Traceback" not in err


def test_gate_floor_is_for_the_engines_under_test_not_for_references(answers, capsys):
    run = answers(40, references=True)
    capsys.readouterr()
    _, data = as_json(capsys, "gate", run, "--require", "Hit@5>=0.99")
    assert [c["what"] for c in data["checks"] if "Hit@5" in c["what"]] == ["mine: Hit@5 by file >= 0.99"]
    assert data["exit_code"] == 0


def test_gate_does_not_pass_an_engine_that_has_no_counterpart(answers, capsys):
    arguments = ["gate", answers(40, name="mine (fast)"), "--against", answers(40)]
    capsys.readouterr()
    code, data = as_json(capsys, *arguments)
    assert code == data["exit_code"] == 5


def test_compare_says_that_the_corpus_or_the_settings_changed(shop_with_results, capsys):
    (shop_with_results / "extra.py").write_text("x = 1\n")
    call(capsys, *RUN, "--out", "new", "--engine", "builtin=builtin:file", "--no-references", "--baseline", "builtin")
    code, out, _ = call(capsys, "compare", "results", "new", "--engine", "builtin")
    assert code == 0
    assert "The corpus of shop changed between the runs: 1 added (extra.py)." in out
    _, data = as_json(capsys, "compare", "results", "new", "--engine", "builtin")
    assert any("corpus of shop changed" in note for note in data["notes"])
    assert any("Settings changed between the runs: builtin" in note for note in data["notes"])


def test_short_report_is_shorter_and_the_full_one_has_every_section(finished_shop, capsys):
    _, short, _ = call(capsys, "score", "results")
    _, full, _ = call(capsys, "score", "results", "--full")
    assert "Failures, duplicates and ties" not in short
    assert "Failures, duplicates and ties" in full
    assert len(short) < len(full)


def test_output_that_cannot_be_encoded_is_no_crash(finished_shop, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii", errors="strict"))
    assert main(["score", "results"]) == 0
    sys.stdout.flush()
    assert b"builtin" in written.getvalue()


def test_results_folder_is_checked_before_anything_is_asked(shop, capsys):
    (shop / "busy").mkdir()
    (shop / "busy" / "thesis.tex").write_text("years of work")
    code, _, err = call(capsys, "run", "--gold", "gold.yaml", "--out", "busy")
    assert code == 2
    assert "opening" not in err
    assert [p.name for p in (shop / "busy").iterdir()] == ["thesis.tex"]


def test_own_files_returned_by_a_foreign_engine_are_dropped_and_told(shop_with_results, capsys):
    tool = shop_with_results.parent / "tool.sh"
    tool.write_text("echo gold.yaml; echo results/run.json; echo shop/cart.py\n")
    engine = f"mine=command:sh {tool} {{query}}"
    code, data = as_json(capsys, *RUN, "--engine", engine, "--no-references", "--measure", "RR(level=file)@10")
    assert code == 0
    told = next(
        b for b in data["contract_violations"] if b["engine"] == "mine" and "own files were dropped" in b["kind"]
    )
    assert (told["queries"], told["example"]) == (9, "gold.yaml")
    assert data["low_scores"] is not None
    means = {(m["engine"], m["measure"]): m["mean"] for m in data["comparison"]["means"]}
    assert means["mine", "RR@10"] == pytest.approx(1 / 3)


def test_runs_with_another_k_are_not_comparable(shop_with_results, capsys):
    call(capsys, *RUN, *KEYWORDS, "--out", "new", "-k", "3")
    code, _, err = call(capsys, "compare", "new", "results")
    assert code == 5
    assert "3 results" in err


def test_compare_reads_the_per_query_table_of_a_run(finished_shop, tmp_path, capsys):
    copy = shutil.copy("results/per-query.csv", tmp_path / "other.csv")
    tables_of = ("results/per-query.csv", str(copy))
    code, data = as_json(capsys, "compare", *tables_of, "--engine", "builtin", "--primary", "RR(level=lines)@10")
    assert code == 0
    assert (data["rows"][0]["queries"], data["rows"][0]["difference"]) == (3, 0.0)
    code, _, err = call(capsys, "compare", *tables_of)
    assert code == 2
    assert "--engine" in err


FLAGS_WITHOUT_MEANING = [
    ["compare", "a.csv", "b.csv", "--out", "pairs.csv"],
    ["compare", "results", "--all-pairs", "--baseline", "oracle"],
    ["compare", "results", "results", "--baseline", "oracle"],
    ["plan", "results", "--detect", "0.1", "--queries", "5"],
    ["plan", "--detect", "0.1", "--sd", "0.3", "--engine", "x"],
]


@pytest.mark.parametrize("arguments", FLAGS_WITHOUT_MEANING, ids=" ".join)
def test_flag_that_means_nothing_is_refused(finished_shop, tmp_path, capsys, arguments):
    tables = {name: str(tmp_path / name) for name in ("a.csv", "b.csv")}
    for path in tables.values():
        (tmp_path / path).write_text("query,value\nq,1\n")
    code, _, err = call(capsys, *(tables.get(argument, argument) for argument in arguments))
    assert code == 2
    assert "cannot be used" in err or "requires" in err


def test_seed_reaches_the_engines(shop, capsys):
    def drawn(seed: str) -> list[list[str]]:
        call(capsys, *RUN, "--engine", "random", "--baseline", "random", "--no-references", "--seed", seed)
        (engine,) = read_run(shop / "results").engines
        return [[hit.path for hit in ranking.hits] for ranking in engine.rankings]

    assert drawn("0") != drawn("1")


def test_folders_are_repositories_of_their_own_whatever_the_gold_set_calls_them(shop, tmp_path, capsys):
    for name in ("one", "two"):
        shutil.copytree(shop, tmp_path / name)
        text = (tmp_path / name / "gold.yaml").read_text().replace("name: shop", f"name: {name}")
        (tmp_path / name / "gold.yaml").write_text(text)
    inner = (
        (tmp_path / "one" / "gold.yaml")
        .read_text()
        .replace("name: one", "name: inner")
        .replace("{path: .}", "{path: ..}")
    )
    (tmp_path / "one" / "sub").mkdir()
    (tmp_path / "one" / "sub" / "gold.yaml").write_text(inner)
    golds = [str(tmp_path / part / "gold.yaml") for part in ("one", "two", "one/sub")]
    flags = [flag for gold in golds for flag in ("--gold", gold)]
    engines = ["--engine", "mine=keywords", "--engine", "floor=random", "--baseline", "floor", "--no-references"]
    _, data = as_json(capsys, "run", "--quiet", *flags, *engines)
    assert data["repositories"] == 2
    assert data["comparison"]["label"] == "on these 2 repositories only"


def test_sets_that_differ_in_nothing_but_their_name_are_both_asked(shop, tmp_path, capsys):
    write_tree(tmp_path / "twin", SHOP | {"gold.yaml": GOLD.replace("name: shop", "name: twin")})
    flags = ["--gold", "../twin/gold.yaml", "--engine", "random", "--baseline", "random", "--no-references"]
    code, _, err = call(capsys, *RUN, *flags)
    assert code == 0, err
    (engine,) = read_run(shop / "results").engines
    assert [ranking.gold for ranking in engine.rankings] == ["shop"] * 9 + ["twin"] * 9


def test_engine_setting_that_is_wrong_is_told_with_engine_file_and_line(shop, capsys):
    (shop / "assay.toml").write_text('[run]\ngold = "gold.yaml"\n\n[engines.mine]\nkind = "builtin"\nbogus = 1\n')
    code, _, err = call(capsys, "run")
    assert code == 2
    assert "assay.toml:4:" in err
    assert "mine" in err
    assert "bogus" in err


def test_python_dash_m_works():
    done = subprocess.run([sys.executable, "-m", "assay", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("assay ")


def test_gate_knows_engines_whose_names_hold_brackets(answers, tmp_path, capsys):
    new = answers(40, name="mine (fast)")
    old = shutil.copytree(new, tmp_path / "old")
    capsys.readouterr()
    code, data = as_json(capsys, "gate", new, "--against", str(old))
    assert code == 0
    assert not any(c["kind"] == "counterpart" for c in data["checks"])


def test_failure_into_a_closed_pipe_keeps_its_exit_code(shop):
    command = [sys.executable, "-m", "assay", "run", "--gold", "nowhere.yaml", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=WATCHDOG)
    assert process.returncode == 2, err
    assert "Traceback" not in err


def test_two_runs_into_one_folder_leave_one_of_them_whole(shop):
    command = [sys.executable, "-m", "assay", *RUN, "--no-references", "--out", "../shared"]
    both = [
        subprocess.Popen([*command, "--engine", f"{name}=keywords", "--baseline", name], stdout=subprocess.DEVNULL)
        for name in "xy"
    ]
    assert [process.wait(timeout=WATCHDOG) for process in both] == [0, 0]
    run = read_run(shop.parent / "shared")
    leader = json.loads((shop.parent / "shared" / "results.json").read_text())["leader"]
    assert leader in [engine.name for engine in run.engines]


def test_parts_of_one_repository_are_one_repository(tmp_path, capsys, monkeypatch):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path.parent / "cache"))
    flags = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(f"def {name}():\n    return 1\n")
        gold = f"assay: 1\nname: {name}\ncorpus: {{path: .}}\nqueries:\n  - id: q\n"
        gold += "    retrieval: {primary: [a.py]}\n    cognitive: {human: where}\n"
        (tmp_path / name / "gold.yaml").write_text(gold)
        flags += ["--gold", f"{name}/gold.yaml"]
    _, data = as_json(capsys, "run", "--quiet", "--out", "../elsewhere", "--engine", "mine=keywords", *flags)
    assert data["repositories"] == 1


def test_tables_where_less_is_better_are_read_so(csv_tables, capsys):
    csv_tables(a=lambda i: 9 + i % 3, b=lambda i: 5 + i % 4)
    verdicts = [
        as_json(capsys, "compare", "a.csv", "b.csv", *flag)[1]["rows"][0]["verdict"]
        for flag in ([], ["--lower-is-better"])
    ]
    assert verdicts == ["worse", "better"]


def test_another_primary_measure_removes_none_from_the_table(finished_shop, capsys):
    _, data = as_json(capsys, "score", "results", "--primary", "TokensToHit")
    assert data["measures"][:2] == ["TokensToHit", "nDCG(level=lines)@10"]


def test_run_tells_at_once_that_an_engine_does_not_open_or_gave_up(shop, capsys):
    (shop / "assay.toml").write_text(
        '[run]\ngold = "gold.yaml"\ntimeout = 0.05\nmax_timeouts = 2\nreferences = false\n'
        '[engines.dead]\nkind = "command"\nargv = ["sh", "{query}"]\nindex = ["false"]\n'
        '[engines.slow]\nkind = "command"\nargv = ["sh", "-c", "sleep 1000", "{query}"]\n'
    )
    code, _, err = call(capsys, "run")
    lines = err.splitlines()
    assert code == 4
    dead = next(line for line in lines if line.startswith("dead: could not be opened on shop: "))
    (slow,) = [line for line in lines if line.startswith("slow: gets no more queries: 2 consecutive timeouts")]
    (last,) = [line for line in lines if line.startswith("slow: 9 searches in ")]
    assert lines.index(dead) < lines.index(slow) < lines.index(last)
    assert [line for line in lines if line.startswith("dead: ")] == [dead]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["run", "a2.toml"], "--config a2.toml"),
        (["run", "word"], ""),
        (["report", "results", "foo"], ""),
    ],
)
def test_stray_words_are_refused(shop, capsys, arguments, hint):
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert f"unrecognized arguments: {arguments[-1]}" in said
    assert hint in said


def test_serving_a_folder_without_runs_says_so(shop):
    command = [sys.executable, "-m", "assay", "serve", "shop"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline()
        server.send_signal(signal.SIGINT)
        _, err = server.communicate(timeout=WATCHDOG)
    assert address.startswith("http://127.0.0.1:"), err
    assert "no runs found" in err
    assert server.returncode in (0, 128 + signal.SIGINT), err  # by when the signal comes


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (["report", "results", "--frob"], "assay report: unrecognized arguments: --frob", "assay report --help"),
        (["run", "--limit", "10"], "assay run: unrecognized arguments: --limit 10", "did you mean '-k'?"),
        (["run", "--kk", "10"], "assay run: unrecognized arguments: --kk 10", "did you mean '-k'?"),
        (
            ["report", "--max-sise=3MB"],
            "assay report: unrecognized arguments: --max-sise=3MB",
            "did you mean '--max-size'?",
        ),
        (
            ["gold", "lint", "g.yaml", "--strikt"],
            "assay gold lint: unrecognized arguments: --strikt",
            "did you mean '--strict'?",
        ),
        (["serch", "word"], "unknown command 'serch'", "did you mean 'search'?"),
        (["gold", "lnit"], "assay gold: unknown action 'lnit'", "did you mean 'lint'?"),
        (["frobnicate"], "unknown command 'frobnicate'", "assay --help"),
    ],
)
def test_usage_errors_are_two_lines_with_a_suggestion(shop, capsys, arguments, error, hint):
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"error: {error}\nhint: {hint}\n"


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["search", "--help"]])
def test_only_the_named_command_is_imported(arguments):
    program = (
        "import sys, contextlib, io\nfrom assay.cli.main import main\n"
        f"with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n    main({arguments!r})\n"
        "print(*[name for name in sys.modules if name.startswith('assay.')])"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert len(loaded) <= 7, loaded


def test_search_loads_no_package_of_the_harness(shop):
    program = (
        "import sys, contextlib, io\nfrom assay.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n    main(['search', 'cart', '--quiet'])\n"
        "print(*{name.split('.')[1] for name in sys.modules if name.startswith('assay.')})"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "search" in loaded
    assert not {"gold", "experiment", "report", "scoring", "stats", "engines"} & set(loaded)


def test_folder_may_stand_behind_flags(shop, capsys):
    assert call(capsys, "search", "cart", "--quiet", "shop")[0] == 0
    assert "unrecognized" not in call(capsys, "search", "--quiet", "-k", "3", "cart", ".")[2]


def test_queries_in_the_same_words_with_other_answers_are_told(shop, capsys):
    gold = (
        "assay: 1\nname: shop\ncorpus: {path: .}\nqueries:\n"
        "  - {id: one, retrieval: {primary: [shop/cart.py]}, cognitive: {human: where is it decided?}}\n"
        "  - {id: two, retrieval: {primary: [shop/tax.py]}, cognitive: {human: where is it decided}}\n"
    )
    (shop / "gold.yaml").write_text(gold)
    for arguments in ((*RUN, *KEYWORDS), ["score", "results"]):
        _, data = as_json(capsys, *arguments)
        (told,) = [text for text in data["warnings"] if "G401" in text]
        assert "1 query has the same words as another query but different targets, such as two and one" in told
    (shop / "gold.yaml").write_text(gold.replace("decided}", "kept}"))
    _, data = as_json(capsys, *RUN, *KEYWORDS)
    assert not [text for text in data["warnings"] if "G401" in text]


@pytest.mark.parametrize(
    ("arguments", "new"),
    [
        (("gold", "looks", "gold.yaml"), "access-log"),
        (("engines", "ask", "builtin", "cart"), "query"),
        (("cache", "look"), "show"),
        (("run", "--fresh"), "--no-cache"),
        (("run", "--forget"), "--drop-stale"),
        (("run", "--forms", "human"), "--phrasings"),
        (("score", "results", "--without-pooled"), "--exclude-pooled"),
        (("tune", "mine", "--knob", "k=1,2"), "--param"),
        (("ablate", "mine", "--way", "out"), "--strategy"),
        (("gold", "review", "gold.yaml", "--as", "ann"), "--reviewer"),
        (("gold", "review", "gold.yaml", "--least", "1"), "--min-votes"),
        (("gold", "pool", "results", "--most", "5"), "--limit"),
    ],
)
def test_names_of_version_0_1_get_a_hint(capsys, arguments, new):
    assert main(list(arguments)) == 2
    assert f"hint: renamed to {new!r}" in capsys.readouterr().err
