from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from assay.corpus import open_corpus
from assay.corpus.sources import TreeCache
from assay.corpus.unpack import FetchedTree
from assay.errors import SetupError
from assay.store.kinds import cache_dir
from assay.store.store import Store
from assay.types import Corpus, CorpusSpec
from tests.corpus.conftest import paths, repository


def _open(tmp_path: Path) -> Corpus:
    return open_corpus(CorpusSpec("git", str(tmp_path / "r")), cache=tmp_path / "cache")


def test_cache_dir_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "own"
    monkeypatch.delenv("ASSAY_CACHE_DIR")
    assert cache_dir() == tmp_path / "xdg" / "assay"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_dir() == Path.home() / ".cache" / "assay"


@pytest.mark.parametrize("damage", ["changed", "removed", "emptied", "entry", "ref", "tree"])
def test_cache_that_was_damaged_is_fetched_again(damage: str, tmp_path: Path) -> None:
    repository(tmp_path / "r", {"a.py": "1", "d/b.py": "2"})
    whole = _open(tmp_path)
    tree = whole.root
    if damage == "changed":
        (tree / "a.py").write_text("tampered")
    elif damage == "removed":
        (tree / "d" / "b.py").unlink()
    elif damage == "emptied":
        os.truncate(tree / "a.py", 0)  # as after a power cut
    elif damage == "entry":
        (tree.parent / "finished").write_text("{")
    elif damage == "tree":
        shutil.rmtree(tree.parent)
    else:
        (ref,) = (tmp_path / "cache" / "refs").glob("*/*")
        ref.write_text("{}")
    again = _open(tmp_path)
    assert (paths(again), again.digest) == (["a.py", "d/b.py"], whole.digest)


def test_cache_does_not_take_what_an_engine_leaves_for_source(tmp_path: Path) -> None:
    repository(tmp_path / "r", {"a.py": "1"})
    whole = _open(tmp_path)
    (whole.root / ".index").mkdir()
    (whole.root / ".index" / "words.txt").write_text("a\n")
    again = _open(tmp_path)
    assert (paths(again), again.digest) == (["a.py"], whole.digest)
    assert [(skipped.path, skipped.reason) for skipped in again.skipped] == [(".index/words.txt", "foreign")]


def test_cache_keeps_nothing_of_a_fetch_that_failed(tmp_path: Path) -> None:
    store = TreeCache(Store(tmp_path))

    def fail(work: Path) -> FetchedTree:
        (work / "tree").mkdir()
        (work / "tree" / "half").write_text("x")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.obtain("x", fail)
    assert store.recall("x") is None
    assert not list((tmp_path / ".tmp").iterdir())
    assert not (tmp_path / "trees").exists()


def test_cache_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    repository(tmp_path / "r", {"a.py": "1"})
    (tmp_path / "cache").write_text("a file, not a folder")
    with pytest.raises(SetupError) as caught:
        _open(tmp_path)
    assert "ASSAY_CACHE_DIR" in (caught.value.hint or "")


def test_cache_root_may_be_a_link(tmp_path: Path) -> None:
    repository(tmp_path / "r", {"a.py": "1"})
    (tmp_path / "real").mkdir()
    (tmp_path / "cache").symlink_to("real")
    assert paths(_open(tmp_path)) == paths(_open(tmp_path)) == ["a.py"]
    assert os.path.realpath(tmp_path / "cache") == str(tmp_path / "real")
