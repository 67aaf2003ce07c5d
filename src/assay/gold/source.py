"""Read a gold file as text, with an error that says which line is not text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.errors import GoldError
from assay.files import read_utf8
from assay.gold.place import Place


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """How much of a gold file is read."""

    bytes: int = 32_000_000  # some 50,000 five-layer queries; beyond it a file is not a gold set somebody wrote


@dataclass(frozen=True, slots=True)
class Source:
    """A gold file and what it says."""

    path: Path
    text: str

    def at(self, line: int | None = None) -> Place:
        """Point to a line of it."""
        return Place(str(self.path), line)


def read_source(path: Path, limits: SourceLimits | None = None) -> Source:
    """Read a UTF-8 file, byte order mark dropped."""
    most, size = (limits or SourceLimits()).bytes, _size(path)
    if size > most:
        raise GoldError(f"the file has {size} bytes; a gold file has at most {most}", file=path, hint="split the set")
    return Source(path, read_utf8(path, GoldError))


def _size(path: Path) -> int:
    """Look how large a file is; one that cannot be looked at is refused by the read that follows."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
