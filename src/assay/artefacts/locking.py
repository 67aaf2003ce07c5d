"""Who is making what, and who is using it. The system lets go of both when the process dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

#: What this process holds. A child made by fork would go on holding it after its parent was killed.
_held: Final[set[int]] = set()


@contextmanager
def making(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the right to make something against all others; False when somebody has it and we do not wait."""
    handle = _locked(path, wait)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            with suppress(OSError):  # whoever waits for it sees that it is gone, and begins anew
                path.unlink(missing_ok=True)
            let_go(handle)


def _locked(path: Path, wait: bool) -> int | None:
    """Lock a file of this name; one that was removed while we waited is not it."""
    while True:
        handle = _opened(path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            let_go(handle)
            return None
        except BaseException:
            let_go(handle)
            raise
        if _is_there(handle, path):
            return handle
        let_go(handle)


def use(path: Path) -> int | None:
    """Hold a file that says that something is finished, with others who use it; None when it is being removed."""
    try:
        handle = _opened(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        let_go(handle)
        return None
    except OSError:
        return handle  # a drive without locks: nothing is pruned from it either
    if not _is_there(handle, path):
        let_go(handle)
        return None
    return handle


@contextmanager
def alone(path: Path) -> Iterator[bool]:
    """Tell whether nobody uses a finished thing; until the end of the block nobody begins to."""
    handle = _opened(path, os.O_RDWR)  # a network drive wants the right to write for a lock against all
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield _is_there(handle, path)
    finally:
        let_go(handle)


def let_go(handle: int) -> None:
    """Give up what is held."""
    _held.discard(handle)
    os.close(handle)


def _opened(path: Path, flags: int) -> int:
    """Open a file for locking."""
    handle = os.open(path, flags, 0o666)
    _held.add(handle)
    return handle


def _is_there(handle: int, path: Path) -> bool:
    """Tell whether a path still leads to the file that was opened."""
    with suppress(OSError):
        there, ours = os.stat(path), os.fstat(handle)
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)
    return False


def _leave_to_parent() -> None:
    """Close in a forked child what only the parent holds; the parent's locks stay."""
    for handle in sorted(_held):
        with suppress(OSError):
            os.close(handle)
    _held.clear()


os.register_at_fork(after_in_child=_leave_to_parent)
