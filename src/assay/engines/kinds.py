"""The table of engine kinds, their settings for the documentation, and their components for ablations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, cast, get_type_hints

from assay.engines.base import Engine, EngineContext
from assay.settings import is_required, type_text


@dataclass(frozen=True, slots=True)
class EngineKind:
    """A kind of engine; its module is imported on first use."""

    name: str
    module: str  # has the two functions below
    main: str | None  # the setting of `kind:value`; None if it takes none
    about: str
    shipped: bool = False  # with Assay
    uses_gold: bool = False  # its rankings depend on the gold set
    settings: str = "Settings"  # the record of its settings
    make: str = "make"  # (settings, context) -> Engine

    def make_engine(self, settings: Mapping[str, object], context: EngineContext) -> Engine:
        """Make an engine of this kind."""
        return cast(Engine, getattr(import_module(self.module), self.make)(settings, context))

    def settings_class(self) -> type[object]:
        """Import the record of its settings."""
        return cast(type[object], getattr(import_module(self.module), self.settings))


_ALL = (
    EngineKind(
        "builtin",
        "assay.engines.builtin",
        "per",
        "the reference engine; builtin:span for spans instead of files",
        shipped=True,
        settings="BuiltinSettings",
    ),
    EngineKind("command", "assay.engines.command", "argv", "any command line tool: command:tool {query} {k}"),
    EngineKind(
        "http",
        "assay.engines.http",
        "url",
        "any JSON API: http:https://host/search?q={query}&limit={k}",
        settings="HttpSettings",
    ),
    EngineKind(
        "keywords",
        "assay.engines.keywords",
        "backend",
        "files by distinct query words, then matches (grep)",
        shipped=True,
        settings="KeywordsSettings",
    ),
    EngineKind(
        "mcp",
        "assay.engines.mcp.engine",
        None,
        "any MCP server, over stdio or HTTP: its search tool",
        settings="McpSettings",
    ),
    EngineKind(
        "oracle",
        "assay.engines.references",
        None,
        "the gold answers: the ceiling",
        shipped=True,
        uses_gold=True,
        settings="OracleSettings",
        make="make_oracle",
    ),
    EngineKind(
        "python",
        "assay.engines.python",
        "target",
        "your own function or class: python:module:callable",
        settings="PythonSettings",
    ),
    EngineKind(
        "random",
        "assay.engines.references",
        None,
        "seeded chance: the floor",
        shipped=True,
        settings="RandomSettings",
        make="make_random",
    ),
    EngineKind(
        "runfile",
        "assay.engines.runfile",
        "path",
        "answers made elsewhere: runfile:run.trec or .jsonl",
        shipped=True,
        uses_gold=True,
        settings="RunFileSettings",
    ),
)

KINDS: Mapping[str, EngineKind] = MappingProxyType({kind.name: kind for kind in _ALL})


def find_kind(name: object) -> EngineKind | None:
    """Return the kind with a name, None if there is none."""
    return KINDS.get(name) if isinstance(name, str) else None


@dataclass(frozen=True, slots=True)
class Component:
    """A component that an engine can do without, and the dotted settings that turn it off."""

    name: str
    off: Mapping[str, object] = field(default_factory=dict)


def list_components(settings: Mapping[str, object]) -> tuple[Component, ...]:
    """Return the components of an engine, in the order they work."""
    kind = find_kind(settings.get("kind"))
    if kind is None or not kind.shipped:  # third-party code is not imported for this
        return ()
    ablations: Callable[[Mapping[str, object]], tuple[Component, ...]] | None
    ablations = getattr(import_module(kind.module), "ablations", None)
    return () if ablations is None else ablations({key: value for key, value in settings.items() if key != "kind"})


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


def describe_kinds() -> tuple[KindPage, ...]:
    """Return the documentation of every kind, by name; imports them all."""
    return tuple(
        KindPage(name, kind.main, kind.about, tuple(_describe_fields(kind.settings_class(), "")))
        for name, kind in sorted(KINDS.items())
    )


def _describe_fields(record: Any, prefix: str) -> Iterator[SettingPage]:  # noqa: ANN401 - a settings class or instance
    hints = get_type_hints(record if isinstance(record, type) else type(record))
    for one in fields(record):
        hint, default = hints[one.name], None
        if is_required(one):
            value = hint
        elif isinstance(record, type):
            value = one.default if one.default is not MISSING else cast(Any, one.default_factory)()
        else:
            value = getattr(record, one.name)
        if is_dataclass(hint):
            yield from _describe_fields(value, f"{prefix}{one.name}.")
            continue
        if not is_required(one):
            default = "none" if value is None else json.dumps(value)
        yield SettingPage(prefix + one.name, type_text(hint), default, str(one.metadata.get("about", "")))
