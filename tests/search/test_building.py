"""Work is dealt out to children that fail loudly and never outlive their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from assay.errors import AssayError, CorpusError, SetupError
from assay.search import building
from assay.search.analysis import analyze
from assay.search.building import build_table
from assay.search.config import IndexConfig
from assay.types import Corpus
from tests.processes import wait_until_gone
from tests.search.conftest import CorpusOf
from tests.search.test_laws import assert_same
from tests.waiting import WATCHDOG

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there we fork"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
_CONFIG = IndexConfig()


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it fork: where tests run side by side, their runner has a thread of its own."""
    monkeypatch.setattr("threading.enumerate", lambda: [threading.current_thread()])


@pytest.fixture
def corpus(corpus_of: CorpusOf, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    monkeypatch.setattr(building, "SHARE_BYTES", 10)
    monkeypatch.setattr(building, "BATCH_BYTES", 100)
    return corpus_of({f"{n}.py": f"def cart_{n}():\n    return {n}\n" * (n + 1) for n in range(9)})


@pytest.mark.parametrize("workers", [2, 3, 9, 50])
def test_table_does_not_depend_on_how_work_is_dealt_out(corpus: Corpus, workers: int) -> None:
    assert_same(build_table(corpus, corpus.files, _CONFIG, workers), build_table(corpus, corpus.files, _CONFIG, 1))


def test_table_of_no_files_is_empty(corpus: Corpus) -> None:
    assert len(build_table(corpus, (), _CONFIG).files) == 0


class _OddError(Exception):
    pass


@pytest.mark.parametrize("error", [AssayError("something", hint="do this"), _OddError("odd"), MemoryError("full")])
def test_error_in_a_child_is_raised_with_its_message(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    parent = os.getpid()

    def fail(*args: object) -> object:
        if os.getpid() != parent:
            raise error
        return analyze(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(building, "analyze", fail)
    with pytest.raises(type(error)) as caught:
        build_table(corpus, corpus.files, _CONFIG, 3)
    assert str(caught.value) == str(error)
    assert_no_child()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_child_that_dies_is_an_environment_failure(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    parent = os.getpid()

    def die(*args: object) -> object:
        if os.getpid() != parent:
            os.kill(os.getpid(), number)
        return analyze(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(building, "analyze", die)
    with pytest.raises(SetupError) as caught:
        build_table(corpus, corpus.files, _CONFIG, 3)
    assert caught.value.hint
    assert_no_child()


def test_result_that_was_cut_off_is_an_environment_failure(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pickle.dump", lambda _, stream, **options: stream.write(b"\x80\x05\x95"))
    with pytest.raises(SetupError):
        build_table(corpus, corpus.files, _CONFIG, 2)
    assert_no_child()


def test_error_of_the_parent_does_not_wait_for_its_children(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = os.getpid()

    def fail(*args: object) -> object:
        if os.getpid() != parent:
            time.sleep(2 * WATCHDOG)
        raise _OddError("mine")

    monkeypatch.setattr(building, "analyze", fail)
    begin = time.monotonic()
    with pytest.raises(_OddError):
        build_table(corpus, corpus.files, _CONFIG, 3)
    assert time.monotonic() - begin < WATCHDOG
    assert_no_child()


def assert_no_child() -> None:
    """See that no child of ours is left, running or ended; the test runner may have programs of its own."""
    own = Path(f"/proc/{os.getpid()}/cmdline").read_bytes()
    left = []
    for children in Path("/proc/self/task").glob("*/children"):
        for pid in children.read_text().split():
            place = Path(f"/proc/{pid}/cmdline")
            if place.exists() and place.read_bytes() in (own, b""):  # a fork looks like us, one that ended like nothing
                left.append(pid)
    assert left == []


_SLOW = """
import os, sys, time
from assay.corpus import open_corpus, parse_spec
from assay.search import building
from assay.search.analysis import analyze
from assay.search.config import IndexConfig
building.SHARE_BYTES = building.BATCH_BYTES = 1
def slow(documents, config):
    os.write(1, b'%d\\n' % os.getpid())
    time.sleep(3600)
building.analyze = slow
corpus = open_corpus(parse_spec(sys.argv[1]))
building.build_table(corpus, corpus.files, IndexConfig(), 3)
"""


def test_children_end_when_their_parent_is_killed(corpus: Corpus) -> None:
    process = subprocess.Popen([sys.executable, "-c", _SLOW, str(corpus.root)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pids = [int(process.stdout.readline()) for _ in range(3)]
    process.kill()
    process.wait()
    process.stdout.close()
    assert all(wait_until_gone(pid) for pid in pids)


def test_file_that_vanished_or_changed_since_the_walk_is_as_it_is_now(corpus_of: CorpusOf, tmp_path: Path) -> None:
    corpus = corpus_of({"a.py": "cart = 1\n", "b.py": "total = 2\n", "c/d.py": "x = 1\n"})
    (corpus.root / "a.py").unlink()
    (corpus.root / "b.py").write_text("price = 3\n")
    (corpus.root / "c" / "d.py").unlink()
    (corpus.root / "c").rmdir()
    found = build_table(corpus, corpus.files, _CONFIG)
    assert found.files.paths == ("b.py",)
    assert found.files.text.tobytes() == b"price = 3\n"
    assert found.files.hashes != (corpus.hashes["b.py"],), "a hash is of what was read"


def test_corpus_that_vanished_is_an_error(corpus_of: CorpusOf) -> None:
    corpus = corpus_of({"a.py": "cart = 1\n"})
    (corpus.root / "a.py").unlink()
    corpus.root.rmdir()
    with pytest.raises(CorpusError, match="was removed"):
        build_table(corpus, corpus.files, _CONFIG)
