"""How much there is of what, and which of it goes: the least recently used first, never what somebody holds."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assay.store.locks import build_lock, exclusive_lock
from assay.store.manifests import read_manifest, same_bytes, verify_checksum
from assay.store.paths import EntryPath, remove, writing


@dataclass(frozen=True, slots=True)
class DiskUsage:
    """How much there is of a kind, and when the things of it were used: seconds since 1970."""

    kind: str
    entries: int
    bytes: int
    oldest: float
    newest: float


@dataclass(frozen=True, slots=True)
class PruneResult:
    """What a pruning took away."""

    entries: int = 0
    bytes: int = 0
    held: int = 0  # would have gone, but somebody uses them
    left: int = 0  # bytes that stay, of the kinds that were asked for


@dataclass(frozen=True, slots=True)
class StoreEntry:
    """A thing in the store."""

    place: EntryPath
    bytes: int
    used: float
    finished: bool  # a folder that nobody finished is a leftover, unless somebody is at it


def usage(root: Path) -> tuple[DiskUsage, ...]:
    """Add up the store by kind."""
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
    """Remove what is too old, then what is too much; `above` is how much must be there for that."""
    now = time.time()
    found = [entry for entry in entries(root) if not kinds or entry.place.kind in kinds]
    left = sum(entry.bytes for entry in found)
    most = left if most_bytes is None or left <= (most_bytes if above is None else above) else most_bytes
    gone = size = held = 0
    for entry in sorted(found, key=lambda entry: (entry.finished, entry.used, entry.place.kind, entry.place.name)):
        old = older_than is not None and now - entry.used >= older_than
        if entry.finished and not old and left <= most:
            continue
        if not dry_run and not _removed(entry):
            held += entry.finished
            continue
        gone, size, left = gone + 1, size + entry.bytes, left - entry.bytes
    if not dry_run:
        _sweep(root, now - leftover)
    return PruneResult(gone, size, held, left)


def remove_broken(root: Path) -> tuple[str, ...]:
    """Check every thing to the last bit and remove those that are broken; those that somebody holds are named too."""
    broken = []
    for entry in entries(root):
        if entry.finished and not _is_whole(entry.place):
            broken.append(f"{entry.place.kind}/{entry.place.name[:2]}/{entry.place.name}")
            _removed(entry)
    return tuple(broken)


def entries(root: Path) -> Iterator[StoreEntry]:
    """List everything; what goes away while we look was not there."""
    for kind in _listed(root):
        if kind.name.startswith(".") or not kind.is_dir():
            continue
        for part in _listed(Path(kind.path)):
            for one in _listed(Path(part.path)):
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


def _removed(entry: StoreEntry) -> bool:
    place = entry.place
    if place.path.is_file():
        remove(place.root, place.path)
        return True
    place.lock.parent.mkdir(parents=True, exist_ok=True)
    with build_lock(place.lock, wait=False) as ours:
        if not ours:
            return False
        try:
            with exclusive_lock(place.finished) as unused:
                if unused:
                    remove(place.root, place.path)
                return unused
        except FileNotFoundError:  # never finished, and nobody is at it
            remove(place.root, place.path)
            return True


def _is_whole(place: EntryPath) -> bool:
    try:
        if not place.path.is_dir():
            return verify_checksum(place.name, place.path.read_bytes()) is not None
        manifest = read_manifest(place.name, place.finished.read_bytes())
        return manifest is not None and same_bytes(place.content, manifest)
    except OSError:
        return not place.path.exists()


def _sweep(root: Path, before: float) -> None:
    for one in _listed(root / ".tmp"):
        with suppress(OSError):
            if one.stat(follow_symlinks=False).st_mtime < before:
                remove(root, Path(one.path))


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []


@dataclass(frozen=True, slots=True)
class _Thing:
    """A file or folder of such a folder."""

    path: Path
    bytes: int
    used: float  # when it was last written to; nobody writes down when these are read


@dataclass(frozen=True, slots=True)
class ExternalCache:
    """A folder whose members can each be made or fetched again."""

    kind: str
    folder: Path

    def usage(self) -> DiskUsage | None:
        """Say how much there is; None when there is nothing."""
        found = self._things()
        dates = [one.used for one in found]
        return (
            DiskUsage(self.kind, len(found), sum(one.bytes for one in found), min(dates), max(dates)) if found else None
        )

    def prune(self, most_bytes: int | None, older_than: float | None, *, dry_run: bool = False) -> PruneResult:
        """Remove what is old, then the oldest until the rest fits. Who uses a member is not known here."""
        now, found = time.time(), self._things()
        left = sum(one.bytes for one in found)
        most = left if most_bytes is None else most_bytes
        gone = size = 0
        for one in sorted(found, key=lambda one: (one.used, one.path)):
            if left > most or (older_than is not None and now - one.used >= older_than):
                gone, size, left = gone + 1, size + one.bytes, left - one.bytes
                if not dry_run:
                    with writing(one.path):
                        remove(self.folder, one.path)
        with suppress(OSError):
            (self.folder / ".tmp").rmdir()
        return PruneResult(gone, size, 0, left)

    def _things(self) -> list[_Thing]:
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return []
        return [_thing(self.folder / name) for name in names if not name.startswith(".")]


def _thing(path: Path) -> _Thing:
    below = [Path(folder, name) for folder, _, names in os.walk(path) for name in names]
    files = below if path.is_dir() else [path]
    size, used = 0, 0.0
    for file in files or [path]:
        with suppress(OSError):
            facts = file.lstat()
            size, used = size + (facts.st_size if files else 0), max(used, facts.st_mtime)
    return _Thing(path, size, used)
