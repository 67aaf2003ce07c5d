"""Search settings from a file, the environment and the command line, and written as TOML or JSON Schema.

    assay.toml           [search.stem]            in the folder that is searched, or the file that --config names
                         files = 0.4
    environment          ASSAY_SEARCH__STEM__FILES=0.4      two underscores for each dot, in capitals
    command line         --set stem.files=0.4               (repeatable)

Each overrides the one before it, setting by setting. Unknown keys are errors.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast, get_origin, get_type_hints

from assay.errors import ConfigError, closest_match
from assay.search.config import SearchConfig, find_violation, flatten, setting_hints
from assay.settings import apply_overrides, coerce, joined, leaves, read_settings
from assay.toml import line_of, read_toml

FILE: Final = "assay.toml"
TABLE: Final = "search"
PREFIX: Final = "ASSAY_SEARCH__"
_ALL: Final = "`assay search --show-config` lists them all"


@dataclass(frozen=True, slots=True)
class _Given:
    """A setting and its origin."""

    key: str
    value: object
    where: str = ""  # a variable or a flag; empty for a file
    file: Path | None = None
    text: str = field(default="", repr=False)  # of the file

    def error(self, message: str, hint: str) -> ConfigError:
        line = _line(self.text, f"{TABLE}.{self.key}") if self.file else None
        shown = f"{self.where}: {message}" if self.where else f"[{TABLE}] {message}"
        return ConfigError(shown, file=self.file, line=line, hint=hint)


class _Text(str):
    """A value from the environment or a flag, not parsed yet."""

    __slots__ = ()


def find_config(folder: Path) -> Path | None:
    """Return the settings file of a folder, if there is one."""
    path = folder / FILE
    try:
        return path if path.is_file() else None
    except OSError:  # the walk reports a folder that cannot be read
        return None


def load_config(
    overrides: Sequence[str] = (), file: Path | None = None, environ: Mapping[str, str] | None = None
) -> SearchConfig:
    """Load the configuration; `overrides` are `key=value` texts, later ones win."""
    hints = setting_hints(SearchConfig)
    values: dict[str, object] = {}
    origin: dict[str, _Given] = {}
    for given in (*_from_file(file), *_from_environment(environ or {}), *_from_flags(overrides)):
        if _is_known(given, hints):
            values[given.key] = _parse(given, hints[given.key])
            origin[given.key] = given
    violation = find_violation(flatten(SearchConfig()) | values, hints)
    if violation:
        culprit = next(origin[key] for key in violation.keys if key in origin)
        raise culprit.error(violation.message, violation.hint)
    return read_settings(SearchConfig, apply_overrides({}, values), TABLE)


def from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    """Return the settings in the environment by dotted key; raise ConfigError for unknown or unusable ones."""
    load_config((), None, environ)
    hints = setting_hints(SearchConfig)
    return {given.key: _parse(given, hints[given.key]) for given in _from_environment(environ)}


def _from_file(path: Path | None) -> Iterator[_Given]:
    if path is None:
        return
    file = read_toml(path)
    table = file.data.get(TABLE, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{TABLE} = {table!r}", file=path, line=_line(file.text, TABLE), hint="[search] is a table")
    for names, value in leaves(table) if table else ():
        yield _Given(joined(names), value, file=path, text=file.text)


def _line(text: str, dotted: str) -> int | None:
    while dotted:
        line = line_of(text, dotted)
        if line is not None:
            return line
        dotted = dotted.rpartition(".")[0]
    return None


def _from_environment(environ: Mapping[str, str]) -> Iterator[_Given]:
    for name in sorted(environ):
        if name.startswith(PREFIX):
            yield _Given(name.removeprefix(PREFIX).replace("__", ".").lower(), _Text(environ[name]), name)
        elif name.startswith(PREFIX[:-1]):
            hint = f"two underscores stand for each dot: {PREFIX}STEM__FILES=0.4"
            raise ConfigError(f"{name}: not a setting", hint=hint)


def _from_flags(overrides: Sequence[str]) -> Iterator[_Given]:
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--set {text}: there is no value", hint="write --set stem.files=0.4")
        yield _Given(key.strip(), _Text(value), f"--set {key.strip()}")


def _is_known(given: _Given, hints: Mapping[str, Any]) -> bool:
    if given.key in hints:
        return True
    inside = [key for key in hints if key.startswith(f"{given.key}.")]
    if inside and given.value == {}:
        return False
    if inside:
        raise given.error(f"{given.key} is a table", f"name a setting in it: {', '.join(inside)}")
    near = closest_match(given.key, hints)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    table = given.key.rpartition(".")[0]
    beside = [key for key in hints if key.rpartition(".")[0] == table]
    hint = f"settings there: {', '.join(beside)}; {_ALL}" if beside else _ALL
    raise given.error(f"unknown setting {given.key!r}{meant}", hint)


def _parse(given: _Given, hint: Any) -> object:  # noqa: ANN401 - a type hint is any object
    value = _parse_text(given.value, hint) if isinstance(given.value, _Text) else given.value
    try:
        return coerce(value, hint, given.key)
    except ConfigError as error:
        raise given.error(error.message, error.hint or _ALL) from error


def _parse_text(text: str, hint: Any) -> object:  # noqa: ANN401 - a type hint is any object
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


def config_text(config: SearchConfig) -> str:
    """Return a configuration as TOML, each setting with a comment; `load_config` reads it back."""
    return "\n\n".join("\n".join(table) for table in _tables(config, TABLE)) + "\n"


def _tables(record: Any, name: str) -> Iterator[list[str]]:  # noqa: ANN401 - any dataclass
    shown = record.redacted() if hasattr(record, "redacted") else record
    inner = [one for one in fields(record) if is_dataclass(getattr(record, one.name))]
    lines = [_setting(getattr(shown, one.name), one) for one in fields(record) if one not in inner]
    if lines:
        yield [f"# {_about(record)}", f"[{name}]", *lines]
    for one in inner:
        yield from _tables(getattr(record, one.name), f"{name}.{one.name}")


def _about(record: object) -> str:
    return (type(record).__doc__ or "").partition("\n")[0]


def _setting(value: object, setting: Any) -> str:  # noqa: ANN401 - a dataclass field of any type
    shown = f"# {setting.name} =" if value is None else f"{setting.name} = {_toml(value)}"
    return f"{shown}  # {setting.metadata['about']}" if "about" in setting.metadata else shown


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False)


def config_schema() -> dict[str, Any]:
    """Return the JSON Schema of the [search] table, for editors."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The [search] table of assay.toml"}
    return head | _schema(SearchConfig())


def _schema(record: object) -> dict[str, Any]:
    hints = get_type_hints(type(record))
    properties = {}
    for one in fields(cast(Any, record)):
        value = getattr(record, one.name)
        described = {"description": one.metadata["about"]} if "about" in one.metadata else {}
        default = {} if value is None else {"default": value}
        properties[one.name] = (
            _schema(value) if is_dataclass(value) else _json_type(hints[one.name]) | default | described
        )
    return {"type": "object", "description": _about(record), "additionalProperties": False, "properties": properties}


def _json_type(hint: Any) -> dict[str, Any]:  # noqa: ANN401 - a type hint is any object
    if get_origin(hint) is Literal:
        return {"enum": list(hint.__args__)}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _json_type(hint.__args__[0])}
    names = {int: "integer", float: "number", str: "string", bool: "boolean"}
    return {"type": names[hint]} if hint in names else {}
