"""Files that are open for a lock. The system lets go when their process dies, also when children of it live on."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final


class LockFile:
    """A file that is open for its lock; one that a parent holds is nothing in its child."""

    __slots__ = ("handle",)

    def __init__(self, handle: int) -> None:
        self.handle = handle


#: What this process holds. A child made by fork would go on holding it after its parent was killed.
_held: Final[set[LockFile]] = set()


def opened(path: Path, flags: int) -> LockFile:
    """Open a file for locking."""
    held = LockFile(os.open(path, flags, 0o666))
    _held.add(held)
    return held


def let_go(held: LockFile) -> None:
    """Give up what is held, if it is ours."""
    if held in _held:
        _held.discard(held)
        os.close(held.handle)


def _leave_to_parent() -> None:
    for held in _held:
        with suppress(OSError):
            os.close(held.handle)
    _held.clear()


os.register_at_fork(after_in_child=_leave_to_parent)
