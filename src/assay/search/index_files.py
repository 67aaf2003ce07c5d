"""An index on disk: where it lives, what its bytes mean, and who may write it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay.corpus.cache import cache_dir
from assay.errors import SetupError
from assay.files import remove_leftovers
from assay.locks import LockFile, let_go, opened
from assay.store.paths import INDEX


@dataclass(frozen=True, slots=True)
class LockTimeout:
    """How long to wait for another writer."""

    #: Indexing the largest repository anybody has (60,000 files) takes a minute or two; ten mean that it hangs.
    seconds: float = 600.0
    #: Between two looks: nobody notices 20 ms beside the time an index takes, and a look costs microseconds.
    tick: float = 0.02


PATIENCE: Final = LockTimeout()

_NAME: Final = "lock"


@contextmanager
def writer_lock(folder: Path, patience: LockTimeout = PATIENCE) -> Iterator[None]:
    """Hold a folder against other writers; the system lets go when the holder dies, and the next one cleans up."""
    held = _opened(folder)
    try:
        _wait(held.handle, folder, patience)
        _settle(held.handle, folder)
        yield
    finally:
        let_go(held)


def _opened(folder: Path) -> LockFile:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return opened(folder / _NAME, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise _unusable(folder, error) from error


def _wait(handle: int, folder: Path, patience: LockTimeout) -> None:
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
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode("ascii"), 0)
        remove_leftovers(folder)
    except OSError as error:
        raise _unusable(folder, error) from error


def _busy(handle: int, folder: Path, patience: LockTimeout) -> SetupError:
    holder = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
    return SetupError(
        f"another process has been writing this index for {patience.seconds:g} s",
        file=folder,
        hint=f"wait for it, or end it: process {holder}" if holder else "wait for it to end",
    )


def _unusable(folder: Path, error: OSError) -> SetupError:
    return SetupError(
        f"the index cannot be written: {error.strerror or error}",
        file=folder,
        hint="free some space, or set ASSAY_INDEX_DIR to a folder you can write",
    )


#: The one file of an index, beside its lock.
FILE_NAME: Final = "index.assay"
#: Enough of a folder's name to know it by; the hash tells folders apart.
_SHOWN: Final = 40
#: 80 bits: a million indexes meet by chance once in 10^12.
_HASHED: Final = 20


def index_dir() -> Path:
    """Find the folder of all indexes."""
    own = os.environ.get("ASSAY_INDEX_DIR")
    return Path(own).expanduser() if own else cache_dir() / INDEX.name


def index_folder(root: Path, shape: str) -> Path:
    """Name the folder of one index; `shape` is a digest of all settings that decide what is in it.

    The root counts by its real path, so the work trees of one repository have an index each.
    """
    real = os.path.realpath(root)
    readable = re.sub(r"[^a-z0-9]+", "-", os.path.basename(real).lower())[:_SHOWN].strip("-") or "root"
    key = os.fsencode(real) + b"\0" + shape.encode("utf-8")
    return index_dir() / f"{readable}-{hashlib.sha256(key).hexdigest()[:_HASHED]}"


def index_file(root: Path, shape: str) -> Path:
    """Name the file of one index."""
    return index_folder(root, shape) / FILE_NAME
