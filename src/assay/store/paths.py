"""Layout, kinds and limits of the store, and atomic changes to it.

ROOT/KIND/ab/NAME             a value: checksum and bytes
ROOT/KIND/ab/NAME/content/    a directory, built in place, so that its path never changes
ROOT/KIND/ab/NAME/finished    its manifest, written last: without it the entry does not exist
ROOT/.locks/, ROOT/.tmp/
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from assay.errors import ConfigError, SetupError
from assay.locks import FileLock
from assay.store.manifests import name_of

#: Errors of a full or read-only disk.
DISK_ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
#: Attempts of a write while directories vanish: another run into the same directory removes them when it ends.
_ATTEMPTS: Final = 10


@dataclass(frozen=True, slots=True)
class EntryPath:
    """The paths of one entry."""

    root: Path
    kind: str
    name: str

    @property
    def path(self) -> Path:
        """The file of a value, or the directory of a larger entry."""
        return self.root / self.kind / self.name[:2] / self.name

    @property
    def content(self) -> Path:
        """The content of a directory entry."""
        return self.path / "content"

    @property
    def finished(self) -> Path:
        """The manifest of a directory entry, which marks it as complete."""
        return self.path / "finished"

    @property
    def lock(self) -> Path:
        """The lock file of the process that builds the entry."""
        return self.root / ".locks" / f"{self.kind}.{self.name}"


def entry_path(root: Path, kind: str, key: str) -> EntryPath:
    """Return the paths of a key."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", kind):
        raise ValueError(f"not the name of a kind: {kind!r}")
    return EntryPath(root, kind, name_of(kind, key))


def write_atomic(root: Path, path: Path, data: bytes) -> None:
    """Write a file atomically, creating directories that are missing or removed meanwhile by another process.

    There is no fsync: after a power cut a file may be empty, which its checksum reveals.
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
    """Remove a file or directory atomically by renaming it first; a missing one is ignored."""
    doomed = root / ".tmp" / f"removed.{secrets.token_hex(8)}"
    doomed.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.rename(path, doomed)
    except FileNotFoundError:
        return
    if doomed.is_dir() and not doomed.is_symlink():
        shutil.rmtree(doomed, ignore_errors=True)
    else:
        doomed.unlink(missing_ok=True)


@contextmanager
def writing(path: Path, *, only: frozenset[int] | None = None) -> Iterator[None]:
    """Turn OSErrors, or those with an errno in `only`, into an error with a hint."""
    try:
        yield
    except OSError as error:
        if only is not None and error.errno not in only:
            raise
        raise SetupError(
            f"the cache cannot be written: {error.strerror or error}",
            file=path,
            hint="free some space (`assay cache prune --to 1GB`), or set ASSAY_CACHE_DIR to a folder you can write",
        ) from error


@contextmanager
def build_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold an exclusive lock whose file is removed at the end; yield False if another process has it."""
    lock = FileLock(path)
    try:
        yield lock.acquire(wait=wait)
    finally:
        lock.release(remove=True)


@dataclass(frozen=True, slots=True)
class ArtifactKind:
    """A kind of cached data."""

    name: str  # of its directory
    about: str
    anew: str  # the cost of rebuilding it
    artefact: bool = True  # stored in `ArtifactStore` with its limit; others are pruned only when named


CELLS: Final = ArtifactKind("cells", "results of an engine on a gold set", "rerunning the engine")
INDEXES: Final = ArtifactKind("indexes", "third-party indexes, for --reuse-index", "indexing again with the tool")
TABLES: Final = ArtifactKind("tables", "built-in engine's index of a corpus", "parsing the corpus: seconds to minutes")
VECTORS: Final = ArtifactKind("vectors", "vectors of the chunks of a table", "embedding: seconds to hours")
DESCRIPTIONS: Final = ArtifactKind(
    "descriptions", "model-written descriptions of chunks", "asking the model again", artefact=False
)
EMBEDDINGS: Final = ArtifactKind("embeddings", "embedded texts", "embedding them again", artefact=False)
INDEX: Final = ArtifactKind("index", "indexes of folders for `assay search`", "indexing the folder", artefact=False)
MIRRORS: Final = ArtifactKind("mirrors", "clones of git repositories of corpora", "cloning again", artefact=False)
TREES: Final = ArtifactKind("trees", "fetched corpora", "fetching and unpacking again", artefact=False)
SEATS: Final = ArtifactKind("seats", "browsers of reviewers", "signing in again with a code", artefact=False)
UNFINISHED: Final = ArtifactKind(
    "unfinished", "interrupted runs without a results folder", "starting those runs again", artefact=False
)

KINDS: Final = (CELLS, INDEXES, TABLES, VECTORS, DESCRIPTIONS, EMBEDDINGS, INDEX, MIRRORS, TREES, SEATS, UNFINISHED)


VARIABLE: Final = "ASSAY_CACHE_LIMIT"
_SECONDS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_UNITS: Final = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """Size limit of the store and its housekeeping intervals."""

    bytes: int = 10 * 10**9  # a hundred indexes of large repositories with their vectors, or ten million cells
    #: Share of the limit that a process may add before it measures the store, which walks all of it.
    growth: float = 0.02
    #: Share of the limit that pruning leaves, so that the next pruning is not due at once.
    low: float = 0.9
    #: Seconds between updates of the time of use: the order of use is known to the hour, reading stays cheap.
    touch: float = 3600.0
    #: Seconds after which a temporary file is a leftover: no write takes an hour.
    leftover: float = 3600.0

    @classmethod
    def from_environment(cls) -> Self:
        """Return the limits with the size from ASSAY_CACHE_LIMIT, if set."""
        limit = os.environ.get(VARIABLE, "").strip()
        return cls(bytes=parse_size(limit, VARIABLE)) if limit else cls()


def parse_size(text: str, where: str) -> int:
    """Parse a size: 500MB, 2GB, 1.5GiB, or bytes; error messages begin with `where`."""
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kmgt]?)(i?)b?", text.strip().lower())
    if found is None or (found[3] and not found[2]):
        raise ConfigError(f"{where}: expected a size, got {text!r}", hint="such as 500MB, 2GB or 1.5GiB")
    power = "bkmgt".index(found[2] or "b")
    return int(float(found[1]) * (1024**power if found[3] else _UNITS[found[2]]))


def parse_age(text: str, where: str) -> float:
    """Parse an age (30d, 12h, 90m, 45s) into seconds."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([dhms])", text.strip().lower())
    if found is None:
        raise ConfigError(f"{where}: expected an age, got {text!r}", hint="such as 30d, 12h or 90m")
    return float(found[1]) * _SECONDS[found[2]]
