"""`assay explain` as a user meets it: one query, an expected file, a whole run."""

import json

import pytest

from assay.cli.main import main
from assay.search import Index, SearchConfig
from assay.search.config import STAGES
from tests.conftest import GOLD, SHOP, copy_finished, finish


@pytest.fixture(autouse=True)
def _own_index(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_INDEX_DIR", str(tmp_path / "index"))


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(["explain", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def as_json(capsys, *arguments: str) -> dict:
    code, out, err = call(capsys, *arguments, "--json", "--quiet")
    assert code == 0, err
    data: dict = json.loads(out)
    return data


def test_waterfall_says_what_each_stage_did(shop, capsys):
    code, out, _ = call(capsys, "tax rate zzyzx", "-k", "2", "--quiet", "--verbose")
    assert code == 0
    for text in (
        "tax rate zzyzx",
        "keywords",
        "not in any file: zzyzx",
        "  1  shop/tax.py",
        "lexical",
        "stem",
        "– → #1",
    ):
        assert text in out


def test_steps_add_up_to_the_score_of_the_answer(shop, capsys):
    data = as_json(capsys, "tax rate of a country", "-k", "3")
    assert data["schema"] == "assay/explain/1"
    assert data["stages"] == ["lexical", "dense", "fused", *STAGES]
    found = [hit for hit in Index.build(shop).search("tax rate of a country", 4) if hit.path != "gold.yaml"][:3]
    assert [one["path"] for one in data["candidates"]] == [hit.path for hit in found]
    for one, hit in zip(data["candidates"], found, strict=True):
        assert one["steps"][-1]["score"] == hit.score
        assert sum(step["change"] for step in one["steps"]) == pytest.approx(hit.score)


def test_json_lines_are_the_trace(shop, capsys):
    code, out, _ = call(capsys, "tax", "--jsonl", "--quiet", "--expect", "README.md")
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert rows[0]["terms"] == ["tax"]
    assert {row["stage"] for row in rows[1:-1]} == {"lexical", "dense", "fused", *STAGES, "results"}
    assert rows[-1]["expect"]["path"] == "README.md"


def test_expected_file_that_was_found_is_said_to_be(shop, capsys):
    _, out, _ = call(capsys, "tax", "--expect", "shop/tax.py", "--quiet")
    assert "shop/tax.py is found at rank 1." in out


def test_expected_file_without_a_word_in_common_is_lost_at_once(shop, capsys):
    words = ("--set", "dense.model=", "--set", "translation.model=")
    _, out, _ = call(capsys, "tax", "--expect", "shop/cart.py", "--quiet", *words)
    assert out.startswith("shop/cart.py was not found: it shares no word")


def test_expected_file_that_a_stage_pushed_out_names_the_stage(shop, capsys):
    (shop / "tests/tax.py").write_text('def tax_rate(tax):\n    """tax rate tax rate tax rate"""\n    return tax\n')
    data = as_json(capsys, "tax rate", "-k", "1", "--expect", "tests/tax.py", "--set", "noise.files.test=0")
    lost = data["expect"]
    assert lost["stage"] == "noise"
    assert dict(map(tuple, lost["ranks"]))["identifier"] == 1


def test_expected_file_that_was_skipped_says_why(shop, capsys):
    (shop / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    _, out, _ = call(capsys, "tax", "--expect", "logo.png", "--quiet")
    assert "logo.png was not found: the file is not in the index (logo.png: binary" in out


@pytest.mark.parametrize("per", ["file", "span"])
def test_no_match_is_a_sentence(shop, capsys, per):
    code, out, _ = call(capsys, "zzyzx", "--per", per, "--quiet")
    assert code == 0
    assert "No match in 8 files." in out


RUN = ["run", "--gold", "gold.yaml", "--quiet", "-k", "2"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    gold = GOLD.replace('"shop/tax.py::tax_rate"', '"tests/test_cart.py"')
    gold = gold.replace("tax rate country", "unheard of words")
    return finish(tmp_path_factory.mktemp("missing"), SHOP | {"gold.yaml": gold}, *RUN)


@pytest.fixture
def missing_run(finished, tmp_path, monkeypatch):
    """A copy of a run that misses: the answer is in a test, and tests are held to be noise."""
    return copy_finished(finished, tmp_path, monkeypatch)


def test_run_is_explained_query_by_query(missing_run, capsys):
    data = as_json(capsys, "--run", "results")
    assert data["schema"] == "assay/explain-run/1"
    assert {miss["query"] for miss in data["missed"]} == {"tax-lookup"}
    assert sum(data["by_stage"].values()) == len(data["missed"]) > 0
    assert all(
        miss["stage"] and miss["reason"] and miss["expected"] == ["tests/test_cart.py"] for miss in data["missed"]
    )
    assert data["notes"] == []


def test_query_whose_secondary_answer_was_found_is_not_missed(shop, capsys):
    gold = (shop / "gold.yaml").read_text()
    both = '{primary: ["tests/test_cart.py"], secondary: ["shop/tax.py"]}'
    (shop / "gold.yaml").write_text(gold.replace('{primary: ["shop/tax.py::tax_rate"]}', both))
    assert main([*RUN, "--engine", "builtin", "--baseline", "builtin", "--no-references"]) == 0
    capsys.readouterr()
    assert as_json(capsys, "--run", "results")["missed"] == []


def test_measure_after_the_last_stage_is_that_of_the_run(missing_run, capsys):
    stages = as_json(capsys, "--run", "results")["stages"]
    assert [one["stage"] for one in stages] == ["lexical", "dense", "fused", *STAGES, "in the run"]
    main(["score", "results", "--primary", "nDCG@2", "--json"])
    scores = json.loads(capsys.readouterr().out)
    mean = next(row for row in scores["comparison"]["rows"] if row["engine"] == "builtin")["mean"]
    assert mean < 1
    assert stages[-1]["value"] == stages[-2]["value"] == pytest.approx(mean)


def test_missed_lists_the_queries_and_without_it_only_counts_are_shown(missing_run, capsys):
    _, short, _ = call(capsys, "--run", "results", "--quiet")
    _, long, _ = call(capsys, "--run", "results", "--missed", "--quiet")
    assert "tax-lookup" not in short
    assert "tax-lookup" in long
    for text in ("Missed queries by stage", "After each stage", "nDCG@2"):
        assert text in short


def test_corpus_that_changed_since_the_run_is_said(missing_run, capsys):
    (missing_run / "shop/tax.py").unlink()
    assert any("changed since the run" in note for note in as_json(capsys, "--run", "results")["notes"])


def test_settings_of_the_run_are_used(shop, capsys):
    (shop / "assay.toml").write_text(
        '[run]\ngold = "gold.yaml"\nreferences = false\nbaseline = "bare"\n'
        '[engines.bare]\nkind = "builtin"\nsearch = {without = ["stem", "noise"]}\n'
    )
    assert main(["run", "--quiet"]) == 0
    capsys.readouterr()
    stages = [one["stage"] for one in as_json(capsys, "--run", "results")["stages"]]
    assert not {"stem", "noise"} & set(stages)


def test_several_builtin_engines_want_a_name(shop, capsys):
    engines = ["--engine", "a=builtin", "--engine", "b=builtin:span", "--baseline", "a", "--no-references"]
    assert main([*RUN, *engines]) == 0
    capsys.readouterr()
    code, _, err = call(capsys, "--run", "results")
    assert code == 2
    assert "a, b" in err
    data = as_json(capsys, "--run", "results", "--engine", "b")
    assert (data["engine"], data["per"]) == ("b", "span")


def test_run_without_a_builtin_engine_cannot_be_explained(shop, capsys):
    assert main([*RUN, "--engine", "mine=keywords", "--baseline", "mine", "--no-references"]) == 0
    capsys.readouterr()
    code, _, err = call(capsys, "--run", "results")
    assert code == 2
    assert "builtin" in err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ([], "expected a query"),
        (["x", "nowhere"], "nowhere"),
        (["x", "-k", "0"], "1 or more"),
        (["x", "--expect", "shop/tx.py"], "shop/tax.py"),
        (["x", "--expect", "/etc/hostname"], "not in the searched directory"),
        (["x", "--json", "--jsonl"], "--jsonl cannot be used with --json"),
        (["x", "--missed"], "--run"),
        (["x", "--run", "results"], "cannot be used with --run"),
        (["--run", "nowhere"], "nowhere"),
        (["--run", "results", "-k", "3"], "-k"),
        (["--run", "results", "--set", "stem.files=1"], "--set"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else None,
)
def test_bad_input_ends_in_two_with_the_next_step(shop, capsys, arguments, word):
    code, _, err = call(capsys, *arguments)
    assert code == 2, err
    assert word in err
    assert "\nhint: " in err


def test_every_stage_of_the_default_is_traced(shop):
    trace = Index.build(shop, SearchConfig()).explain("tax")
    assert [stage.name for stage in trace.stages] == ["lexical", "dense", "fused", *STAGES]
