"""Values as JSON can hold them, for every file and every `--json`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass


def plain(value: object) -> object:
    """Make a value JSON can hold in UTF-8, records by field: no number is null, half a character its code."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value


def indented(value: object, pad: str = "\n") -> str:
    """Write a plain value as `json.dumps(value, indent=1, ensure_ascii=False)` does, several times as fast."""
    if isinstance(value, dict) and value:
        inner = f",{pad} ".join([f"{_quoted(key)}: {indented(item, pad + ' ')}" for key, item in value.items()])
        return f"{{{pad} {inner}{pad}}}"
    if isinstance(value, list) and value:
        inner = f",{pad} ".join([indented(item, pad + " ") for item in value])
        return f"[{pad} {inner}{pad}]"
    if isinstance(value, str):
        return _quoted(value)
    return repr(value) if type(value) in (int, float) else _encoded(value)


_quoted = json.encoder.encode_basestring
_encoded = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
