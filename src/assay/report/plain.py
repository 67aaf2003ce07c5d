"""Values as JSON can hold them, for every file and every `--json`."""

from __future__ import annotations

import math
from collections.abc import Mapping


def plain(value: object) -> object:
    """Make a value JSON can hold in UTF-8: a number that does not exist is null, half a character its code."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
