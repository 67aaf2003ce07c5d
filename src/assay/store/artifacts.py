"""The store: small things read and written whole, folders made once by whoever comes first."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final, Self

from assay.corpus.cache import cache_dir
from assay.locks import LockFile, let_go
from assay.store.locks import build_lock, shared_lock
from assay.store.maintenance import DiskUsage, PruneResult, prune, remove_broken, usage
from assay.store.manifests import add_checksum, make_manifest, read_manifest, same_bytes, same_sizes, verify_checksum
from assay.store.paths import EntryPath, StoreLimits, made_by_another, place_of, remove, write_atomic, writing

#: Folders that this process has looked through to the last bit, by address and manifest.
_verified: Final[set[tuple[str, str]]] = set()
#: The file whose age tells when somebody last looked at the sizes of all.
_LOOKED: Final = ".looked"


class ArtifactStore:
    """A store of one folder, safe against other processes, against being killed and against bad disks.

    What `obtain` gave is held, so that no pruning takes it, until `release`, `close`, or the end of this object.
    """

    def __init__(self, root: Path | None = None, limits: StoreLimits | None = None) -> None:
        self.root = cache_dir() / "artefacts" if root is None else root
        self.limits = StoreLimits.wanted() if limits is None else limits
        self.troubles: list[str] = []  # what was found broken, in sentences
        self._held: dict[EntryPath, LockFile] = {}
        self._grown = 0
        self._end = weakref.finalize(self, _let_all_go, self._held)

    def __reduce__(self) -> tuple[object, ...]:
        """Travel to another process as an address."""
        return (ArtifactStore, (self.root, self.limits))

    def __enter__(self) -> Self:
        """Be used for a while."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of everything."""
        self.close()

    def has(self, kind: str, key: str) -> bool:
        """Tell whether something is there; whether it is whole shows when it is used."""
        place = place_of(self.root, kind, key)
        return place.path.is_file() or place.finished.is_file()

    def read(self, kind: str, key: str) -> bytes | None:
        """Give a small thing; None when it is not there, or was broken and is now removed."""
        place = place_of(self.root, kind, key)
        try:
            with open(place.path, "rb") as stream:
                sealed, used = stream.read(), os.fstat(stream.fileno()).st_mtime
        except OSError:
            return None
        data = verify_checksum(place.name, sealed)
        if data is None:
            self._trouble(place, "is broken; it is removed")
            with suppress(OSError):
                remove(self.root, place.path)
            return None
        self._touch(place.path, used)
        return data

    def write(self, kind: str, key: str, data: bytes) -> None:
        """Keep a small thing, whole or not at all."""
        place = place_of(self.root, kind, key)
        with writing(place.path):
            write_atomic(self.root, place.path, add_checksum(place.name, data))
            self._grow(len(data))

    def obtain(self, kind: str, key: str, make: Callable[[Path], None]) -> Path:
        """Give a folder, made once: `make` fills it where it lies, whoever else wants it waits.

        It is looked through to the last bit when this process first opens it; a broken one is made anew.
        """
        place = place_of(self.root, kind, key)
        while (found := self._found(place)) is None:
            with writing(place.path):
                place.lock.parent.mkdir(parents=True, exist_ok=True)
            with ExitStack() as held:
                with writing(place.lock):
                    held.enter_context(build_lock(place.lock))
                found = self._found(place) or self._made(place, make)
                if found is not None:
                    return found
        return found

    def release(self, kind: str, key: str) -> None:
        """Let a folder be pruned again; what is mapped into memory stays readable all the same."""
        held = self._held.pop(place_of(self.root, kind, key), None)
        if held is not None:
            let_go(held)

    def close(self) -> None:
        """Let go of everything that was obtained."""
        _let_all_go(self._held)

    def usage(self) -> tuple[DiskUsage, ...]:
        """Say of each kind how much there is and when it was used."""
        return usage(self.root)

    def prune(
        self,
        most_bytes: int | None = None,
        older_than: float | None = None,
        kinds: tuple[str, ...] = (),
        *,
        dry_run: bool = False,
    ) -> PruneResult:
        """Remove what was not used for `older_than` seconds, then the least recently used until the rest fits.

        Without either the limit of the store counts. What somebody holds stays.
        """
        if most_bytes is None and older_than is None:
            most_bytes = self.limits.bytes
        with writing(self.root):
            return prune(self.root, most_bytes, older_than, kinds, leftover=self.limits.leftover, dry_run=dry_run)

    def verify(self) -> tuple[str, ...]:
        """Look through everything to the last bit and remove what is broken; its addresses are given back."""
        with writing(self.root):
            return remove_broken(self.root)

    def _found(self, place: EntryPath) -> Path | None:
        held = shared_lock(place.finished)
        if held is None:
            return None
        if not self._is_whole(place, held.handle):
            let_go(held)
            self._trouble(place, "is broken; it is made anew")
            return None
        before = self._held.pop(place, None)
        self._held[place] = held
        if before is not None:
            let_go(before)
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
        except OSError:  # a file is missing, or the disk cannot read it
            return False
        if whole:
            _verified.add((str(place.path), manifest.id))
        return whole

    def _made(self, place: EntryPath, make: Callable[[Path], None]) -> Path | None:
        with writing(place.path):
            remove(self.root, place.path)
            place.content.mkdir(parents=True)
        try:
            with made_by_another(place.path):
                make(place.content)
            with writing(place.path):
                manifest = make_manifest(place.content)
                write_atomic(self.root, place.finished, manifest.sealed(place.name))
        except BaseException:
            with suppress(OSError):
                remove(self.root, place.path)
            raise
        _verified.add((str(place.path), manifest.id))
        found = self._found(place)
        self._grow(manifest.size)
        return found

    def _touch(self, path: Path, used: float) -> None:
        if time.time() - used >= self.limits.touch:
            with suppress(OSError):  # a store that is only read keeps its dates
                os.utime(path)

    def _grow(self, size: int) -> None:
        first = not self._grown
        self._grown += size + 1
        if self._grown < self.limits.growth * self.limits.bytes and not (first and self._is_long_ago()):
            return
        self._grown = 1
        with suppress(OSError):  # pruning is a service; what was kept is kept
            (self.root / _LOOKED).touch()
            low = int(self.limits.low * self.limits.bytes)
            prune(self.root, low, None, (), leftover=self.limits.leftover, above=self.limits.bytes)

    def _is_long_ago(self) -> bool:
        try:
            return time.time() - (self.root / _LOOKED).stat().st_mtime >= self.limits.leftover
        except OSError:
            return True

    def _trouble(self, place: EntryPath, what: str) -> None:
        sentence = f"{place.path} {what}"
        if sentence not in self.troubles:
            self.troubles.append(sentence)


def _let_all_go(held: dict[EntryPath, LockFile]) -> None:
    while held:
        let_go(held.popitem()[1])
