"""File names for engines: any name becomes one, the same in every run, and no two share one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from assay.digests import text_digest

_LONGEST = 100  # characters; file systems take 255 bytes, and a name that is being written takes some more
_DIGITS = 6  # of the hash; among hundreds of engines with one plain name it tells all apart


def file_names(names: Iterable[str]) -> dict[str, str]:
    """Give every name its file name, without a suffix; those that differ only in case are told apart by their hash."""
    known = tuple(names)
    folded = Counter(name.casefold() for name in known)
    return {name: _file_name(name, alone=folded[name.casefold()] == 1) for name in known}


def _file_name(name: str, *, alone: bool) -> str:
    """Keep what every file system takes; where something is lost, the hash of the whole name says what it was."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:_LONGEST].strip("-.") or "engine"
    digest = text_digest(name)[:_DIGITS]
    return plain if plain == name and alone else f"{plain}-{digest}"
