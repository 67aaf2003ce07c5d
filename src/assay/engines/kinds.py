"""The kinds of engine there are."""

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
    main: str | None  # the setting that `kind:value` gives; None when it takes none
    about: str
    ours: bool = False  # ships with Assay: it takes alike under every name, and is no stranger's program
    told: bool = False  # is told the answers: a changed target is another question to it


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
    """Find the kind that settings name; an engine that was passed as an object may name none."""
    return KINDS.get(name) if isinstance(name, str) else None


@dataclass(frozen=True, slots=True)
class Component:
    """Something that an engine can do without, and the dotted settings that switch it off."""

    name: str
    off: Mapping[str, object] = field(default_factory=dict)


def parts_of(settings: Mapping[str, object]) -> tuple[Component, ...]:
    """Ask the kind of an engine for its parts, in the order they work; none where it names none."""
    kind = kind_named(settings.get("kind"))
    if kind is None or not kind.ours:  # a stranger's module is not imported for that: nobody knows what is in it
        return ()
    named: Callable[[Mapping[str, object]], tuple[Component, ...]] | None
    named = getattr(import_module(kind.module), "ablations", None)
    return () if named is None else named({key: value for key, value in settings.items() if key != "kind"})


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


def _describe_kind(kind: EngineKind) -> KindPage:
    record = import_module(kind.module).Settings
    return KindPage(kind.name, kind.main, kind.about, tuple(_describe_record(record, "")))


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
