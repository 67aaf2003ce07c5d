"""Commit subjects: which are asked, and where their answers are now."""

import subprocess

import pytest

from assay.corpus import open_corpus
from assay.gold.synth import describes_change, synthesize
from assay.syntax.commit_subjects import strip_subject
from assay.types import CorpusSpec

OLD = """\
def load(path):
    return open(path)


def save(path, data):
    open(path, 'w').write(data)


def gone():
    return 0
"""


@pytest.fixture
def history(tmp_path):
    """A repository with a few commits; every one says what it did."""
    root = tmp_path / "code"
    root.mkdir()
    own = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false"]

    def commit(subject, files):
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        subprocess.run([*own, "add", "-A"], cwd=root, check=True)
        subprocess.run([*own, "commit", "-q", "--allow-empty", "-m", subject], cwd=root, check=True)

    subprocess.run([*own, "init", "-q"], cwd=root, check=True)
    commit("Start with reading and writing files", {"pkg/io.py": OLD, "pkg/data.txt": "x\n"})
    closing = OLD.replace("return open(path)", "with open(path) as file:\n        return file.read()")
    commit("fix(io): close the file handle after reading (#12)", {"pkg/io.py": closing})
    commit("Return another number for missing entries", {"pkg/io.py": closing.replace("return 0", "return 1")})
    commit("Fix typos in the names of arguments", {"pkg/io.py": closing.replace("data", "text")})
    shifted = "import os\n\n\n" + closing.split("def gone")[0].replace("write(data)", "write(data + '\\n')")
    commit(
        "End every saved file with a newline", {"pkg/io.py": shifted, "tests/test_io.py": "def test_io():\n    pass\n"}
    )
    commit("Touch many files in one single commit", {f"pkg/m{n}.py": "def f():\n    return 1\n" for n in range(5)})
    return root


def test_subjects_lead_to_the_definitions_they_changed_where_they_are_now(history):
    sets = synthesize(open_corpus(CorpusSpec("path", str(history))), name="x", kinds=("commit",))
    found = {q.forms["human"]: [t.anchor for t in q.targets] for q in sets.golds[0].queries}
    assert found == {"close the file handle after reading": ["pkg/io.py:4-6"]} | {
        "End every saved file with a newline": ["pkg/io.py:9-10"]
    }


def test_paths_are_those_of_the_corpus_when_its_root_is_below(history):
    sets = synthesize(open_corpus(CorpusSpec("path", str(history), root="pkg")), name="x", kinds=("commit",))
    assert {t.span.path for q in sets.golds[0].queries for t in q.targets} == {"io.py"}


def test_no_git_is_said_in_a_sentence(corpus):
    sets = synthesize(corpus, name="x", kinds=("symbol", "commit"))
    assert [gold.provenance["synthetic"] for gold in sets.golds] == ["symbol"]
    assert "no commit set: the corpus is not a local Git work tree" in sets.notes


def test_no_commits_is_said_in_a_sentence(repository):
    subprocess.run(["git", "init", "-q"], cwd=repository, check=True)
    sets = synthesize(open_corpus(CorpusSpec("path", str(repository))), name="x", kinds=("commit",))
    assert not sets.golds
    assert len(sets.notes) == 1
    assert "cannot read the git history" in sets.notes[0]


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        ("feat(parser)!: read nested lists (#3)", "read nested lists"),
        ("net/http: keep `Host` headers when redirected", "keep Host headers when redirected"),
        ("Fix race in the pool, fixes #12", "Fix race in the pool,"),
    ],
)
def test_question_leaves_out_prefixes_and_numbers(subject, text):
    assert strip_subject(subject) == text


@pytest.mark.parametrize(
    "subject",
    [
        "Bump lodash from 4.1 to 4.2 in docs",
        "Revert the change that made reading slow",
        "v1.2.0 brings many new things",
        "Fix typo in message about missing files",
        "fix bug",
        "Merge branch main into topic of somebody",
        "",
    ],
)
def test_subjects_that_tell_of_no_behaviour_are_not_asked(subject):
    assert not describes_change(subject)
