"""Engine kinds, documentation of their settings, and components for ablations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, cast, get_type_hints

from assay.engines.base import Engine, EngineContext
from assay.settings import describe_type, is_required
from assay.types import ResultLevel


@dataclass(frozen=True, slots=True)
class EngineKind:
    name: str
    module: str  # relative to assay.engines
    settings: str  # name of the settings class in the module
    main: str | None  # the setting that `kind:value` sets; None: the kind takes no value
    about: str
    make: str = "make"  # name of the factory in the module
    shipped: bool = False  # runs no code of third parties
    uses_gold: bool = False

    def make_engine(self, settings: Mapping[str, object], context: EngineContext) -> Engine:
        return cast(Engine, self.load(self.make)(settings, context))

    def settings_class(self) -> type[object]:
        return cast(type[object], self.load(self.settings))

    def describe_settings(self) -> tuple[SettingPage, ...]:
        return tuple(_describe_fields(self.settings_class(), ""))

    def load(self, name: str) -> Any:  # noqa: ANN401 - any attribute of the module
        return getattr(import_module(f"assay.engines.{self.module}"), name, None)


_ALL = (
    EngineKind(
        "builtin",
        "builtin",
        "BuiltinSettings",
        "per",
        "the built-in engine; builtin:span returns spans, not files",
        shipped=True,
    ),
    EngineKind("command", "command", "CommandSettings", "argv", "any command-line tool: command:tool {query} {k}"),
    EngineKind("http", "http", "HttpSettings", "url", "any JSON API: http:https://host/search?q={query}&limit={k}"),
    EngineKind(
        "keywords",
        "references",
        "KeywordsSettings",
        None,
        "files by distinct query words, then occurrences (grep)",
        "make_keywords",
        shipped=True,
    ),
    EngineKind("mcp", "mcp", "McpSettings", None, "the search tool of any MCP server, over stdio or HTTP"),
    EngineKind(
        "oracle",
        "references",
        "OracleSettings",
        None,
        "the targets of the gold set: the ceiling",
        "make_oracle",
        shipped=True,
        uses_gold=True,
    ),
    EngineKind("python", "python", "PythonSettings", "target", "a Python function or class: python:module:callable"),
    EngineKind(
        "random", "references", "RandomSettings", None, "seeded random order: the floor", "make_random", shipped=True
    ),
    EngineKind(
        "runfile",
        "runfile",
        "RunFileSettings",
        "path",
        "rankings from a file: runfile:run.trec or .jsonl",
        shipped=True,
        uses_gold=True,
    ),
)

KINDS: Mapping[str, EngineKind] = MappingProxyType({kind.name: kind for kind in _ALL})


def find_kind(name: object) -> EngineKind | None:
    return KINDS.get(name) if isinstance(name, str) else None


@dataclass(frozen=True, slots=True)
class Component:
    """An optional component of an engine, and the settings, by dotted key, that turn the component off."""

    name: str
    off: Mapping[str, object] = field(default_factory=dict)


def list_components(settings: Mapping[str, object], level: ResultLevel = "file") -> tuple[Component, ...]:
    """Return the optional components of an engine, in pipeline order; none for third-party engines."""
    kind = find_kind(settings.get("kind"))
    if kind is None or not kind.shipped:  # do not import third-party code
        return ()
    ablations: Callable[[Mapping[str, object], ResultLevel], tuple[Component, ...]] | None = kind.load("ablations")
    if ablations is None:
        return ()
    return ablations({key: value for key, value in settings.items() if key != "kind"}, level)


@dataclass(frozen=True, slots=True)
class SettingPage:
    name: str
    type: str
    default: str | None  # as in TOML, or "none"; None for a required setting
    about: str


def _describe_fields(record: Any, prefix: str) -> Iterator[SettingPage]:  # noqa: ANN401 - a settings class or instance
    hints = get_type_hints(record if isinstance(record, type) else type(record))
    for setting in fields(record):
        hint, default = hints[setting.name], None
        if is_required(setting):
            value = hint
        elif isinstance(record, type):
            value = setting.default if setting.default is not MISSING else cast(Any, setting.default_factory)()
        else:
            value = getattr(record, setting.name)
        if is_dataclass(hint):
            yield from _describe_fields(value, f"{prefix}{setting.name}.")
            continue
        if not is_required(setting):
            default = "none" if value is None else json.dumps(value)
        yield SettingPage(prefix + setting.name, describe_type(hint), default, str(setting.metadata.get("about", "")))
