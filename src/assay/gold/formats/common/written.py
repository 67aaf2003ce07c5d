"""What a writer gives back: the files of a format, and in sentences what the format could not hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.errors import GoldError
from assay.types import Gold

_LONGEST_NAME = 200  # bytes; file systems take 255, and a name that is being written takes some more


@dataclass(frozen=True, slots=True)
class Written:
    """Files by relative POSIX name, and what is not in them, counted and named; nothing lost is an empty tuple."""

    files: Mapping[str, str | bytes] = field(default_factory=dict)
    lost: tuple[str, ...] = ()


def file_name(gold: Gold, suffix: str) -> str:
    """Call the file of a set after the set."""
    name = gold.name + suffix
    hidden = name.startswith(".")  # and with it `.` and `..`
    if hidden or "\0" in name or "\\" in name or len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
        raise GoldError(
            f"'{gold.name}' cannot be the name of a file", file=gold.source, hint="give the set another name"
        )
    return name
