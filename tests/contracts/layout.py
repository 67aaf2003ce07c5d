"""JSON for recorded files: short records stay on one line, so that a diff shows the whole record that changed."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.contracts.snapshot import rounded

WIDTH = 200


def laid_out(value: object, width: int = WIDTH) -> str:
    """Format a JSON value with sorted keys; a value that fits the width stays on one line."""
    return _laid(rounded(value), "", width)


def _laid(value: object, indent: str, width: int) -> str:
    line = json.dumps(value, ensure_ascii=False, sort_keys=True)
    if len(line) + len(indent) <= width or not isinstance(value, dict | list) or not value:
        return line
    deeper = indent + " "
    if isinstance(value, Mapping):
        items = [f"{deeper}{json.dumps(key)}: {_laid(item, deeper, width)}" for key, item in sorted(value.items())]
        return "{\n" + ",\n".join(items) + "\n" + indent + "}"
    return "[\n" + ",\n".join(deeper + _laid(item, deeper, width) for item in value) + "\n" + indent + "]"
