"""`assay gate` on a repository that measures itself: changed files, other repositories, the history file."""

import subprocess

import pytest

from assay.cli.main import main
from tests.cli.changing import SMALL, as_json, call
from tests.conftest import copy_finished, finish

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
        assert lines[0] == "assay gate: pass (exit 0)"
        assert "The corpus of small changed between the runs: 1 modified (code/thing3.py)." in out
        assert "inconclusive" not in out
        assert len(lines) <= 15
        assert max(map(len, lines)) <= 80
        _, full, _ = call(capsys, "gate", "new", "--against", against, "--full")
        assert "inconclusive" not in full
        code, data = as_json(capsys, "gate", "new", "--against", against)
        assert (data["verdict"], data["decision"]["wins"], data["decision"]["losses"]) == ("pass", 0, 0)
        assert data["decision"]["outcome"] in ("same scores", "identical rankings")
        assert data["changes"] == ["The corpus of small changed between the runs: 1 modified (code/thing3.py)."]
    code, out, err = call(capsys, *GATE, "--allow-changed-corpus")
    assert (code, err) == (0, "warning: --allow-changed-corpus is the default now\n")


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
