"""What a folder held when it was finished: every file with its size and hash, every link, every folder."""

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
    """Turn a key into a file name; 160 bits never meet by chance."""
    return hashlib.sha256(f"{kind}\0{key}".encode("utf-8", "surrogateescape")).hexdigest()[:40]


def add_checksum(name: str, data: bytes) -> bytes:
    """Put a checksum before data; the name is under it too, so that a file that was moved is noticed."""
    return _MAGIC + _checksum(name, data) + b"\n" + data


def verify_checksum(name: str, sealed: bytes) -> bytes | None:
    """Give the data; None unless they are, to the bit, what was sealed under this name."""
    data = sealed[_HEAD:]
    return data if sealed[:_HEAD] == _MAGIC + _checksum(name, data) + b"\n" else None


def _checksum(name: str, data: bytes) -> bytes:
    return hashlib.sha256(name.encode("ascii") + b"\0" + data).hexdigest().encode("ascii")


@dataclass(frozen=True, slots=True)
class Manifest:
    """A finished folder, as it was."""

    id: str  # no two are alike, so a process knows which one it has looked through
    entries: Mapping[str, str]  # path -> "file SIZE SHA256", "link TARGET" or "folder"

    @property
    def size(self) -> int:
        """The bytes of its files."""
        return sum(int(entry.split(" ")[1]) for entry in self.entries.values() if entry.startswith("file "))

    def sealed(self, name: str) -> bytes:
        """Write it under a checksum."""
        return add_checksum(name, json.dumps({"id": self.id, "entries": self.entries}, sort_keys=True).encode("ascii"))


def read_manifest(name: str, sealed: bytes) -> Manifest | None:
    """Read a manifest; None when it is not to the bit what was written."""
    data = verify_checksum(name, sealed)
    if data is None:
        return None
    plain = json.loads(data)
    return Manifest(plain["id"], plain["entries"])


def make_manifest(folder: Path) -> Manifest:
    """Look through a folder that was just finished."""
    return Manifest(secrets.token_hex(8), dict(_entries(folder, hashed=True)))


def same_sizes(folder: Path, manifest: Manifest) -> bool:
    """Tell whether every file is there with its size, and nothing else; quick."""
    known = manifest.entries.items()
    sizes = {path: entry.rsplit(" ", 1)[0] if entry.startswith("file ") else entry for path, entry in known}
    return sizes == dict(_entries(folder, hashed=False))


def same_bytes(folder: Path, manifest: Manifest) -> bool:
    """Tell whether every file is to the bit what it was."""
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
            yield path, f"file {facts.st_size} {_hash(entry.path)}" if hashed else f"file {facts.st_size}"


def _hash(path: str) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
