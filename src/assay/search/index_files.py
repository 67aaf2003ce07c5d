"""The folder of an index on disk, and the lock of its writer."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay.corpus.cache import cache_dir
from assay.errors import SetupError
from assay.files import remove_leftovers
from assay.locks import FileLock
from assay.store.paths import INDEX

#: The one file of an index, beside its lock.
FILE_NAME: Final = "index.assay"


def index_dir() -> Path:
    """Return the folder of all indexes."""
    own = os.environ.get("ASSAY_INDEX_DIR")
    return Path(own).expanduser() if own else cache_dir() / INDEX.name


def index_folder(root: Path, shape: str) -> Path:
    """Return the folder of one index; `shape` is a digest of all settings that decide its contents.

    The root counts by its real path, so each work tree of a repository has its own index. 40 characters of its name are
    for people; 80 bits of hash tell folders apart: a million indexes collide once in 10^12.
    """
    real = os.path.realpath(root)
    readable = re.sub(r"[^a-z0-9]+", "-", os.path.basename(real).lower())[:40].strip("-") or "root"
    key = os.fsencode(real) + b"\0" + shape.encode("utf-8")
    return index_dir() / f"{readable}-{hashlib.sha256(key).hexdigest()[:20]}"


def index_file(root: Path, shape: str) -> Path:
    """Return the file of one index."""
    return index_folder(root, shape) / FILE_NAME


@dataclass(frozen=True, slots=True)
class LockTimeout:
    """How long to wait for another writer."""

    #: Indexing the largest known repository (60,000 files) takes a minute or two; after ten the writer hangs.
    seconds: float = 600.0


TIMEOUT: Final = LockTimeout()


@contextmanager
def writer_lock(folder: Path, timeout: LockTimeout = TIMEOUT) -> Iterator[None]:
    """Lock a folder against other writers; the lock ends with its process, and the next writer removes leftovers."""
    lock = FileLock(folder / "lock")
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not lock.acquire(wait=timeout.seconds):
                holder = lock.path.read_text("ascii", "replace").strip()
                raise SetupError(
                    f"another process has been writing this index for {timeout.seconds:g} s",
                    file=folder,
                    hint=f"wait for it, or end it: process {holder}" if holder else "wait for it to end",
                )
            os.ftruncate(lock.handle, 0)
            os.pwrite(lock.handle, str(os.getpid()).encode("ascii"), 0)
            remove_leftovers(folder)
        except OSError as error:  # a full disk, or a network drive without locks
            raise _unusable(folder, error) from error
        yield
    finally:
        lock.release()


def _unusable(folder: Path, error: OSError) -> SetupError:
    return SetupError(
        f"the index cannot be written: {error.strerror or error}",
        file=folder,
        hint="free some space, or set ASSAY_INDEX_DIR to a folder you can write",
    )
