"""Folders for a while: ours alone, gone at the end, and gone at the next start when their maker was killed."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from assay.errors import SetupError
from assay.store.scratch import scratch, sweep
from assay.store.scratch import scratch as public

_LEAVES = """
import sys, time
from assay.store.scratch import scratch
with scratch("assay-config-") as folder:
    (folder / "tool.toml").write_text("key = 'SECRET'")
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def tmp(tmp_path, monkeypatch):
    """Give the test a folder for temporary files that no process has used before."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def killed(tmp):
    """Start a process that has a folder, and kill it in the midst."""
    process = subprocess.Popen([sys.executable, "-c", _LEAVES], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        folder = process.stdout.readline().strip()
        process.send_signal(signal.SIGKILL)
    assert os.path.isfile(f"{folder}/tool.toml")
    return folder


def test_a_folder_is_ours_alone_and_gone_at_the_end(tmp):
    assert public is scratch
    with scratch("assay-store-") as one, scratch("assay-store-") as two:
        assert one != two
        assert one.name.startswith("assay-store-")
        assert stat.S_IMODE(one.stat().st_mode) == stat.S_IMODE(one.parent.stat().st_mode) == 0o700
        (one / "file").write_text("x")
    assert list(tmp.iterdir()) == []


def test_what_a_killed_process_left_is_removed_at_the_next_start(tmp):
    left = killed(tmp)
    with scratch() as folder:
        assert not os.path.exists(left)
        assert folder.is_dir()
    assert list(tmp.iterdir()) == []


def test_what_a_living_process_has_stays(tmp):
    with scratch() as folder:
        sweep(folder.parent)
        code = "from assay.store.scratch import scratch\nwith scratch(): pass"
        subprocess.run([sys.executable, "-c", code], check=True)
        assert folder.is_dir()


def test_folders_without_the_right_to_write_are_removed_too(tmp):
    with scratch() as folder:
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "b" / "file").write_text("x")
        (folder / "away").symlink_to(tmp)
        (folder / "a" / "b").chmod(0o500)
        (folder / "a").chmod(0o500)
    assert list(tmp.iterdir()) == []


@pytest.mark.parametrize("taken", ["open", "link", "file"])
def test_a_place_that_is_not_ours_alone_is_not_used(tmp, taken):
    place = tmp / f"assay-{os.getuid()}"
    elsewhere = tmp / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    if taken == "open":
        place.mkdir()
        place.chmod(0o777)
    elif taken == "link":
        place.symlink_to(elsewhere)
    else:
        place.write_text("")
    with scratch() as folder:
        assert place not in folder.parents
        assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
        assert list(elsewhere.iterdir()) == []


def test_many_threads_come_and_go(tmp):
    def once(number):
        with scratch() as folder:
            (folder / "file").write_text(str(number))
            return (folder / "file").read_text()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(once, range(200))) == [str(number) for number in range(200)]
    assert list(tmp.iterdir()) == []


def test_no_place_at_all_is_told(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(SetupError, match="cannot create a temporary directory") as caught, scratch():
        pass
    assert "TMPDIR" in str(caught.value.hint)
