from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.files import read_utf8
from assay.records import dataclass

_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class TomlFile:
    path: Path
    text: str = field(repr=False)
    data: dict[str, Any]


def read_toml(path: Path, *, hint: str = "check the path") -> TomlFile:
    import tomllib

    text = read_utf8(path, ConfigError, hint=hint)
    try:
        return TomlFile(path, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"line (\d+)", str(error))
        line = int(match.group(1)) if match else len(text.rstrip().splitlines())  # an error at the end has no line
        raise ConfigError(f"invalid TOML: {error}", file=path, line=line, hint="correct the TOML syntax") from error


def find_line(text: str, dotted: str) -> int | None:
    """Return the line number of the first header or key that has this dotted name or is below it, or None."""
    dotted = _plain(dotted)
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            name = table = _plain(header.group(1))
        elif key := _KEY.match(line):
            name = ".".join(filter(None, (table, _plain(key.group(1)))))
        else:
            continue
        if name == dotted or name.startswith(f"{dotted}."):
            return number
    return None


def _plain(name: str) -> str:
    return re.sub(r"[\"'\s]", "", name)


def write_value(value: object) -> str:
    """Format a value as TOML; raise ConfigError for values that TOML cannot express, such as None."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # JSON strings are TOML strings except for DEL, which TOML requires to be escaped
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(write_value, value))}]"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{write_key([str(key)])} = {write_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, float):
        return "nan" if math.isnan(value) else repr(float(value))
    if isinstance(value, int):
        return repr(value)
    raise ConfigError(f"cannot write {value!r} as TOML", hint="use a string, number, boolean, list or table")


def write_key(names: Iterable[str]) -> str:
    return ".".join(name if _BARE.fullmatch(name) else write_value(name) for name in names)
