"""Columns and document ids of TREC files."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Container, Iterable
from functools import lru_cache
from pathlib import PurePosixPath
from urllib.parse import quote, unquote

from assay.types import Hit

#: Prefix of the last column of a run that Assay wrote.
TAG = "assay:"
#: Characters to escape: column separators, terminal controls, and the escape character.
_ESCAPED = re.compile("[\\s%\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def to_column(text: str) -> str:
    """Escape whitespace, control characters and `%`, so that a text is one column; an empty text becomes `%`."""
    return _ESCAPED.sub(lambda found: quote(found[0], safe="", errors="surrogatepass"), text) or "%"


def from_column(text: str) -> str:
    return "" if text == "%" else unquote(text, errors="surrogatepass")


@lru_cache(maxsize=10_000)  # the same files are in many rankings
def path_column(path: str) -> str:
    """Escape a path for one column; its colons too, since a colon separates path and lines."""
    return to_column(path).replace(":", "%3A")


def to_docno(hit: Hit) -> str:
    path = path_column(hit.path)
    return path if hit.start is None else f"{path}:{hit.start}-{hit.end}"


_STEP = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]|^[.-]|\.\Z")
_LONGEST = 100  # characters of a name: file systems allow 255 bytes
_LONGEST_PATH = 400  # and of a path: some systems allow 1,024 bytes including parent directories
_DIGITS = 16  # hexadecimal digits of the hash that distinguishes clashing names


def document_paths(ids: Iterable[str]) -> dict[str, str]:
    """Map document ids to paths that are unique even ignoring case; no path is a parent directory of another."""
    names = {name: document_path(name) for name in ids}
    hashed: set[str] = set()
    while True:  # repeated, since an id may equal the new path of another
        files = Counter(path.casefold() for path in names.values())
        directories = {str(above) for path in files for above in PurePosixPath(path).parents}
        folded = {name: path.casefold() for name, path in names.items() if name not in hashed}
        clash = {name for name, path in folded.items() if files[path] > 1 or path in directories}
        if not clash:
            return names
        names |= {name: _add_hash(name) for name in clash}
        hashed |= clash


def document_path(name: str) -> str:
    """Return the path of a document id: the id, or an encoded or hashed name if the id is not a portable path."""
    steps = name.split("/")
    if len(name) <= _LONGEST_PATH and all(len(step) <= _LONGEST and _STEP.fullmatch(step) for step in steps):
        return name
    encoded = _percent_encode(name)
    return encoded if len(encoded) <= _LONGEST else _add_hash(name)


def find_document(name: str, paths: Container[str]) -> str | None:
    return next((path for path in (name, document_path(name), _add_hash(name)) if path in paths), None)


def _percent_encode(name: str) -> str:
    def percent(match: re.Match[str]) -> str:
        return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))

    return _UNSAFE.sub(percent, name)


def _add_hash(name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{_percent_encode(name)[:_LONGEST]}-{digest}"
