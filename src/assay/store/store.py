"""The store: small values, directories that are built once, and workspaces with one writer."""

from __future__ import annotations

import os
import shutil
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Final, Self

from assay.errors import SetupError
from assay.files import remove_leftovers
from assay.locks import FileLock
from assay.store.entries import (
    DISK_ERRORS,
    EntryPath,
    add_checksum,
    build_lock,
    entry_name,
    make_manifest,
    read_manifest,
    remove,
    replace_entry,
    verify_checksum,
    wrap_disk_errors,
)
from assay.store.kinds import INDEX, KINDS, LIMITED, StoreLimits, cache_dir
from assay.store.maintenance import DiskUsage, PruneResult, iter_entries, measure_usage, prune, sweep, verify

#: Directories that this process has verified byte by byte, by path and manifest id.
_verified: Final[set[tuple[str, str]]] = set()
#: The mtime of this file is the time when the total size was last measured.
_MEASURED: Final = ".measured"
#: Seconds to wait for the writer of a workspace: indexing the largest known repository (60,000 files) takes a minute or
#: two; a writer that takes ten minutes probably hangs.
_WRITER_SECONDS: Final = 600.0


class Store:
    """A cache in one directory that tolerates concurrent processes, killed processes and damaged files.

    Directories returned by `directory` and `find` are not pruned until `release`, `close`, or the deletion of the
    store object.
    """

    def __init__(self, root: Path | None = None, limits: StoreLimits | None = None) -> None:
        self.root = cache_dir() if root is None else root
        self._limits = limits
        self.troubles: list[str] = []  # messages about damaged entries
        self._held: dict[EntryPath, FileLock] = {}
        self._grown = 0
        self._end = weakref.finalize(self, _release_all, self._held)

    @cached_property
    def limits(self) -> StoreLimits:
        return StoreLimits.from_environment() if self._limits is None else self._limits

    def __reduce__(self) -> tuple[object, ...]:
        return (Store, (self.root, self.limits))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def has(self, kind: str, key: str) -> bool:
        location = self._place(kind, key)
        return location.path.is_file() or location.finished.is_file()

    def get(self, kind: str, key: str) -> bytes | None:
        """Return a value, or None if the value is missing; a damaged value is removed and counts as missing."""
        location = self._place(kind, key)
        try:
            with open(location.path, "rb") as stream:
                sealed, used = stream.read(), os.fstat(stream.fileno()).st_mtime
        except OSError:
            return None
        data = verify_checksum(location.name, sealed)
        if data is None:
            self._note(location, "is damaged and was removed")
            with suppress(OSError):
                remove(self.root, location.path)
            return None
        self._touch(location.path, used)
        return data

    def put(self, kind: str, key: str, data: bytes) -> None:
        location = self._place(kind, key)
        with wrap_disk_errors(location.path):
            replace_entry(self.root, location.path, add_checksum(location.name, data))
            self._grow(kind, len(data))

    def directory(self, kind: str, key: str, make: Callable[[Path], None], *, check: bool = True) -> Path:
        """Return the directory of an entry; if it is missing or damaged, `make` fills it while other processes wait.

        With `check`, files are verified by hash at their first use in a process, and by size afterwards.
        """
        location = self._place(kind, key)
        while (directory := self._find(location, check=check)) is None:
            with ExitStack() as stack:
                with wrap_disk_errors(location.lock):
                    stack.enter_context(build_lock(location.lock))
                directory = self._find(location, check=check) or self._make(location, make)
                if directory is not None:
                    return directory
        return directory

    def find(self, kind: str, key: str, *, check: bool = True) -> Path | None:
        """Return the directory of an entry, verified as by `directory`, or None if it is missing or damaged."""
        return self._find(self._place(kind, key), check=check)

    def contents(self, kind: str, key: str) -> Mapping[str, str] | None:
        """Return the manifest of a directory if it has one: path -> "file SIZE SHA256", "link TARGET" or "folder"."""
        location = self._place(kind, key)
        with suppress(OSError):
            if manifest := read_manifest(location.name, location.finished.read_bytes()):
                return manifest.entries
        return None

    def remove(self, kind: str, key: str) -> None:
        """Remove a value or directory, even if it is in use."""
        with wrap_disk_errors(self.root):
            remove(self.root, self._place(kind, key).path)

    def release(self, kind: str, key: str) -> None:
        """Allow pruning of a directory; files that are mapped into memory stay readable."""
        if lock := self._held.pop(self._place(kind, key), None):
            lock.release()

    def close(self) -> None:
        _release_all(self._held)

    def path(self, kind: str, key: str, label: str = "") -> Path:
        """Return the directory of a workspace, which may not exist yet.

        With a `label`, the directory name consists of the label and 80 bits of the hash.
        """
        name = entry_name(kind, key)
        return self.kind_dir(kind) / (f"{label}-{name[:20]}" if label else name)

    @contextmanager
    def workspace(self, kind: str, key: str) -> Iterator[Path]:
        path = self.path(kind, key)
        with writer_lock(path):
            yield path

    @contextmanager
    def temporary(self, key: str, *, wait: bool = True) -> Iterator[Path | None]:
        """Yield an empty directory whose path depends only on the key, and remove it at the end.

        While another process uses the directory, wait; without `wait`, yield None.
        """
        name = entry_name("temporary", key)
        path = self.root / ".tmp" / name
        with ExitStack() as stack:
            with wrap_disk_errors(path):
                sweep(self.root, self.limits.leftover)
                ours = stack.enter_context(build_lock(self.root / ".locks" / name, wait=wait))
                if ours:
                    remove(self.root, path)  # of a killed process
                    path.mkdir(mode=0o700, parents=True)
                    stack.callback(shutil.rmtree, path, ignore_errors=True)
            yield path if ours else None

    def usage(self) -> tuple[DiskUsage, ...]:
        return measure_usage(self._roots())

    def prune(
        self,
        most_bytes: int | None = None,
        older_than: float | None = None,
        kinds: Collection[str] = (),
        *,
        above: int | None = None,
        dry_run: bool = False,
    ) -> PruneResult:
        """Remove entries unused for `older_than` seconds, then the least recently used above `most_bytes`.

        Without `most_bytes` and `older_than`, the size limit applies. Without `kinds`, all kinds with a size limit are
        pruned. The other arguments are those of `maintenance.prune`.
        """
        if most_bytes is None and older_than is None:
            most_bytes = self.limits.bytes
        entries = iter_entries(self._roots(kinds or _LIMITED))
        with wrap_disk_errors(self.root):
            done = prune(self.root, entries, most_bytes, older_than, above=above, dry_run=dry_run)
            if not dry_run:
                sweep(self.root, self.limits.leftover)
        return done

    def verify(self) -> tuple[str, ...]:
        """Verify values and directories by checksum, remove damaged ones unless in use, and return their paths."""
        with wrap_disk_errors(self.root):
            return tuple(verify(self.root, iter_entries(self._roots())))

    def kind_dir(self, kind: str) -> Path:
        """Return the directory of a kind; indexes for `assay search` are in $ASSAY_INDEX_DIR if that is set."""
        own = os.environ.get("ASSAY_INDEX_DIR") if kind == INDEX.name else None
        return Path(own).expanduser() if own else self.root / kind

    def _roots(self, kinds: Collection[str] = ()) -> dict[str, Path]:
        return {kind.name: self.kind_dir(kind.name) for kind in KINDS if not kinds or kind.name in kinds}

    def _place(self, kind: str, key: str) -> EntryPath:
        return EntryPath(self.root, kind, entry_name(kind, key))

    def _find(self, location: EntryPath, *, check: bool) -> Path | None:
        lock = FileLock(location.finished, shared=True)
        try:
            if not lock.acquire(wait=False):
                return None
        except OSError:
            return None
        try:
            manifest = read_manifest(location.name, os.pread(lock.handle, os.fstat(lock.handle).st_size, 0))
            known = (str(location.path), manifest.id if manifest else "")
            whole = manifest and (not check or manifest.matches(location.content, hashed=known not in _verified))
        except OSError:  # a file is missing or unreadable
            whole = False
        if not whole:
            lock.release()
            self._note(location, "is damaged and will be rebuilt")
            return None
        if check:
            _verified.add(known)
        if before := self._held.pop(location, None):
            before.release()
        self._held[location] = lock
        self._touch(location.finished, os.fstat(lock.handle).st_mtime)
        return location.content

    def _make(self, location: EntryPath, make: Callable[[Path], None]) -> Path | None:
        with wrap_disk_errors(location.path):
            remove(self.root, location.path)
            location.content.mkdir(parents=True)
        try:
            with wrap_disk_errors(location.path, only=DISK_ERRORS):  # `make` raises other errors
                make(location.content)
            with wrap_disk_errors(location.path):
                manifest = make_manifest(location.content)
                replace_entry(self.root, location.finished, manifest.serialize(location.name))
        except BaseException:
            with suppress(OSError):
                remove(self.root, location.path)
            raise
        _verified.add((str(location.path), manifest.id))
        directory = self._find(location, check=False)
        self._grow(location.kind, manifest.size)
        return directory

    def _touch(self, path: Path, used: float) -> None:
        if time.time() - used >= self.limits.touch:
            with suppress(OSError):  # a read-only store
                os.utime(path)

    def _grow(self, kind: str, size: int) -> None:
        if kind not in _LIMITED:
            return
        first = not self._grown
        self._grown += size + 1
        measured = self.root / _MEASURED
        if self._grown < self.limits.growth * self.limits.bytes:
            if not first:
                return
            with suppress(OSError):
                if not measured.exists():  # a new store has nothing to prune
                    measured.touch()
                if time.time() - measured.stat().st_mtime < self.limits.leftover:
                    return
        self._grown = 1
        with suppress(OSError, SetupError):  # the value is stored even if pruning fails
            measured.touch()
            self.prune(int(self.limits.low * self.limits.bytes), above=self.limits.bytes)

    def _note(self, location: EntryPath, message: str) -> None:
        sentence = f"{location.path} {message}"
        if sentence not in self.troubles:
            self.troubles.append(sentence)


_LIMITED: Final = frozenset(kind.name for kind in LIMITED)


def _release_all(locks: dict[EntryPath, FileLock]) -> None:
    while locks:
        locks.popitem()[1].release()


@contextmanager
def writer_lock(
    directory: Path, seconds: float = _WRITER_SECONDS, what: str = "cache", variable: str = "ASSAY_CACHE_DIR"
) -> Iterator[None]:
    """Lock a directory against other writers and remove leftovers; raise SetupError after waiting for `seconds`."""
    lock = FileLock(directory / "lock")
    try:
        try:
            while True:
                directory.mkdir(parents=True, exist_ok=True)
                with suppress(FileNotFoundError):  # another process pruned the directory
                    ours = lock.acquire(wait=seconds)
                    break
            if not ours:
                holder = lock.path.read_text("ascii", "replace").strip()
                hint = f"wait for process {holder} or stop it" if holder else "wait for the other process to finish"
                message = f"cannot lock the {what} within {seconds:g} s: another process is writing"
                raise SetupError(message, file=directory, hint=hint)
            os.ftruncate(lock.handle, 0)
            os.pwrite(lock.handle, str(os.getpid()).encode("ascii"), 0)
            remove_leftovers(directory)
        except OSError as error:  # a full disk, or a network drive without locks
            hint = f"free disk space or set {variable} to a writable directory"
            raise SetupError(
                f"cannot write the {what}: {error.strerror or error}", file=directory, hint=hint
            ) from error
        yield
    finally:
        lock.release()
