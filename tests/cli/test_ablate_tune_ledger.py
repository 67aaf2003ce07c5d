"""Ablations, tuning and the ledger as a user meets them: what they print, what they write, how they end."""

import json

import pytest

from assay.cli.main import main
from assay.experiment import read_run
from assay.experiment.ledger.book import read_ledger

GOLD = """\
assay: 1
name: small
corpus: {path: code}
queries:
"""
QUERY = """\
  - id: q%d
    retrieval: {primary: [thing%d.py]}
    cognitive: {human: where is %s kept?}
    tags: {split: %s}
"""
#: An engine that looks at nothing, and so finds nothing.
FIELDS = {"body": 1.0, "name": 2.0, "scope": 1.0, "signature": 1.0, "stem": 1.0, "folder": 1.0}
BLIND = "".join(f"search.index.fields.{field} = 0.0\n" for field in FIELDS) + (
    'search.dense.model = ""\nsearch.translation.model = ""\nsearch.without = ["stem", "definition", "identifier"]\n'
)
WORDS = ("apple", "berry", "cherry", "date", "elder", "fig", "grape", "hazel", "iris", "juniper")


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Ten files whose stems say nothing, so that only their words do; two of the queries are for others' eyes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "code").mkdir()
    for at, word in enumerate(WORDS):
        other = WORDS[(at + 1) % len(WORDS)]
        text = f'"""Keeps the {word}."""\n\n\ndef {word}_of({other}):\n    return "{other}", "{other}"\n'
        (tmp_path / "code" / f"thing{at}.py").write_text(text)
    write(tmp_path, ["dev"] * 8 + ["test"] * 2)
    return tmp_path


def write(folder, parts):
    rows = [QUERY % (at, at, WORDS[at], part) for at, part in enumerate(parts)]
    (folder / "gold.yaml").write_text(GOLD + "".join(rows).replace("    tags: {split: none}\n", ""))


def call(capsys, *argv):
    code = main([*argv, "--quiet"])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def as_json(capsys, *argv):
    code, out, err = call(capsys, *argv, "--json")
    assert out, err
    return code, json.loads(out)


TUNE = ("tune", "--gold", "gold.yaml", "--jobs", "1", "--knob", "search.index.fields.name=0.0,2.0,8.0")
ABLATE = ("ablate", "--gold", "gold.yaml", "--jobs", "1")


def test_ablation_tells_of_every_part_and_keeps_the_run_where_asked(small, capsys):
    code, data = as_json(capsys, *ABLATE, "--out", "kept")
    assert code == 0
    assert data["schema"] == "assay/ablation/1"
    steps = [(row["step"]["way"], row["step"]["part"]) for row in data["rows"]]
    parts = [part for way, part in steps if way == "left out"]
    assert parts[:4] == ["names", "paths", "translation", "dense"]
    assert [part for way, part in steps if way == "added"] == parts
    assert data["family"] == len(steps)
    by = {(row["step"]["way"], row["step"]["part"]): row for row in data["rows"]}
    assert by["left out", "stem"]["standing"] == "changed no ranking"
    assert by["left out", "stem"]["comparison"]["difference"] == 0.0
    assert any("Changed no ranking at all:" in text and "stem" in text for text in data["reading"])
    kept = read_run(small / "kept")
    assert kept.engines[0].name == "builtin"
    assert {e.variation.base for e in kept.engines[1:] if e.variation} == {"builtin"}
    assert all(e.variation for e in kept.engines[1:])
    assert (small / "kept" / "RESULTS.md").is_file()


def test_ablation_prints_tables_for_people(small, capsys):
    code, out, _ = call(capsys, *ABLATE, "--way", "out", "--split", "dev")
    assert code == 0
    for text in ("builtin taken apart", "Each part left out", "worst repository", "changed no ranking", "Holm"):
        assert text in out
    assert "added one by one" not in out


def test_ablation_of_a_sweep_and_of_the_last_one_that_gained(small, capsys):
    (small / "assay.toml").write_text(
        '[run]\ngold = "gold.yaml"\n[engines.mine]\nkind = "builtin"\n'
        '[sweeps.halves]\nengine = "mine"\nway = "leave-one-out"\n'
        f"parts = {{ words = {{ {', '.join(BLIND.splitlines())} }}, noise = {{ 'search.without' = ['noise'] }} }}\n"
    )
    code, data = as_json(capsys, "ablate", "halves", "--jobs", "1", "--kept", "--primary", "RR@10")
    assert code == 0
    added = [row["step"] for row in data["rows"] if row["step"]["way"] == "added"]
    assert [(s["variant"], s["against"], s["kept"]) for s in added] == [
        ("plus words", "bare", True),
        ("mine", "plus words", False),
    ]
    assert data["measure"] == "RR@10"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--split", "sealed"), "not for ablations"),
        (("--split", "dev,sealed"), "not for ablations"),
        (("nonsense",), "nonsense"),
        (("--gold", "nowhere.yaml"), "nowhere.yaml"),
    ],
)
def test_ablation_refuses_with_a_reason(small, capsys, argv, said):
    code, _, err = call(capsys, *ABLATE, *argv)
    assert code == 2
    assert said in err


def test_tuning_sees_dev_queries_only(small, capsys):
    code, data = as_json(capsys, *TUNE, "--out", "kept")
    assert code == 0
    asked = {ranking.query for engine in read_run(small / "kept").engines for ranking in engine.rankings}
    assert asked == {f"q{at}" for at in range(8)}
    assert data["queries"] == 8
    assert data["tried"][0]["name"] == "builtin"
    assert [one["changes"] for one in data["tried"][1:]] == [
        {"search.index.fields.name": 0.0},
        {"search.index.fields.name": 8.0},
    ]
    assert sum(one["chosen"] for one in data["tried"]) == 40
    assert "2 of other parts were not looked at" in data["notes"][0]
    assert not (small / "gold.looks.jsonl").exists()


def test_tuning_finds_a_knob_that_matters_and_prints_what_to_paste(small, capsys):
    write(small, ["none"] * 10)
    (small / "assay.toml").write_text(
        f'[run]\ngold = "gold.yaml"\n[engines.mine]\nkind = "builtin"\n{BLIND}'
        '[tune]\nengine = "mine"\npartitions = 5\nknobs = { "search.index.fields.body" = [0.0, 1.0] }\n'
    )
    code, out, _ = call(capsys, "tune", "--jobs", "1", "--ledger", "--by", "ann")
    assert code == 0
    assert "not divided" in out
    assert "Take body=1.0" in out
    assert "[engines.mine]\nsearch.index.fields.body = 1.0" in out
    (entry,) = read_ledger(small / "ledger.jsonl").entries
    assert (entry.how, entry.by, entry.accepted) == ("tune", "ann", True)
    assert entry.evidence.verdict == "better"
    assert entry.changes == {"search.index.fields.body": (0.0, 1.0)}
    assert entry.tuning is not None
    assert entry.tuning.partitions == 5
    code, data = as_json(capsys, "tune", "--jobs", "1", "--partitions", "3")
    assert (data["partitions"], data["recommended"]) == (3, {"search.index.fields.body": 1.0})


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--split", "test"), "only dev is for tuning"),
        (("--split", "sealed"), "only dev is for tuning"),
        (("--split", "dev,test"), "only dev is for tuning"),
        (("--split", "dve"), "only dev is for tuning"),
        (("--tag", "split=dev:9-10"), "would move queries to another part"),
        (("--knob", "search.stem.files"), "--knob"),
        (("--knob", "search.stem.flies=1,2"), "flies"),
        (("--knob", "search.index.fields.name=1,3"), "given twice"),
        (("--ledger", "book.txt"), "ends in ledger.jsonl"),
        (("--ledger", "--rule", "prove"), "did you mean 'proven'"),
    ],
)
def test_tuning_refuses_with_a_reason(small, capsys, argv, said):
    code, _, err = call(capsys, *TUNE, *argv)
    assert code == 2
    assert said in err


@pytest.mark.parametrize("parts", [["test"] * 10, ["sealed"] * 10, ["test"] * 5 + ["sealed"] * 5])
def test_the_gold_file_of_another_part_is_refused(small, capsys, parts):
    write(small, parts)
    code, _, err = call(capsys, *TUNE)
    assert code == 2
    assert "no query is in the part 'dev'" in err


def test_a_misspelt_part_stops_tuning(small, capsys):
    write(small, ["dev"] * 8 + ["Test"] * 2)
    code, _, err = call(capsys, *TUNE)
    assert code == 2
    assert "did you mean 'test'" in err


@pytest.mark.parametrize(
    ("table", "line", "said"),
    [
        ("[tune]\npartitons = 3\n", 4, "did you mean 'partitions'"),
        ('[tune]\npartitions = "many"\n', 4, "partitions"),
        ('[tune]\nengine = "builtin"\nknobs = { "search.stem.files" = [] }\n', 5, "has no values"),
        ('[tune]\nknobs = { "search.dense.files" = [0.5] }\n', 4, "stands already"),
        ('[ledger]\nrules = "proven"\n', 4, "did you mean 'rule'"),
        ('[ledger]\nfile = "ledger.jsonl"\nrule = { verdict = ["bettr"] }\n', 5, "did you mean 'better'"),
        ('[ledger]\nfile = "changes.txt"\n', 4, "ends in ledger.jsonl"),
    ],
)
def test_a_mistake_in_a_table_is_told_with_its_line(small, capsys, table, line, said):
    (small / "assay.toml").write_text('[run]\ngold = "gold.yaml"\n' + table)
    argv = ("tune", "--jobs", "1") if "[tune]" in table else ("ledger",)
    code, _, err = call(capsys, *argv)
    assert code == 2
    assert f"assay.toml:{line}:" in err, err
    assert said in err


@pytest.fixture
def run(small, capsys):
    """Two engines of which one finds nothing by words, run on dev queries."""
    (small / "assay.toml").write_text(
        '[run]\ngold = "gold.yaml"\nreferences = false\nbaseline = "old"\nsplit = "dev"\n'
        f'[engines.old]\nkind = "builtin"\n{BLIND}[engines.new]\nkind = "builtin"\n'
        '[ledger]\nrule = { preset = "seed-001" }\n'
    )
    assert call(capsys, "run")[0] == 0
    return small


ADD = ("ledger", "add", "results", "--engine", "new", "--baseline", "old")


def test_a_change_is_judged_written_down_and_shown(run, capsys):
    code, out, _ = call(capsys, *ADD, "--title", "words count", "--by", "ann")
    assert code == 0
    assert "1. words count: accepted" in out
    (entry,) = read_ledger(run / "ledger.jsonl").entries
    assert (entry.title, entry.by, entry.accepted, entry.rule.preset) == ("words count", "ann", True, "seed-001")
    assert entry.parts == ("dev",)
    assert entry.changes["search.dense.model"] == ("", "static")
    assert entry.evidence.queries == 8
    assert [change.queries for change in entry.evidence.repositories] == [8]
    assert entry.corpora == {"small": read_run(run / "results").header.corpora["small"].digest}
    code, data = as_json(capsys, "ledger")
    assert (code, data["schema"]) == (0, "assay/ledger/1")
    assert data["entries"][0]["title"] == "words count"
    code, out, _ = call(capsys, "ledger")
    for text in ("1 change tried, 1 accepted", "words count", "accepted", "Rule seed-001", "(n=8)", "noise"):
        assert text in out
    code, out, _ = call(capsys, "ledger", "--markdown")
    assert "| 1 |" in out
    code, out, _ = call(capsys, "ledger", "show", "1")
    assert "By repository" in out
    assert call(capsys, "ledger", "verify")[0] == 0


def test_the_ledger_is_no_part_of_the_corpus(run, capsys):
    (run / "gold.yaml").write_text((run / "gold.yaml").read_text().replace("path: code", "path: ."))
    (run / "code").rename(run / "lib")
    text = (run / "gold.yaml").read_text().replace("[thing", "[lib/thing")
    (run / "gold.yaml").write_text(text)
    assert call(capsys, "run", "--out", "a")[0] == 0
    assert call(capsys, "ledger", "add", "a", "--engine", "new", "--baseline", "old")[0] == 0
    assert call(capsys, "run", "--out", "b")[0] == 0
    digests = [read_run(run / name).header.corpora["small"].digest for name in ("a", "b")]
    assert digests[0] == digests[1]
    assert call(capsys, "ledger", "add", "b", "--against", "a", "--engine", "new")[0] == 0


def test_the_same_comparison_is_added_twice_only_on_purpose(run, capsys):
    assert call(capsys, *ADD)[0] == 0
    code, _, err = call(capsys, *ADD)
    assert code == 2
    assert "is entry 1 already" in err
    assert call(capsys, *ADD, "--again")[0] == 0
    code, out, _ = call(capsys, "ledger")
    assert "2 changes were tried on small" in out
    assert "promises too much" in out


def test_two_runs_are_compared_where_they_can_be(run, capsys):
    assert call(capsys, "run", "--out", "later")[0] == 0
    add = ("ledger", "add", "later", "--against", "results", "--engine", "new")
    assert call(capsys, *add, "--baseline", "old")[0] == 0
    assert call(capsys, *add)[0] == 0
    first, second = read_ledger(run / "ledger.jsonl").entries
    assert first.accepted
    assert not second.accepted
    assert second.evidence.difference == 0.0


def test_runs_that_are_not_comparable_end_with_five(run, capsys):
    add = ("ledger", "add", "--engine", "new")
    assert call(capsys, "run", "--out", "short", "-k", "5")[0] == 0
    assert call(capsys, *add, "results", "--against", "short")[0] == 5
    (run / "code" / "thing0.py").write_text("pass\n")
    assert call(capsys, "run", "--out", "moved")[0] == 0
    assert call(capsys, *add, "moved", "--against", "results")[0] == 5
    assert call(capsys, *add, "moved", "--against", "results", "--allow-changed-corpus")[0] == 0
    write(run, ["dev"] * 2 + ["test"] * 8)
    assert call(capsys, "run", "--out", "other")[0] == 0
    assert call(capsys, *add, "other", "--against", "moved")[0] == 5


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("add", "results", "--engine", "nobody", "--baseline", "old"), "no engine 'nobody'"),
        (("add", "results", "--engine", "new", "--baseline", "nobody"), "nobody"),
        (("add", "results", "--engine", "old", "--baseline", "old"), "itself"),
        (("add", "nowhere", "--engine", "new"), "no such folder"),
        (("add", "results", "--against", "results", "--engine", "nobody"), "no engine 'nobody'"),
        (("show", "3"), "no entry 3"),
    ],
)
def test_the_ledger_refuses_with_a_reason(run, capsys, argv, said):
    code, _, err = call(capsys, "ledger", *argv)
    assert code == 2
    assert said in err


def test_sealed_results_are_added_only_where_the_look_is_logged(run, capsys):
    write(run, ["dev"] * 4 + ["sealed"] * 6)
    assert call(capsys, "run", "--split", "dev,sealed", "--out", "opened")[0] == 0
    looks = run / "gold.looks.jsonl"
    before = len(looks.read_text().splitlines())
    assert call(capsys, "ledger", "add", "opened", "--engine", "new", "--baseline", "old")[0] == 0
    lines = looks.read_text().splitlines()
    assert len(lines) == before + 1
    assert '"ledger add"' in lines[-1]
    (run / "gold.yaml").unlink()
    code, _, err = call(capsys, "ledger", "add", "opened", "--engine", "new", "--baseline", "old", "--again")
    assert code == 2
    assert "6 sealed queries" in err
    assert len(read_ledger(run / "ledger.jsonl").entries) == 1


def test_a_ledger_that_was_tampered_with_ends_every_command_with_two(run, capsys):
    assert call(capsys, *ADD)[0] == 0
    file = run / "ledger.jsonl"
    file.write_text(file.read_text().replace('"accepted": true', '"accepted": false', 1))
    for argv in (
        ("ledger",),
        ("ledger", "show", "1"),
        (*ADD, "--again"),
        (*TUNE, "new", "--ledger"),
    ):
        code, _, err = call(capsys, *argv)
        assert code == 2, argv
        assert "ledger.jsonl:1: was changed after it was written" in err
    code, data = as_json(capsys, "ledger", "verify")
    assert code == 2
    assert data["problems"] == [{"line": 1, "text": "was changed after it was written"}]


def test_an_ablation_puts_every_step_into_the_ledger_and_none_into_the_total(run, capsys):
    code, data = as_json(capsys, "ablate", "new", "--jobs", "1", "--way", "out", "--ledger", "--rule", "proven")
    assert code == 0
    entries = read_ledger(run / "ledger.jsonl").entries
    assert data["ledger"]["entries"] == [entry.number for entry in entries]
    assert len(entries) == len(data["rows"])
    assert {(entry.how, entry.rule.preset, entry.evidence.family) for entry in entries} == {
        ("ablate", "proven", len(entries))
    }
    assert entries[0].title == "new without names"
    assert [entry.tried for entry in entries] == list(range(len(entries)))
