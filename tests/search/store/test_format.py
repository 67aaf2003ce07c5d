from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from assay.errors import SetupError
from assay.store.array_file import JSON, VERSION, Array, IndexFormatError, read_store, write_store
from tests.properties import examples
from tests.timing import fastest
from tests.waiting import WATCHDOG

META: dict[str, JSON] = {"root": "/srv/ä", "files": [1, 2.5, None, True], "deep": {"x": "\udc80"}}
ARRAYS: dict[str, Array] = {
    "postings": np.arange(300, dtype=np.int32),
    "weights": np.linspace(0, 1, 30, dtype=np.float32).reshape(5, 6),
    "empty": np.zeros((0, 4), dtype=np.uint64),
    "flags": np.array([True, False, True]),
    "scalar": np.array(7, dtype=np.int64),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "index.assay"
    write_store(path, META, ARRAYS)
    return path.read_bytes()


def _problem(path: Path) -> IndexFormatError:
    with pytest.raises(IndexFormatError) as caught:
        read_store(path)
    assert caught.value.file == str(path)
    assert " " in caught.value.message
    return caught.value


def _same(path: Path, meta, arrays) -> None:
    stored = read_store(path)
    assert stored.meta == meta
    assert sorted(stored.arrays) == sorted(arrays)
    for name, array in arrays.items():
        found = stored.arrays[name]
        assert found.shape == array.shape
        assert found.dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(found, array)
        assert not found.flags.writeable
        assert found.ctypes.data % 64 == 0 or not found.size


_numbers = st.sampled_from(["?", "i1", "<i2", ">i4", "<i8", "u1", "<u4", ">u8", "<f4", ">f8", "<f2"])
_array = _numbers.flatmap(
    lambda dtype: (
        hnp.arrays(
            dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9), elements={"allow_nan": False}
        )
        if "f" in dtype
        else hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9))
    )
)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@examples(60)
@given(meta=st.dictionaries(st.text(), _json, max_size=4), arrays=st.dictionaries(st.text(), _array, max_size=4))
def test_store_gives_back_what_was_written(tmp_path, meta, arrays) -> None:
    write_store(tmp_path / "index.assay", meta, arrays)
    _same(tmp_path / "index.assay", meta, arrays)


def test_store_lays_out_views_and_columns_too(tmp_path) -> None:
    table = np.arange(60, dtype=np.int64).reshape(6, 10)
    arrays = {"turned": table.T, "strided": table[::2, 1::3]}
    write_store(tmp_path / "i", {}, arrays)
    _same(tmp_path / "i", {}, arrays)


def test_store_bytes_depend_on_the_data_alone(tmp_path, whole) -> None:
    write_store(tmp_path / "i", dict(reversed(META.items())), dict(reversed(ARRAYS.items())))
    assert (tmp_path / "i").read_bytes() == whole


def test_store_begins_with_magic_and_version(whole) -> None:
    assert whole[:12] == b"ASSAYIDX" + struct.pack("<I", VERSION)
    assert len(whole) % 64 == 0


@examples(300)
@given(data=st.data())
def test_store_notices_flipped_bytes_anywhere(tmp_path, whole, data) -> None:
    damaged = bytearray(whole)
    for place in data.draw(st.sets(st.integers(0, len(whole) - 1), min_size=1, max_size=4)):
        damaged[place] ^= data.draw(st.integers(1, 255))
    (tmp_path / "i").write_bytes(damaged)
    _problem(tmp_path / "i")


def test_store_notices_every_single_flipped_bit_of_its_head(tmp_path, whole) -> None:
    for place in range(24):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            (tmp_path / "i").write_bytes(damaged)
            expected = {"foreign"} if place < 8 else {"old", "newer"} if place < 12 else {"damaged"}
            assert _problem(tmp_path / "i").kind in expected


def test_store_notices_truncation_at_every_byte_and_what_is_added(tmp_path, whole) -> None:
    path = tmp_path / "i"
    path.write_bytes(whole)
    for length in range(len(whole) - 1, -1, -1):
        os.truncate(path, length)
        assert _problem(path).kind == "damaged"
    path.write_bytes(whole + b"\0")
    assert _problem(path).kind == "damaged"


def test_store_notices_swapped_blocks(tmp_path, whole) -> None:
    blocks = [whole[at : at + 64] for at in range(0, len(whole), 64)]
    for at in range(len(blocks) - 1):
        swapped = blocks[:at] + [blocks[at + 1], blocks[at]] + blocks[at + 2 :]
        (tmp_path / "i").write_bytes(b"".join(swapped))
        if b"".join(swapped) != whole:
            _problem(tmp_path / "i")


@examples(60)
@given(noise=st.binary(max_size=300), magic=st.booleans())
def test_store_refuses_foreign_files(tmp_path, noise, magic) -> None:
    (tmp_path / "i").write_bytes((b"ASSAYIDX" if magic else b"") + noise)
    kind = _problem(tmp_path / "i").kind
    assert kind != "missing"
    if noise and not magic and noise[:1] != b"A":
        assert kind == "foreign"


@pytest.mark.parametrize(("version", "kind"), [(VERSION - 1, "old"), (VERSION + 1, "newer"), (2**32 - 1, "newer")])
def test_store_of_another_version_is_not_read(tmp_path, whole, version, kind) -> None:
    (tmp_path / "i").write_bytes(whole[:8] + struct.pack("<I", version) + whole[12:])
    problem = _problem(tmp_path / "i")
    assert problem.kind == kind
    assert f"got {version}" in problem.message


def test_store_that_is_no_file_is_a_problem_with_a_kind(tmp_path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").touch()
    (tmp_path / "loop").symlink_to("loop")
    found = {name: _problem(tmp_path / name).kind for name in ("folder", "pipe", "empty", "nowhere", "empty/x", "loop")}
    assert found == {
        "folder": "foreign",
        "pipe": "foreign",
        "empty": "damaged",
        "nowhere": "missing",
        "empty/x": "missing",
        "loop": "damaged",
    }


def test_store_problem_survives_a_pickle() -> None:
    problem = pickle.loads(pickle.dumps(IndexFormatError("old", "it is old", file="x")))
    assert (problem.kind, problem.message, problem.file, problem.exit_code) == ("old", "it is old", "x", 4)


def test_store_stays_as_it_was_for_one_who_has_it_open(tmp_path) -> None:
    write_store(tmp_path / "i", {"n": 1}, {"a": np.full(100_000, 1)})
    old = read_store(tmp_path / "i")
    write_store(tmp_path / "i", {"n": 2}, {"a": np.full(10, 2)})
    assert (old.arrays["a"] == 1).all()
    assert read_store(tmp_path / "i").meta == {"n": 2}
    assert os.listdir(tmp_path) == ["i"]


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([None]), np.array([1j]), np.array(["2020"], "M8[D]")])
def test_store_refuses_what_has_no_plain_bytes(tmp_path, array) -> None:
    with pytest.raises(TypeError, match="cannot store"):
        write_store(tmp_path / "i", {}, {"a": array})
    assert not list(tmp_path.iterdir())


def test_store_that_cannot_be_written_says_so_and_leaves_the_old_one(tmp_path) -> None:
    write_store(tmp_path / "i", META, ARRAYS)
    script = (
        "import resource, sys, numpy as np\nfrom pathlib import Path\n"
        "from assay.errors import SetupError\nfrom assay.store.array_file import write_store\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "try:\n    write_store(Path(sys.argv[1]), {}, {'a': np.arange(100_000)})\n"
        "except SetupError as error:\n    print(error.message, error.hint)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "i")], capture_output=True, text=True, timeout=WATCHDOG
    )
    assert "cannot write" in done.stdout, done.stderr
    assert "free disk space" in done.stdout
    assert os.listdir(tmp_path) == ["i"]
    _same(tmp_path / "i", META, ARRAYS)


def test_store_below_a_file_is_an_environment_failure_with_a_hint(tmp_path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError) as caught:
        write_store(tmp_path / "file" / "index.assay", META, ARRAYS)
    assert caught.value.hint


@pytest.mark.soak
def test_opening_a_hundred_megabytes_is_faster_than_reading_them(tmp_path) -> None:
    write_store(tmp_path / "i", {}, {"a": np.zeros((25, 1_000_000), dtype=np.float32)})
    assert fastest(lambda: read_store(tmp_path / "i")) < 4 * fastest((tmp_path / "i").read_bytes)
