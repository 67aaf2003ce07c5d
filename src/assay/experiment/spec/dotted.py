"""Settings named by dotted keys, as TOML writes them: `search.stem.files`, `config.edits."a.b"`."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache, reduce
from typing import Any

from assay.errors import ConfigError
from assay.settings import merge

_BARE = re.compile(r"[A-Za-z0-9_-]+")


@lru_cache(maxsize=4096)
def parts(key: str) -> tuple[str, ...]:
    """Split a dotted key; a part with a dot of its own stands in quotes."""
    try:
        table: Any = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        raise ConfigError(
            f"{key!r} is no dotted setting", hint="write it like search.stem.files; other characters go in quotes"
        ) from None
    found = []
    while isinstance(table, dict) and len(table) == 1:
        name, table = next(iter(table.items()))
        found.append(name)
    if table != 0:  # a line break in the key has made two of it
        raise ConfigError(f"{key!r} is no dotted setting", hint="write it like search.stem.files")
    return tuple(found)


def joined(names: tuple[str, ...]) -> str:
    """Write the parts of a key as one."""
    return ".".join(name if _BARE.fullmatch(name) else _quoted(name) for name in names)


def _quoted(name: str) -> str:
    """Write a part in quotes; JSON's are TOML's but for one character, which TOML wants escaped."""
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """Name everything in a table by its whole dotted key; what is said twice is refused."""
    found: dict[tuple[str, ...], Any] = {}
    for key, value in table.items():
        for names, leaf in _leaves(parts(key), value):
            inside = [other for other in found if other[: len(names)] == names or names[: len(other)] == other]
            if inside:
                raise ConfigError(f"{joined(names)} is set twice", hint="say each setting once")
            found[names] = leaf
    return {joined(names): leaf for names, leaf in found.items()}


def _leaves(names: tuple[str, ...], value: object) -> Iterator[tuple[tuple[str, ...], object]]:
    """List what a table and the tables in it say; an empty one is a value."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves((*names, key), inner)
    else:
        yield names, value


def applied(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change settings by dotted keys; the rest of their tables stays."""
    changed = dict(settings)
    for key, value in changes.items():
        changed = merge(changed, reduce(lambda inner, name: {name: inner}, reversed(parts(key)), value))
    return changed


def look_up(settings: Mapping[str, Any], key: str, missing: object = None) -> object:
    """Find a setting by its dotted key."""
    found: object = settings
    for name in parts(key):
        if not isinstance(found, Mapping) or name not in found:
            return missing
        found = found[name]
    return found
