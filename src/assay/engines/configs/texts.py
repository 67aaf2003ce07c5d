"""Any other text: `@NAME@` stands for the edit of that name, `@NAME=0.5@` has a value for when there is none."""

from __future__ import annotations

import re
from collections.abc import Mapping

from assay.engines.configs.paths import Path, Tree

_MARK = re.compile(r"@(?P<name>[A-Za-z_][\w.-]*)(?:=(?P<value>[^@\n]*))?@")


def parse(text: str) -> Tree:
    """List the marks of a text with their values."""
    return {match["name"]: match["value"] for match in _MARK.finditer(text)}


def fit(tree: Tree, path: Path) -> Path:  # noqa: ARG001 - formats have one shape
    """Take a key for the name of a mark."""
    return (".".join(path),)


def value(given: object) -> object:
    """Write a value as people do."""
    if isinstance(given, list | dict) or given is None:
        raise ValueError("a mark stands for a text, a number, true or false")
    return str(given).lower() if isinstance(given, bool) else str(given)


def edited(text: str, tree: Tree, changes: Mapping[Path, object]) -> str:  # noqa: ARG001 - formats have one shape
    """Put values in the place of marks; one without any value is an error."""

    def said(match: re.Match[str]) -> str:
        found = changes.get((match["name"],), match["value"])
        if found is None:
            raise ValueError(f"@{match['name']}@ has no value; give it one in edits, or write @{match['name']}=...@")
        return str(found)

    return _MARK.sub(said, text)
