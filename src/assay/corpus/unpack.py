"""Unpacking of wheels, sdists and npm tarballs."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, cast

from assay.corpus.config import ArchiveLimits
from assay.corpus.tree_cache import FetchedTree
from assay.corpus.writer import TreeWriter
from assay.errors import CorpusError

ZIPS: Final = (".whl", ".zip")
TARS: Final = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar")
_CHUNK: Final = 1 << 20
#: Two paths of the maximum length on Linux (4,096 bytes each), doubled for the other fields of a header.
_HEADER_BYTES: Final = 16_384
_HEADERS: Final = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_BROKEN: Final = (
    zipfile.BadZipFile,
    tarfile.TarError,
    gzip.BadGzipFile,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    NotImplementedError,  # a zip compression that Python lacks
    RuntimeError,  # an encrypted zip
)


def unpack(
    archive: Path, into: Path, *, limits: ArchiveLimits, revision: str, notes: tuple[str, ...] = ()
) -> FetchedTree:
    """Unpack an archive completely or not at all into a new directory; its hash becomes the content name."""
    size = archive.stat().st_size
    if size > limits.archive_bytes:
        raise CorpusError(f"has {size:,} bytes, more than {limits.archive_bytes:,}", file=archive.name)
    with TreeWriter(into, source=archive.name, limits=limits, archive_bytes=size) as writer:
        try:
            if archive.name.endswith(ZIPS):
                _unpack_zip(archive, writer, limits)
            elif archive.name.endswith(TARS):
                _unpack_tar(archive, writer, limits)
            else:
                hint = "known: .whl .zip .tar.gz .tgz"
                raise CorpusError("is not a supported archive", file=archive.name, hint=hint)
        except _BROKEN as error:
            raise CorpusError(
                f"cannot be read as an archive: {error}", file=archive.name, hint="it may be damaged; fetch it again"
            ) from error
        paths = writer.finish(outside_links=False)
    tops = {path.partition("/")[0] for path in paths}
    wrapped = not archive.name.endswith(".whl") and len(tops) == 1 and all("/" in path for path in paths)
    root = tops.pop() if wrapped else ""
    return FetchedTree(into, f"sha256-{hash_of(archive, 'sha256').hex()}", revision, root, notes)


def hash_of(path: Path, algorithm: str) -> bytes:
    """Return the hash of a file."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, algorithm).digest()


def _unpack_zip(archive: Path, writer: TreeWriter, limits: ArchiveLimits) -> None:
    with zipfile.ZipFile(archive) as zipped:
        infos = zipped.infolist()
        if len(infos) > limits.members:
            writer.refuse(infos[-1].filename, f"is one too many: more than {limits.members:,} members")
        for info in infos:
            _zip_member(zipped, info, writer)


def _zip_member(zipped: zipfile.ZipFile, info: zipfile.ZipInfo, writer: TreeWriter) -> None:
    if "\0" in info.orig_filename:  # `filename` is cut there
        writer.refuse(info.orig_filename, "has a NUL byte in its name")
    name = info.filename.replace("\\", "/")  # written by some tools on Windows
    mode = info.external_attr >> 16
    if info.is_dir() or name.endswith("/"):
        writer.folder(name)
    elif stat.S_ISLNK(mode):
        with zipped.open(info) as member:
            writer.link(name, member.read(_CHUNK).decode("utf-8", "surrogateescape"))
    elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        writer.refuse(name, "is a device or pipe")
    else:
        with zipped.open(info) as member:
            writer.file(name, _chunks(member))


def _unpack_tar(archive: Path, writer: TreeWriter, limits: ArchiveLimits) -> None:
    allowed = max(limits.ratio_grace_bytes, limits.ratio * archive.stat().st_size)
    with _open_decompressed(archive) as raw:
        counted = io.BufferedReader(_Counted(raw, min(allowed, limits.unpacked_bytes), archive.name))
        with tarfile.open(fileobj=counted, mode="r|", tarinfo=_Member) as tar:
            for member in tar:
                _tar_member(tar, member, writer)


class _Member(tarfile.TarInfo):
    """A member with a limit on extended headers, which tarfile parses in quadratic time (CVE-2024-6232)."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _HEADERS and self.size > _HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {self.size:,} bytes: a bomb")
        return cast(tarfile.TarInfo, super()._proc_member(tar))  # type: ignore[misc]  # not in typeshed


def _tar_member(tar: tarfile.TarFile, member: tarfile.TarInfo, writer: TreeWriter) -> None:
    if member.isdir():
        writer.folder(member.name)
    elif member.issym():
        writer.link(member.name, member.linkname)
    elif member.islnk():
        writer.hard_link(member.name, member.linkname)
    elif member.isreg():
        stream = tar.extractfile(member)
        writer.file(member.name, _chunks(stream) if stream else ())
    else:
        writer.refuse(member.name, "is a device or pipe")


def _open_decompressed(archive: Path) -> IO[bytes]:
    with open(archive, "rb") as stream:
        head = stream.read(6)
    if head.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.open(archive))
    if head.startswith(b"BZh"):
        return bz2.open(archive)
    if head.startswith(b"\xfd7zXZ\x00"):
        return lzma.open(archive)
    return open(archive, "rb")


class _Counted(io.RawIOBase):
    """A stream with a size limit."""

    def __init__(self, raw: IO[bytes], allowed: int, source: str) -> None:
        super().__init__()
        self._raw, self._left, self._allowed, self._source = raw, allowed, allowed, source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed wants a private Buffer type
        data = self._raw.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise CorpusError(
                f"unpacks to more than {self._allowed:,} bytes: a bomb; nothing was kept",
                file=self._source,
                hint="do not use this archive",
            )
        buffer[: len(data)] = data
        return len(data)


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK):
        yield chunk
