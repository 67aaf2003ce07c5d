from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from assay.corpus import read_text
from assay.errors import CorpusError
from tests.corpus.conftest import Opener, write


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../secret.py", "a/../../secret.py", "out/passwd", "a\0b"])
def test_read_refuses_paths_outside_the_root(path: str, tmp_path: Path, opened: Opener) -> None:
    root = write(tmp_path / "r", {"a.py": "1"})
    write(tmp_path, {"secret.py": "1"})
    (root / "out").symlink_to("/etc")
    with pytest.raises(CorpusError, match="outside the corpus"):
        read_text(opened(root), path)


def test_read_tells_a_vanished_corpus_from_a_vanished_file(tmp_path: Path, opened: Opener) -> None:
    corpus = opened(write(tmp_path / "r", {"a.py": "1", "b.py": "2"}))
    (tmp_path / "r" / "a.py").unlink()
    with pytest.raises(CorpusError, match="cannot read the file") as caught:
        read_text(corpus, "a.py")
    assert caught.value.file == str(corpus.root / "a.py")
    shutil.rmtree(tmp_path / "r")
    with pytest.raises(CorpusError, match="removed during use"):
        read_text(corpus, "b.py")
