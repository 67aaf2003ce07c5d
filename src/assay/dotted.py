"""Settings named by dotted keys, as TOML writes them: `search.stem.files`, `config.edits."a.b"`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any

from assay.errors import ConfigError
from assay.settings import merge
from assay.toml import write_key

#: A part as people write it. What TOML itself wants in quotes may stand without them where it can mean nothing else.
_PART = re.compile(
    r"""[ \t]*(?:(?P<quoted>"(?:[^"\\\n]|\\.)*"|'[^'\n]*')|(?P<bare>[^."'\s](?:[^."\r\n]*[^."\s])?))[ \t]*"""
)


@lru_cache(maxsize=4096)
def parts(key: str) -> tuple[str, ...]:
    """Split a dotted key; a part with a dot of its own stands in quotes."""
    found, position = [], 0
    while match := _PART.match(key, position):
        found.append(match["bare"] or _unquoted(match["quoted"], key))
        position = match.end() + 1
        if key[match.end() : position] != ".":
            break
    if position != len(key) + 1:
        raise _wrong(key)
    return tuple(found)


def _unquoted(quoted: str, key: str) -> str:
    """Read a part that stands in quotes."""
    try:
        return next(iter(tomllib.loads(f"{quoted} = 0")))
    except tomllib.TOMLDecodeError:
        raise _wrong(key) from None


def _wrong(key: str) -> ConfigError:
    """Make the error of what is no key."""
    return ConfigError(
        f"{key!r} is no dotted key", hint='write it like search.stem.files; a part with a dot goes in quotes: "a.b"'
    )


def joined(names: Iterable[str]) -> str:
    """Write the parts of a key as one."""
    return write_key(names)


def flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """Name everything in a table by its whole dotted key; what is said twice is refused."""
    found: dict[tuple[str, ...], Any] = {}
    for key, value in table.items():
        for names, leaf in leaves(value, parts(key)):
            inside = [other for other in found if other[: len(names)] == names or names[: len(other)] == other]
            if inside:
                raise ConfigError(f"{joined(names)} is set twice", hint="say each setting once")
            found[names] = leaf
    return {joined(names): leaf for names, leaf in found.items()}


def leaves(value: object, names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """List what a table and the tables in it say, each under its parts; an empty one is a value."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from leaves(inner, (*names, key))
    else:
        yield names, value


def applied(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change settings by dotted keys; the rest of their tables stays."""
    changed = dict(settings)
    for key, value in changes.items():
        changed = merge(changed, nested(parts(key), value))
    return changed


def nested(names: Sequence[str], value: object) -> Any:  # noqa: ANN401 - a table, or the value where there is no name
    """Put a value into tables, one for each part of its key."""
    return reduce(lambda inner, name: {name: inner}, reversed(names), value)


def look_up(settings: Mapping[str, Any], key: str, missing: object = None) -> object:
    """Find a setting by its dotted key."""
    found: object = settings
    for name in parts(key):
        if not isinstance(found, Mapping) or name not in found:
            return missing
        found = found[name]
    return found
