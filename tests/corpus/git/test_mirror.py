from __future__ import annotations

import os
from pathlib import Path

from assay.corpus import open_corpus
from assay.types import CorpusSpec
from tests.corpus.conftest import git, repository, write


def test_mirror_survives_an_interrupted_fetch(tmp_path: Path) -> None:
    first = repository(tmp_path / "r", {"a.py": "one\n"})
    write(tmp_path / "r", {"a.py": "two\n"})
    git(tmp_path / "r", "commit", "--quiet", "-am", "two")
    second = git(tmp_path / "r", "rev-parse", "HEAD")
    url = f"file://{tmp_path}/r"
    open_corpus(CorpusSpec("git", url, first), cache=tmp_path / "cache")
    (mirror,) = (tmp_path / "cache" / "mirrors").glob("*/repository")
    write(mirror, {"assay-busy": "", "shallow.lock": "", "HEAD.lock": "", "packed-refs.lock": ""})
    assert open_corpus(CorpusSpec("git", url, second), cache=tmp_path / "cache").revision == second
    assert not os.path.exists(mirror / "shallow.lock")
