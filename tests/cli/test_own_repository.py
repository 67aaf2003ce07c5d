"""`assay gate` on a repository that measures itself: changed files, other repositories, the history file."""

import json
import subprocess
import sys

import pytest

from assay.cli.main import main
from assay.report.gate_history import GatedCommit, record_gate, trend_text
from tests.cli.changing import SMALL, as_json, call
from tests.conftest import copy_finished, finish
from tests.report.explorer import unpacking

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
OWN = SMALL | {
    "gold.yaml": SMALL["gold.yaml"].replace("path: code", "path: .").replace("[thing", "[code/thing"),
    "assay.toml": (
        '[run]\ngold = "gold.yaml"\nreferences = false\nbaseline = "mine"\n[engines.mine]\nkind = "keywords"\n'
    ),
}
GATE = ("gate", "new", "--against", "baseline.json")


def git(*arguments):
    done = subprocess.run(["git", *IDENTITY, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(message):
    git("add", "--all")
    git("commit", "--quiet", "--allow-empty", "--message", message)
    return git("rev-parse", "HEAD")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return finish(tmp_path_factory.mktemp("own"), OWN, "run", "--quiet", "--no-times")


@pytest.fixture
def own(finished, tmp_path, monkeypatch, capsys):
    """A git repository whose run in `results` and baseline are those of its first commit."""
    root = copy_finished(finished, tmp_path, monkeypatch)
    monkeypatch.delenv("GITHUB_SHA", raising=False)
    git("init", "--quiet", "--initial-branch=main")
    (root / ".gitignore").write_text("results\nnew\n")
    commit("first")
    run("results")
    assert main(["gate", "--write-baseline", "baseline.json"]) == 0
    capsys.readouterr()
    return root


def run(out):
    assert main(["run", "--quiet", "--no-times", "--jobs", "1", "--out", out]) == 0


def edit(root, name="code/thing3.py"):
    path = root / name
    path.write_text(path.read_text() + "# one more comment\n")


def test_a_run_records_the_commit_of_the_work_tree(own):
    (corpus,) = json.loads((own / "results/run.json").read_text())["header"]["corpora"].values()
    assert corpus["revision"] == git("rev-parse", "HEAD")


def test_changed_file_is_named_and_equal_scores_pass(own, capsys, monkeypatch):
    edit(own)
    commit("comment")
    run("new")
    capsys.readouterr()
    monkeypatch.setenv("COLUMNS", "80")
    for against in ("baseline.json", "results"):
        code, out, _ = call(capsys, "gate", "new", "--against", against, "--strict")
        assert code == 0
        lines = out.splitlines()
        assert lines[-1] == "assay gate: pass (exit 0)"
        assert out.count("The corpus of small changed between the runs: 1 modified (code/thing3.py)") == 1
        assert "inconclusive" not in out
        assert len(lines) <= 15
        assert max(map(len, lines)) <= 80
        _, full, _ = call(capsys, "gate", "new", "--against", against, "--full")
        assert "inconclusive" not in full
        code, data = as_json(capsys, "gate", "new", "--against", against)
        assert (data["verdict"], data["decision"]["wins"], data["decision"]["losses"]) == ("pass", 0, 0)
        assert data["decision"]["outcome"] in ("same scores", "identical rankings")
        assert data["changes"] == ["The corpus of small changed between the runs: 1 modified (code/thing3.py)."]
    code, _, err = call(capsys, *GATE, "--allow-changed-corpus")
    assert code == 2
    assert "hint: remove it: a changed corpus is always compared" in err


def test_added_and_removed_files_are_named_up_to_five(own, capsys):
    for number in range(7):
        (own / f"code/more{number}.py").write_text(f"x = {number}\n")
    (own / "code/extra.py").write_text("x = 1\n")
    run("results")
    (own / "code/extra.py").unlink()
    for number in range(7):
        edit(own, f"code/more{number}.py")
    (own / "code/last.py").write_text("x = 1\n")
    run("new")
    capsys.readouterr()
    _, data = as_json(capsys, "gate", "new", "--against", "results")
    five = ", ".join(f"code/more{number}.py" for number in range(5))
    assert data["changes"][0].endswith(f": 7 modified ({five}, …), 1 added, 1 removed.")
    for number in range(7):
        (own / f"code/more{number}.py").unlink()
    assert main(["gate", "results", "--write-baseline", "baseline.json"]) == 0
    run("new")
    capsys.readouterr()
    _, data = as_json(capsys, *GATE)  # a baseline file has no paths
    assert data["changes"][0].endswith(": 1 added (code/last.py), 8 removed.")
    _, data = as_json(capsys, "compare", "results", "new")
    assert "1 added (code/last.py), 8 removed (code/extra.py, code/more0.py" in data["notes"][0]


def test_other_gold_set_and_other_repository_are_not_comparable(own, capsys):
    gold = own / "gold.yaml"
    text = gold.read_text()
    gold.write_text(text.replace("kept?", "stored?"))
    run("new")
    capsys.readouterr()
    code, _, err = call(capsys, *GATE)
    assert code == 5
    assert "queries" in err
    gold.write_text(text)
    git("checkout", "--quiet", "--orphan", "another")
    edit(own)
    commit("another first commit")
    run("new")
    capsys.readouterr()
    for arguments in (GATE, ("compare", "results", "new")):
        code, _, err = call(capsys, *arguments)
        assert code == 5
        assert "error: the corpus of small is another repository: expected repo (first commit " in err


def test_repository_without_a_first_commit_is_known_by_its_name(own, capsys, tmp_path, monkeypatch):
    edit(own)
    commit("comment")
    git("clone", "--quiet", "--depth", "1", own.as_uri(), str(tmp_path / "shallow" / "repo"))
    (tmp_path / "shallow" / "repo").rename(tmp_path / "shallow" / "other")
    for name, expected in (("repo", 0), ("elsewhere", 5)):
        place = (tmp_path / "shallow").joinpath(name)
        next((tmp_path / "shallow").iterdir()).rename(place)
        monkeypatch.chdir(place)
        run("new")
        capsys.readouterr()
        assert call(capsys, "gate", "new", "--against", str(own / "baseline.json"))[0] == expected


HISTORY = "assay-history.jsonl"


def test_history_has_one_line_per_commit(own, capsys):
    first = git("rev-parse", "HEAD")
    assert call(capsys, "gate", "results", "--against", "baseline.json")[0] == 0
    assert not (own / HISTORY).exists()  # only with the flag, or if there is one
    assert call(capsys, "gate", "results", "--against", "baseline.json", "--history", HISTORY)[0] == 0
    (line,) = lines_of(own / HISTORY)
    assert list(line)[0] == "schema"
    assert (line["commit"], line["exit_code"], line["engine"], line["queries"]) == (first, 0, "mine", 10)
    assert (line["outcome"], line["measure"], line["difference"]) == ("identical rankings", "nDCG@10", 0.0)
    assert line["mean"] == line["baseline"]
    assert line["interval"][0] < 0.0 < line["interval"][1]
    kept = (own / HISTORY).read_text()
    edit(own)
    second = commit("comment")
    run("new")
    for _ in range(2):
        capsys.readouterr()
        assert call(capsys, *GATE)[0] == 0
    text = (own / HISTORY).read_text()
    assert text.startswith(kept)
    assert [line["commit"] for line in lines_of(own / HISTORY)] == [first, second]
    _, out, _ = call(capsys, *GATE, "--full")
    assert "Trend of mine, nDCG@10: ▄▄ " in out
    assert "(2 commits)" in out
    _, data = as_json(capsys, *GATE)
    assert [point["commit"] for point in data["history"]] == [first, second]
    assert main(["report", "new", "--quiet"]) == 0
    page = unpacking.summary((own / "new" / "report.html").read_bytes())
    assert [point["commit"] for point in page["history"]] == [first, second]
    assert "results" not in json.dumps(data["changes"])
    assert HISTORY not in json.dumps(data["changes"])  # no part of the corpus


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("{", "Expecting property name"),
        ("<<<<<<< HEAD", "Expecting value"),
        ("[]", "expected the schema 'assay/history/1'"),
        ('{"schema": "assay/history/1", "date": "2026-01-01"}', "missing setting 'commit'"),
        ('{"schema": "assay/history/1", "mean": NaN}', "expected a finite number"),
    ],
)
def test_bad_history_line_is_named_and_nothing_is_lost(own, capsys, bad, reason):
    gate = ("gate", "results", "--against", "baseline.json", "--history", HISTORY)
    assert call(capsys, *gate)[0] == 0
    text = (own / HISTORY).read_text() + bad + "\n"
    (own / HISTORY).write_text(text)
    code, out, err = call(capsys, *gate)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {HISTORY}:2: invalid history: ")
    assert reason in err
    assert (own / HISTORY).read_text() == text


def test_gates_at_the_same_time_lose_no_line(tmp_path):
    program = (
        "import sys; from pathlib import Path; from assay.report.gate_history import GatedCommit, record_gate\n"
        "for n in range(5):\n"
        "    line = GatedCommit('2026-01-01', f'{sys.argv[2]}-{n}', 0, 'better', 'mine', 'nDCG@10', 0.5, 0.4, 0.1,"
        " (0.0, 0.2), 9, '1', 3)\n"
        "    record_gate(Path(sys.argv[1]), line)\n"
    )
    path = tmp_path / "made" / HISTORY
    started = [subprocess.Popen([sys.executable, "-c", program, str(path), str(n)]) for n in range(3)]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    assert sorted(line["commit"] for line in lines_of(path)) == sorted(f"{a}-{b}" for a in range(3) for b in range(5))
    assert [entry.name for entry in path.parent.iterdir()] == [HISTORY]


def test_trend_shows_the_last_thirty_means_between_the_extremes():
    def point(mean, engine="mine"):
        return GatedCommit("2026-01-01", "", 0, "better", engine, "nDCG@10", mean, 0.5, 0.0, None, 9, "1", 3)

    assert trend_text([point(0.4)]) == ""
    text = "mine, nDCG@10: ▁▅█ 0.600, baseline 0.500 (3 commits)"
    assert trend_text([point(0.4), point(None), point(0.5), point(0.6)]) == text


def test_trend_is_that_of_one_engine_and_measure(tmp_path):
    def gate(number, engine):
        line = GatedCommit("2026-01-01", str(number), 0, "better", engine, "RR@10", 0.5, None, None, None, 9, "1", 3)
        return record_gate(tmp_path / HISTORY, line)

    for number in range(35):
        gate(number, "other")
        points = gate(number, "mine")
    assert [point.commit for point in points] == [str(number) for number in range(5, 35)]
