"""The least recently used go first, what somebody holds stays, and leftovers are swept."""

import os
import random
import time

import pytest

from assay.store.entries import EntryPath, entry_name
from assay.store.kinds import StoreLimits
from assay.store.maintenance import PruneResult
from assay.store.store import Store
from tests.store.working import put


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def write(store, key, age, size=1_000):
    store.put("cells", key, bytes(size))
    aged(store, "cells", key, age)


def aged(store, kind, key, age):
    then = time.time() - age
    place = places_of(store, kind, key)
    os.utime(place / "finished" if place.is_dir() else place, (then, then))


def places_of(store, kind, key):
    return EntryPath(store.root, kind, entry_name(kind, key)).path


def large(store, key, age, size=1_000):
    store.directory("tables", key, put("x", bytes(size)))
    aged(store, "tables", key, age)


def test_usage_is_told_by_kind(store):
    before = time.time() - 1_000
    write(store, "a", 500)
    write(store, "b", 100)
    large(store, "c", 0, size=5_000)
    cells, tables = store.usage()
    assert (cells.kind, cells.entries, tables.kind, tables.entries) == ("cells", 2, "tables", 1)
    assert 2_000 <= cells.bytes < 2_300
    assert 5_000 <= tables.bytes < 5_500
    assert before < cells.oldest < cells.newest - 300 < tables.newest


def test_least_recently_used_goes_first(store):
    for number, age in enumerate((50, 40, 30, 20, 10)):
        write(store, str(number), age)
    size = store.usage()[0].bytes // 5
    assert store.prune(3 * size) == PruneResult(entries=2, bytes=2 * size, left=3 * size)
    assert [store.has("cells", str(number)) for number in range(5)] == [False, False, True, True, True]


def test_use_counts_and_not_age(tmp_path):
    store = Store(tmp_path, StoreLimits(touch=0.0))
    write(store, "old but used", 5_000)
    write(store, "young", 100)
    large(store, "large but used", 5_000)
    store.get("cells", "old but used")
    store.directory("tables", "large but used", lambda _: None)
    store.close()
    store.prune(older_than=50)
    assert store.has("cells", "old but used")
    assert store.has("tables", "large but used")
    assert not store.has("cells", "young")


def test_reading_writes_nothing_down_that_was_written_down_lately(store):
    write(store, "a", 60)
    before = places_of(store, "cells", "a").stat().st_mtime
    store.get("cells", "a")
    assert places_of(store, "cells", "a").stat().st_mtime == before


def test_kinds_and_ages_choose(store):
    write(store, "a", 1_000)
    large(store, "a", 1_000)
    large(store, "b", 10)
    store.close()
    assert store.prune(older_than=500, kinds=("tables",)).entries == 1
    assert store.has("cells", "a")
    assert not store.has("tables", "a")
    assert store.has("tables", "b")


def test_dry_run_says_and_does_not(store):
    write(store, "a", 10)
    large(store, "b", 10)
    store.close()
    told = store.prune(0, dry_run=True)
    assert told.entries == 2
    assert store.has("cells", "a")
    assert store.has("tables", "b")
    assert store.prune(0) == told


def test_what_is_held_stays_until_it_is_let_go(store):
    large(store, "a", 1_000)
    other = Store(store.root)
    assert other.prune(0) == PruneResult(held=1, left=other.usage()[0].bytes)
    store.release("tables", "a")
    assert other.prune(0).entries == 1
    assert not store.has("tables", "a")


def test_what_nobody_refers_to_any_more_is_let_go(tmp_path):
    large(Store(tmp_path), "a", 1_000)
    assert Store(tmp_path).prune(0).entries == 1


def test_what_is_being_made_stays(store):
    seen = []

    def make(folder):
        (folder / "x").write_text("x")
        seen.append(Store(store.root, StoreLimits(leftover=0.0)).prune(0))
        assert (folder / "x").read_text() == "x"

    folder = store.directory("tables", "a", make)
    assert (folder / "x").read_text() == "x"
    assert seen[0].entries == 0


def test_leftovers_are_swept(store):
    place = places_of(store, "tables", "a")
    (place / "content").mkdir(parents=True)
    (place / "content" / "half").write_text("half")
    (store.root / ".tmp").mkdir()
    (store.root / ".tmp" / "old").write_text("left")
    os.utime(store.root / ".tmp" / "old", (0, 0))
    (store.root / ".tmp" / "new").write_text("somebody is writing this")
    store.prune(10**9)
    assert not place.exists()
    assert [path.name for path in (store.root / ".tmp").iterdir()] == ["new"]


def test_store_keeps_to_its_limit_by_itself(tmp_path):
    store = Store(tmp_path, StoreLimits(bytes=100_000, growth=0.1))
    for number in range(300):
        store.put("cells", str(number), bytes(1_000))
    assert sum(kind.bytes for kind in store.usage()) <= 115_000
    assert store.has("cells", "299")
    large(store, "big", 0, size=150_000)
    assert store.has("tables", "big"), "what is being used stays, however large"
    assert not store.has("cells", "299")


def test_first_write_prunes_only_a_store_measured_long_ago(store, monkeypatch):
    calls = []
    monkeypatch.setattr(Store, "prune", lambda *_, **__: calls.append("prune"))
    write(store, "a", 0)
    assert not calls  # the store is new
    measured = store.root / ".measured"
    os.utime(measured, (0, 0))
    for key in "bc":
        write(Store(store.root), key, 0)
        assert calls == ["prune"]


def test_limit_of_nothing_still_gives_what_was_made(tmp_path):
    store = Store(tmp_path, StoreLimits(bytes=0))
    folder = store.directory("tables", "a", put("x", b"x"))
    assert (folder / "x").read_text() == "x"


def test_verify_names_and_removes_what_is_broken(store):
    draw = random.Random(0)
    for number in range(20):
        store.put("cells", str(number), draw.randbytes(50))
        large(store, str(number), 0)
    store.close()
    broken = [places_of(store, "cells", "3"), places_of(store, "tables", "4")]
    broken[0].write_bytes(broken[0].read_bytes()[:-1])
    (broken[1] / "content" / "x").write_bytes(bytes(999) + b"!")
    found = store.verify()
    assert sorted(found) == sorted(path.relative_to(store.root).as_posix() for path in broken)
    assert not any(path.exists() for path in broken)
    assert store.verify() == ()
    assert [usage.entries for usage in store.usage()] == [19, 19]
