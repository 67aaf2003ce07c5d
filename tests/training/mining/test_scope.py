"""One's own repository, and what of it is kept for a test."""

from collections import Counter

import numpy as np
import pytest

from assay.errors import CorpusError
from assay.training.config import MiningConfig
from assay.training.mining import mine_repository
from assay.training.repositories import LearningScope, list_files, open_repository
from assay.training.selection import NO_EXCLUSIONS
from assay.training.shards import KINDS, PairShard
from tests.training.toy import JARGON, git, jargon_file, make_jargon


@pytest.fixture
def jargon(tmp_path):
    return make_jargon(tmp_path / "jargon", JARGON, files=3)


def mined(folder, scope: LearningScope) -> PairShard | None:
    return mine_repository(open_repository(folder), MiningConfig(), NO_EXCLUSIONS, scope).shard


def words_of(shard: PairShard | None) -> set[str]:
    assert shard is not None
    return set(shard.words)


def commit(folder, subject: str, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", subject)


def test_own_code_is_learned_from_whatever_its_licence(jargon):
    assert mined(jargon, LearningScope()) is None
    (jargon / "COPYING").write_text("GNU GENERAL PUBLIC LICENSE Version 3")
    plain = "# This file is under the GNU General Public License.\n"
    commit(jargon, "Say whose it is", **{f"part{n}": plain + jargon_file(n, JARGON) for n in range(3)})
    assert mined(jargon, LearningScope()) is None
    found = mined(jargon, LearningScope(own=True))
    assert found is not None
    assert Counter(found.kind.tolist())[KINDS.index("doc")] == 12


def test_withheld_files_are_not_read(jargon):
    entries = [entry.path for entry in list_files(open_repository(jargon))]
    found = mined(jargon, LearningScope(own=True, withheld=frozenset({"part1.py"})))
    assert found is not None
    assert {entries[number] for number in np.unique(found.file).tolist()} == {"part0.py", "part2.py"}


def test_commits_that_touch_a_withheld_file_are_not_read(jargon):
    one, other = (jargon_file(number, JARGON).replace("result", "outcome") for number in (0, 1))
    commit(jargon, "Rename grommets after flanges", part0=one, part1=other)
    assert "grommet" in words_of(mined(jargon, LearningScope(own=True)))
    assert "grommet" not in words_of(mined(jargon, LearningScope(own=True, withheld=frozenset({"part1.py"}))))
    assert "grommet" in words_of(mined(jargon, LearningScope(own=True, withheld=frozenset({"part2.py"}))))


def test_commits_on_an_earlier_place_of_a_withheld_file_are_not_read(jargon):
    commit(jargon, "Rename grommets after flanges", part1=jargon_file(1, JARGON).replace("result", "outcome"))
    (jargon / "inner").mkdir()
    git(jargon, "mv", "part1.py", "inner/part1.py")
    git(jargon, "commit", "-q", "-m", "Move it")
    assert "grommet" in words_of(mined(jargon, LearningScope(own=True)))
    assert "grommet" not in words_of(mined(jargon, LearningScope(own=True, withheld=frozenset({"inner/part1.py"}))))


def test_a_repository_is_opened_wherever_its_git_directory_is(jargon, tmp_path):
    git(jargon, "worktree", "add", "-q", str(tmp_path / "tree"))
    git(tmp_path, "clone", "-q", "--bare", str(jargon), str(tmp_path / "bare.git"))
    commits = {open_repository(place).commit for place in (jargon, tmp_path / "tree", tmp_path / "bare.git")}
    assert len(commits) == 1
    git(tmp_path, "init", "-q", "new")
    with pytest.raises(CorpusError, match="no commit"):
        open_repository(tmp_path / "new")
    with pytest.raises(CorpusError, match="not a git repository"):
        open_repository(tmp_path)
