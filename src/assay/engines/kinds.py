"""The kinds of engine there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of engine: its module has `make(settings, context) -> Engine`, and is imported when it is named."""

    name: str
    module: str
    main: str | None  # the setting that `kind:value` gives; None when it takes none
    about: str
    ours: bool = False  # ships with Assay: it takes alike under every name, and is no stranger's program
    told: bool = False  # is told the answers: a changed target is another question to it


_ALL = (
    Kind(
        "builtin",
        "assay.engines.builtin",
        "per",
        "the reference engine; builtin:span for spans instead of files",
        ours=True,
    ),
    Kind("command", "assay.engines.command.engine", "argv", "any command line tool: command:tool {query} {k}"),
    Kind("http", "assay.engines.http.engine", "url", "any JSON API: http:https://host/search?q={query}&limit={k}"),
    Kind(
        "keywords",
        "assay.engines.keywords.engine",
        "backend",
        "files by distinct query words, then matches (grep)",
        ours=True,
    ),
    Kind("mcp", "assay.engines.mcp.engine", None, "any MCP server, over stdio or HTTP: its search tool"),
    Kind("oracle", "assay.engines.oracle", None, "the gold answers: the ceiling", ours=True, told=True),
    Kind("python", "assay.engines.python", "target", "your own function or class: python:module:callable"),
    Kind("random", "assay.engines.random", None, "seeded chance: the floor", ours=True),
    Kind(
        "runfile",
        "assay.engines.runfile",
        "path",
        "answers made elsewhere: runfile:run.trec or .jsonl",
        ours=True,
        told=True,
    ),
)

KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in _ALL})


def kind_named(name: object) -> Kind | None:
    """Find the kind that settings name; an engine that was passed as an object may name none."""
    return KINDS.get(name) if isinstance(name, str) else None
