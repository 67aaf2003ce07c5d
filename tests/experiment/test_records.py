"""Runs on disk: what is read is what was written, and nothing is ever half there."""

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import load_gold, run
from assay.errors import InputError
from assay.experiment import check_directory, read_run, write_run
from assay.types import (
    Adversary,
    AnalysisPlan,
    CorpusInfo,
    CorpusSpec,
    Cost,
    EngineRun,
    GoldSet,
    Hit,
    LabelProvenance,
    Query,
    Ranking,
    Rationale,
    Resources,
    Run,
    RunMetadata,
    Span,
    Status,
    Suite,
    Target,
    VariantInfo,
)
from tests.properties import examples

GOLDEN = Path(__file__).parent / "golden"
ENVIRONMENT = {
    "python": "3.11.7",
    "implementation": "cpython",
    "os": "Linux",
    "machine": "x86_64",
    "cpu": "a cpu",
    "cores": 2,
    "packages": {"numpy": "2.0"},
    "threads": {},
}


def example() -> Run:
    """A run that has everything a record can hold; no clock and no machine in it."""
    target = Target(Span("a/b.py", 3, 9), 2, "f", Span("a/b.py", 3, 9))
    query = Query(
        id="q1",
        forms={"human": "wo ist das Maß?", "keyword": "mass"},
        targets=(target, Target(Span("c.py"), 1)),
        adversaries=(Adversary(Target(Span("d.py"), 0), "sibling", "strong", "reads it"),),
        rationale=Rationale("f", "because", "not d"),
        measures=("RR@10",),
        tags={"difficulty": "hard"},
        line=4,
    )
    gold = GoldSet(
        "g",
        CorpusSpec("git", "https://example.org/x.git", "abc", None, ("*.py",), ()),
        (query,),
        {"by": "us"},
        "g.yaml",
    )
    rankings = (
        Ranking(
            "g",
            "q1",
            "human",
            (Hit("a/b.py", 1, 5, 2.5), Hit("zz.py")),
            (12, 0),
            Status.OK,
            0.25,
            None,
            ("1 path",),
            Cost(2, 350),
        ),
        Ranking("g", "q1", "keyword", (), (), Status.TIMEOUT, 60.0, "no answer after 60 s"),
    )
    engine = EngineRun(
        "my engine/v2",
        rankings,
        "candidate",
        2,
        {"kind": "command", "argv": ["x"]},
        {"g": 1.5},
        ("note",),
        {"g": Resources(0.5, 2048, None)},
        "v2.0.1",
        {"g": "loading\nTraceback: \x1b[31mno\n"},
        4,
        VariantInfo("my engine", {"search.without": ["stem"]}, "stages"),
        "2026-01-02",
        "0.0.9",
        {**ENVIRONMENT, "cpu": "another cpu"},
    )
    facts = CorpusInfo("git:https://example.org/x", "abc", "d" * 64, 4, {"binary": 1}, ("a note",), ("a problem",))
    plan = AnalysisPlan(("nDCG@10", "RR@10"), "my engine/v2", 0.05, 0.1, 3, ("my engine/v2",), "tag:area", ("matrix",))
    header = RunMetadata(
        "0.1.0",
        "2026-01-01T00:00:00+00:00",
        "0123456789abcdef",
        {"g": facts},
        ENVIRONMENT,
        30.0,
        plan,
        {"other": "needs env:KEY"},
        False,
    )
    return Run(Suite((gold,)), 10, (engine,), {"g": {"a/b.py": (3, 4, 5)}}, {"g/q1": "ffff"}, header)


def test_run_reads_back_as_it_was_written(tmp_path):
    write_run(example(), tmp_path)
    assert read_run(tmp_path) == example()


def test_cost_in_tokens_alone_reads_back_and_fits_the_schema(tmp_path):
    made = example()
    rankings = tuple(replace(ranking, cost=Cost(tokens=7)) for ranking in made.engines[0].rankings)
    made = replace(made, engines=(replace(made.engines[0], rankings=rankings),))
    write_run(made, tmp_path)
    assert read_run(tmp_path) == made
    (file,) = (tmp_path / "engines").iterdir()
    assert '"cost":{"tokens":7}' in file.read_text()
    for line in file.read_text().splitlines():
        jsonschema.validate(json.loads(line), schema())


def test_labels_and_content_hashes_read_back(tmp_path):
    made = example()
    gold = made.suite.golds[0]
    labels = (LabelProvenance("c.py", ("ada", "bob"), "2026-01-02", "abc", ("mine",)), LabelProvenance("d.py"))
    targets = (replace(gold.queries[0].targets[0], symbol=None, digest="0123456789ab"), *gold.queries[0].targets[1:])
    query = replace(gold.queries[0], targets=targets, labels=labels)
    made = replace(made, suite=Suite((replace(gold, queries=(query,)),)))
    write_run(made, tmp_path)
    assert read_run(tmp_path) == made


def test_real_run_reads_back_as_it_was_written(shop, tmp_path):
    made = run({"mine": lambda q, k: ["shop/cart.py:1-3"]}, load_gold("gold.yaml"))
    write_run(made, tmp_path / "out")
    assert read_run(tmp_path / "out") == made


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=8)
scores = st.none() | st.floats(allow_nan=False, allow_infinity=False)
hits = st.builds(Hit, texts, st.none(), st.none(), scores, st.none())


@examples(50)
@given(st.lists(hits, max_size=4), texts, texts)
def test_any_path_name_and_error_survives_the_disk(tmp_path_factory, found, name, error):
    folder = tmp_path_factory.mktemp("run")
    base = example()
    ranking = Ranking("g", "q1", "human", tuple(found), tuple(range(len(found))), Status.ERROR, 0.0, error)
    made = replace(base, engines=(EngineRun(name, (ranking,)),))
    write_run(made, folder)
    assert read_run(folder) == made


def schema() -> dict:
    text = resources.files("assay.data").joinpath("schemas/records.schema.json").read_text(encoding="utf-8")
    return json.loads(text)


def test_records_fit_their_schema(tmp_path):
    write_run(example(), tmp_path)
    lines = next((tmp_path / "engines").iterdir()).read_text(encoding="utf-8").splitlines()
    for line in lines:
        jsonschema.validate(json.loads(line), schema())


def test_schema_refuses_a_record_with_an_unknown_field(tmp_path):
    write_run(example(), tmp_path)
    line = next((tmp_path / "engines").iterdir()).read_text(encoding="utf-8").splitlines()[1]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**json.loads(line), "surprise": 1}, schema())


def test_records_equal_the_golden_file(tmp_path):
    write_run(example(), tmp_path)
    lines = next((tmp_path / "engines").iterdir()).read_text(encoding="utf-8")
    assert lines == (GOLDEN / "records.jsonl").read_text(encoding="utf-8")


def test_run_equals_the_golden_folder(tmp_path):
    write_run(example(), tmp_path)
    for name in ("run.json", "gold.jsonl", "lines.jsonl"):
        assert (tmp_path / name).read_text(encoding="utf-8") == (GOLDEN / "run-2" / name).read_text(encoding="utf-8")


def test_a_run_of_an_older_version_is_read(tmp_path):
    write_run(example(), tmp_path)
    manifest = tmp_path / "run.json"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('"analysis_plan":', '"claim":'), encoding="utf-8")
    assert read_run(tmp_path) == example()


def test_half_a_character_of_an_engine_costs_no_run(tmp_path):
    ranking = Ranking("g", "q1", "human", (Hit("a/\ud800.py"),), (0,), Status.OK, 0.1, None, ("e.g. \udfff",))
    made = replace(example(), engines=(EngineRun("mine", (ranking,), stderr={"g": "\udc80 é"}),))
    write_run(made, tmp_path)
    assert read_run(tmp_path) == made


def test_second_run_replaces_the_first_and_leaves_nothing_behind(tmp_path):
    write_run(example(), tmp_path)
    second = replace(example(), engines=(EngineRun("other", ()),))
    write_run(second, tmp_path)
    assert read_run(tmp_path) == second
    assert len(list((tmp_path / "engines").iterdir())) == 1


def test_foreign_files_in_the_folder_are_left_alone(tmp_path):
    for name in ("mine.json", "notes-2024.json", "engines.txt"):
        (tmp_path / name).write_text("{}")
    write_run(example(), tmp_path)
    write_run(replace(example(), k=5), tmp_path)
    assert {"mine.json", "notes-2024.json", "engines.txt"} <= {p.name for p in tmp_path.iterdir()}


def broken_runs():
    yield "empty folder", lambda f: None, "no run found"
    yield "not JSON", lambda f: (f / "run.json").write_text("{"), "cannot read"
    yield "not ours", lambda f: (f / "run.json").write_text("[]"), "not an Assay run"
    yield "newer format", lambda f: (f / "run.json").write_text('{"assay_run": 99}'), "format 2, got 99"


@pytest.mark.parametrize(("breaking", "message"), [pytest.param(b, m, id=i) for i, b, m in broken_runs()])
def test_folder_that_is_no_run_is_an_input_error(tmp_path, breaking, message):
    breaking(tmp_path)
    with pytest.raises(InputError, match=message):
        read_run(tmp_path)


def test_edited_record_is_refused(tmp_path):
    write_run(example(), tmp_path)
    member = next((tmp_path / "engines").iterdir())
    member.write_text(member.read_text().replace('"status":"timeout"', '"status":"ok"'))
    with pytest.raises(InputError, match="changed after the run"):
        read_run(tmp_path)


def test_manifest_cannot_name_files_outside_its_folder(tmp_path):
    (tmp_path / "secret.json").write_text("{}")
    folder = tmp_path / "run"
    write_run(example(), folder)
    manifest = json.loads((folder / "run.json").read_text())
    manifest["members"] = {"../secret.json": "0" * 64}
    (folder / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match="outside the directory"):
        read_run(folder)


def test_folder_that_is_no_run_is_refused_before_anything_is_written(tmp_path):
    (tmp_path / "important.txt").write_text("mine")
    (tmp_path / ".assayignore").write_text("vendor/\n")
    with pytest.raises(InputError, match="not a run") as caught:
        check_directory(tmp_path)
    assert caught.value.hint
    assert (tmp_path / ".assayignore").read_text() == "vendor/\n"


def test_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="expected a directory, got a file"):
        check_directory(tmp_path / "out")


def test_prepared_folder_takes_a_run_twice(tmp_path):
    for _ in range(2):
        write_run(example(), check_directory(tmp_path / "out"))
    assert read_run(tmp_path / "out") == example()


def test_own_ignore_file_of_the_user_is_kept(tmp_path):
    (tmp_path / ".assayignore").write_text("vendor/\n")
    write_run(example(), tmp_path)
    assert (tmp_path / ".assayignore").read_text() == "vendor/\n"
