"""The search configuration as people write it: the defaults, then a file, then the environment, then the command line.

    assay.toml           [search.stem]            in the folder that is searched, or the file that --config names
                         files = 0.4
    environment          ASSAY_SEARCH__STEM__FILES=0.4      two underscores for each dot, in capitals
    command line         --set stem.files=0.4               (repeatable)

Each overrides the one before it, setting by setting. A key that nobody knows is an error wherever it stands.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast, get_origin, get_type_hints

from assay.errors import ConfigError, closest_match
from assay.search.config import SearchConfig
from assay.search.laws import find_breach, flatten, setting_hints
from assay.settings import apply_overrides, coerce, joined, leaves, read_settings
from assay.toml import line_of, read_toml

FILE: Final = "assay.toml"
TABLE: Final = "search"
PREFIX: Final = "ASSAY_SEARCH__"
_LOOSE = "ASSAY_SEARCH_"
_ALL = "`assay search --show-config` lists them all"


@dataclass(frozen=True, slots=True)
class _Given:
    """A setting that somebody gave, and where."""

    key: str
    value: object
    where: str = ""  # a variable or a flag; nothing for a file
    file: Path | None = None
    text: str = field(default="", repr=False)

    def error(self, message: str, hint: str) -> ConfigError:
        line = _line(self.text, f"{TABLE}.{self.key}") if self.file else None
        shown = f"{self.where}: {message}" if self.where else f"[{TABLE}] {message}"
        return ConfigError(shown, file=self.file, line=line, hint=hint)


def find_config(folder: Path) -> Path | None:
    """Find the file that belongs to a folder."""
    path = folder / FILE
    try:
        return path if path.is_file() else None
    except OSError:  # a folder that cannot be read has no settings; the walk says what is wrong with it
        return None


def load_config(
    overrides: Sequence[str] = (), file: Path | None = None, environ: Mapping[str, str] | None = None
) -> SearchConfig:
    """Put the configuration together; `overrides` are `key=value` texts, later ones win."""
    given = [*_from_file(file), *_from_environment(environ or {}), *_from_flags(overrides)]
    hints = setting_hints(SearchConfig)
    values: dict[str, object] = {}
    origin: dict[str, _Given] = {}
    for one in given:
        if not _is_known(one, hints):
            continue
        values[one.key] = _fitted(one, hints[one.key])
        origin[one.key] = one
    breach = find_breach(flatten(SearchConfig()) | values, hints)
    if breach:
        culprit = next(origin[key] for key in breach.keys if key in origin)
        raise culprit.error(breach.message, breach.hint)
    return read_settings(SearchConfig, apply_overrides({}, values), TABLE)


def from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    """Return the settings that the environment gives, by dotted key; an unknown or unusable one is an error."""
    load_config((), None, environ)
    hints = setting_hints(SearchConfig)
    return {one.key: _fitted(one, hints[one.key]) for one in _from_environment(environ)}


def _from_file(path: Path | None) -> Iterator[_Given]:
    if path is None:
        return
    file = read_toml(path)
    table = file.data.get(TABLE, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{TABLE} = {table!r}", file=path, line=_line(file.text, TABLE), hint="[search] is a table")
    for names, value in leaves(table) if table else ():
        yield _Given(joined(names), value, file=path, text=file.text)


def _from_environment(environ: Mapping[str, str]) -> Iterator[_Given]:
    for name in sorted(environ):
        if name.startswith(PREFIX):
            key = name.removeprefix(PREFIX).replace("__", ".").lower()
            yield _Given(key, _Text(environ[name]), name)
        elif name.startswith(_LOOSE):
            raise ConfigError(
                f"{name}: not a setting", hint=f"two underscores stand for each dot: {PREFIX}STEM__FILES=0.4"
            )


def _from_flags(overrides: Sequence[str]) -> Iterator[_Given]:
    """Read `key=value` texts."""
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--set {text}: there is no value", hint="write --set stem.files=0.4")
        yield _Given(key.strip(), _Text(value), f"--set {key.strip()}")


class _Text(str):
    """A value that came as text and is still to be read."""

    __slots__ = ()


def _is_known(one: _Given, hints: Mapping[str, Any]) -> bool:
    if one.key in hints:
        return True
    inside = [key for key in hints if key.startswith(f"{one.key}.")]
    if inside and one.value == {}:
        return False
    if inside:
        raise one.error(f"{one.key} is a table", f"name a setting in it: {', '.join(inside)}")
    near = closest_match(one.key, hints)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    table = one.key.rpartition(".")[0]
    beside = [key for key in hints if key.rpartition(".")[0] == table]
    hint = f"settings there: {', '.join(beside)}; {_ALL}" if beside else _ALL
    raise one.error(f"unknown setting {one.key!r}{meant}", hint)


def _fitted(one: _Given, hint: Any) -> object:  # noqa: ANN401 - a type hint is any object
    value = _parsed(one.value, hint) if isinstance(one.value, _Text) else one.value
    try:
        return coerce(value, hint, one.key)
    except ConfigError as error:
        raise one.error(error.message, error.hint or _ALL) from error


def _parsed(text: str, hint: Any) -> object:  # noqa: ANN401 - a type hint is any object
    try:
        value: object = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = str(text) if hint is str else text.strip()
    if hint is str and not isinstance(value, str):
        return str(text)
    if get_origin(hint) is tuple and isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if get_origin(hint) is Literal and not isinstance(value, str):
        return text.strip()
    return value


def _line(text: str, dotted: str) -> int | None:
    while dotted:
        line = line_of(text, dotted)
        if line is not None:
            return line
        dotted = dotted.rpartition(".")[0]
    return None


def config_text(config: SearchConfig) -> str:
    """Write a configuration as TOML, each setting with what it means; it reads back."""
    return "\n\n".join("\n".join(table) for table in _tables(config, TABLE)) + "\n"


def _tables(record: object, name: str) -> Iterator[list[str]]:
    about = (type(record).__doc__ or "").partition("\n")[0]
    own = [one for one in fields(cast(Any, record)) if not is_dataclass(getattr(record, one.name))]
    inner = [one for one in fields(cast(Any, record)) if is_dataclass(getattr(record, one.name))]
    shown = cast(Any, record).shown() if hasattr(record, "shown") else record  # addresses may hold secrets
    lines = [_setting(one.name, getattr(shown, one.name), str(one.metadata.get("about", ""))) for one in own]
    if lines:
        yield [f"# {about}", f"[{name}]", *lines]
    for one in inner:
        yield from _tables(getattr(record, one.name), f"{name}.{one.name}")


def _setting(name: str, value: object, about: str) -> str:
    shown = f"# {name} =" if value is None else f"{name} = {_toml(value)}"
    return f"{shown}  # {about}" if about else shown


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False)


def config_schema() -> dict[str, Any]:
    """Describe the [search] table for editors, as JSON Schema."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The [search] table of assay.toml"}
    return head | _schema(SearchConfig())


def _schema(record: object) -> dict[str, Any]:
    hints = get_type_hints(type(record))
    about = (type(record).__doc__ or "").partition("\n")[0]
    every = fields(cast(Any, record))
    properties = {one.name: _property(record, one.name, hints[one.name], one.metadata) for one in every}
    return {"type": "object", "description": about, "additionalProperties": False, "properties": properties}


def _property(record: object, name: str, hint: Any, metadata: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - a type hint is any object
    value = getattr(record, name)
    if is_dataclass(value):
        return _schema(value)
    described = {"description": metadata["about"]} if "about" in metadata else {}
    return _json_type(hint) | ({} if value is None else {"default": value}) | described


def _json_type(hint: Any) -> dict[str, Any]:  # noqa: ANN401 - a type hint is any object
    if get_origin(hint) is Literal:
        return {"enum": list(hint.__args__)}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _json_type(hint.__args__[0])}
    names = {int: "integer", float: "number", str: "string", bool: "boolean"}
    return {"type": names[hint]} if hint in names else {}
