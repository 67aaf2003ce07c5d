"""A walk with a memory finds what a walk without one finds, whatever happened to the files."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.corpus import StatCache, open_corpus, read_bytes
from assay.corpus import git as repositories
from assay.corpus.contents import DEFAULT_WALKING, FileContents, WalkConfig, examine
from assay.corpus.sources import CommandOutput
from assay.types import Corpus, CorpusSpec
from tests.corpus.conftest import git, paths, repository, write
from tests.properties import examples

_SMALL = WalkConfig(max_bytes=64)


def _later() -> int:
    """A clock that is ahead, so that what was just written counts as settled."""
    return time.time_ns() + 3_600_000_000_000


def _open(root: Path, memory: StatCache | None = None, walking: WalkConfig = DEFAULT_WALKING) -> Corpus:
    return open_corpus(CorpusSpec("path", str(root)), cache=root.parent / "c", memory=memory, walking=walking)


def _tick(root: Path) -> None:
    """Wait until the file system's clock has moved on."""
    probe = root.parent / "probe"
    probe.write_bytes(b"")
    begun = os.stat(probe).st_ctime_ns
    while os.stat(probe).st_ctime_ns == begun:
        os.utime(probe)


def _restored(path: Path, content: bytes) -> None:
    """Change a file and set its time of modification back, as some tools do."""
    before = os.stat(path)
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _edit(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _replaced(path: Path, content: bytes) -> None:
    """Change a file as editors do: a new one, renamed over it, with the old time."""
    new = path.with_name("new")
    new.write_bytes(content)
    os.utime(new, ns=(os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns))
    os.replace(new, path)


def _removed(path: Path, content: bytes) -> None:
    path.unlink()


def _renamed(path: Path, content: bytes) -> None:
    os.rename(path, path.with_name("renamed.py"))


def _swapped(path: Path, content: bytes) -> None:
    other = path.with_name("a.py")
    os.rename(path, path.with_name("x"))
    if other.exists():
        os.rename(other, path)
    os.rename(path.with_name("x"), other)


def _linked(path: Path, content: bytes) -> None:
    path.unlink()
    path.symlink_to("../kept.py")


def _touched(path: Path, content: bytes) -> None:
    os.utime(path, ns=(0, len(content) * 10**9))


_CHANGES = [_edit, _restored, _replaced, _removed, _renamed, _swapped, _linked, _touched]
_CONTENTS = [b"a = 1\n", b"a = 2\n", b"\xe4 = 1\n", b"#!/bin/sh\n", b"\0inary", b"\x89PNG\r\n\x1a\n", b"x" * 65, b""]
_step = st.tuples(
    st.sampled_from(["d/a.py", "d/b", "d/c.txt", ".gitignore"]), st.sampled_from(_CHANGES), st.sampled_from(_CONTENTS)
)


def _apply(root: Path, step: tuple[str, Callable[[Path, bytes], None], bytes]) -> None:
    name, change, content = step
    path = root / name
    if path.is_symlink() or not path.exists():
        path.unlink(missing_ok=True)
        change = _edit
    change(path, content)


@examples(40)
@given(steps=st.lists(_step, min_size=1, max_size=8), stored=st.booleans())
def test_memory_changes_no_result_whatever_happens_to_the_files(steps, stored) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = write(Path(folder).resolve() / "r", {"kept.py": "1", "d/a.py": "a = 0\n", "d/b": "#!/bin/sh\n"})
        memory = StatCache(_SMALL, _later)
        for step in steps:
            _apply(root, step)
            assert _open(root, memory, _SMALL) == _open(root, None, _SMALL)
            if stored:
                memory = StatCache.from_columns(memory.columns(), _SMALL, _later)
            _tick(root)


@examples(40)
@given(steps=st.lists(_step, min_size=1, max_size=8))
def test_memory_sees_changes_within_one_tick_of_the_clock(steps) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = write(Path(folder).resolve() / "r", {"kept.py": "1", "d/a.py": "a = 0\n", "d/b": "#!/bin/sh\n"})
        memory = StatCache(_SMALL)
        for step in steps:
            _apply(root, step)
            assert _open(root, memory, _SMALL) == _open(root, None, _SMALL)


@pytest.mark.parametrize("ago", [0.0, 1.9])
def test_memory_reads_again_what_was_changed_shortly_before_it_was_read(tmp_path, ago) -> None:
    (tmp_path / "a").write_bytes(b"one")
    state = os.stat(tmp_path / "a")
    memory = StatCache(clock=lambda: state.st_ctime_ns + int(ago * 1e9))
    memory.begin(DEFAULT_WALKING)
    memory.examine(str(tmp_path / "a"), state)
    (tmp_path / "a").write_bytes(b"two")  # in the same tick: its state is the same
    found = memory.examine(str(tmp_path / "a"), state)
    assert not found.reason
    assert found.sha256 == hashlib.sha256(b"two").hexdigest()
    assert len(memory) == 0


def test_memory_trusts_what_was_changed_long_before_it_was_read(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"one")
    state = os.stat(tmp_path / "a")
    memory = StatCache(clock=lambda: state.st_ctime_ns + 2_000_000_001)
    memory.begin(DEFAULT_WALKING)
    first = memory.examine(str(tmp_path / "a"), state)
    (tmp_path / "a").unlink()
    assert memory.examine(str(tmp_path / "a"), state) == first


@pytest.mark.parametrize("field", ["st_size", "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev"])
def test_memory_reads_again_when_any_part_of_the_state_differs(tmp_path, field) -> None:
    class Changed:
        def __getattr__(self, name: str) -> int:
            return getattr(state, name) - (name == field)

    (tmp_path / "a").write_bytes(b"one")
    state = os.stat(tmp_path / "a")
    memory = StatCache(clock=_later)
    memory.examine(str(tmp_path / "a"), state)
    (tmp_path / "a").write_bytes(b"two")
    found = memory.examine(str(tmp_path / "a"), Changed())  # type: ignore[arg-type]
    assert not found.reason
    assert found.sha256 == hashlib.sha256(b"two").hexdigest()


def _reads(
    monkeypatch: pytest.MonkeyPatch, root: Path, memory: StatCache, walking: WalkConfig = DEFAULT_WALKING
) -> int:
    """Count the files that opening reads."""
    read: list[str] = []

    def counted(real: str, walking: WalkConfig) -> FileContents:
        read.append(real)
        return examine(real, walking)

    with monkeypatch.context() as patched:
        patched.setattr("assay.corpus.contents.examine", counted)
        _open(root, memory, walking)
    return len(read)


def test_memory_spares_reading_what_has_not_changed(tmp_path, monkeypatch) -> None:
    root = write(tmp_path / "r", {"a.py": "1", "b.bin": b"\0", "c.txt": "3"})
    memory = StatCache(clock=_later)
    assert _reads(monkeypatch, root, memory) == 3
    assert _reads(monkeypatch, root, memory) == 0
    assert _reads(monkeypatch, root, StatCache.from_columns(memory.columns())) == 0
    _tick(root)
    _restored(root / "a.py", b"2")
    assert _reads(monkeypatch, root, memory) == 1
    assert _reads(monkeypatch, root, memory, WalkConfig(max_bytes=10)) == 3, "other settings, other answers"
    assert _reads(monkeypatch, root, StatCache.from_columns(memory.columns(), DEFAULT_WALKING)) == 3


def test_memory_spares_git_until_its_index_changes(tmp_path, monkeypatch) -> None:
    root = tmp_path / "r"
    repository(root, {"a.py": "1", ".gitignore": "*.log\n"})
    calls: list[tuple[str, ...]] = []

    def count(*arguments: str, **options: Any) -> CommandOutput:
        calls.append(arguments)
        return ask_git(*arguments, **options)

    ask_git = repositories.git
    monkeypatch.setattr(repositories, "git", count)
    memory = StatCache(clock=_later)
    assert paths(_open(root, memory)) == [".gitignore", "a.py"]
    assert len(calls) == 2
    kept = StatCache.from_columns(memory.columns(), clock=_later)
    assert paths(_open(root, kept)) == [".gitignore", "a.py"]
    assert len(calls) == 2, "git's index has not changed"
    write(root, {"b.log": "1"})
    assert paths(_open(root, kept)) == [".gitignore", "a.py"]
    git(root, "add", "--force", "b.log")
    assert paths(_open(root, kept)) == [".gitignore", "a.py", "b.log"]
    assert len(calls) == 4
    (root / ".git" / "HEAD").unlink()
    assert _open(root, kept).notes == _open(root).notes, "a broken repository is reported as without a memory"


def test_memory_of_another_version_is_not_used(tmp_path, monkeypatch) -> None:
    root = write(tmp_path / "r", {"a.py": "1"})
    memory = StatCache(clock=_later)
    _open(root, memory)
    columns = memory.columns()
    monkeypatch.setattr("assay.corpus.contents.__version__", "0.0.0")
    assert (len(StatCache.from_columns(columns)), len(memory)) == (0, 1)


def test_memory_forgets_files_that_are_gone(tmp_path) -> None:
    root = write(tmp_path / "r", {"a.py": "1", "b.py": "2"})
    memory = StatCache(clock=_later)
    _open(root, memory)
    (root / "a.py").unlink()
    _open(root, memory)
    assert len(memory) == 1


def test_memory_columns_depend_on_the_files_alone(tmp_path) -> None:
    files: dict[str, str | bytes] = {
        "z.py": "1",
        "ü.py": "2",
        "a/b.sh": "#!/bin/sh\n",
        "bin": b"\0",
        "latin": b"\xe4\n",
    }
    root = write(tmp_path / "r", files)
    one, two = StatCache(clock=_later), StatCache(clock=_later)
    _open(root, one)
    for name in sorted(files):
        two.examine(str(root / name), os.stat(root / name))
    for name, column in one.columns().items():
        np.testing.assert_array_equal(column, two.columns()[name])
    again = StatCache.from_columns(one.columns()).columns()
    assert {name: column.tobytes() for name, column in again.items()} == {
        name: column.tobytes() for name, column in one.columns().items()
    }
    assert len(StatCache.from_columns(StatCache().columns())) == 0


@pytest.mark.parametrize("year", [1905, 2400])
def test_memory_copes_with_times_of_other_centuries(tmp_path, year) -> None:
    root = write(tmp_path / "r", {"a.py": "1"})
    seconds = (year - 1970) * 31_556_952
    os.utime(root / "a.py", ns=(0, seconds * 10**9))
    memory = StatCache(clock=_later)
    _open(root, memory)
    assert _open(root, StatCache.from_columns(memory.columns())) == _open(root)


def test_memory_keeps_what_was_refused(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"\0")
    memory = StatCache(clock=_later)
    state = os.stat(tmp_path / "a")
    found = memory.examine(str(tmp_path / "a"), state)
    assert found.reason
    assert StatCache.from_columns(memory.columns()).examine(str(tmp_path / "a"), state) == found


def test_memory_is_not_asked_about_trees_of_the_cache(tmp_path) -> None:
    repository(tmp_path / "r", {"a.py": "1"})
    memory = StatCache(clock=_later)
    spec = CorpusSpec("git", str(tmp_path / "r"))
    assert paths(open_corpus(spec, cache=tmp_path / "cache", memory=memory)) == ["a.py"]
    assert len(memory) == 0


def test_corpus_has_the_hash_of_every_file_and_can_still_be_hashed(tmp_path) -> None:
    root = write(tmp_path / "r", {"a.py": "1", "d/b.py": "2", "bin": b"\0"})
    corpus = _open(root)
    assert corpus.hashes == {name: hashlib.sha256(read_bytes(corpus, name)).hexdigest() for name in paths(corpus)}
    assert hash(corpus) == hash(_open(root))
