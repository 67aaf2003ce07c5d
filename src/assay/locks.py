"""File locks between processes. The system releases them when their process dies, even if its forks live on."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Final


class FileLock:
    """A lock (flock) on a file, exclusive or shared.

    An exclusive lock creates its file unless `create` is False; a shared lock needs an existing file.
    """

    def __init__(self, path: Path, *, shared: bool = False, create: bool = True) -> None:
        self.path = path
        self.handle = -1  # of the open file; -1 while the lock is not held
        self._shared = shared
        self._create = create and not shared

    def acquire(self, *, wait: bool = True) -> bool:
        """Lock the file; return False if it is locked by others and `wait` is False, or is being removed.

        Raise OSError when the file cannot be opened.
        """
        flags = os.O_RDONLY if self._shared else os.O_RDWR | (os.O_CREAT if self._create else 0)
        kind = fcntl.LOCK_SH if self._shared else fcntl.LOCK_EX
        while True:
            self.handle = os.open(self.path, flags, 0o666)
            _held.add(self)
            try:
                fcntl.flock(self.handle, kind if wait else kind | fcntl.LOCK_NB)
            except OSError as error:
                if self._shared and not isinstance(error, BlockingIOError):
                    return True  # a drive without locks: no other process can lock it exclusively
                self.release()
                if wait:
                    raise
                return False
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
        """Release the lock if this process holds it; `remove` deletes the file first."""
        if self not in _held:
            return
        if remove:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
        _held.discard(self)
        os.close(self.handle)
        self.handle = -1


#: Locks of this process. A forked child would keep them after its parent was killed, so it closes them.
_held: Final[set[FileLock]] = set()


def _release_in_child() -> None:
    for lock in _held:
        with suppress(OSError):
            os.close(lock.handle)
    _held.clear()


os.register_at_fork(after_in_child=_release_in_child)


# search/index_files.py still uses these three names.
LockFile = FileLock


def opened(path: Path, flags: int) -> FileLock:
    """Open a file for locking."""
    lock = FileLock(path)
    lock.handle = os.open(path, flags, 0o666)
    _held.add(lock)
    return lock


def let_go(lock: FileLock) -> None:
    """Release a lock."""
    lock.release()
