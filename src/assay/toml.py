"""TOML files whose mistakes have a line: tomllib reads the values but gives no positions."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.files import read_utf8

_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")


@dataclass(frozen=True, slots=True)
class TomlFile:
    """What a file says, and its text to find the lines in."""

    path: Path
    text: str = field(repr=False)
    data: dict[str, Any]


def read_toml(path: Path, *, hint: str = "check the path") -> TomlFile:
    """Read a TOML file; what is not TOML is an error with its line."""
    text = read_utf8(path, ConfigError, hint=hint)
    try:
        return TomlFile(path, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        line = int(found.group(1)) if found else None
        raise ConfigError(f"not TOML: {error}", file=path, line=line, hint="fix the syntax at that line") from error


def line_of(text: str, dotted: str) -> int | None:
    """Find the line of a table or key, or else of the first thing inside it."""
    for number, name in _names(text):
        if name == dotted or name.startswith(f"{dotted}."):
            return number
    return None


def _names(text: str) -> Iterator[tuple[int, str]]:
    """List tables and keys by their whole dotted name, with the line each begins at."""
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _plain(header.group(1))
            yield number, table
        elif key := _KEY.match(line):
            yield number, ".".join(filter(None, (table, _plain(key.group(1)))))


def _plain(name: str) -> str:
    """Write a dotted name without quotes and blanks."""
    return re.sub(r"[\"'\s]", "", name)
