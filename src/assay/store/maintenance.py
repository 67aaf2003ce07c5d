from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from assay.locks import FileLock
from assay.records import dataclass
from assay.store.entries import EntryPath, build_lock, read_manifest, remove, verify_checksum
from assay.store.kinds import KINDS, TREES

_BY_NAME: Final = {kind.name: kind for kind in KINDS}
_NAME: Final = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class DiskUsage:
    kind: str
    entries: int
    bytes: int
    oldest: float
    newest: float


@dataclass(frozen=True, slots=True)
class PruneResult:
    entries: int = 0
    bytes: int = 0
    held: int = 0  # not removed because they are in use
    left: int = 0  # remaining bytes of the selected kinds


@dataclass(frozen=True, slots=True)
class StoreEntry:
    kind: str
    path: Path
    bytes: int
    used: float
    place: EntryPath | None = None  # None for workspaces
    finished: bool = True  # an unfinished directory is a leftover, unless a process is building it


def measure_usage(roots: Mapping[str, Path]) -> tuple[DiskUsage, ...]:
    by_kind = {kind: list(iter_entries({kind: path})) for kind, path in sorted(roots.items())}
    return tuple(
        DiskUsage(kind, len(found), sum(e.bytes for e in found), min(e.used for e in found), max(e.used for e in found))
        for kind, found in by_kind.items()
        if found
    )


def prune(
    root: Path,
    entries: Iterable[StoreEntry],
    most_bytes: int | None,
    older_than: float | None,
    *,
    above: int | None,
    dry_run: bool,
) -> PruneResult:
    """Remove entries unused for `older_than` seconds, then the least recently used until at most `most_bytes` remain.

    With `above`, the size is reduced only if it exceeds `above` bytes. Unfinished entries are always removed;
    entries that a process builds or uses never are. `dry_run` removes nothing.
    """
    now, all_entries = time.time(), list(entries)
    left = sum(entry.bytes for entry in all_entries)
    most = left if most_bytes is None or left <= (most_bytes if above is None else above) else most_bytes
    removed = size = held = 0
    for entry in sorted(all_entries, key=lambda entry: (entry.finished, entry.used, entry.kind, entry.path.name)):
        old = older_than is not None and now - entry.used >= older_than
        if entry.finished and not old and left <= most:
            continue
        if not dry_run and not _remove_unused(root, entry):
            held += entry.finished
            continue
        removed, size, left = removed + 1, size + entry.bytes, left - entry.bytes
    return PruneResult(removed, size, held, left)


def verify(root: Path, entries: Iterable[StoreEntry]) -> Iterator[str]:
    """Verify values and directories by checksum, remove damaged ones unless in use, and yield all damaged paths."""
    for entry in entries:
        if entry.place is not None and entry.finished and not is_whole(entry.place):
            _remove_unused(root, entry)
            yield entry.path.relative_to(root).as_posix()


def sweep(root: Path, leftover: float) -> None:
    """Remove temporary directories of killed processes and temporary files older than `leftover` seconds."""
    for entry in _scan(root / ".tmp"):
        with suppress(OSError):
            if _NAME.fullmatch(entry.name):
                with build_lock(root / ".locks" / entry.name, wait=False) as free:
                    if free:
                        remove(root, Path(entry.path))
            elif entry.stat(follow_symlinks=False).st_mtime < time.time() - leftover:
                remove(root, Path(entry.path))


def iter_entries(roots: Mapping[str, Path]) -> Iterator[StoreEntry]:
    """Yield all entries of the kinds in `roots`; skip entries that another process removes at the same time."""
    for kind, directory in roots.items():
        if _BY_NAME[kind].workspace:
            paths = (Path(entry.path) for entry in _scan(directory) if not entry.name.startswith("."))
            yield from (StoreEntry(kind, path, *_measure(path)) for path in paths)
            continue
        for member in (member for part in _scan(directory) for member in _scan(part.path)):
            with suppress(OSError):
                if _NAME.fullmatch(member.name):
                    yield _entry(EntryPath(directory.parent, kind, member.name), member)


def _entry(location: EntryPath, entry: os.DirEntry[str]) -> StoreEntry:
    status = entry.stat()
    if not entry.is_dir():
        return StoreEntry(location.kind, location.path, status.st_size, status.st_mtime, location)
    try:
        sealed, used = location.finished.read_bytes(), location.finished.stat().st_mtime
    except OSError:
        size, _ = _measure(location.path)
        return StoreEntry(location.kind, location.path, size, status.st_mtime, location, finished=False)
    manifest = read_manifest(location.name, sealed)
    size = _measure(location.content)[0] if manifest is None else manifest.size
    return StoreEntry(location.kind, location.path, size + len(sealed), used, location)


def _measure(path: Path) -> tuple[int, float]:
    size, used = 0, 0.0
    files = [Path(parent, name) for parent, _, names in os.walk(path) for name in names]
    for file in files or [path]:
        with suppress(OSError):
            status = file.lstat()
            size, used = size + (0 if file.is_dir() else status.st_size), max(used, status.st_mtime)
    return size, used


def _remove_unused(root: Path, entry: StoreEntry) -> bool:
    """Remove an entry; return False if a process is building or using the entry."""
    with ExitStack() as stack:
        if entry.path.is_dir():
            if entry.place and not stack.enter_context(build_lock(entry.place.lock, wait=False)):
                return False
            users = FileLock(entry.place.finished if entry.place else entry.path / "lock", create=False)
            stack.callback(users.release)
            with suppress(FileNotFoundError):  # the directory was never finished
                if not users.acquire(wait=False):
                    return False
        remove(root, entry.path)
    return True


def is_whole(location: EntryPath) -> bool:
    try:
        if not location.path.is_dir():
            return verify_checksum(location.name, location.path.read_bytes()) is not None
        manifest = read_manifest(location.name, location.finished.read_bytes())
        extensible = location.kind == TREES.name  # engines may leave files in fetched trees
        return manifest is not None and manifest.matches(location.content, hashed=True, extensible=extensible)
    except OSError:
        return not location.path.exists()


def _scan(directory: Path | str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as iterator:
            return sorted(iterator, key=lambda entry: entry.name)
    except OSError:
        return []
