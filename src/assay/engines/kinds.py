"""The kinds of engine, their components and their settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, cast, get_type_hints

from assay.settings import is_required, type_text


@dataclass(frozen=True, slots=True)
class EngineKind:
    """A kind of engine: its module has `make(settings, context) -> Engine`, and is imported when it is named."""

    name: str
    module: str
    main: str | None  # the setting of `kind:value`; None if it takes none
    about: str
    ours: bool = False  # ships with Assay
    told: bool = False  # knows the targets: its rankings depend on the gold set


_ALL = (
    EngineKind(
        "builtin",
        "assay.engines.builtin",
        "per",
        "the reference engine; builtin:span for spans instead of files",
        ours=True,
    ),
    EngineKind("command", "assay.engines.command", "argv", "any command line tool: command:tool {query} {k}"),
    EngineKind("http", "assay.engines.http", "url", "any JSON API: http:https://host/search?q={query}&limit={k}"),
    EngineKind(
        "keywords",
        "assay.engines.keywords",
        "backend",
        "files by distinct query words, then matches (grep)",
        ours=True,
    ),
    EngineKind("mcp", "assay.engines.mcp.engine", None, "any MCP server, over stdio or HTTP: its search tool"),
    EngineKind("oracle", "assay.engines.oracle", None, "the gold answers: the ceiling", ours=True, told=True),
    EngineKind("python", "assay.engines.python", "target", "your own function or class: python:module:callable"),
    EngineKind("random", "assay.engines.random", None, "seeded chance: the floor", ours=True),
    EngineKind(
        "runfile",
        "assay.engines.runfile",
        "path",
        "answers made elsewhere: runfile:run.trec or .jsonl",
        ours=True,
        told=True,
    ),
)

KINDS: Mapping[str, EngineKind] = MappingProxyType({kind.name: kind for kind in _ALL})


def kind_named(name: object) -> EngineKind | None:
    """Return the kind with a name, None if there is none."""
    return KINDS.get(name) if isinstance(name, str) else None


@dataclass(frozen=True, slots=True)
class Component:
    """A component that an engine can do without, and the dotted settings that turn it off."""

    name: str
    off: Mapping[str, object] = field(default_factory=dict)


def parts_of(settings: Mapping[str, object]) -> tuple[Component, ...]:
    """Return the components of an engine, in the order they work."""
    kind = kind_named(settings.get("kind"))
    if kind is None or not kind.ours:  # third-party code is not imported for this
        return ()
    named: Callable[[Mapping[str, object]], tuple[Component, ...]] | None
    named = getattr(import_module(kind.module), "ablations", None)
    return () if named is None else named({key: value for key, value in settings.items() if key != "kind"})


@dataclass(frozen=True, slots=True)
class SettingPage:
    """Documentation of a setting; a dotted name is in a nested table."""

    name: str
    type: str
    default: str | None  # as in TOML, or "none"; None if it is required
    about: str


@dataclass(frozen=True, slots=True)
class KindPage:
    """Documentation of a kind; `main` is the setting of `kind:value`."""

    name: str
    main: str | None
    about: str
    settings: tuple[SettingPage, ...]


def describe() -> tuple[KindPage, ...]:
    """Return the documentation of every kind, by name; imports them all."""
    return tuple(
        KindPage(name, kind.main, kind.about, tuple(_describe_record(import_module(kind.module).Settings, "")))
        for name, kind in sorted(KINDS.items())
    )


def _describe_record(record: object, prefix: str) -> Iterator[SettingPage]:
    hints = get_type_hints(record if isinstance(record, type) else type(record))
    for one in fields(cast(Any, record)):
        hint = hints[one.name]
        if is_dataclass(hint):
            inner = hint if is_required(one) else _value(one, record)
            yield from _describe_record(cast(Any, inner), f"{prefix}{one.name}.")
        else:
            about = str(one.metadata.get("about", ""))
            yield SettingPage(prefix + one.name, type_text(hint), _default(one, record), about)


def _value(field: Field[Any], record: object) -> object:
    if not isinstance(record, type):
        return getattr(record, field.name)
    return field.default if field.default is not MISSING else cast(Any, field.default_factory)()


def _default(field: Field[Any], record: object) -> str | None:
    if is_required(field):
        return None
    value = _value(field, record)
    return "none" if value is None else json.dumps(value)
