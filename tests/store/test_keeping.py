"""What is kept is what was written, to the bit, or it is not there."""

import errno
import os
import pickle
import random
import shutil
import subprocess
import sys
import threading

import pytest

from assay.errors import ConfigError, SetupError
from assay.store.kinds import StoreLimits, parse_size
from assay.store.store import Store
from tests.store.working import put

FILES = {"a.bin": b"alpha" * 100, "sub/b.txt": b"beta", "sub/empty": b""}


def fill(folder):
    for path, data in FILES.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(data)
    (folder / "link").symlink_to("sub/b.txt")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def entry(store, kind):
    (found,) = store.root.glob(f"{kind}/*/*")
    return found


def moved(store):
    """Put the store where this process has not looked through it yet, as a new process finds it."""
    store.close()
    return Store(store.root.rename(store.root.with_name("moved")))


def test_small_thing_comes_back(store):
    assert store.get("cells", "a") is None
    for data in (b"", b"x", bytes(range(256)) * 500):
        store.put("cells", "a", data)
        assert store.get("cells", "a") == data
    assert store.get("cells", "b") is None
    assert store.get("other", "a") is None
    assert store.has("cells", "a")
    assert not store.has("cells", "b")


def test_keys_are_any_text_and_kinds_are_folder_names(store):
    for key in ("", "../../etc", "ä\0\n", "\udc80", "x" * 10_000):
        store.put("cells", key, key.encode("utf-8", "surrogateescape"))
        assert store.get("cells", key) == key.encode("utf-8", "surrogateescape")
    for kind in ("", ".locks", "a/b", "A", ".."):
        with pytest.raises(ValueError, match="invalid kind"):
            store.put(kind, "a", b"")


def test_every_flipped_bit_and_every_cut_of_a_small_thing_is_noticed(store):
    data = b"the answer"
    store.put("cells", "a", data)
    place = entry(store, "cells")
    whole = place.read_bytes()
    changed = [
        whole[:at] + bytes([byte ^ (1 << bit)]) + whole[at + 1 :] for at, byte in enumerate(whole) for bit in (0, 7)
    ]
    for broken in (*changed, *(whole[:length] for length in range(len(whole))), whole + b"\0"):
        place.write_bytes(broken)
        store.troubles.clear()
        assert store.get("cells", "a") is None
        assert not place.exists()
        assert str(place) in store.troubles[0]
    store.put("cells", "a", data)
    assert store.get("cells", "a") == data


def test_small_thing_under_the_name_of_another_is_noticed(store):
    store.put("cells", "a", b"of a")
    found = entry(store, "cells")
    store.put("cells", "b", b"of b")
    (other,) = set(store.root.glob("cells/*/*")) - {found}
    other.write_bytes(found.read_bytes())
    assert store.get("cells", "b") is None
    assert store.get("cells", "a") == b"of a"


def test_folder_is_made_once_and_found_again(store):
    calls = []

    def make(folder):
        calls.append(folder)
        fill(folder)

    folder = store.directory("tables", "a", make)
    assert folder == calls[0], "a tool may write its own address into what it makes"
    assert Store(store.root).directory("tables", "a", make) == folder
    there = folder.relative_to(store.root)
    later = moved(store)
    folder = later.root / there
    assert later.directory("tables", "a", make) == folder
    assert len(calls) == 1
    assert {path: (folder / path).read_bytes() for path in FILES} == FILES
    assert os.readlink(folder / "link") == "sub/b.txt"


BREAKS = {
    "a bit": lambda folder, draw: flip(folder / "a.bin", draw),
    "a bit of its manifest": lambda folder, draw: flip(folder.parent / "finished", draw),
    "an end": lambda folder, draw: os.truncate(folder / "a.bin", draw.randrange(500)),
    "the end of its manifest": lambda folder, draw: os.truncate(folder.parent / "finished", draw.randrange(200)),
    "a file": lambda folder, _: (folder / "sub/empty").unlink(),
    "one file too many": lambda folder, _: (folder / "more").write_text(""),
    "a link": lambda folder, _: ((folder / "link").unlink(), (folder / "link").symlink_to("a.bin")),
    "its manifest": lambda folder, _: (folder.parent / "finished").unlink(),
}


def flip(path, draw):
    data = bytearray(path.read_bytes())
    at = draw.randrange(len(data))
    data[at] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


@pytest.mark.parametrize("what", BREAKS)
@pytest.mark.parametrize("seed", range(8))
def test_folder_that_lost_something_is_made_anew(store, what, seed):
    folder = store.directory("tables", "a", fill)
    BREAKS[what](folder, random.Random(seed))
    there = folder.relative_to(store.root)
    later = moved(store)
    folder = later.root / there
    assert later.directory("tables", "a", fill) == folder
    assert {path: (folder / path).read_bytes() for path in FILES} == FILES
    assert sorted(path.name for path in folder.iterdir()) == ["a.bin", "link", "sub"]
    assert os.readlink(folder / "link") == "sub/b.txt"
    assert len(later.troubles) == (what != "its manifest"), "one that was never finished is no trouble"


def test_folder_is_looked_through_once_a_process_and_its_sizes_every_time(store):
    folder = store.directory("tables", "a", fill)
    flip(folder / "a.bin", random.Random(0))
    store.directory("tables", "a", fill)
    assert store.troubles == []
    os.truncate(folder / "a.bin", 3)
    store.directory("tables", "a", fill)
    assert (folder / "a.bin").read_bytes() == FILES["a.bin"]


def test_maker_that_fails_leaves_nothing(store):
    def make(folder):
        (folder / "half").write_text("half")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        store.directory("tables", "a", make)
    assert not store.has("tables", "a")
    assert not list(store.root.glob("tables/*/*"))
    assert (store.directory("tables", "a", fill) / "a.bin").exists()


def test_makers_own_troubles_are_not_blamed_on_the_cache(store):
    def make(folder):
        raise FileNotFoundError(errno.ENOENT, "no such program")

    with pytest.raises(FileNotFoundError):
        store.directory("tables", "a", make)


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_maker_on_a_full_disk_is_a_clear_error(store):
    with pytest.raises(SetupError, match="No space left"):
        store.directory("tables", "a", full)
    assert not store.has("tables", "a")


MOUNTED = """
import os, sys
from pathlib import Path
from assay.store.store import Store
from assay.errors import SetupError

def put(folder):
    (folder / "x").write_bytes(os.urandom(2_000_000))

def check(failure):
    assert "No space left" in failure.message, failure
    assert str(store.root) in failure.file, failure.file
    assert "assay cache prune" in failure.hint, failure.hint

store = Store(Path(sys.argv[1]) / "store")
if sys.argv[2] == "small":
    store.put("cells", "a", b"kept")
    failed = 0
    for number in range(40):
        try:
            store.put("cells", f"big {number}", os.urandom(40_000))
        except SetupError as failure:
            check(failure)
            failed += 1
    try:
        store.directory("tables", "t", put)
    except SetupError as failure:
        check(failure)
        failed += 100
    assert failed > 101, failed
    assert not store.has("tables", "t")
    assert not list((store.root / ".tmp").iterdir())
    assert store.get("cells", "a") == b"kept"
    assert all(len(store.get("cells", f"big {n}") or b" " * 40_000) == 40_000 for n in range(40))
    assert not store.troubles, store.troubles
    assert store.verify() == ()
else:
    assert store.get("cells", "a") == b"kept"
    assert (store.directory("tables", "t", None) / "x").read_text() == "x"
    uses = {"put": ("cells", "b", b""), "directory": ("tables", "u", lambda folder: None), "prune": (0,)}
    for use, arguments in uses.items():
        try:
            getattr(store, use)(*arguments)
        except SetupError as failure:
            assert "Read-only" in str(failure), failure
        else:
            raise AssertionError("written to a read-only disk")
print("fine")
"""


def mounted(tmp_path, how, options):
    """Use a store on a mount that only the child sees, where the system lets us make one."""
    script = f'{how} && exec "$0" -c "$1" "$2" "$3"'
    command = ["sh", "-c", script, sys.executable, MOUNTED, str(tmp_path), options]
    for way in (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"]):
        try:
            done = subprocess.run([*way, *command], capture_output=True, text=True, timeout=600, check=False)
        except OSError as error:
            pytest.skip(f"NOT TESTED: a mount of our own: {error}")
        if "fine" in done.stdout:
            return
        assert "Traceback" not in done.stderr, done.stderr
    pytest.skip(f"NOT TESTED: mounting is refused here: {done.stderr.strip()}")


def test_small_disk_fills_up_and_nothing_is_broken(tmp_path):
    mounted(tmp_path, f"mount -t tmpfs -o size=1m none {tmp_path}", "small")


def test_read_only_disk_is_read(tmp_path):
    store = Store(tmp_path / "store")
    store.put("cells", "a", b"kept")
    store.directory("tables", "t", put("x", b"x"))
    mounted(tmp_path, f"mount --bind {tmp_path} {tmp_path} && mount -o remount,ro,bind {tmp_path}", "read-only")


def test_threads_of_one_process_make_it_once(store):
    calls = []

    def make(folder):
        calls.append(1)
        fill(folder)

    threads = [threading.Thread(target=lambda: Store(store.root).directory("tables", "a", make)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]


def test_store_travels_as_an_address(store):
    store.put("cells", "a", b"a")
    copy = pickle.loads(pickle.dumps(store))
    assert copy.get("cells", "a") == b"a"
    assert copy.limits == store.limits


def test_root_is_in_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("ASSAY_CACHE_LIMIT", "2GB")
    store = Store()
    assert store.root == tmp_path
    assert store.limits == StoreLimits(bytes=2 * 10**9)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("17", 17),
        ("2GB", 2 * 10**9),
        ("1.5 gib", 3 * 2**29),
        ("500MB", 5 * 10**8),
        ("3k", 3_000),
        ("1T", 10**12),
    ],
)
def test_sizes_are_read(text, size):
    assert parse_size(text, "here") == size


@pytest.mark.parametrize("text", ["", "many", "-1", "1XB", "1e9", "GB", "1ib", "nan", "inf", "9" * 40])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ConfigError, match="here") as caught:
        parse_size(text, "here")
    assert caught.value.hint


def test_small_thing_is_written_though_another_process_removes_the_store_meanwhile(store, monkeypatch):
    replace, removals = os.replace, [store.root, store.root, store.root / "cells"]

    def replace_late(source, target):
        if removals:
            shutil.rmtree(removals.pop(), ignore_errors=True)
        replace(source, target)

    monkeypatch.setattr("os.replace", replace_late)
    store.put("cells", "a", b"x")
    assert not removals
    assert store.get("cells", "a") == b"x"


def test_store_that_vanishes_again_and_again_is_an_error_and_leaves_nothing(store, monkeypatch):
    def vanish(source, target):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr("os.replace", vanish)
    with pytest.raises(SetupError, match="cannot write the cache: No such file"):
        store.put("cells", "a", b"x")
    assert not any(path.is_file() for path in store.root.rglob("*"))
