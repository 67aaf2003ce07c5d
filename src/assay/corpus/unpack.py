"""Unpack archives and commits safely into new directories.

Files are created exclusively and never through a link. Links are created last; an archive with a link that
leaves the root is rejected.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import IO, Final, NoReturn, Self, cast

from assay.errors import CorpusError
from assay.files import is_inside
from assay.records import dataclass

ZIPS: Final = (".whl", ".zip")
TARS: Final = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar")
_CHUNK: Final = 1 << 20
#: Two paths of the maximum length on Linux (4,096 bytes each), doubled for the other fields of a header.
_HEADER_BYTES: Final = 16_384


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    #: The largest source wheel on PyPI is smaller; larger ones (CUDA, torch) are binaries.
    archive_bytes: int = 1_000_000_000
    #: Twice the checked-out size of the Linux kernel (1.5 GB in 2024).
    unpacked_bytes: int = 3_000_000_000
    #: Four times the 86,000 files of the Linux kernel.
    members: int = 350_000
    #: DEFLATE reaches 1,032:1 and source compresses 3 to 8:1, so 200:1 over the whole archive is a bomb ...
    ratio: int = 200
    #: ... unless it is small, such as an archive of test data full of zeros.
    ratio_grace_bytes: int = 64_000_000
    #: A clone or a download on a slow connection.
    tool_seconds: float = 1800.0
    #: One response of an index; pip's default is 15 s, a scanning proxy takes longer.
    http_seconds: float = 60.0


DEFAULT_LIMITS = ArchiveLimits()


@dataclass(frozen=True, slots=True)
class FetchedTree:
    tree: Path
    content: str  # the name of the tree: a hash with its kind, sha256-… or git-…
    revision: str
    root: str = ""  # the only top-level directory, if it contains all files
    notes: tuple[str, ...] = ()
    manifest: Mapping[str, str] = field(default_factory=dict)  # path -> sha256 of a file or target of a link


def unpack(
    archive: Path, into: Path, *, limits: ArchiveLimits, revision: str, notes: tuple[str, ...] = ()
) -> FetchedTree:
    """Unpack an archive into a new directory; on errors, remove the directory and raise."""
    size = archive.stat().st_size
    if size > limits.archive_bytes:
        message = f"expected an archive of at most {limits.archive_bytes:,} bytes, got {size:,}"
        raise CorpusError(message, file=archive.name, hint="use a smaller package")
    with TreeWriter(into, source=archive.name, limits=limits, archive_bytes=size) as writer:
        try:
            if archive.name.endswith(ZIPS):
                _unpack_zip(archive, writer)
            elif archive.name.endswith(TARS):
                _unpack_tar(archive, writer)
            else:
                hint = f"use one of {', '.join((*ZIPS, *TARS))}"
                raise CorpusError("unsupported archive format", file=archive.name, hint=hint)
        except _damage_errors() as error:
            hint = "try again; if that fails, use another version of the package"
            raise CorpusError(f"cannot read the archive: {error}", file=archive.name, hint=hint) from error
        paths = writer.finish(outside_links=False)
    tops = {path.partition("/")[0] for path in paths}
    wrapped = not archive.name.endswith(".whl") and len(tops) == 1 and all("/" in path for path in paths)
    root = tops.pop() if wrapped else ""
    return FetchedTree(into, f"sha256-{hash_of(archive, 'sha256')}", revision, root, notes)


def hash_of(path: Path, algorithm: str) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, algorithm).hexdigest()


def _damage_errors() -> tuple[type[Exception], ...]:
    import gzip
    import lzma
    import tarfile
    import zipfile
    import zlib

    damaged = (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError)
    return (*damaged, RuntimeError)  # RuntimeError: an encrypted zip or an unsupported compression


def _unpack_zip(archive: Path, writer: TreeWriter) -> None:
    import zipfile

    with zipfile.ZipFile(archive) as zipped:
        for info in zipped.infolist():
            if "\0" in info.orig_filename:  # zipfile cuts `filename` at the NUL byte
                writer.refuse(info.orig_filename, "has a NUL byte in its name")
            name = info.filename.replace("\\", "/")  # written by some tools on Windows
            mode = info.external_attr >> 16
            if info.is_dir() or name.endswith("/"):
                writer.add_directory(name)
            elif stat.S_ISLNK(mode):
                with zipped.open(info) as member:
                    writer.add_link(name, member.read(_CHUNK).decode("utf-8", "surrogateescape"))
            elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                writer.refuse(name, "is a device or pipe")
            else:
                with zipped.open(info) as member:
                    writer.add_file(name, _chunks(member))


def _unpack_tar(archive: Path, writer: TreeWriter) -> None:
    import bz2
    import gzip
    import lzma
    import tarfile

    pax = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
    headers = (*pax, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
    decompressors = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\x00", lzma.open))

    class Member(tarfile.TarInfo):
        """A member with a size limit on extended headers, which tarfile parses in quadratic time (CVE-2024-6232)."""

        def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
            if self.type in headers and self.size > _HEADER_BYTES:
                raise tarfile.ReadError(f"expected a header of at most {_HEADER_BYTES:,} bytes, got {self.size:,}")
            return cast(tarfile.TarInfo, super()._proc_member(tar))  # type: ignore[misc]  # not in typeshed

    with open(archive, "rb") as compressed:
        head = compressed.read(6)
    decompress = next((opener for magic, opener in decompressors if head.startswith(magic)), open)
    with cast(IO[bytes], decompress(archive, "rb")) as raw:
        counted = cast(IO[bytes], _CountedReader(raw, writer.allowed, archive.name))
        with tarfile.open(fileobj=counted, mode="r|", tarinfo=Member) as tar:
            for member in tar:
                if member.isdir():
                    writer.add_directory(member.name)
                elif member.issym():
                    writer.add_link(member.name, member.linkname)
                elif member.islnk():
                    writer.add_hard_link(member.name, member.linkname)
                elif member.isreg():
                    stream = tar.extractfile(member)
                    writer.add_file(member.name, _chunks(stream) if stream else ())
                else:
                    writer.refuse(member.name, "is a device or pipe")


class _CountedReader:
    """A stream that raises CorpusError after `allowed` bytes, which include headers and padding."""

    def __init__(self, raw: IO[bytes], allowed: int, source: str) -> None:
        self._raw, self._left, self._allowed, self._source = raw, allowed, allowed, source

    def read(self, size: int) -> bytes:
        data = self._raw.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise CorpusError(
                f"the archive unpacks to more than {self._allowed:,} bytes; nothing was unpacked",
                file=self._source,
                hint="use another version, or a smaller package",
            )
        return data


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK):
        yield chunk


_DRIVE: Final = re.compile(r"[A-Za-z]:/")
_BAD_NAMES: Final = frozenset({errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.ELOOP})


class TreeWriter:
    """A writer of the files of an archive or commit into a new directory, which is removed on errors."""

    def __init__(self, root: Path, *, source: str, limits: ArchiveLimits, archive_bytes: int | None = None) -> None:
        self.root = root
        self.paths: set[str] = set()
        self._source = source
        self._limits = limits
        self.allowed = limits.unpacked_bytes
        if archive_bytes is not None:
            self.allowed = min(self.allowed, max(limits.ratio_grace_bytes, limits.ratio * archive_bytes))
        self._members = 0
        self._bytes = 0
        self._directories: set[str] = set()
        self._links: dict[str, str] = {}
        root.mkdir()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is not None:
            shutil.rmtree(self.root, ignore_errors=True)

    def add_directory(self, name: str) -> None:
        self._make(self._admit(name), name)

    def add_file(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write a file, replacing an earlier member with this name, as tar and pip do."""
        parts = self._admit(name)
        if not parts:
            self.refuse(name, "has no name")
        self._make(parts[:-1], name)
        path = "/".join(parts)
        self._links.pop(path, None)
        with self._rejecting_bad_names(name):
            if path in self.paths:
                os.unlink(self.root / path)
            self.paths.add(path)
            handle = os.open(self.root / path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
            with open(handle, "wb") as stream:
                for chunk in chunks:
                    self._bytes += len(chunk)
                    if self._bytes > self.allowed:
                        self.refuse(name, f"unpacks to more than {self.allowed:,} bytes")
                    stream.write(chunk)

    def add_link(self, name: str, target: str) -> None:
        parts = self._admit(name)
        if not parts or not target or "\0" in target:
            self.refuse(name, "is a link without a name or target")
        self._links["/".join(parts)] = target

    def add_hard_link(self, name: str, target: str) -> None:
        original = "/".join(self._parts(target))
        if original not in self.paths:
            self.refuse(name, f"is a hard link to {target!r}, which is not a file of this archive")
        with open(self.root / original, "rb") as stream:
            self.add_file(name, _chunks(stream))

    def finish(self, *, outside_links: bool) -> set[str]:
        """Create the links and return all paths; a link that leaves the root is an error, unless `outside_links`."""
        for path, target in sorted(self._links.items()):
            self._make(path.split("/")[:-1], path)
            with self._rejecting_bad_names(path):
                os.symlink(target, self.root / path)
            self.paths.add(path)
        if not outside_links:
            for path in sorted(self._links):
                if not is_inside(os.path.realpath(self.root / path), os.path.realpath(self.root)):
                    self.refuse(path, f"is a link that leaves the archive: {self._links[path]!r}")
        return self.paths

    def refuse(self, member: str, why: str) -> NoReturn:
        shown = member.encode("unicode_escape", "backslashreplace").decode("ascii")
        raise CorpusError(
            f"member {shown!r} {why}; nothing was unpacked",
            file=self._source,
            hint="use another version of the package or repository",
        )

    def _admit(self, name: str) -> list[str]:
        self._members += 1
        if self._members > self._limits.members:
            self.refuse(name, f"exceeds the limit of {self._limits.members:,} members")
        return self._parts(name)

    def _parts(self, name: str) -> list[str]:
        if "\0" in name:
            self.refuse(name, "has a NUL byte in its name")
        import unicodedata

        normalized = unicodedata.normalize("NFKC", name)
        for reading in (name, "".join(char for char in normalized if unicodedata.category(char) != "Cf")):
            slashed = reading.replace("\\", "/")
            if slashed.startswith("/") or _DRIVE.match(slashed) or ".." in slashed.split("/"):
                self.refuse(name, "has a path outside the archive")
        return [part for part in name.split("/") if part not in ("", ".")]

    def _make(self, parts: list[str], member: str) -> None:
        for depth in range(1, len(parts) + 1):
            path = "/".join(parts[:depth])
            if path in self._directories:
                continue
            with self._rejecting_bad_names(member):
                try:
                    os.mkdir(self.root / path)
                except FileExistsError:
                    if not stat.S_ISDIR(os.lstat(self.root / path).st_mode):
                        self.refuse(member, f"is below {path!r}, which is not a directory")
            self._directories.add(path)

    @contextmanager
    def _rejecting_bad_names(self, member: str) -> Iterator[None]:
        try:
            yield
        except (FileExistsError, IsADirectoryError, NotADirectoryError):
            self.refuse(member, "collides with another member")
        except UnicodeEncodeError:
            self.refuse(member, "has a name that is not UTF-8")
        except OSError as error:
            if error.errno not in _BAD_NAMES:
                raise
            self.refuse(member, f"has a name this file system does not allow ({error.strerror})")
