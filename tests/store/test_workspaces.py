"""Workspaces have one writer at a time; temporary directories end with their process."""

import signal
import subprocess
import sys

import pytest

from assay.errors import SetupError
from assay.locks import FileLock
from assay.store.store import Store, writer_lock

_STALL = """
import sys, time
from pathlib import Path
from assay.store.store import Store
with Store(Path(sys.argv[1])).temporary("a") as work:
    (work / "half").write_text("x")
    print(work, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def test_workspace_keeps_its_files_and_its_path(store):
    with store.workspace("mirrors", "url") as folder:
        (folder / "a").write_text("a")
    with store.workspace("mirrors", "url") as again:
        assert again == folder == store.path("mirrors", "url")
        assert (again / "a").read_text() == "a"
    assert store.path("mirrors", "other") != folder
    assert store.path("index", "key", "shop").name.startswith("shop-")


def test_second_writer_of_a_workspace_waits(store):
    busy = pytest.raises(SetupError, match="cannot lock the cache")
    with store.workspace("mirrors", "url") as folder, busy, writer_lock(folder, 0.05):
        pytest.fail("two writers")


def test_workspace_is_pruned_only_when_named_and_without_a_writer(store):
    with store.workspace("mirrors", "url") as folder:
        (folder / "a").write_text("a")
        assert store.prune(0, kinds=["mirrors"]).held == 1
    assert store.prune(0).entries == 0
    assert store.prune(0, kinds=["mirrors"]).entries == 1
    assert not folder.exists()
    with store.workspace("mirrors", "url"):
        assert folder.is_dir()


def test_temporary_directory_has_one_user_and_is_removed(store):
    with store.temporary("a") as work:
        assert work is not None
        (work / "file").write_text("x")
        with Store(store.root).temporary("a", wait=False) as busy, store.temporary("b") as other:
            assert busy is None
            assert other != work
        Store(store.root).prune(0)
        assert (work / "file").exists()
    assert not work.exists()
    with store.temporary("a") as again:
        assert again == work


def test_temporary_directory_of_a_killed_process_is_removed(store):
    process = subprocess.Popen([sys.executable, "-c", _STALL, store.root], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        left = process.stdout.readline().strip()
        process.send_signal(signal.SIGKILL)
    with store.temporary("b"):
        assert not any(left in str(path) for path in (store.root / ".tmp").rglob("half"))
    assert not list((store.root / ".tmp").iterdir())


def test_store_that_cannot_be_written_is_still_read(store):
    store.put("cells", "a", b"a")
    (store.root / ".tmp").rmdir()
    (store.root / ".tmp").write_text("not a directory")
    with pytest.raises(SetupError, match="cannot write the cache"):
        store.put("cells", "b", b"b")
    assert store.get("cells", "a") == b"a"


def test_reader_of_a_workspace_needs_no_lock(store):
    with store.workspace("index", "key") as folder:
        (folder / "index.assay").write_text("x")
        assert (store.path("index", "key") / "index.assay").read_text() == "x"
        assert not FileLock(folder / "lock").acquire(wait=False)
