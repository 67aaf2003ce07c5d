import os

import pytest

from assay.locks import FileLock


def acquire(path, **options):
    lock = FileLock(path, **options)
    return lock, lock.acquire(wait=False)


def test_exclusive_lock_excludes_every_other(tmp_path):
    first, held = acquire(tmp_path / "lock")
    assert held
    assert not acquire(tmp_path / "lock")[1]
    assert not acquire(tmp_path / "lock", shared=True)[1]
    first.release()
    assert acquire(tmp_path / "lock")[1]


def test_shared_locks_exclude_exclusive_ones_only(tmp_path):
    (tmp_path / "lock").touch()
    assert acquire(tmp_path / "lock", shared=True)[1]
    assert acquire(tmp_path / "lock", shared=True)[1]
    assert not acquire(tmp_path / "lock")[1]


@pytest.mark.parametrize("options", [{"shared": True}, {"create": False}])
def test_lock_that_creates_nothing_needs_its_file(tmp_path, options):
    with pytest.raises(FileNotFoundError):
        acquire(tmp_path / "lock", **options)


def test_release_removes_the_file_where_asked(tmp_path):
    lock, _ = acquire(tmp_path / "lock")
    lock.release(remove=True)
    lock.release()
    assert not (tmp_path / "lock").exists()


def test_fork_does_not_hold_the_lock_of_its_parent(tmp_path):
    lock, _ = acquire(tmp_path / "lock")
    ready, go_on = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.write(ready[1], b"!")
        os.read(go_on[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    lock.release()
    assert acquire(tmp_path / "lock")[1]
    os.write(go_on[1], b"!")
    os.waitpid(child, 0)
    for end in (*ready, *go_on):
        os.close(end)


def test_lock_with_a_timeout_waits_and_gives_up(tmp_path):
    with FileLock(tmp_path / "lock"):
        assert not FileLock(tmp_path / "lock").acquire(wait=0.05)
    assert FileLock(tmp_path / "lock").acquire(wait=0.05)


def test_directory_is_locked_without_a_file(tmp_path):
    with FileLock(tmp_path):
        assert not acquire(tmp_path)[1]
    assert not list(tmp_path.iterdir())
