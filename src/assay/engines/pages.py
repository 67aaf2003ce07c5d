"""Every kind of engine and what can be set, for documentation: read from the records that read the settings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from importlib import import_module
from typing import Any, cast, get_type_hints

from assay.engines.kinds import KINDS, Kind
from assay.settings import is_required, type_text


@dataclass(frozen=True, slots=True)
class SettingPage:
    """A setting: a dotted name is a table in the table."""

    name: str
    type: str
    default: str | None  # as TOML writes it, "none" where nothing is meant; None when it must be given
    about: str


@dataclass(frozen=True, slots=True)
class KindPage:
    """A kind of engine; `main` is the setting that `kind:value` gives."""

    name: str
    main: str | None
    about: str
    settings: tuple[SettingPage, ...]


def describe() -> tuple[KindPage, ...]:
    """Describe every kind of engine, by name; imports them all."""
    return tuple(_describe_kind(kind) for _, kind in sorted(KINDS.items()))


def _describe_kind(kind: Kind) -> KindPage:
    """Describe one kind by the record of its settings."""
    record = import_module(kind.module).Settings
    return KindPage(kind.name, kind.main, kind.about, tuple(_describe_record(record, "")))


def _describe_record(record: object, prefix: str) -> Iterator[SettingPage]:
    """Describe the fields of a record, and of the records in it."""
    hints = get_type_hints(record if isinstance(record, type) else type(record))
    for field in fields(cast(Any, record)):
        hint = hints[field.name]
        if is_dataclass(hint):
            inner = hint if is_required(field) else _value(field, record)
            yield from _describe_record(cast(Any, inner), f"{prefix}{field.name}.")
        else:
            about = str(field.metadata.get("about", ""))
            yield SettingPage(prefix + field.name, type_text(hint), _default(field, record), about)


def _value(field: Field[Any], record: object) -> object:
    """Find the default of a field: what the record around it has there, which need not be that of its class."""
    if not isinstance(record, type):
        return getattr(record, field.name)
    return field.default if field.default is not MISSING else cast(Any, field.default_factory)()


def _default(field: Field[Any], record: object) -> str | None:
    """Write a default down."""
    if is_required(field):
        return None
    value = _value(field, record)
    return "none" if value is None else json.dumps(value)
