"""Which cells belong to which part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from assay.errors import ConfigError

T = TypeVar("T")
_HINT = "write I/N, such as 1/4, 2/4, 3/4 and 4/4 for four parts"


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """One of several parts; the first is 1."""

    index: int
    of: int

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"


def parse_shard(text: str) -> Shard:
    """Read I/N."""
    found = re.fullmatch(r"(\d+)/(\d+)", text.strip(), re.ASCII)
    if not found:
        raise ConfigError(f"--shard {text}: that is no part of a run", hint=_HINT)
    shard = Shard(int(found[1]), int(found[2]))
    if not 1 <= shard.index <= shard.of:
        wrong = (
            "parts are counted from 1" if shard.index < 1 or shard.of < 1 else f"{shard.index} is more than {shard.of}"
        )
        raise ConfigError(f"--shard {text}: {wrong}", hint=_HINT)
    return shard


def choose(cells: Sequence[T], shard: Shard) -> tuple[T, ...]:
    """Take a part of a plan's cells: neighbours, because they share a corpus; no part has two more than another."""
    begin = len(cells) * (shard.index - 1) // shard.of
    return tuple(cells[begin : len(cells) * shard.index // shard.of])
