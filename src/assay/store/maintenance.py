"""Disk usage and pruning: least recently used entries first, never entries in use."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assay.locks import FileLock
from assay.store.manifests import read_manifest, same_bytes, verify_checksum
from assay.store.paths import EntryPath, build_lock, remove, writing


@dataclass(frozen=True, slots=True)
class DiskUsage:
    """Number, size and times of use (seconds since 1970) of the entries of a kind."""

    kind: str
    entries: int
    bytes: int
    oldest: float
    newest: float


@dataclass(frozen=True, slots=True)
class PruneResult:
    """The outcome of a pruning."""

    entries: int = 0
    bytes: int = 0
    held: int = 0  # not removed because they are in use
    left: int = 0  # remaining bytes of the selected kinds


@dataclass(frozen=True, slots=True)
class StoreEntry:
    """An entry with its size and last use."""

    place: EntryPath
    bytes: int
    used: float
    finished: bool  # an unfinished directory is a leftover, unless a process is building it


def usage(root: Path) -> tuple[DiskUsage, ...]:
    """Return the disk usage of each kind."""
    by_kind: dict[str, list[StoreEntry]] = {}
    for entry in entries(root):
        by_kind.setdefault(entry.place.kind, []).append(entry)
    return tuple(
        DiskUsage(kind, len(of), sum(one.bytes for one in of), min(one.used for one in of), max(one.used for one in of))
        for kind, of in sorted(by_kind.items())
    )


def prune(
    root: Path,
    most_bytes: int | None,
    older_than: float | None,
    kinds: tuple[str, ...],
    *,
    leftover: float,
    above: int | None = None,
    dry_run: bool = False,
) -> PruneResult:
    """Remove old entries, then the least recently used down to `most_bytes` if there are more than `above` bytes."""
    now = time.time()
    found = [entry for entry in entries(root) if not kinds or entry.place.kind in kinds]
    left = sum(entry.bytes for entry in found)
    most = left if most_bytes is None or left <= (most_bytes if above is None else above) else most_bytes
    gone = size = held = 0
    for entry in sorted(found, key=lambda entry: (entry.finished, entry.used, entry.place.kind, entry.place.name)):
        old = older_than is not None and now - entry.used >= older_than
        if entry.finished and not old and left <= most:
            continue
        if not dry_run and not _remove_unused(entry):
            held += entry.finished
            continue
        gone, size, left = gone + 1, size + entry.bytes, left - entry.bytes
    for one in () if dry_run else _scan(root / ".tmp"):
        with suppress(OSError):
            if one.stat(follow_symlinks=False).st_mtime < now - leftover:
                remove(root, Path(one.path))
    return PruneResult(gone, size, held, left)


def remove_broken(root: Path) -> tuple[str, ...]:
    """Check every entry byte by byte, remove broken ones not in use, and return the paths of all broken ones."""
    broken = []
    for entry in entries(root):
        if entry.finished and not _is_whole(entry.place):
            broken.append(f"{entry.place.kind}/{entry.place.name[:2]}/{entry.place.name}")
            _remove_unused(entry)
    return tuple(broken)


def entries(root: Path) -> Iterator[StoreEntry]:
    """Yield all entries; those that vanish meanwhile are left out."""
    for kind in _scan(root):
        if kind.name.startswith(".") or not kind.is_dir():
            continue
        for part in _scan(Path(kind.path)):
            for one in _scan(Path(part.path)):
                with suppress(OSError):
                    yield _entry(EntryPath(root, kind.name, one.name), one)


def _entry(place: EntryPath, found: os.DirEntry[str]) -> StoreEntry:
    facts = found.stat()
    if not found.is_dir():
        return StoreEntry(place, facts.st_size, facts.st_mtime, finished=True)
    try:
        sealed, used = place.finished.read_bytes(), place.finished.stat().st_mtime
    except OSError:
        return StoreEntry(place, _weight(place.path), facts.st_mtime, finished=False)
    manifest = read_manifest(place.name, sealed)
    size = _weight(place.content) if manifest is None else manifest.size
    return StoreEntry(place, size + len(sealed), used, finished=True)


def _weight(folder: Path) -> int:
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(path, name)).st_size
    return total


def _remove_unused(entry: StoreEntry) -> bool:
    place = entry.place
    if place.path.is_file():
        remove(place.root, place.path)
        return True
    place.lock.parent.mkdir(parents=True, exist_ok=True)
    with build_lock(place.lock, wait=False) as ours:
        if not ours:
            return False
        users = FileLock(place.finished, create=False)
        try:
            if not users.acquire(wait=False):
                return False
        except FileNotFoundError:
            pass  # never finished, and no process is building it
        try:
            remove(place.root, place.path)
        finally:
            users.release()
        return True


def _is_whole(place: EntryPath) -> bool:
    try:
        if not place.path.is_dir():
            return verify_checksum(place.name, place.path.read_bytes()) is not None
        manifest = read_manifest(place.name, place.finished.read_bytes())
        return manifest is not None and same_bytes(place.content, manifest)
    except OSError:
        return not place.path.exists()


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []


@dataclass(frozen=True, slots=True)
class ExternalCache:
    """A cache directory outside the store, whose members can each be rebuilt or fetched again."""

    kind: str
    folder: Path

    def usage(self) -> DiskUsage | None:
        """Return the disk usage; None when the cache is empty."""
        found = self._members()
        if not found:
            return None
        dates = [used for used, _, _ in found]
        return DiskUsage(self.kind, len(found), sum(size for _, _, size in found), min(dates), max(dates))

    def prune(self, most_bytes: int | None, older_than: float | None, *, dry_run: bool = False) -> PruneResult:
        """Remove old members, then the oldest until the rest fits; members in use are not detected."""
        now, found = time.time(), self._members()
        left = sum(size for _, _, size in found)
        most = left if most_bytes is None else most_bytes
        gone = removed = 0
        for used, path, size in sorted(found):
            if left > most or (older_than is not None and now - used >= older_than):
                gone, removed, left = gone + 1, removed + size, left - size
                if not dry_run:
                    with writing(path):
                        remove(self.folder, path)
        with suppress(OSError):
            (self.folder / ".tmp").rmdir()
        return PruneResult(gone, removed, 0, left)

    def _members(self) -> list[tuple[float, Path, int]]:
        # (last write, path, size); reads are not recorded
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return []
        return [_member(self.folder / name) for name in names if not name.startswith(".")]


def _member(path: Path) -> tuple[float, Path, int]:
    below = [Path(folder, name) for folder, _, names in os.walk(path) for name in names]
    files = below if path.is_dir() else [path]
    size, used = 0, 0.0
    for file in files or [path]:
        with suppress(OSError):
            facts = file.lstat()
            size, used = size + (facts.st_size if files else 0), max(used, facts.st_mtime)
    return used, path, size
