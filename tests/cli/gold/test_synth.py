"""`assay gold synth` as a user meets it, up to the report that says what the numbers rest on."""

import json
import re

import pytest

from assay.cli.main import main
from tests.report.explorer.unpacking import everything

SOURCE = '''\
def acquire(pool, seconds):
    """Wait until a free connection turns up, at most so long."""
    waited = pool.wait(seconds)
    return waited


def shutdown(pool):
    """Close every idle handle before the process ends."""
    for handle in pool.idle:
        handle.close()
'''


@pytest.fixture
def repo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "pool.py").write_text(SOURCE)
    return tmp_path


def call(capsys, *arguments):
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def test_synth_writes_the_sets_and_says_what_it_could_not(repo, capsys):
    code, out, _ = call(capsys, "gold", "synth", "repo")
    assert code == 0
    assert sorted(p.name for p in (repo / "gold-synth").glob("*.yaml")) == ["doc.yaml", "keyword.yaml", "symbol.yaml"]
    assert "no commit set: the corpus is not a local Git work tree" in out
    assert "assay run --gold gold-synth" in out
    assert "gold-synth/ has a .gitignore and an .assayignore" in out


def test_synth_as_json_names_the_files(repo, capsys):
    code, out, err = call(
        capsys, "gold", "synth", "repo", "--json", "--quiet", "--kinds", "symbol,doc", "--out", "there"
    )
    data = json.loads(out)
    assert (code, err) == (0, "")
    assert data["schema"] == "assay/gold-synth/2"
    assert [(one["kind"], one["queries"], one["file"]) for one in data["sets"]] == [
        ("symbol", 2, "there/symbol.yaml"),
        ("doc", 2, "there/doc.yaml"),
    ]
    assert [one["name"] for one in data["sets"]] == ["repo-synthetic-symbol", "repo-synthetic-doc"]


def test_synth_ends_with_a_sentence_where_nothing_can_be_made(repo, capsys):
    (repo / "empty").mkdir()
    (repo / "empty" / "README.md").write_text("# Nothing\n")
    code, _, err = call(capsys, "gold", "synth", "empty")
    assert code == 2
    assert "no definition has a usable comment" in err
    assert "\nhint: " in err
    assert not (repo / "gold-synth").exists()
    (repo / "mine").mkdir()
    (repo / "mine" / "x").write_text("")
    assert call(capsys, "gold", "synth", "repo", "--out", "mine")[0] == 2
    assert call(capsys, "gold", "synth", "repo", "--kinds", "names")[0] == 2


def test_every_report_on_synthetic_gold_says_so(repo, capsys):
    call(capsys, "gold", "synth", "repo", "--kinds", "doc")
    renamed = re.sub(r"name: \S+", "name: ours", (repo / "gold-synth" / "doc.yaml").read_text())
    (repo / "gold-synth" / "doc.yaml").write_text(renamed)  # the mark is in what it is, not in its name
    run = ["--gold", "gold-synth/doc.yaml", "--engine", "a=keywords", "--engine", "b=keywords"]
    code, out, _ = call(capsys, "run", *run, "--baseline", "a", "--quiet", "--no-references", "--full")
    assert code == 0
    assert "ours (synthetic)" in out
    assert "not written by people" in " ".join(out.split())
    for name in ("RESULTS.md", "results.json"):
        assert "ours (synthetic)" in (repo / "results" / name).read_text(), name
    assert "ours (synthetic)" in everything((repo / "results" / "report.html").read_bytes())
    assert json.loads((repo / "results" / "results.json").read_text())["synthetic"] == ["ours"]
    for command in (["score"], ["compare"], ["compare", "--all-pairs"], ["gate", "--require", "Hit@5>=0"]):
        _, out, _ = call(capsys, command[0], "results", *command[1:])
        assert "synthetic" in out, command


def test_a_report_on_peoples_gold_does_not_say_so(repo, capsys):
    call(capsys, "gold", "synth", "repo", "--kinds", "symbol")
    text = (repo / "gold-synth" / "symbol.yaml").read_text()
    plain = (
        re.sub(r"provenance:\n(?:  .*\n)+", "", text).replace("-synthetic-", "-").replace("synthetic: symbol", "a: b")
    )
    (repo / "gold.yaml").write_text(plain.replace("path: ../repo", "path: repo"))
    _, out, _ = call(capsys, "run", "--gold", "gold.yaml", "--engine", "keywords", "--quiet")
    assert "nDCG@10" in out
    assert "synthetic" not in out
