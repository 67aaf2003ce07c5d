"""The directory of an index on disk, and the lock of its writer."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import Final

from assay.store import Store
from assay.store.kinds import INDEX
from assay.store.store import writer_lock as lock_directory

#: The one file of an index, beside its lock.
FILE_NAME: Final = "index.assay"
#: Locks the directory of an index against other writers.
writer_lock: Final = partial(lock_directory, what="index", variable="ASSAY_INDEX_DIR")


def index_dir() -> Path:
    """Return the directory of all indexes."""
    return Store().kind_dir(INDEX.name)


def index_folder(root: Path, shape: str) -> Path:
    """Return the directory of one index; `shape` is a digest of all settings that decide its contents.

    The root counts by its real path, so each work tree of a repository has its own index.
    """
    real = os.path.realpath(root)
    label = re.sub(r"[^a-z0-9]+", "-", os.path.basename(real).lower())[:40].strip("-") or "root"
    return Store().path(INDEX.name, f"{real}\0{shape}", label)


def index_file(root: Path, shape: str) -> Path:
    """Return the file of one index."""
    return index_folder(root, shape) / FILE_NAME
