from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.corpus.unpack import ArchiveLimits, unpack
from assay.errors import CorpusError
from tests.corpus.conftest import everything_below, tar_of, zip_of
from tests.properties import examples

LIMITS = ArchiveLimits()


def _info(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def _unpack(archive: Path, limits: ArchiveLimits = LIMITS) -> set[str]:
    tree = unpack(archive, archive.parent / "out", limits=limits, revision="1").tree
    return {path.relative_to(tree).as_posix() for path in everything_below(tree)}


def _link(name: str, target: str) -> tuple[zipfile.ZipInfo, bytes]:
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info, target.encode()


EVIL_TARS: dict[str, list[tarfile.TarInfo | tuple[str, bytes]]] = {
    "parent": [("pkg/ok.py", b"1"), ("../evil.py", b"x")],
    "deep parent": [("pkg/a/../../../evil.py", b"x")],
    "absolute": [("/tmp/assay-evil.py", b"x")],
    "link out": [_info("pkg/l", tarfile.SYMTYPE, "../..")],
    "absolute link": [_info("pkg/l", tarfile.SYMTYPE, "/etc/passwd")],
    "write through a link": [_info("pkg/l", tarfile.SYMTYPE, "../.."), ("pkg/l/evil.py", b"x")],
    "link chain": [
        ("a/b/ok.py", b"1"),
        _info("a/b/up", tarfile.SYMTYPE, "../.."),
        _info("a/b/evil", tarfile.SYMTYPE, "up/../evil.py"),
    ],
    "link below a link": [_info("a", tarfile.SYMTYPE, "."), _info("a/b", tarfile.SYMTYPE, "x")],
    "hard link out": [_info("pkg/l", tarfile.LNKTYPE, "../../etc/passwd")],
    "hard link absolute": [_info("pkg/l", tarfile.LNKTYPE, "/etc/passwd")],
    "hard link to nothing": [_info("pkg/l", tarfile.LNKTYPE, "pkg/none")],
    "hard link to a link": [_info("pkg/s", tarfile.SYMTYPE, "ok"), _info("pkg/l", tarfile.LNKTYPE, "pkg/s")],
    "device": [_info("pkg/dev", tarfile.CHRTYPE)],
    "pipe": [_info("pkg/fifo", tarfile.FIFOTYPE)],
    "backslashes": [("pkg\\..\\..\\evil.py", b"x")],
    "drive": [("C:\\evil.py", b"x")],
    "full-width dots": [("\uff0e\uff0e/evil.py", b"x")],
    "two dot leader": [("\u2025/evil.py", b"x")],
    "invisible": [(".\u200b./evil.py", b"x")],
    "file as folder": [("pkg", b"1"), ("pkg/evil.py", b"x")],
    "folder as file": [("pkg/a.py", b"1"), ("pkg", b"x")],
    "long name": [("pkg/" + "n" * 300, b"x")],
}


@pytest.mark.parametrize("name", sorted(EVIL_TARS))
def test_unpack_refuses_a_tar_that_climbs_out(name: str, tmp_path: Path) -> None:
    inside = tmp_path / "deep" / "inside"
    inside.mkdir(parents=True)
    archive = tar_of(inside / "evil-1.0.tar.gz", EVIL_TARS[name])
    with pytest.raises(CorpusError) as caught:
        _unpack(archive)
    assert caught.value.file == "evil-1.0.tar.gz"
    assert caught.value.hint
    assert "member" in caught.value.message
    assert list(inside.iterdir()) == [archive], "nothing was kept"
    assert list(everything_below(tmp_path)) == [archive]
    assert not Path("/tmp/assay-evil.py").exists()


@pytest.mark.parametrize(
    "members",
    [
        [("../evil.py", b"x")],
        [("/etc/evil.py", b"x")],
        [("..\\evil.py", b"x")],
        [("pkg/..\\..\\evil.py", b"x")],
        [("C:/evil.py", b"x")],
        [_link("pkg/l", "../..")],
        [_link("pkg/l", "/etc")],
        [_link("l", ".."), ("l/evil.py", b"x")],
    ],
)
def test_unpack_refuses_a_zip_that_climbs_out(
    members: list[tuple[str | zipfile.ZipInfo, bytes]], tmp_path: Path
) -> None:
    archive = zip_of(tmp_path / "evil-1.0-py3-none-any.whl", members)
    with pytest.raises(CorpusError, match="member"):
        _unpack(archive)
    assert list(tmp_path.iterdir()) == [archive], "nothing was kept"


def test_unpack_refuses_nul_in_a_name(tmp_path: Path) -> None:
    archive = zip_of(tmp_path / "e.zip", [("aXb.py", b"x")])
    archive.write_bytes(archive.read_bytes().replace(b"aXb.py", b"a\0b.py"))
    with pytest.raises(CorpusError, match="NUL"):
        _unpack(archive)
    info = tarfile.TarInfo("x")
    info.pax_headers = {"path": "a\0b"}
    with tarfile.open(tmp_path / "e.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info, io.BytesIO())
    with pytest.raises(CorpusError):
        unpack(tmp_path / "e.tar.gz", tmp_path / "out2", limits=LIMITS, revision="1")


def test_unpack_keeps_what_is_harmless(tmp_path: Path) -> None:
    archive = tar_of(
        tmp_path / "pkg-1.0.tar.gz",
        [
            ("pkg-1.0/a.py", b"a = 1\n"),
            ("pkg-1.0/..b/...c.py", b"c\n"),
            ("pkg-1.0/a.py", b"a = 2\n"),
            _info("pkg-1.0/empty", tarfile.DIRTYPE),
            _info("pkg-1.0/sub/link.py", tarfile.SYMTYPE, "../a.py"),
            _info("pkg-1.0/hard.py", tarfile.LNKTYPE, "pkg-1.0/a.py"),
        ],
    )
    fetched = unpack(archive, tmp_path / "out", limits=LIMITS, revision="1.0")
    assert fetched.root == "pkg-1.0"
    root = tmp_path / "out" / "pkg-1.0"
    assert (root / "a.py").read_bytes() == (root / "hard.py").read_bytes() == b"a = 2\n"
    assert os.readlink(root / "sub" / "link.py") == "../a.py"
    assert not os.stat(root / "a.py").st_mode & 0o6111
    found = {path.relative_to(fetched.tree).as_posix() for path in everything_below(fetched.tree)}
    assert found == {f"pkg-1.0/{name}" for name in ("a.py", "..b/...c.py", "hard.py", "sub/link.py")}


def test_unpack_reads_backslashes_of_a_zip_as_folders(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("x")
    info.filename = "pkg\\mod.py"
    assert _unpack(zip_of(tmp_path / "a.zip", [(info, b"1")])) == {"pkg/mod.py"}


@pytest.mark.parametrize("size", [17_000, 3_000_000])
def test_unpack_refuses_a_header_that_would_take_for_ever(size: int, tmp_path: Path) -> None:
    # A kilobyte of archive that keeps tarfile of Python 3.11.7 busy for minutes (CVE-2024-6232).
    info = tarfile.TarInfo("a")
    info.pax_headers = {"comment": "0" * size}
    with tarfile.open(tmp_path / "slow.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(info)
    with pytest.raises(CorpusError, match="expected a header of"):
        _unpack(tmp_path / "slow.tar.gz")


@pytest.mark.parametrize("kind", ["zip", "tar.gz", "headers"])
def test_unpack_refuses_a_bomb(kind: str, tmp_path: Path) -> None:
    limits = ArchiveLimits(ratio_grace_bytes=1_000_000)
    zeros = b"\0" * 8_000_000
    if kind == "zip":
        archive = zip_of(tmp_path / "bomb.zip", [("a", zeros)])
    elif kind == "tar.gz":
        archive = tar_of(tmp_path / "bomb.tar.gz", [("a", zeros)])
    else:  # next to nothing is written, but each empty file has a long header
        archive = tmp_path / "bomb.tar.gz"
        with tarfile.open(archive, "w:gz", format=tarfile.PAX_FORMAT) as tar:
            for number in range(150):
                info = tarfile.TarInfo(f"{number}")
                info.pax_headers = {"comment": "x" * 15_000}
                tar.addfile(info)
    with pytest.raises(CorpusError, match="unpacks to more than"):
        _unpack(archive, limits)
    assert list(tmp_path.iterdir()) == [archive], "nothing was kept"


def test_unpack_refuses_too_many_members(tmp_path: Path) -> None:
    many = [(f"d/{number}", b"") for number in range(11)]
    for archive in (tar_of(tmp_path / "a.tar.gz", [*many]), zip_of(tmp_path / "a.zip", [*many])):
        with pytest.raises(CorpusError, match="exceeds the limit of"):
            unpack(archive, tmp_path / f"out-{archive.suffix}", limits=ArchiveLimits(members=10), revision="1")


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.whl", "a.tar.xz", "a.rar"])
def test_unpack_refuses_what_is_no_archive(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"this is not a supported archive, whatever its name says" * 30)
    with pytest.raises(CorpusError) as caught:
        _unpack(tmp_path / name)
    assert caught.value.file == name


def test_unpack_refuses_a_cut_archive(tmp_path: Path) -> None:
    whole = tar_of(tmp_path / "whole.tar.gz", [("pkg/a.py", os.urandom(100_000))]).read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorpusError, match="cannot read the archive"):
        _unpack(tmp_path / "cut.tar.gz")
    assert not (tmp_path / "out").exists()
    with gzip.open(tmp_path / "big.tar.gz", "wb") as stream:
        stream.write(b"x")
    with pytest.raises(CorpusError):
        unpack(tmp_path / "big.tar.gz", tmp_path / "o2", limits=ArchiveLimits(archive_bytes=1), revision="1")


_part = st.sampled_from(["a", "b", "..", ".", "", "A", "\u2025", "..\\", "l", "\uff0e."])
_name = st.lists(_part, min_size=1, max_size=4).map("/".join)
_member = st.tuples(st.sampled_from(["file", "link", "hard", "folder"]), _name, _name)


@examples(150)
@given(st.lists(_member, max_size=6))
def test_unpack_never_writes_outside_its_root(
    tmp_path_factory: pytest.TempPathFactory, members: list[tuple[str, str, str]]
) -> None:
    outer = tmp_path_factory.mktemp("law")
    inner = outer / "1" / "2"
    inner.mkdir(parents=True)
    kinds = {"link": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE, "folder": tarfile.DIRTYPE}
    made = [(name, b"x") if kind == "file" else _info(name, kinds[kind], target) for kind, name, target in members]
    archive = tar_of(inner / "m.tar", list(made), "w")
    try:
        _unpack(archive)
    except CorpusError:
        assert list(inner.iterdir()) == [archive], "all or nothing"
    else:
        root = os.path.realpath(inner / "out")
        for path in (inner / "out").rglob("*"):
            assert os.path.realpath(path).startswith(root)
    assert [path for path in everything_below(outer) if not path.is_relative_to(inner / "out")] == [archive]
