"""The store of artifacts: small values, and directories that are built once."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final, Self

from assay.corpus.cache import cache_dir
from assay.locks import FileLock
from assay.store.maintenance import DiskUsage, PruneResult, prune, remove_broken, usage
from assay.store.manifests import add_checksum, make_manifest, read_manifest, same_bytes, same_sizes, verify_checksum
from assay.store.paths import (
    DISK_ERRORS,
    EntryPath,
    StoreLimits,
    build_lock,
    entry_path,
    remove,
    write_atomic,
    writing,
)

#: Directories that this process has verified byte by byte, by path and manifest id.
_verified: Final[set[tuple[str, str]]] = set()
#: The mtime of this file is the time of the last look at the total size.
_LAST_LOOK: Final = ".looked"


class ArtifactStore:
    """A store in one directory, safe against concurrent processes, kills and damaged disks.

    Directories from `obtain` are locked against pruning until `release`, `close`, or the end of this object.
    """

    def __init__(self, root: Path | None = None, limits: StoreLimits | None = None) -> None:
        self.root = cache_dir() / "artefacts" if root is None else root
        self.limits = StoreLimits.from_environment() if limits is None else limits
        self.troubles: list[str] = []  # broken entries that were found, as sentences
        self._held: dict[EntryPath, FileLock] = {}
        self._grown = 0
        self._end = weakref.finalize(self, _release_all, self._held)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without locks."""
        return (ArtifactStore, (self.root, self.limits))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def has(self, kind: str, key: str) -> bool:
        """Return whether an entry exists, without checking it."""
        place = entry_path(self.root, kind, key)
        return place.path.is_file() or place.finished.is_file()

    def read(self, kind: str, key: str) -> bytes | None:
        """Return a value; None when it is missing, or was broken and is now removed."""
        place = entry_path(self.root, kind, key)
        try:
            with open(place.path, "rb") as stream:
                sealed, used = stream.read(), os.fstat(stream.fileno()).st_mtime
        except OSError:
            return None
        data = verify_checksum(place.name, sealed)
        if data is None:
            self._note(place, "is broken; it is removed")
            with suppress(OSError):
                remove(self.root, place.path)
            return None
        self._touch(place.path, used)
        return data

    def write(self, kind: str, key: str, data: bytes) -> None:
        """Store a value atomically."""
        place = entry_path(self.root, kind, key)
        with writing(place.path):
            write_atomic(self.root, place.path, add_checksum(place.name, data))
            self._grow(len(data))

    def obtain(self, kind: str, key: str, make: Callable[[Path], None]) -> Path:
        """Return a directory, filled once by `make` while other processes wait.

        This process verifies it byte by byte on first use; a broken one is built again.
        """
        place = entry_path(self.root, kind, key)
        while (found := self._find(place)) is None:
            with writing(place.path):
                place.lock.parent.mkdir(parents=True, exist_ok=True)
            with ExitStack() as held:
                with writing(place.lock):
                    held.enter_context(build_lock(place.lock))
                found = self._find(place) or self._make(place, make)
                if found is not None:
                    return found
        return found

    def release(self, kind: str, key: str) -> None:
        """Allow pruning of a directory; mapped files stay readable."""
        held = self._held.pop(entry_path(self.root, kind, key), None)
        if held is not None:
            held.release()

    def close(self) -> None:
        """Release every directory."""
        _release_all(self._held)

    def usage(self) -> tuple[DiskUsage, ...]:
        """Return the disk usage of each kind."""
        return usage(self.root)

    def prune(
        self,
        most_bytes: int | None = None,
        older_than: float | None = None,
        kinds: tuple[str, ...] = (),
        *,
        dry_run: bool = False,
    ) -> PruneResult:
        """Remove entries unused for `older_than` seconds, then the least recently used down to `most_bytes`.

        Without either, the limit of the store applies. Entries in use stay.
        """
        if most_bytes is None and older_than is None:
            most_bytes = self.limits.bytes
        with writing(self.root):
            return prune(self.root, most_bytes, older_than, kinds, leftover=self.limits.leftover, dry_run=dry_run)

    def verify(self) -> tuple[str, ...]:
        """Check every entry byte by byte, remove broken ones and return their paths."""
        with writing(self.root):
            return remove_broken(self.root)

    def _find(self, place: EntryPath) -> Path | None:
        held = FileLock(place.finished, shared=True)
        try:
            if not held.acquire(wait=False):
                return None
        except OSError:
            return None
        if not self._is_whole(place, held.handle):
            held.release()
            self._note(place, "is broken; it is rebuilt")
            return None
        before = self._held.pop(place, None)
        self._held[place] = held
        if before is not None:
            before.release()
        self._touch(place.finished, os.fstat(held.handle).st_mtime)
        return place.content

    def _is_whole(self, place: EntryPath, handle: int) -> bool:
        try:
            manifest = read_manifest(place.name, os.pread(handle, os.fstat(handle).st_size, 0))
            if manifest is None:
                return False
            if (str(place.path), manifest.id) in _verified:
                return same_sizes(place.content, manifest)
            whole = same_bytes(place.content, manifest)
        except OSError:  # a file is missing or unreadable
            return False
        if whole:
            _verified.add((str(place.path), manifest.id))
        return whole

    def _make(self, place: EntryPath, make: Callable[[Path], None]) -> Path | None:
        with writing(place.path):
            remove(self.root, place.path)
            place.content.mkdir(parents=True)
        try:
            with writing(place.path, only=DISK_ERRORS):  # other errors are those of `make`
                make(place.content)
            with writing(place.path):
                manifest = make_manifest(place.content)
                write_atomic(self.root, place.finished, manifest.serialize(place.name))
        except BaseException:
            with suppress(OSError):
                remove(self.root, place.path)
            raise
        _verified.add((str(place.path), manifest.id))
        found = self._find(place)
        self._grow(manifest.size)
        return found

    def _touch(self, path: Path, used: float) -> None:
        if time.time() - used >= self.limits.touch:
            with suppress(OSError):  # a read-only store
                os.utime(path)

    def _grow(self, size: int) -> None:
        first = not self._grown
        self._grown += size + 1
        last_look = self.root / _LAST_LOOK
        if self._grown < self.limits.growth * self.limits.bytes:
            if not first:
                return
            with suppress(OSError):
                if time.time() - last_look.stat().st_mtime < self.limits.leftover:
                    return
        self._grown = 1
        with suppress(OSError):  # the value is stored even if pruning fails
            last_look.touch()
            low = int(self.limits.low * self.limits.bytes)
            prune(self.root, low, None, (), leftover=self.limits.leftover, above=self.limits.bytes)

    def _note(self, place: EntryPath, what: str) -> None:
        sentence = f"{place.path} {what}"
        if sentence not in self.troubles:
            self.troubles.append(sentence)


def _release_all(held: dict[EntryPath, FileLock]) -> None:
    while held:
        held.popitem()[1].release()
