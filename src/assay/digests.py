"""Reproducible SHA-256 digests of values, and of Assay's code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path


def digest_of(value: object) -> str:
    """Return the digest of a JSON value; other objects in the value are converted with `str`."""
    return text_digest(json.dumps(value, sort_keys=True, ensure_ascii=True, default=str))


def text_digest(text: str) -> str:
    return bytes_digest(text.encode("utf-8", "surrogatepass"))


def bytes_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@cache
def code_digest(*paths: str) -> str:
    """Return one digest of modules and packages of Assay (`engines/python.py`, `search/`) with their .scm files."""
    home = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(paths):
        for name, entry in sorted(_sources(home.joinpath(path), path.strip("/")), key=lambda source: source[0]):
            digest.update(name.encode() + b"\0" + entry.read_bytes() + b"\0")
    return digest.hexdigest()


def package_digest() -> str:
    """Return the digest of all code of Assay, which must be the same in a run and its workers."""
    entries = Path(__file__).parent.iterdir()
    code = (e.name for e in entries if e.name.endswith(".py") or (e.is_dir() and not e.name.startswith("_")))
    return code_digest(*sorted(code))


def _sources(source: Path, name: str) -> Iterator[tuple[str, Path]]:
    if source.is_file():
        yield name, source
        return
    for entry in source.iterdir():
        inner = f"{name}/{entry.name}"
        if entry.is_dir() and not entry.name.startswith("_"):
            yield from _sources(entry, inner)
        elif entry.name.endswith((".py", ".scm")):
            yield inner, entry
