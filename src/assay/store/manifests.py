"""Checksums of values, and manifests of directories: every file with size and hash, every link and directory."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_MAGIC: Final = b"assay-artefact 1 "
_HEAD: Final = len(_MAGIC) + 64 + 1


def name_of(kind: str, key: str) -> str:
    """Return the file name of a key; 160 bits do not collide by chance."""
    return hashlib.sha256(f"{kind}\0{key}".encode("utf-8", "surrogateescape")).hexdigest()[:40]


def add_checksum(name: str, data: bytes) -> bytes:
    """Prefix data with a checksum over name and data, so that a renamed file is noticed."""
    return _MAGIC + _checksum(name, data) + b"\n" + data


def verify_checksum(name: str, sealed: bytes) -> bytes | None:
    """Return the data without the checksum; None if it does not match."""
    data = sealed[_HEAD:]
    return data if sealed[:_HEAD] == _MAGIC + _checksum(name, data) + b"\n" else None


def _checksum(name: str, data: bytes) -> bytes:
    return hashlib.sha256(name.encode("ascii") + b"\0" + data).hexdigest().encode("ascii")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of a directory when it was completed."""

    id: str  # unique, so that a process knows which one it has verified
    entries: Mapping[str, str]  # path -> "file SIZE SHA256", "link TARGET" or "folder"

    @property
    def size(self) -> int:
        """The total size of the files in bytes."""
        return sum(int(entry.split(" ")[1]) for entry in self.entries.values() if entry.startswith("file "))

    def serialize(self, name: str) -> bytes:
        """Serialize with a checksum."""
        return add_checksum(name, json.dumps({"id": self.id, "entries": self.entries}, sort_keys=True).encode("ascii"))


def read_manifest(name: str, sealed: bytes) -> Manifest | None:
    """Parse a manifest; None if its checksum does not match."""
    data = verify_checksum(name, sealed)
    if data is None:
        return None
    plain = json.loads(data)
    return Manifest(plain["id"], plain["entries"])


def make_manifest(folder: Path) -> Manifest:
    """Return the manifest of a directory."""
    return Manifest(secrets.token_hex(8), dict(_entries(folder, hashed=True)))


def same_sizes(folder: Path, manifest: Manifest) -> bool:
    """Return whether a directory has exactly the files of a manifest with their sizes."""
    known = manifest.entries.items()
    sizes = {path: entry.rsplit(" ", 1)[0] if entry.startswith("file ") else entry for path, entry in known}
    return sizes == dict(_entries(folder, hashed=False))


def same_bytes(folder: Path, manifest: Manifest) -> bool:
    """Return whether every file has the hash in the manifest."""
    return dict(manifest.entries) == dict(_entries(folder, hashed=True))


def _entries(folder: Path, *, hashed: bool, prefix: str = "") -> Iterator[tuple[str, str]]:
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        path = prefix + entry.name
        if entry.is_symlink():
            yield path, f"link {os.readlink(entry.path)}"
        elif entry.is_dir():
            yield path, "folder"
            yield from _entries(Path(entry.path), hashed=hashed, prefix=path + "/")
        elif stat.S_ISREG((facts := entry.stat()).st_mode):
            if not hashed:
                yield path, f"file {facts.st_size}"
                continue
            with open(entry.path, "rb") as stream:
                yield path, f"file {facts.st_size} {hashlib.file_digest(stream, 'sha256').hexdigest()}"
