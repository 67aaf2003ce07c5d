"""The layout of the store: paths, checksums, manifests, and atomic changes.

ROOT/KIND/ab/NAME             a value: checksum and bytes
ROOT/KIND/ab/NAME/content/    a directory, built in place, so that its path never changes
ROOT/KIND/ab/NAME/finished    the manifest, written last; a directory without a manifest is incomplete
ROOT/KIND/NAME/               a workspace; its writer locks the file `lock`
ROOT/.tmp/NAME/               a temporary directory, locked by ROOT/.locks/NAME
ROOT/.tmp/, ROOT/.locks/      files being written, entries being removed, locks of builders
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final

from assay.errors import SetupError
from assay.locks import temporary_lock
from assay.records import dataclass

#: errno values of a full or read-only disk.
DISK_ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
#: Attempts to write a file, because another process may remove the directories at the same time.
_ATTEMPTS: Final = 10
_MAGIC: Final = b"assay-artefact 1 "
_HEAD: Final = len(_MAGIC) + 64 + 1


@dataclass(frozen=True, slots=True)
class EntryPath:
    root: Path
    kind: str
    name: str

    @property
    def path(self) -> Path:
        return self.root / self.kind / self.name[:2] / self.name

    @property
    def content(self) -> Path:
        return self.path / "content"

    @property
    def finished(self) -> Path:
        return self.path / "finished"

    @property
    def lock(self) -> Path:
        return self.root / ".locks" / f"{self.kind}.{self.name}"


def entry_name(kind: str, key: str) -> str:
    """Return the file name of an entry: 160 bits of the SHA-256 of kind and key."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", kind):
        raise ValueError(f"invalid kind {kind!r}")
    return hashlib.sha256(f"{kind}\0{key}".encode("utf-8", "surrogateescape")).hexdigest()[:40]


def replace_entry(root: Path, path: Path, data: bytes) -> None:
    """Write a file atomically, and create its directories even if another process removes them meanwhile.

    The file is not synced: after a power failure it may be empty, which the checksum reveals.
    """
    spare = root / ".tmp" / f"{path.name}.{secrets.token_hex(8)}"
    try:
        for attempt in range(_ATTEMPTS):
            try:
                if attempt:
                    spare.parent.mkdir(parents=True, exist_ok=True)
                    path.parent.mkdir(parents=True, exist_ok=True)
                with open(spare, "wb") as stream:
                    stream.write(data)
                os.replace(spare, path)
            except FileNotFoundError:
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                return
    except BaseException:
        with suppress(OSError):
            spare.unlink(missing_ok=True)
        raise


def remove(root: Path, path: Path) -> None:
    """Remove a file or directory, atomically if it is on the file system of `root`; ignore a missing path."""
    doomed = root / ".tmp" / f"removed.{secrets.token_hex(8)}"
    doomed.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(path, doomed)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno != errno.EXDEV:  # $ASSAY_INDEX_DIR may be on another disk
            raise
        doomed = path
    if doomed.is_dir() and not doomed.is_symlink():
        shutil.rmtree(doomed, ignore_errors=True)
    else:
        doomed.unlink(missing_ok=True)


@contextmanager
def wrap_disk_errors(path: Path, *, only: frozenset[int] | None = None) -> Iterator[None]:
    """Convert an OSError in the block to SetupError; with `only`, convert only these errno values."""
    try:
        yield
    except OSError as error:
        if only is not None and error.errno not in only:
            raise
        raise SetupError(
            f"cannot write the cache: {error.strerror or error}",
            file=path,
            hint="free disk space (`assay cache prune --to 1GB`) or set ASSAY_CACHE_DIR to a writable directory",
        ) from error


def build_lock(path: Path, *, wait: bool = True) -> AbstractContextManager[bool]:
    path.parent.mkdir(parents=True, exist_ok=True)
    return temporary_lock(path, wait=wait)


def add_checksum(name: str, data: bytes) -> bytes:
    """Prefix data with a checksum of name and data, which also detects a renamed file."""
    return _MAGIC + hashlib.sha256(name.encode("ascii") + b"\0" + data).hexdigest().encode("ascii") + b"\n" + data


def verify_checksum(name: str, sealed: bytes) -> bytes | None:
    data = sealed[_HEAD:]
    return data if sealed == add_checksum(name, data) else None


@dataclass(frozen=True, slots=True)
class Manifest:
    id: str  # unique, so that a process can remember which manifests it has verified
    entries: Mapping[str, str]  # path -> "file SIZE SHA256", "link TARGET" or "folder"

    @property
    def size(self) -> int:
        return sum(int(entry.split(" ")[1]) for entry in self.entries.values() if entry.startswith("file "))

    def serialize(self, name: str) -> bytes:
        return add_checksum(name, json.dumps({"id": self.id, "entries": self.entries}, sort_keys=True).encode("ascii"))

    def matches(self, directory: Path, *, hashed: bool, extensible: bool = False) -> bool:
        """Return whether a directory matches the manifest, by hash or by size; `extensible` allows additional files."""
        actual = dict(_scan_entries(directory, hashed=hashed))
        recorded = self.entries
        if not hashed:
            recorded = {path: e.rsplit(" ", 1)[0] if e.startswith("file ") else e for path, e in recorded.items()}
        return recorded.items() <= actual.items() if extensible else recorded == actual


def read_manifest(name: str, sealed: bytes) -> Manifest | None:
    data = verify_checksum(name, sealed)
    return None if data is None else Manifest(**json.loads(data))


def make_manifest(directory: Path) -> Manifest:
    return Manifest(secrets.token_hex(8), dict(_scan_entries(directory, hashed=True)))


def _scan_entries(directory: Path, *, hashed: bool, prefix: str = "") -> Iterator[tuple[str, str]]:
    with os.scandir(directory) as iterator:
        entries = sorted(iterator, key=lambda entry: entry.name)
    for entry in entries:
        path = prefix + entry.name
        if entry.is_symlink():
            yield path, f"link {os.readlink(entry.path)}"
        elif entry.is_dir():
            yield path, "folder"
            yield from _scan_entries(Path(entry.path), hashed=hashed, prefix=path + "/")
        elif stat.S_ISREG((status := entry.stat()).st_mode):
            if not hashed:
                yield path, f"file {status.st_size}"
                continue
            with open(entry.path, "rb") as stream:
                yield path, f"file {status.st_size} {hashlib.file_digest(stream, 'sha256').hexdigest()}"
