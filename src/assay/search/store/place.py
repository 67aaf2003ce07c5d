"""Where the index of a folder lives: $ASSAY_INDEX_DIR, else the cache, in a folder per root and configuration."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Final

from assay.artefacts.kinds import INDEX
from assay.corpus.cache import cache_dir

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
