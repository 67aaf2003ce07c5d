"""The search configuration for people and for editors: as TOML that reads back, and as JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, cast, get_origin, get_type_hints

from assay.search.config import SearchConfig
from assay.search.settings import TABLE


def config_text(config: SearchConfig) -> str:
    """Write a configuration as TOML, each setting with what it means; it reads back."""
    return "\n\n".join("\n".join(table) for table in _tables(config, TABLE)) + "\n"


def _tables(record: object, name: str) -> Iterator[list[str]]:
    """Write a record's own settings, then the records in it."""
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
    """Write one setting; TOML has no word for nothing, so what is unset is a comment."""
    shown = f"# {name} =" if value is None else f"{name} = {_toml(value)}"
    return f"{shown}  # {about}" if about else shown


def _toml(value: object) -> str:
    """Write a value as TOML does."""
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False)


def config_schema() -> dict[str, Any]:
    """Describe the [search] table for editors, as JSON Schema."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "The [search] table of assay.toml"}
    return head | _schema(SearchConfig())


def _schema(record: object) -> dict[str, Any]:
    """Describe a record."""
    hints = get_type_hints(type(record))
    about = (type(record).__doc__ or "").partition("\n")[0]
    every = fields(cast(Any, record))
    properties = {one.name: _property(record, one.name, hints[one.name], one.metadata) for one in every}
    return {"type": "object", "description": about, "additionalProperties": False, "properties": properties}


def _property(record: object, name: str, hint: Any, metadata: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - a type hint is any object
    """Describe a setting with its default."""
    value = getattr(record, name)
    if is_dataclass(value):
        return _schema(value)
    described = {"description": metadata["about"]} if "about" in metadata else {}
    return _json_type(hint) | ({} if value is None else {"default": value}) | described


def _json_type(hint: Any) -> dict[str, Any]:  # noqa: ANN401 - a type hint is any object
    """Say what JSON Schema calls a type; nothing where it has no word."""
    if get_origin(hint) is Literal:
        return {"enum": list(hint.__args__)}
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _json_type(hint.__args__[0])}
    names = {int: "integer", float: "number", str: "string", bool: "boolean"}
    return {"type": names[hint]} if hint in names else {}
