"""The commands as a user meets them: what they print, what they write, how they end."""

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from assay.cli.main import main
from assay.experiment import read_run

RUN = ["run", "--gold", "gold.yaml", "--quiet"]


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def as_json(capsys, *arguments: str) -> tuple[int, dict]:
    code, out, _ = call(capsys, *arguments, "--json")
    return code, json.loads(out)


def test_run_with_flags_alone_prints_the_table_and_writes_the_files(shop, capsys):
    code, out, _ = call(capsys, *RUN)
    assert code == 0
    for text in ("nDCG@10", "builtin", "keywords", "random", "oracle", "Only 3 queries", "nothing beats keywords"):
        assert text in out
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


def test_run_can_be_scored_again_without_engine_or_corpus(shop, tmp_path, capsys):
    _, first = as_json(capsys, *RUN, "--out", str(tmp_path / "kept"))
    for path in sorted(shop.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    _, again = as_json(capsys, "score", str(tmp_path / "kept"))
    assert again == first


def test_score_takes_other_measures(shop, capsys):
    call(capsys, *RUN)
    code, data = as_json(capsys, "score", "results", "--measure", "P@5", "--primary", "RR@10")
    assert code == 0
    assert data["measures"] == ["RR@10", "P@5"]


def test_score_refuses_a_cut_off_beyond_what_was_asked_for(shop, capsys):
    call(capsys, *RUN)
    code, _, err = call(capsys, "score", "results", "--measure", "nDCG@50")
    assert code == 2
    assert "50" in err


def test_compare_inside_a_run(shop, capsys):
    call(capsys, *RUN)
    code, data = as_json(capsys, "compare", "results")
    assert code == 0
    assert [row["engine"] for row in data["rows"]] == ["builtin"]


def test_compare_all_pairs_leaves_out_floor_and_ceiling(shop, capsys):
    call(capsys, *RUN)
    code, data = as_json(capsys, "compare", "results", "--all-pairs")
    assert code == 0
    assert {data["rows"][0]["engine"], data["rows"][0]["baseline"]} == {"builtin", "keywords"}
    assert data["leader"] in ("builtin", "keywords")


def test_compare_two_runs_uses_the_queries_that_agree(shop, capsys):
    call(capsys, *RUN, "--out", "old")
    call(capsys, *RUN, "--out", "new")
    code, data = as_json(capsys, "compare", "old", "new", "--engine", "builtin")
    assert code == 0
    assert data["rows"][0]["difference"] == 0.0
    assert "3 of 3" in data["notes"][0]


def test_compare_two_runs_on_other_gold_is_not_comparable(shop, capsys):
    call(capsys, *RUN, "--out", "old")
    gold = (shop / "gold.yaml").read_text().replace("percentage is charged", "share is charged")
    (shop / "gold.yaml").write_text(gold.replace("provider does not answer", "provider is silent"))
    call(capsys, *RUN, "--out", "new")
    code, _, err = call(capsys, "compare", "old", "new")
    assert code == 5
    assert "1 of 3" in err


def test_compare_two_tables_needs_no_gold(shop, capsys):
    (shop / "a.csv").write_text("query,value\n" + "".join(f"q{i},0.5\n" for i in range(30)))
    (shop / "b.csv").write_text("query,value\n" + "".join(f"q{i},{0.5 + 0.01 * i}\n" for i in range(30)))
    code, data = as_json(capsys, "compare", "a.csv", "b.csv")
    assert code == 0
    assert data["rows"][0]["verdict"] == "better"


def test_gate_passes_on_an_unchanged_run(shop, capsys):
    call(capsys, *RUN, "--out", "old")
    call(capsys, *RUN, "--out", "new")
    assert main(["gate", "new", "--against", "old", "--json"]) == 0


@pytest.fixture
def tables(shop):
    """Forty queries over one file each: enough for a verdict, whatever engine answers them."""
    for i in range(40):
        (shop / f"part{i}.py").write_text(f"def thing{i}():\n    return {i}\n")
    queries = "".join(
        f"  - id: q{i}\n    retrieval: {{primary: [part{i}.py]}}\n    cognitive: {{human: where is thing{i}}}\n"
        for i in range(40)
    )
    (shop / "many.yaml").write_text(f"assay: 1\nname: many\ncorpus: {{path: .}}\nqueries:\n{queries}")
    return shop


def answer_run(shop: Path, out: str, right: int, capsys, monkeypatch, broken: int = 0) -> None:
    """Make a run whose engine answers `right` of the forty queries, and fails on `broken` of them."""
    module = f"answers_{uuid.uuid4().hex}"  # its own name: a rewritten module may come from stale bytecode
    place = shop.parent / "modules"  # outside the corpus, which must not change between two runs
    place.mkdir(exist_ok=True)
    (place / f"{module}.py").write_text(
        "def search(query, k):\n"
        "    number = int(query.rpartition('thing')[2])\n"
        f"    if number >= {40 - broken}: raise RuntimeError('down')\n"
        f"    return [f'part{{number}}.py'] if number < {right} else []\n"
    )
    monkeypatch.syspath_prepend(str(place))
    code, _, err = call(
        capsys, "run", "--gold", "many.yaml", "--engine", f"mine=python:{module}:search", "--out", out, "--quiet"
    )
    assert code == 0, err


def test_gate_fails_on_a_proven_regression(tables, capsys, monkeypatch):
    answer_run(tables, "old", 40, capsys, monkeypatch)
    answer_run(tables, "new", 20, capsys, monkeypatch)
    code, data = as_json(capsys, "gate", "new", "--against", "old", "--engine", "mine")
    assert code == data["exit_code"] == 1
    assert data["comparison"]["rows"][0]["verdict"] == "worse"


def test_gate_lets_an_inconclusive_change_pass_with_a_warning_unless_strict(tables, capsys, monkeypatch):
    answer_run(tables, "old", 40, capsys, monkeypatch)
    answer_run(tables, "new", 38, capsys, monkeypatch)
    arguments = ["gate", "new", "--against", "old", "--engine", "mine"]
    code, out, _ = call(capsys, *arguments)
    assert code == 0
    assert "assay gate: inconclusive, passes (exit 0)" in out
    assert "warning" in out
    assert main([*arguments, "--strict"]) == 3
    assert "assay gate: inconclusive (exit 3)" in capsys.readouterr().out


def test_gate_ends_in_four_when_too_many_queries_failed(tables, capsys, monkeypatch):
    answer_run(tables, "old", 40, capsys, monkeypatch)
    answer_run(tables, "new", 40, capsys, monkeypatch, broken=3)
    code, data = as_json(capsys, "gate", "new", "--against", "old", "--engine", "mine")
    assert code == 4
    assert "3 of 40" in data["checks"][0]["detail"]


def test_gate_bears_five_percent_of_failures(tables, capsys, monkeypatch):
    answer_run(tables, "new", 40, capsys, monkeypatch, broken=2)
    assert main(["gate", "new", "--engine", "mine", "--require", "Hit@5>=0.5"]) == 0


def test_gate_checks_floors_by_the_point_value_and_says_how_clear_they_are(tables, capsys, monkeypatch):
    answer_run(tables, "new", 32, capsys, monkeypatch)
    code, data = as_json(capsys, "gate", "new", "--engine", "mine", "--require", "Hit@5>=0.75")
    assert code == 0
    assert "on both sides" in data["checks"][1]["detail"]
    code, data = as_json(capsys, "gate", "new", "--engine", "mine", "--require", "Hit@5>=0.60")
    assert code == 0
    assert "clear of the bound" in data["checks"][1]["detail"]
    assert main(["gate", "new", "--engine", "mine", "--require", "Hit@5>=0.85"]) == 1


def test_gate_puts_failed_engines_before_a_proven_regression(tables, capsys, monkeypatch):
    answer_run(tables, "old", 40, capsys, monkeypatch)
    answer_run(tables, "new", 10, capsys, monkeypatch, broken=5)
    assert main(["gate", "new", "--against", "old", "--engine", "mine"]) == 4


def test_gate_lets_a_proven_but_negligible_regression_pass(tables, capsys, monkeypatch):
    answer_run(tables, "old", 40, capsys, monkeypatch)
    answer_run(tables, "new", 30, capsys, monkeypatch)
    arguments = ["gate", "new", "--against", "old", "--engine", "mine"]
    assert main(arguments) == 1
    assert main([*arguments, "--margin", "0.5"]) == 0


def test_gate_refuses_a_floor_on_a_measure_that_applies_to_nothing(tables, capsys, monkeypatch):
    answer_run(tables, "new", 40, capsys, monkeypatch)
    code, _, err = call(capsys, "gate", "new", "--require", "Displacement@10<=0.5")
    assert code == 2
    assert "applies to no query" in err


def test_gate_on_other_gold_is_not_comparable(tables, capsys, monkeypatch):
    answer_run(tables, "old", 40, capsys, monkeypatch)
    call(capsys, *RUN, "--out", "other")
    assert main(["gate", "other", "--against", "old"]) == 5


def test_gate_with_an_unreadable_rule_is_a_usage_error(shop, capsys):
    call(capsys, *RUN)
    code, _, err = call(capsys, "gate", "results", "--require", "Hit@5 at least 0.7")
    assert code == 2
    assert "Hit@5>=0.70" in err


def test_plan_from_a_pilot_and_from_assumptions(tables, capsys, monkeypatch):
    answer_run(tables, "results", 30, capsys, monkeypatch)
    code, data = as_json(capsys, "plan", "results", "--detect", "0.02", "--engine", "mine")
    assert code == 0
    assert data["queries"] > 40
    code, data = as_json(capsys, "plan", "--detect", "0.05", "--sd", "0.3", "--icc", "0.1", "--repositories", "10")
    assert code == 0
    assert data["repositories"] > 10


def test_init_writes_files_that_run_at_once(shop, capsys):
    (shop / "gold.yaml").unlink()
    code, data = as_json(capsys, "init")
    assert code == 0
    assert len(data["targets"]) == 5
    code, out, err = call(capsys, "run", "--quiet")
    assert code == 0, err
    assert "Only 5 queries" in out


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
    assert "→" in err
    assert list(tmp_path.iterdir()) == []


def test_doctor_reports_and_is_ready_here(shop, capsys):
    code, data = as_json(capsys, "doctor")
    assert code == 0
    assert data["ready"]
    assert {"python", "git", "cache", "standard library"} <= {f["name"] for f in data["findings"]}


def test_doctor_names_a_broken_configuration(shop, capsys):
    (shop / "assay.toml").write_text("[run]\nkk = 1\n")
    _, data = as_json(capsys, "doctor")
    finding = next(f for f in data["findings"] if f["name"] == "assay.toml")
    assert finding["state"] == "failed"
    assert "kk" in finding["detail"]


def test_doctor_fails_when_the_cache_cannot_be_written(shop, tmp_path, capsys, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(blocked))
    code, data = as_json(capsys, "doctor")
    assert code == 4
    assert not data["ready"]


JSON_COMMANDS = [
    ["run", "--gold", "gold.yaml"],
    ["score", "results"],
    ["compare", "results"],
    ["gate", "results"],
    ["plan", "results", "--detect", "0.05"],
    ["doctor"],
]


@pytest.mark.parametrize("arguments", JSON_COMMANDS, ids=lambda a: a[0])
def test_every_command_speaks_json_with_a_versioned_schema(shop, capsys, arguments):
    call(capsys, *RUN)
    _, data = as_json(capsys, *arguments, "--quiet")
    assert data["schema"].startswith("assay/")
    assert data["schema"].endswith("/1")


def test_errors_speak_json_too(shop, capsys):
    code, data = as_json(capsys, "run", "--gold", "nowhere.yaml")
    assert code == data["exit_code"] == 2
    assert "nowhere.yaml" in data["error"]


def test_progress_goes_to_stderr_and_the_result_to_stdout(shop, capsys):
    code, out, err = call(capsys, "run", "--gold", "gold.yaml", "--json")
    assert code == 0
    json.loads(out)
    assert "builtin: 9/9 queries of shop" in err


def test_unexpected_exception_ends_in_four_never_in_one(shop, capsys, monkeypatch):
    monkeypatch.setattr("assay.gold.loading.open_source", lambda path: 1 / 0)
    code, _, err = call(capsys, *RUN)
    assert code == 4
    assert "ZeroDivisionError" in err
    assert "Traceback" not in err


def test_engine_that_answers_nothing_at_all_ends_in_four_but_is_reported(shop, capsys):
    code, out, _ = call(capsys, *RUN, "--engine", "dead=command:/nonexistent/tool {query}")
    assert code == 4
    assert "dead failed on 9 of 9 queries" in out
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


def test_output_into_a_closed_pipe_is_no_error(shop):
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "assay.cli.main", *RUN]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "Traceback" not in err


def test_gate_floor_is_for_the_engines_under_test_not_for_the_yardstick(tables, capsys, monkeypatch):
    answer_run(tables, "new", 40, capsys, monkeypatch)
    _, data = as_json(capsys, "gate", "new", "--require", "Hit@5>=0.99")
    assert [c["what"] for c in data["checks"] if "Hit@5" in c["what"]] == ["mine: Hit@5 >= 0.99"]
    assert data["exit_code"] == 0


def test_gate_does_not_pass_an_engine_that_has_no_counterpart(tables, capsys, monkeypatch):
    answer_run(tables, "old", 40, capsys, monkeypatch)
    call(capsys, "run", "--gold", "many.yaml", "--out", "new", "--quiet")  # builtin where there was mine
    code, data = as_json(capsys, "gate", "new", "--against", "old")
    assert code == data["exit_code"] == 5


def test_compare_says_that_the_corpus_or_the_settings_changed(shop, capsys):
    call(capsys, *RUN, "--out", "old", "--engine", "mine=builtin")
    (shop / "extra.py").write_text("x = 1\n")
    call(capsys, *RUN, "--out", "new", "--engine", "mine=builtin:span")
    assert main(["compare", "old", "new", "--engine", "mine"]) == 5
    capsys.readouterr()
    _, data = as_json(capsys, "compare", "old", "new", "--engine", "mine", "--allow-changed-corpus")
    assert any("corpus of shop changed" in note for note in data["notes"])
    assert any("Settings changed between the runs: mine" in note for note in data["notes"])


def test_drafts_are_named_as_such(shop, capsys):
    (shop / "gold.yaml").unlink()
    call(capsys, "init")
    _, out, _ = call(capsys, "run", "--quiet")
    assert "5 of 5 queries are drafts" in out


def test_short_report_is_shorter_and_the_full_one_has_every_section(shop, capsys):
    _, short, _ = call(capsys, *RUN)
    _, full, _ = call(capsys, "score", "results", "--full")
    assert "How the engines behaved" not in short
    assert "How the engines behaved" in full
    assert len(short) < len(full)


def test_output_that_cannot_be_encoded_is_no_crash(shop):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "assay.cli.main", *RUN]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "builtin" in done.stdout


def test_results_folder_is_checked_before_anything_is_asked(shop, capsys):
    (shop / "busy").mkdir()
    (shop / "busy" / "thesis.tex").write_text("years of work")
    code, _, err = call(capsys, "run", "--gold", "gold.yaml", "--out", "busy")
    assert code == 2
    assert "opening" not in err
    assert [p.name for p in (shop / "busy").iterdir()] == ["thesis.tex"]


def test_own_files_returned_by_a_foreign_engine_are_dropped_and_told(shop, capsys):
    call(capsys, *RUN)
    (shop.parent / "tool.py").write_text("print('gold.yaml')\nprint('results/run.json')\nprint('shop/cart.py')\n")
    engine = f"mine=command:python3 {shop.parent / 'tool.py'} {{query}}"
    code, data = as_json(capsys, *RUN, "--engine", engine, "--measure", "RR@10")
    assert code == 0
    told = next(b for b in data["breaches"] if b["engine"] == "mine" and "own files were dropped" in b["kind"])
    assert (told["queries"], told["example"]) == (9, "gold.yaml")
    assert data["failures"] is not None
    means = {(m["engine"], m["measure"]): m["mean"] for m in data["comparison"]["means"]}
    assert means["mine", "RR@10"] == pytest.approx(1 / 3)


def test_runs_with_another_k_are_not_comparable(shop, capsys):
    call(capsys, *RUN, "--out", "old", "-k", "3")
    call(capsys, *RUN, "--out", "new", "-k", "5")
    code, _, err = call(capsys, "compare", "old", "new")
    assert code == 5
    assert "3 results" in err


def test_compare_reads_the_per_query_table_of_a_run(shop, capsys):
    call(capsys, *RUN, "--out", "old")
    call(capsys, *RUN, "--out", "new")
    tables_of = ("old/per-query.csv", "new/per-query.csv")
    code, data = as_json(capsys, "compare", *tables_of, "--engine", "builtin", "--primary", "RR@10")
    assert code == 0
    assert (data["rows"][0]["queries"], data["rows"][0]["difference"]) == (3, 0.0)
    code, _, err = call(capsys, "compare", *tables_of)
    assert code == 2
    assert "--engine" in err


FLAGS_WITHOUT_MEANING = [
    ["compare", "a.csv", "b.csv", "--baseline", "x"],
    ["compare", "results", "--all-pairs", "--baseline", "oracle"],
    ["compare", "results", "results", "--baseline", "oracle"],
    ["plan", "results", "--detect", "0.1", "--icc", "0.5"],
    ["plan", "--detect", "0.1", "--sd", "0.3", "--engine", "x"],
]


@pytest.mark.parametrize("arguments", FLAGS_WITHOUT_MEANING, ids=" ".join)
def test_flag_that_means_nothing_is_refused(shop, capsys, arguments):
    call(capsys, *RUN)
    for name in ("a.csv", "b.csv"):
        (shop / name).write_text("query,value\nq,1\n")
    code, _, err = call(capsys, *arguments)
    assert code == 2
    assert "means nothing" in err


def test_seed_reaches_the_engines(shop, capsys):
    def chance(seed: str) -> str:
        call(capsys, *RUN, "--out", f"s{seed}", "--seed", seed)
        return next((shop / f"s{seed}" / "engines").glob("random*")).read_text().partition("\n")[2].replace(" ", "")

    def ranked(text: str) -> list[list[str]]:
        return [[hit["path"] for hit in json.loads(line)["hits"]] for line in text.splitlines()]

    assert ranked(chance("0")) != ranked(chance("1"))


def test_folders_are_repositories_of_their_own_whatever_the_gold_set_calls_them(shop, tmp_path, capsys):
    import shutil

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
    _, data = as_json(capsys, "run", "--quiet", *(flag for gold in golds for flag in ("--gold", gold)))
    assert data["repositories"] == 2
    assert data["comparison"]["label"] == "on these 2 repositories only"


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


def test_gate_against_an_earlier_run_is_about_the_engines_under_test_alone(tables, capsys, monkeypatch):
    answer_run(tables, "old", 40, capsys, monkeypatch)
    answer_run(tables, "new", 20, capsys, monkeypatch)
    code, data = as_json(capsys, "gate", "new", "--against", "old", "--strict")
    assert code == 1
    assert [row["engine"] for row in data["comparison"]["rows"]] == ["mine (new)"]
    code, out, _ = call(capsys, "gate", "old", "--against", "new", "--strict")
    assert code == 0, out
    assert "not proven" not in out


def test_gate_knows_engines_whose_names_hold_brackets(tables, capsys):
    (tables / "assay.toml").write_text('[run]\ngold = "many.yaml"\n[engines."mine (fast)"]\nkind = "builtin"\n')
    for out in ("old", "new"):
        call(capsys, "run", "--quiet", "--out", str(tables.parent / out))
    code, data = as_json(capsys, "gate", str(tables.parent / "new"), "--against", str(tables.parent / "old"))
    assert code == 0
    assert any(c["what"] == "mine (fast) has a counterpart" and c["passed"] for c in data["checks"])


def test_failure_into_a_closed_pipe_keeps_its_exit_code(shop):
    command = [sys.executable, "-m", "assay", "run", "--gold", "nowhere.yaml", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2, err
    assert "Traceback" not in err


def test_two_runs_into_one_folder_leave_one_of_them_whole(shop):
    command = [sys.executable, "-m", "assay", "run", "--gold", "gold.yaml", "--quiet", "--out", "../shared"]
    both = [subprocess.Popen([*command, "--engine", f"{name}=builtin"], stdout=subprocess.DEVNULL) for name in "xy"]
    assert [process.wait(timeout=120) for process in both] == [0, 0]
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
    _, data = as_json(capsys, "run", "--quiet", "--out", "../elsewhere", *flags)
    assert data["repositories"] == 1


def test_tables_where_less_is_better_are_read_so(shop, capsys):
    (shop / "a.csv").write_text("query,value\n" + "".join(f"q{i},{9 + i % 3}\n" for i in range(30)))
    (shop / "b.csv").write_text("query,value\n" + "".join(f"q{i},{5 + i % 4}\n" for i in range(30)))
    verdicts = [
        as_json(capsys, "compare", "a.csv", "b.csv", *flag)[1]["rows"][0]["verdict"]
        for flag in ([], ["--lower-is-better"])
    ]
    assert verdicts == ["worse", "better"]


def test_another_primary_measure_removes_none_from_the_table(shop, capsys):
    call(capsys, *RUN)
    _, data = as_json(capsys, "score", "results", "--primary", "TokensToHit")
    assert data["measures"][:2] == ["TokensToHit", "nDCG@10"]


def test_run_tells_at_once_that_an_engine_does_not_open_or_gave_up(shop, capsys):
    (shop / "assay.toml").write_text(
        '[run]\ngold = "gold.yaml"\ntimeout = 0.05\ngive_up = 2\nreferences = false\n'
        '[engines.dead]\nkind = "command"\nargv = ["sh", "{query}"]\nindex = ["false"]\n'
        '[engines.slow]\nkind = "command"\nargv = ["sh", "-c", "sleep 5", "{query}"]\n'
    )
    code, _, err = call(capsys, "run")
    lines = err.splitlines()
    assert code == 4
    dead = next(line for line in lines if line.startswith("dead: could not be opened on shop: "))
    (slow,) = [line for line in lines if line.startswith("slow: is asked no more: 2 queries in a row ran out of time")]
    assert lines.index(dead) < lines.index(slow) < lines.index("slow: 9/9 queries of shop")
    assert [line for line in lines if line.startswith("dead: ")] == ["dead: opening on shop", dead]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["run", "a2.toml"], "--config a2.toml"),
        (["run", "word"], ""),
        (["score", "results", "foo"], ""),
        (["report", "results", "foo"], ""),
    ],
)
def test_stray_words_are_refused(shop, capsys, arguments, hint):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    said = capsys.readouterr().err
    assert caught.value.code == 2
    assert f"unrecognized arguments: {arguments[-1]}" in said
    assert hint in said


def test_serving_a_folder_without_runs_says_so(shop, capsys, monkeypatch):
    from assay.web.server import Server

    monkeypatch.setattr(Server, "wait", lambda _: None)
    code, out, err = call(capsys, "serve", "shop")
    assert code == 0
    assert out.startswith("http://127.0.0.1:")
    assert "there is no run there yet" in err


@pytest.mark.parametrize(
    ("arguments", "usage", "hint"),
    [
        (["report", "results", "--frob"], "assay report", "--no-source"),
        (["run", "--kk", "10"], "assay run", "--kk: did you mean '-k'?"),
        (["report", "--max-sise=3MB"], "assay report", "--max-sise: did you mean '--max-size'?"),
        (["gold", "lint", "gold.yaml", "--strikt"], "assay gold lint", "--strikt: did you mean '--strict'?"),
    ],
)
def test_unknown_flags_show_those_of_the_command_and_the_nearest(shop, capsys, arguments, usage, hint):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    said = capsys.readouterr().err
    assert caught.value.code == 2
    assert said.startswith(f"usage: {usage} ")
    assert f"{usage}: error: unrecognized arguments" in said
    assert hint in said


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
    for arguments in (RUN, ["score", "results"]):
        _, data = as_json(capsys, *arguments)
        (told,) = [text for text in data["warnings"] if "G401" in text]
        assert "A query asks for another answer in the words of an earlier one, such as two and one" in told
    (shop / "gold.yaml").write_text(gold.replace("decided}", "kept}"))
    _, data = as_json(capsys, *RUN)
    assert not [text for text in data["warnings"] if "G401" in text]
