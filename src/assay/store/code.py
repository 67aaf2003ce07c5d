"""Digests of our own code, so that nobody has to remember to raise a number when it changes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable


@cache
def code_digest(*places: str) -> str:
    """Digest the code and queries of modules and folders, named from the package: search/, engines/random.py."""
    home = resources.files("assay")
    digest = hashlib.sha256()
    for place in sorted(places):
        for name, entry in sorted(_sources(home.joinpath(place), place.strip("/")), key=lambda found: found[0]):
            digest.update(name.encode() + b"\0" + entry.read_bytes() + b"\0")
    return digest.hexdigest()


def package_digest() -> str:
    """Digest all code of Assay: who plans work and who does it must have the same."""
    return code_digest(*sorted(entry.name for entry in resources.files("assay").iterdir() if _is_code(entry)))


def _is_code(entry: Traversable) -> bool:
    return entry.name.endswith(".py") or (entry.is_dir() and not entry.name.startswith("_"))


def _sources(place: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    if place.is_file():
        yield name, place
        return
    for entry in place.iterdir():
        inner = f"{name}/{entry.name}"
        if entry.is_dir() and not entry.name.startswith("_"):
            yield from _sources(entry, inner)
        elif entry.name.endswith((".py", ".scm")):
            yield inner, entry
