"""File locks between processes; a lock is released when its process dies, even if forks of the process still run."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

#: Seconds between attempts to acquire a lock with a timeout; an attempt takes microseconds.
_TICK: Final = 0.02


class FileLock:
    """A lock (flock) on a file or directory, exclusive or shared.

    An exclusive lock creates a missing file unless `create` is False; a shared lock needs an existing file.
    """

    def __init__(self, path: Path, *, shared: bool = False, create: bool = True) -> None:
        self.path = path
        self.handle = -1  # of the open file; -1 while the lock is not held
        self._shared = shared
        self._create = create and not shared

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def acquire(self, *, wait: bool | float = True) -> bool:
        """Return whether the file was locked; `wait` is a timeout in seconds, True for none, or False to try once.

        On a file system without locks, a shared lock succeeds; an exclusive lock raises OSError or, if tried once,
        returns False.
        """
        kind = fcntl.LOCK_SH if self._shared else fcntl.LOCK_EX
        if wait is not True:
            kind |= fcntl.LOCK_NB
        end = time.monotonic() + wait
        while True:
            flags = os.O_RDONLY if self._shared or self.path.is_dir() else os.O_RDWR
            self.handle = os.open(self.path, flags | (os.O_CREAT if self._create and flags else 0), 0o666)
            _held.add(self)
            try:
                fcntl.flock(self.handle, kind)
            except BlockingIOError:
                self.release()
                if time.monotonic() >= end:
                    return False
                time.sleep(_TICK)
                continue
            except OSError:
                if self._shared:
                    return True  # a file system without locks: no other process can lock the file exclusively
                self.release()
                if not wait:
                    return False
                raise
            except BaseException:
                self.release()
                raise
            with suppress(OSError):
                if os.path.samestat(os.stat(self.path), os.fstat(self.handle)):
                    return True
            self.release()  # the file was removed or replaced after it was opened
            if not self._create:
                return False

    def release(self, *, remove: bool = False) -> None:
        if self not in _held:
            return
        if remove:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
        _held.discard(self)
        os.close(self.handle)
        self.handle = -1


@contextmanager
def temporary_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Yield whether an exclusive lock was acquired; if so, release the lock and remove its file at the end."""
    lock = FileLock(path)
    try:
        yield lock.acquire(wait=wait)
    finally:
        lock.release(remove=True)


#: Locks of this process. A forked child closes them; otherwise it would hold them after its parent was killed.
_held: Final[set[FileLock]] = set()


def _release_in_child() -> None:
    for lock in _held:
        with suppress(OSError):
            os.close(lock.handle)
    _held.clear()


os.register_at_fork(after_in_child=_release_in_child)
