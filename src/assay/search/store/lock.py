"""One writer at a time. Readers need no lock: a file that is replaced whole is old or new, never in between."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay.errors import EnvironmentFailure
from assay.files import remove_leftovers
from assay.locks import Held, let_go, opened


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for another writer."""

    #: Indexing the largest repository anybody has (60,000 files) takes a minute or two; ten mean that it hangs.
    seconds: float = 600.0
    #: Between two looks: nobody notices 20 ms beside the time an index takes, and a look costs microseconds.
    tick: float = 0.02


PATIENCE: Final = Patience()

_NAME: Final = "lock"


@contextmanager
def writer_lock(folder: Path, patience: Patience = PATIENCE) -> Iterator[None]:
    """Hold a folder against other writers; the system lets go when the holder dies, and the next one cleans up."""
    held = _opened(folder)
    try:
        _wait(held.handle, folder, patience)
        _settle(held.handle, folder)
        yield
    finally:
        let_go(held)


def _opened(folder: Path) -> Held:
    """Open the file that is locked; it is never removed, since somebody may be waiting for it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return opened(folder / _NAME, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise _unusable(folder, error) from error


def _wait(handle: int, folder: Path, patience: Patience) -> None:
    """Wait for the lock."""
    end = time.monotonic() + patience.seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise _busy(handle, folder, patience) from None
            time.sleep(patience.tick)
        except OSError as error:  # a network drive without locks
            raise _unusable(folder, error) from error
        else:
            return


def _settle(handle: int, folder: Path) -> None:
    """Write down who holds the lock, and remove what killed writers left: now nobody writes but us."""
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode("ascii"), 0)
        remove_leftovers(folder)
    except OSError as error:
        raise _unusable(folder, error) from error


def _busy(handle: int, folder: Path, patience: Patience) -> EnvironmentFailure:
    """Say who has held the lock for too long."""
    holder = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
    return EnvironmentFailure(
        f"another process has been writing this index for {patience.seconds:g} s",
        file=folder,
        hint=f"wait for it, or end it: process {holder}" if holder else "wait for it to end",
    )


def _unusable(folder: Path, error: OSError) -> EnvironmentFailure:
    """Say that the folder is no place for an index."""
    return EnvironmentFailure(
        f"the index cannot be written: {error.strerror or error}",
        file=folder,
        hint="free some space, or set ASSAY_INDEX_DIR to a folder you can write",
    )
