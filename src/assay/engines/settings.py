"""Settings from TOML or the command line into frozen records; a key that is not known is an error."""

from __future__ import annotations

import difflib
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from assay.errors import ConfigError

T = TypeVar("T")


def read_settings(record: type[T], values: Mapping[str, object], where: str) -> T:
    """Build a settings record from a mapping; `where` begins the message when something is wrong."""
    known = {field.name: field for field in fields(cast(Any, record))}
    for key in values:
        if key not in known:
            raise unknown(f"{where}: unknown setting", key, sorted(known), "settings")
    for name, field in known.items():
        if name not in values and _is_required(field):
            raise ConfigError(f"{where}: the setting {name!r} is missing", hint=f"settings: {', '.join(sorted(known))}")
    hints = get_type_hints(record)
    return record(**{key: _fit(value, hints[key], f"{where}: {key}") for key, value in values.items()})


def unknown(what: str, name: str, known: list[str], kind: str) -> ConfigError:
    """Say that a name is not known, which one is nearest, and which there are."""
    near = difflib.get_close_matches(name, known, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    return ConfigError(f"{what} {name!r}{meant}", hint=f"{kind}: {', '.join(known) or 'none'}")


def _is_required(field: Field[Any]) -> bool:
    """Tell whether a field has no default."""
    return field.default is MISSING and field.default_factory is MISSING


def _fit(value: object, hint: Any, where: str) -> object:  # noqa: ANN401 - a type hint is any object
    """Check a value against a type hint; lists become tuples, tables become records."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _fit_any(value, arguments, where)
    if origin is Literal:
        if value not in arguments:
            raise _misfit(value, where, "one of " + ", ".join(map(str, arguments)))
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise _misfit(value, where, "a list")
        return tuple(_fit(item, arguments[0], f"{where}[{n}]") for n, item in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        return _fit_table(value, arguments, where)
    if is_dataclass(hint) and isinstance(value, Mapping):
        return read_settings(cast(type[object], hint), value, where)
    return _fit_plain(value, hint, where)


def _fit_any(value: object, hints: tuple[Any, ...], where: str) -> object:
    """Check a value against the first member of a union that takes it."""
    problems = []
    for hint in hints:
        if hint is type(None):
            if value is None:
                return None
            continue
        try:
            return _fit(value, hint, where)
        except ConfigError as problem:
            problems.append(problem)
    raise problems[0]


def _fit_table(value: object, arguments: tuple[Any, ...], where: str) -> dict[str, object]:
    """Check a table with text keys."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise _misfit(value, where, "a table")
    return {key: _fit(item, arguments[1], f"{where}.{key}") for key, item in value.items()}


def _fit_plain(value: object, hint: Any, where: str) -> object:  # noqa: ANN401 - a type hint is any object
    """Check a value against a plain class; a bool is no number, a whole number is a float too."""
    if hint is object:
        return value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise _misfit(value, where, _NAMES.get(hint, f"a {hint.__name__}"))
    return value


def _misfit(value: object, where: str, wanted: str) -> ConfigError:
    """Say what stands there and what should."""
    return ConfigError(f"{where} = {value!r}", hint=f"it must be {wanted}")


_NAMES: dict[Any, str] = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
