"""Read a gold file as text, with an error that says which line is not text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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
    limits = limits or SourceLimits()
    place = Place(str(path))
    try:
        size = path.stat().st_size
        if size > limits.bytes:
            raise place.error(f"the file has {size} bytes; a gold file has at most {limits.bytes}", "split the set")
        raw = path.read_bytes()
    except OSError as error:
        raise place.error(f"cannot be read: {error.strerror or error}", "check the path") from error
    return Source(path, decode(raw, place))


def decode(raw: bytes, place: Place) -> str:
    """Decode UTF-8, or name the line of the first byte that is not."""
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise Place(place.file, line).error(
            f"byte 0x{raw[error.start]:02x} is not UTF-8", "save the file as UTF-8"
        ) from error
