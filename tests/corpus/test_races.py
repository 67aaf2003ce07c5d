"""Files that change their type between the check of a walk and the read: nothing blocks."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.corpus import open_corpus, parse_spec, read_text
from assay.corpus.opening import copy_corpus
from assay.errors import CorpusError
from assay.files import open_regular
from tests.corpus.conftest import Opener, write
from tests.waiting import WATCHDOG


def _bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))


REPLACEMENTS: dict[str, Callable[[Path], object]] = {
    "fifo": os.mkfifo,
    "directory": Path.mkdir,
    "socket": _bind,
    "outside link": lambda path: path.symlink_to("/dev/zero"),
    "nothing": lambda path: None,
}


@pytest.fixture(autouse=True)
def watchdog() -> Iterator[None]:
    """Fail instead of blocking for ever."""
    import signal

    def fail(*_: object) -> None:
        raise TimeoutError("the read blocks")

    old = signal.signal(signal.SIGALRM, fail)
    signal.alarm(int(WATCHDOG))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, old)


def _replace(path: Path, kind: str) -> None:
    path.unlink()
    REPLACEMENTS[kind](path)


@pytest.mark.parametrize("kind", REPLACEMENTS)
def test_file_replaced_between_the_check_and_the_read_is_skipped(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path / "r", {"a.py": "x = 1\n", "b.py": "y = 2\n"})
    monkeypatch.chdir(root)  # the path of a socket is short
    original = os.stat

    def stat_then_replace(path: object, *args: object, **kwargs: object) -> os.stat_result:
        state = original(path, *args, **kwargs)  # type: ignore[arg-type]
        if path == str(root / "a.py") and (root / "a.py").is_file():
            monkeypatch.setattr(os, "stat", original)
            _replace(root / "a.py", kind)
        return state

    monkeypatch.setattr(os, "stat", stat_then_replace)
    corpus = open_corpus(parse_spec(str(root)))
    assert [file.path for file in corpus.files] == ["b.py"]
    assert not (root / "a.py").is_file(), "the replacement took place"


@pytest.mark.parametrize("kind", REPLACEMENTS)
def test_file_replaced_after_the_walk_is_an_error_of_the_read_and_of_the_copy(
    kind: str, tmp_path: Path, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path / "r", {"a.py": "x = 1\n"})
    monkeypatch.chdir(root)
    corpus = opened(root)
    _replace(root / "a.py", kind)
    with pytest.raises(CorpusError, match="cannot read the file|outside the corpus"):
        read_text(corpus, "a.py")
    with pytest.raises(CorpusError, match="cannot read the file|outside the corpus"):
        copy_corpus(corpus, tmp_path / "copy")


@pytest.mark.parametrize("name", ["CACHEDIR.TAG", ".git"])
def test_marker_that_is_a_fifo_does_not_block_the_walk(name: str, tmp_path: Path, opened: Opener) -> None:
    root = write(tmp_path / "r", {"a.py": "x = 1\n", "sub/b.py": "y = 2\n"})
    os.mkfifo(root / "sub" / name)
    assert [file.path for file in opened(root).files] == ["a.py", "sub/b.py"]


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(__file__)
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "link", tmp_path / "fifo", Path("/dev/zero")):
        with pytest.raises(OSError):
            open_regular(str(path))
