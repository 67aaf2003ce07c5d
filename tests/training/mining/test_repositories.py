import subprocess

import pytest

from assay.errors import CorpusError
from assay.training.config import MiningConfig
from assay.training.pairs import changed_paths, list_subjects, read_changes
from assay.training.repositories import find_repositories, list_files, read_files
from tests.training.mining.samples import FILES, PYTHON, found, make, mined
from tests.training.toy import MIT, git


def test_repositories_are_found_bare_and_checked_out_at_several_depths(tmp_path):
    first = make(tmp_path / "top" / "group" / "somebody+house", FILES)
    plain = make(tmp_path / "top" / "farm", {"a.py": PYTHON})
    git(plain, "remote", "add", "origin", "https://user:word@example.org/people/farm.git")
    bare = tmp_path / "top" / "other+tool" / "repo"
    bare.parent.mkdir()
    git(tmp_path, "clone", "-q", "--bare", str(first), str(bare))
    git(bare, "remote", "remove", "origin")
    make(tmp_path / "top" / "half+way.part", FILES)
    (tmp_path / "top" / "empty").mkdir()
    git(tmp_path / "top" / "empty", "init", "-q")
    (tmp_path / "top" / "notes.txt").write_text("nothing")
    repositories = find_repositories(tmp_path / "top")
    assert [(one.name, one.url) for one in repositories] == [
        ("other/tool", "https://github.com/other/tool"),
        ("people/farm", "https://example.org/people/farm.git"),
        ("somebody/house", "https://github.com/somebody/house"),
    ]
    assert repositories[0].commit == repositories[2].commit
    assert repositories[0].file_name == "other+tool"


def test_folder_that_is_missing_is_an_error(tmp_path):
    with pytest.raises(CorpusError, match="directory not found"):
        find_repositories(tmp_path / "none")


def test_files_are_read_at_the_commit_and_not_from_the_work_tree(tmp_path):
    folder = make(tmp_path / "r", {"a.py": "one\n", "b c/ü.py": "two\n"})
    (folder / "link.py").symlink_to("/etc/passwd")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "A link")
    (folder / "a.py").write_text("changed\n")
    (folder / "new.py").write_text("new\n")
    repository = found(folder)
    entries = list_files(repository)
    assert {entry.path: data for entry, data in read_files(repository, entries)} == {
        "a.py": b"one\n",
        "b c/ü.py": b"two\n",
    }


def test_nothing_of_a_repository_is_run(tmp_path):
    folder = make(tmp_path / "r", FILES | {".gitattributes": "*.py diff=evil filter=evil\n"})
    make(folder, {"kitchen/hot_kettle.py": PYTHON.replace("drip", "drop")}, "Let the kettle drop instead of drip")
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    for key in (
        *("core.fsmonitor", "core.pager", "core.sshCommand", "gpg.program"),
        *("diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.smudge"),
    ):
        git(folder, "config", key, str(trap))
    git(folder, "config", "log.showSignature", "true")
    for hook in ("post-checkout", "pre-commit", "post-index-change"):
        place = folder / ".git" / "hooks" / hook
        place.parent.mkdir(exist_ok=True)
        place.write_text(trap.read_text())
        place.chmod(0o755)
    assert mined(folder).report.pairs["commit"] == 1
    assert not (tmp_path / "sprung").exists()


def lose(folder, revision_path):
    """Remove an object of a repository, as partial clones lack them."""
    shown = subprocess.run(["git", "rev-parse", revision_path], cwd=folder, capture_output=True, text=True, check=True)
    oid = shown.stdout.strip()
    place = folder / ".git" / "objects" / oid[:2] / oid[2:]
    place.chmod(0o644)
    place.unlink()


def history(folder, count=6):
    """Make a repository whose commits each write a function."""
    make(folder, {"LICENSE": MIT})
    for n in range(count):
        which = "abcdefgh"[n] * 3
        body = f"def polish_{which}(pan, cloth):\n    cloth.fold({n})\n    pan.rub(cloth)\n    return pan.shine()\n"
        make(folder, {f"pans/polish{n}.py": body}, f"Polish the {which} pan with a cloth")
    return folder


def test_missing_objects_cost_only_what_needs_them(tmp_path):
    folder = history(tmp_path / "r")
    whole = mined(folder).report
    lose(folder, "HEAD:pans/polish2.py")
    part = mined(folder).report
    assert whole.pairs["commit"] == 6
    assert part.pairs["commit"] == 5
    assert part.dropped["commit with missing objects"] == 1
    assert part.pairs["name"] == whole.pairs["name"] - 1


def test_shallow_history_is_read_as_far_as_it_goes(tmp_path):
    deep = history(tmp_path / "deep" / "r")
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{deep}", str(tmp_path / "shallow" / "r"))
    assert len(list(list_subjects(found(deep)))) == 7
    assert len(list(list_subjects(found(tmp_path / "shallow")))) == 2
    assert mined(tmp_path / "shallow" / "r").report.pairs["doc"] == mined(deep).report.pairs["doc"]


def test_missing_licence_or_tree_leaves_the_repository_out(tmp_path):
    folder = history(tmp_path / "r")
    lose(folder, "HEAD:LICENSE")
    assert mined(folder).report.reason.startswith("license:")
    lose(folder, "HEAD:pans")
    with pytest.raises(CorpusError, match="cannot list"):
        list_files(found(folder))


def test_changes_are_read_whatever_their_lines_look_like(tmp_path):
    folder = make(tmp_path / "r", {"LICENSE": MIT})
    odd = ["+++ b/other.py", "@@ -1,3 +1,9 @@", "-- a", "\x01 begins", "", "diff --git a/x b/x", "last without newline"]
    make(folder, {"odd.py": "\n".join(odd)}, "Write down some odd lines")
    repository = found(folder)
    ((newest, _), _) = list_subjects(repository)
    ((read),) = list(read_changes(repository, [newest], lambda path: path.endswith(".py"), MiningConfig()))
    assert read.path == "odd.py"
    assert read.text.decode() == "\n".join(odd) + "\n"
    assert changed_paths(repository, [newest]) == {newest: ["odd.py"]}


def test_odd_files_are_survived(tmp_path):
    files: dict[str, str | bytes] = {
        "LICENSE": MIT,
        "empty.py": "",
        "latin.py": "# größe\ndef weigh_sack(sack):\n    sack.lift()\n    sack.drop()\n    return sack.weight\n".encode(
            "latin-1"
        ),
        "torn.py": "def (((((\n" * 50,
        "crlf.py": PYTHON.replace("\n", "\r\n"),
        "bom.py": "\ufeff" + PYTHON.replace("Kettle", "Kessel"),
        "soup.rs": "}{\n" * 400,
        "surrogate.py": b"\xed\xa0\x80 = 1\n",
        "notes.md": "# " + "#" * 500 + "\n```\n# no heading\n",
    }
    report = mined(make(tmp_path / "r", files)).report
    assert report.files == 8
    assert report.pairs["doc"] >= 3
