"""Who is making what, and who is using it. The system lets go of both when the process dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.locks import LockFile, let_go, opened


@contextmanager
def build_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the right to make something against all others; False when somebody has it and we do not wait."""
    held = _locked(path, wait)
    try:
        yield held is not None
    finally:
        if held is not None:
            with suppress(OSError):  # whoever waits for it sees that it is gone, and begins anew
                path.unlink(missing_ok=True)
            let_go(held)


def _locked(path: Path, wait: bool) -> LockFile | None:
    while True:
        held = opened(path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(held.handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            let_go(held)
            return None
        except BaseException:
            let_go(held)
            raise
        if _is_there(held, path):
            return held
        let_go(held)


def shared_lock(path: Path) -> LockFile | None:
    """Hold a file that says that something is finished, with others who use it; None when it is being removed."""
    try:
        held = opened(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(held.handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        let_go(held)
        return None
    except OSError:
        return held  # a drive without locks: nothing is pruned from it either
    if not _is_there(held, path):
        let_go(held)
        return None
    return held


@contextmanager
def exclusive_lock(path: Path) -> Iterator[bool]:
    """Tell whether nobody uses a finished thing; until the end of the block nobody begins to."""
    held = opened(path, os.O_RDWR)  # a network drive wants the right to write for a lock against all
    try:
        try:
            fcntl.flock(held.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield _is_there(held, path)
    finally:
        let_go(held)


def _is_there(held: LockFile, path: Path) -> bool:
    with suppress(OSError):
        there, ours = os.stat(path), os.fstat(held.handle)
        return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)
    return False
