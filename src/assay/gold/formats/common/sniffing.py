"""What a file looks like, told from its text alone: a broken file still looks like its format and gets its error."""

from __future__ import annotations

import re

from assay.gold.source import Source

_FIRST = re.compile(r"\S")


def opening(source: Source) -> str:
    """Give the first character that is not blank; a data set is large, so nothing of it is copied."""
    match = _FIRST.search(source.text)
    return match[0] if match else ""


def json_has(source: Source, brackets: str, *keys: str) -> bool:
    """Tell whether a text begins as JSON with one of the brackets and has all of the keys, at whatever depth.

    Inside a JSON text a quote is escaped, so a query that speaks of a key is not taken for one.
    """
    return opening(source) in tuple(brackets) and all(_has_key(source, key) for key in keys)


def yaml_has(source: Source, *keys: str) -> bool:
    """Tell whether a text has all of the keys at its left margin, or as JSON, or as the first of a flow mapping."""
    if opening(source) in ("{", "["):
        return all(_has_key(source, key) or re.match(rf"\s*\{{\s*['\"]?{key}['\"]?\s*:", source.text) for key in keys)
    return all(re.search(rf"""^["']?{key}["']?\s*:""", source.text, re.MULTILINE) for key in keys)


def _has_key(source: Source, key: str) -> bool:
    """Find `"key":`."""
    return re.search(rf'"{re.escape(key)}"\s*:', source.text) is not None
