"""`assay run` with variants and sweeps: the flags that choose, change and declare; what is wrong exits with 2."""

import json

import pytest

from assay.cli.main import main
from assay.experiment import read_run
from tests.conftest import SHOP, copy_finished, finish

CONFIG = """\
[run]
gold = "gold.yaml"

[engines.mine]
kind = "builtin"

[variants.no-stem]
engine = "mine"
set = { "search.without" = ["stem"] }

[sweeps.w]
engine = "mine"
params = { "search.stem.files" = [0.2, 0.4], "search.stem.spans" = [0.1] }
"""


@pytest.fixture
def swept(shop):
    (shop / "assay.toml").write_text(CONFIG)
    return shop


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    files = SHOP | {"assay.toml": CONFIG}
    return finish(tmp_path_factory.mktemp("swept"), files, "run", "--family", "no-stem", "--jobs", "1", "--quiet")


@pytest.fixture
def swept_run(finished, tmp_path, monkeypatch):
    """A copy of a finished run of all engines; verdicts are declared for one."""
    return copy_finished(finished, tmp_path, monkeypatch)


def planned(capsys, *flags: str) -> dict:
    """Return what `assay run` would do."""
    assert main(["run", "--dry-run", "--json", *flags]) == 0
    plan: dict = json.loads(capsys.readouterr().out)
    return plan


def engines_of(plan: dict) -> list[str]:
    def leaves(node: dict) -> list[str]:
        return [name for child in node["children"] for name in leaves(child)] or [node["name"]]

    return leaves(plan["tree"])


def refused(capsys, *flags: str) -> str:
    code = main(["run", "--quiet", *flags])
    out, err = capsys.readouterr()
    assert (code, out) == (2, ""), err
    assert "\nhint: " in err
    assert "Traceback" not in err
    return err


ALL = ("mine", "no-stem", "w:files=0.2,spans=0.1", "w:files=0.4,spans=0.1")


@pytest.mark.parametrize(
    ("flags", "only"),
    [
        ((), ALL),
        (("--only", "no-stem"), ("no-stem",)),
        (("--only", "w:*", "--only", "mine"), ("mine", "w:files=0.2,spans=0.1", "w:files=0.4,spans=0.1")),
        (("--only", "w:files=0.2,spans=0.1"), ("w:files=0.2,spans=0.1",)),
    ],
)
def test_only_chooses_by_name_and_glob_in_the_order_of_the_file(swept, capsys, flags, only):
    names = engines_of(planned(capsys, *flags))
    assert [name for name in names if name in ALL] == list(only)


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("no-stem", ("no-stem",)),
        ("w:files=0.4,spans=0.1,no-stem", ("no-stem", "w:files=0.4,spans=0.1")),
        ("w:*, mine", ("mine", "w:files=0.2,spans=0.1", "w:files=0.4,spans=0.1")),
        pytest.param("*", ALL, marks=pytest.mark.nightly),
    ],
)
def test_family_is_named_by_commas_that_names_may_hold_too(swept_run, text, family):
    assert main(["run", "--quiet", "--jobs", "1", "--family", text]) == 0
    plan = read_run(swept_run / "results").header.analysis_plan
    assert plan is not None
    assert plan.family == family


def test_flags_go_before_the_file_and_set_before_them(swept, capsys):
    sets = ["--set", "run.k=20", "--set", "run.seed=3", "--set", "run.jobs=2"]
    flags = ["-k", "5", "--cluster-by", "intent", "--jobs", "1", "--only", "mine", "--no-references"]
    assert main(["run", "--quiet", "--baseline", "mine", *sets, *flags]) == 0
    run = read_run(swept / "results")
    plan = run.header.analysis_plan
    assert plan is not None
    assert (run.k, plan.seed, plan.cluster, run.header.timed) == (5, 3, "intent", False)


@pytest.mark.parametrize(("flags", "timed"), [(["--times"], True), (["--no-times"], False), ([], False)])
def test_times_are_chosen_by_a_flag(swept, capsys, flags, timed):
    assert planned(capsys, *flags)["timed"] is timed


def test_preset_stands_instead_of_the_file_of_the_folder(swept, capsys):
    flags = ["--preset", "octocode-matrix", "--gold", "gold.yaml"]
    names = engines_of(planned(capsys, *flags))
    assert "hybrid_70_30" in names
    assert "mine" not in names


@pytest.mark.nightly
def test_results_of_a_preset_go_into_a_folder_of_its_name(swept):
    flags = ["--preset", "octocode-matrix", "--gold", "gold.yaml"]
    one = ["--only", "vector_only", "--no-references", "--baseline", "vector_only"]
    assert main(["run", "--quiet", *flags, *one]) == 0
    assert (swept / "results-octocode-matrix" / "run.json").is_file()


REFUSED = {
    "unknown name": (("--only", "no-stm"), "no-stem"),
    "glob of nothing": (("--only", "v:*"), "--only = 'v:*'"),
    "unknown key": (("--set", "run.kk=1"), "--set run.kk=1"),
    "unknown setting": (("--set", "engines.mine.search.steem.files=1"), "--set engines.mine.search.steem.files=1"),
    "unknown family": (("--family", "nobody"), "nobody"),
    "unknown unit": (("--cluster-by", "repo"), "got 'repo'"),
    "unknown tag": (("--cluster-by", "tag:team"), "no query has the tag 'team'"),
    "unknown preset": (("--preset", "octocode"), "octocode-matrix"),
    "cannot be combined": (("--preset", "octocode-matrix", "--config", "assay.toml"), "extends"),
    "times side by side": (("--times", "--jobs", "2"), "times = true cannot be combined with jobs"),
    "times in shards": (("--times", "--shard", "1/2"), "cannot measure times with --shard"),
    "times on a cluster": (("--times", "--cluster", "tcp://localhost:1"), "cannot measure times with --cluster"),
    "fewer than no jobs": (("--jobs", "-1"), "--jobs: expected 0 or more, got -1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_flag_that_makes_no_sense_is_refused(swept, capsys, case):
    flags, word = REFUSED[case]
    assert word in refused(capsys, *flags)
    assert not (swept / "results").exists()


def test_variant_with_an_unknown_setting_is_told_with_its_line(swept, capsys):
    (swept / "assay.toml").write_text(CONFIG.replace("search.without", "search.witout"))
    err = refused(capsys)
    assert "assay.toml:7: no-stem: " in err
    assert "without" in err


def test_unmet_baseline_is_refused_before_anything_runs(swept, capsys, monkeypatch):
    monkeypatch.delenv("ASSAY_TEST_GONE", raising=False)
    err = refused(capsys, "--set", 'variants.no-stem.requires=["env:ASSAY_TEST_GONE"]', "--baseline", "no-stem")
    assert "ASSAY_TEST_GONE is not set" in err


def test_twin_of_an_engine_in_a_sweep_is_told(swept, capsys):
    twin = ["--set", "engines.mine.search.stem.files=0.2", "--set", "engines.mine.search.stem.spans=0.1"]
    assert main(["run", "--dry-run", *twin]) == 0
    assert "w:files=0.2,spans=0.1 has the same settings as mine" in capsys.readouterr().err


def test_family_gets_verdicts_and_the_others_means(swept_run, capsys):
    flags = ["--family", "no-stem", "--cluster-by", "tag:difficulty", "--jobs", "1", "--baseline", "mine"]
    assert main(["run", "--quiet", "--json", *flags]) == 0
    found = json.loads(capsys.readouterr().out)["comparison"]
    judged = {row["engine"]: row["verdict"] is not None for row in found["rows"]}
    assert judged.pop("no-stem")
    assert not any(judged.values())
    assert found["family_size"] == 1
    assert {"w:files=0.2,spans=0.1", "no-stem"} <= {row["engine"] for row in found["means"]}
    assert "by the tag difficulty" in found["label"]
    assert any("outside the declared family" in note for note in found["notes"])
    again = _later(capsys, "compare", "results")
    assert (again["family_size"], again["label"]) == (1, found["label"])
    assert {row["engine"] for row in again["rows"] if row["in_family"]} == {"no-stem"}
    wider = _later(capsys, "compare", "results", "--family", "w:*", "--cluster-by", "intent")
    assert (wider["family_size"], "by intent" in wider["label"]) == (2, True)
    assert main(["compare", "results", "--engine", "w:files=0.2,spans=0.1"]) == 2
    assert "not in the declared family" in capsys.readouterr().err
    one = _later(capsys, "compare", "results", "--family", "w:*", "--engine", "w:files=0.2,spans=0.1")
    assert ([row["engine"] for row in one["rows"]], one["family_size"]) == (["w:files=0.2,spans=0.1"], 2)
    pairs = _later(capsys, "compare", "results", "--all-pairs")
    assert {(row["engine"], row["baseline"]) for row in pairs["rows"]} == {("no-stem", "mine")}
    gate = _later(capsys, "gate", "results", "--baseline", "mine")
    compared = [check["what"] for check in gate["checks"] if " against " in check["what"]]
    assert compared == ["no-stem against mine on nDCG@10 by lines"]
    between = _later(capsys, "compare", "results", "results")
    assert [row["engine"] for row in between["rows"] if row["in_family"]] == ["no-stem (results)"]
    for flags in (["--family", "nobody"], ["--cluster-by", "tag:nobody"], ["--family", "mine"]):
        assert main(["score", "results", *flags]) == 2
    capsys.readouterr()


def _later(capsys, *arguments: str) -> dict:
    assert main([*arguments, "--json"]) == 0
    found: dict = json.loads(capsys.readouterr().out)
    return found
