"""File names for documents that have ids of their own, as those of BEIR and TREC sets.

An id that can be a relative path is one, so that run files of other tools name the same document. Any other is
percent-encoded: `a:b` is the file `a%3Ab`.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from pathlib import PurePosixPath

_STEP = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]|^[.-]|\.\Z")
_LONGEST = 100  # characters of a name: file systems end at 255 bytes
_LONGEST_PATH = 400  # and of a path: some end at 1,024 bytes, with the folders above
_DIGITS = 16  # of the hash that tells apart names which would be the same


def document_paths(ids: Iterable[str]) -> dict[str, str]:
    """Return the file of each document; names differ where case is ignored, and none is a folder of another."""
    names = {name: document_path(name) for name in ids}
    apart: set[str] = set()
    while clash := _clashing(names) - apart:  # again, since an id may be the very name that another was given
        names |= {name: _hashed(name) for name in clash}
        apart |= clash
    return names


def document_path(name: str) -> str:
    """Return the file of a document whose name clashes with no other."""
    steps = name.split("/")
    if len(name) <= _LONGEST_PATH and all(len(step) <= _LONGEST and _STEP.fullmatch(step) for step in steps):
        return name
    encoded = _encoded(name)
    return encoded if len(encoded) <= _LONGEST else _hashed(name)


def find_document(name: str, paths: Container[str]) -> str | None:
    """Return the file of a document among those of a corpus."""
    return next((path for path in (name, document_path(name), _hashed(name)) if path in paths), None)


def _encoded(name: str) -> str:
    return _UNSAFE.sub(lambda found: _percent(found[0].encode("utf-8", "surrogatepass")), name)


def _percent(data: bytes) -> str:
    return "".join(f"%{byte:02X}" for byte in data)


def _hashed(name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{_encoded(name)[:_LONGEST]}-{digest}"


def _clashing(names: Mapping[str, str]) -> set[str]:
    """Return the ids whose files would be one, or lie in one."""
    files = Counter(path.casefold() for path in names.values())
    folders = {str(above) for path in files for above in PurePosixPath(path).parents}
    return {name for name, path in names.items() if files[path.casefold()] > 1 or path.casefold() in folders}
