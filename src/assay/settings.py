"""Settings from TOML or the command line as frozen records; unknown keys are errors.

Metadata of a field: its documentation `about`, and the bounds `least` and `most` (inclusive) or `above` (exclusive).
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from functools import cache, lru_cache, reduce
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from assay.errors import ConfigError, did_you_mean
from assay.toml import write_key

T = TypeVar("T")


def setting(
    default: T,
    about: str,
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    repr: bool = True,  # noqa: A002 - as in dataclasses.field
) -> T:
    value: Any = {"default_factory": default.copy} if isinstance(default, dict) else {"default": default}
    metadata = {"about": about, "least": least, "most": most, "above": above}
    return cast(T, dataclasses.field(**value, repr=repr, metadata=metadata))


def read_settings(record: type[T], values: Mapping[str, object], where: str) -> T:
    """Build a settings record from a mapping; error messages begin with `where`."""
    return cast(T, _read_record(record, None, values, where, ": "))


_type_hints = cache(get_type_hints)  # a sweep reads the same records hundreds of times


def _read_record(kind: Any, base: Any, values: Mapping[str, object], where: str, separator: str) -> object:  # noqa: ANN401 - any settings record
    known: dict[str, Field[Any]] = {field.name: field for field in fields(kind)}
    hints = _type_hints(kind)
    for key in values:
        if key not in known:
            raise unknown_name(f"{where}: unknown setting", key, sorted(known), "settings", keys=[write_key([key])])
    for name, field in known.items():
        if base is None and name not in values and is_required(field):
            raise ConfigError(
                f"{where}: missing setting {name!r}", hint=f"set `{name}` to {describe_type(hints[name])}"
            )
    read: dict[str, object] = {}
    for key, value in values.items():
        at = f"{where}{separator}{key}"
        factory = known[key].default_factory
        default = getattr(base, key, None) if base is not None or factory is MISSING else factory()
        with setting_errors(key):
            if is_dataclass(default) and isinstance(value, Mapping):
                read[key] = _read_record(type(default), default, value, at, ".")
            else:
                read[key] = coerce(value, hints[key], at)
                _check_bounds(read[key], known[key].metadata, at)
    return kind(**read) if base is None else replace(base, **read)


@contextmanager
def setting_errors(key: str) -> Iterator[None]:
    """Put the key of a setting before the keys of a ConfigError, which are relative to that setting."""
    try:
        yield
    except ConfigError as error:
        error.keys = tuple(f"{write_key([key])}.{inner}" for inner in error.keys) or (write_key([key]),)
        raise


def _check_bounds(value: Any, bounds: Mapping[str, Any], where: str) -> None:  # noqa: ANN401 - a value of any setting
    least, most, above = (bounds.get(name) for name in ("least", "most", "above"))
    if value is None:
        return
    if above is not None and not value > above:
        expected = f"more than {above:g}"
    elif (least is not None and not value >= least) or (most is not None and not value <= most):
        expected = f"at least {least:g}" if most is None else f"a number from {least:g} to {most:g}"
    else:
        return
    raise ConfigError(f"{where}: expected {expected}, got {value:g}")


def merge(settings: Mapping[str, object], changes: Mapping[str, object]) -> dict[str, Any]:
    merged = dict(settings)
    for key, value in changes.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def unknown_name(message: str, name: str, known: list[str], kind: str, *, keys: Sequence[str] = ()) -> ConfigError:
    """Return the error for an unknown name; the hint is the closest known name, or the list of all names."""
    hint = did_you_mean(name, known) or f"{kind}: {', '.join(known) or 'none'}"
    return ConfigError(f"{message} {name!r}", hint=hint, keys=keys)


def check_counts(where: str, **counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise ConfigError(f"{where}: {name}: expected at least 1, got {count}")


def describe_type(hint: Any, *, many: bool = False) -> str:  # noqa: ANN401 - a type hint is any object
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(describe_type(argument) for argument in arguments if argument is not type(None))
    if origin is Literal:
        return "one of " + ", ".join(map(str, arguments))
    if origin is tuple:
        return f"a list of {describe_type(arguments[0], many=True)}"
    if is_dataclass(hint) or (origin is not None and issubclass(origin, Mapping)):
        return "tables" if many else "a table"
    singular, plural = _NAMES[hint]
    return plural if many else singular


def is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def coerce(value: object, hint: Any, where: str) -> object:  # noqa: ANN401 - a type hint is any object
    """Check a value against a type hint; convert lists to tuples, tables to records and integers to floats."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        problems = []
        for argument in arguments:
            if argument is not type(None):
                try:
                    return coerce(value, argument, where)
                except ConfigError as problem:
                    problems.append(problem)
        raise problems[0]
    if hint is object or (origin is Literal and value in arguments):
        return value
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(coerce(item, arguments[0], f"{where}[{n}]") for n, item in enumerate(value))
    if isinstance(value, Mapping):
        if is_dataclass(hint):
            return _read_record(hint, None, value, where, ".")
        if isinstance(origin, type) and issubclass(origin, Mapping) and all(isinstance(key, str) for key in value):
            return {key: coerce(item, arguments[1], f"{where}.{key}") for key, item in value.items()}
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if origin is None and isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    raise ConfigError(f"{where}: expected {describe_type(hint)}, got {value!r}")


_NAMES: dict[Any, tuple[str, str]] = {
    int: ("an integer", "integers"),
    float: ("a number", "numbers"),
    str: ("a string", "strings"),
    bool: ("true or false", "booleans"),
    object: ("anything", "anything"),
}

#: A part of a dotted key; quotes may be omitted where the key is unambiguous without them.
_PART = re.compile(
    r"""[ \t]*(?:(?P<quoted>"(?:[^"\\\n]|\\.)*"|'[^'\n]*')|(?P<bare>[^."'\s](?:[^."\r\n]*[^."\s])?))[ \t]*"""
)


def _unquote(text: str) -> str:
    import tomllib

    return next(iter(tomllib.loads(f"{text} = 0")))


@lru_cache(maxsize=4096)
def split_key(key: str) -> tuple[str, ...]:
    """Split a dotted key into its parts; parts that contain dots must be quoted."""
    parts, position = list[str](), 0
    try:
        while match := _PART.match(key, position):
            parts.append(match["bare"] or _unquote(match["quoted"]))
            position = match.end() + 1
            if key[match.end() : position] != ".":
                break
    except ValueError:  # TOMLDecodeError
        position = -1
    if position != len(key) + 1:
        hint = 'use a key such as search.stem.files; quote parts that contain dots: "a.b"'
        raise ConfigError(f"invalid dotted key {key!r}", hint=hint)
    return tuple(parts)


def flatten(table: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten nested tables to dotted keys; raise ConfigError if a key is set twice, or is the parent of another."""
    flat: dict[tuple[str, ...], Any] = {}
    for key, value in table.items():
        for names, leaf in iter_leaves(value, split_key(key)):
            for other in flat:
                if other[: len(names)] == names or names[: len(other)] == other:
                    both = f"cannot set both {write_key(other)} and {write_key(names)}"
                    message = f"{write_key(names)} is set twice" if other == names else both
                    raise ConfigError(message, hint="remove one of the two settings")
            flat[names] = leaf
    return {write_key(names): leaf for names, leaf in flat.items()}


def iter_leaves(value: object, names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield the key parts and value of every setting in nested tables; an empty table counts as a value."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from iter_leaves(inner, (*names, key))
    else:
        yield names, value


def apply_overrides(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    changed = dict(settings)
    for key, value in changes.items():
        changed = merge(changed, nest(split_key(key), value))
    return changed


def nest(names: Sequence[str], value: object) -> Any:  # noqa: ANN401 - a table, or the value where there is no name
    return reduce(lambda inner, name: {name: inner}, reversed(names), value)


def get_key(settings: Mapping[str, Any], key: str, missing: object = None) -> object:
    value: object = settings
    for name in split_key(key):
        if not isinstance(value, Mapping) or name not in value:
            return missing
        value = value[name]
    return value
