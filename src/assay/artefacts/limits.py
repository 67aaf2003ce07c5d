"""How much may be kept, and how long things may lie about."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final, Self

from assay.errors import ConfigError

#: The environment variable that says how much may be kept.
VARIABLE: Final = "ASSAY_CACHE_LIMIT"
_SECONDS: Final = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_UNITS: Final = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


@dataclass(frozen=True, slots=True)
class Limits:
    """Numbers of the store; none of them decides what is in it, only how long."""

    bytes: int = 10 * 10**9  # a hundred indexes of large repositories with their vectors, or ten million cells
    #: Of the limit: what a process may add before it looks at the sizes of all. A look walks the whole store.
    growth: float = 0.02
    #: Of the limit: how far is pruned when there is too much, so that the next look is not at once too late again.
    low: float = 0.9
    #: Seconds until a use is worth writing down again: who was used last is known to the hour, reading stays cheap.
    touch: float = 3600.0
    #: Seconds after which a temporary file is a leftover: nobody takes an hour to write one.
    leftover: float = 3600.0

    @classmethod
    def wanted(cls) -> Self:
        """Take the limit from the environment, where it says one."""
        said = os.environ.get(VARIABLE, "").strip()
        return cls(bytes=parse_size(said, VARIABLE)) if said else cls()


def parse_size(text: str, where: str) -> int:
    """Read a size: 500MB, 2GB, 1.5GiB, or bytes; `where` begins the message when something is wrong."""
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kmgt]?)(i?)b?", text.strip().lower())
    if found is None or (found[3] and not found[2]):
        raise ConfigError(f"{where}: {text!r} is no size", hint="such as 500MB, 2GB or 1.5GiB")
    power = "bkmgt".index(found[2] or "b")
    return int(float(found[1]) * (1024**power if found[3] else _UNITS[found[2]]))


def parse_age(text: str, where: str) -> float:
    """Read an age in seconds: 30d, 12h, 90m, 45s."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([dhms])", text.strip().lower())
    if found is None:
        raise ConfigError(f"{where}: {text!r} is no age", hint="such as 30d, 12h or 90m")
    return float(found[1]) * _SECONDS[found[2]]
