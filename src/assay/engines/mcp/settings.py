"""What an MCP engine is told: how to reach the server, which tools to call, and how to read what they give."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal
from urllib.parse import urlsplit

from assay.engines.reading.settings import ReadingSettings
from assay.engines.templates import ASKED, FOLDERS, check_template, names_place
from assay.errors import ConfigError

WHERE = "engine mcp"
Content = Literal["auto", "structured", "text"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool and what it is given."""

    tool: str = field(metadata={"about": "the name of the tool"})
    arguments: Mapping[str, object] = field(default_factory=dict, metadata={"about": "what it is given"})


ToolCalls = ToolCall | tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(ReadingSettings):
    """What `kind = "mcp"` takes.

    The server is a program (`command`, run in {root}, spoken to over its stdin and stdout) or an address (`url`).
    In the arguments: {query}, {k} (a number where it stands alone), {root} (the corpus), {here} (the folder of
    assay.toml), {store} (an empty folder of the engine's own) and {env:NAME}; in the filters also {path} or {language},
    where the item of a list is repeated for each that is wanted: ["{path}"].

    A server that dies or hangs costs the query it was asked; for the next one it is started again and indexes again.
    """

    where: ClassVar[str] = WHERE

    command: str | tuple[str, ...] = field(
        default=(), metadata={"about": "the server's program and its arguments; a text is split as a shell would"}
    )
    url: str = field(default="", metadata={"about": "the server's address, for streamable HTTP"})
    headers: Mapping[str, str] = field(
        default_factory=dict,
        repr=False,
        metadata={"about": "sent with every request to url; {env:NAME} for a secret; only the names are recorded"},
    )
    token_env: str | None = field(default=None, metadata={"about": "the variable that holds the bearer token for url"})
    env: Mapping[str, str] = field(
        default_factory=dict,
        repr=False,
        metadata={"about": "added to the environment of command; only the names are recorded"},
    )
    tool: str = field(metadata={"about": "the tool that searches"})
    arguments: Mapping[str, object] = field(
        default_factory=lambda: {"query": "{query}"}, metadata={"about": "what the search tool is given"}
    )
    index: ToolCalls = field(
        default=(), metadata={"about": "tool and arguments, or several of them, called when the corpus is opened"}
    )
    update: ToolCalls = field(
        default=(), metadata={"about": "the same, called when files have changed; if not given, index is called again"}
    )
    path_filter: Mapping[str, object] = field(
        default_factory=dict, metadata={"about": "arguments that restrict a search to {path}, a glob"}
    )
    language_filter: Mapping[str, object] = field(
        default_factory=dict, metadata={"about": "arguments that restrict a search to {language}"}
    )
    content: Content = field(
        default="auto", metadata={"about": "which part of an answer is read; auto is structured where there is any"}
    )
    startup_timeout: float = field(
        default=60.0,  # a Python server that imports a neural library takes ten
        metadata={"about": "seconds for the server to start and to shake hands"},
    )
    restarts: int = field(
        default=5,  # enough for an occasional crash; one that dies at every query is told of
        metadata={"about": "how often a server that died or hung is started again on one corpus"},
    )
    git: bool = field(default=False, metadata={"about": "whether the copy of the corpus is a git repository"})

    def __post_init__(self) -> None:
        """Refuse what cannot work on any corpus."""
        ReadingSettings.__post_init__(self)
        if not self.startup_timeout > 0:
            raise ConfigError(
                f"{WHERE}: startup_timeout = {self.startup_timeout:g}", hint="it must be more than 0 seconds"
            )
        if self.restarts < 0:
            raise ConfigError(f"{WHERE}: restarts = {self.restarts}", hint="it must be 0 or more")


def split_command(command: str | tuple[str, ...]) -> tuple[str, ...]:
    """Split a command that is one text."""
    if not isinstance(command, str):
        return command
    try:
        return tuple(shlex.split(command))
    except ValueError as problem:
        raise ConfigError(f"{WHERE}: command: {problem}", hint="balance the quotes, or write a list") from problem


def calls_of(calls: ToolCalls) -> tuple[ToolCall, ...]:
    """Give calls as a sequence."""
    return (calls,) if isinstance(calls, ToolCall) else calls


def check_settings(settings: Settings) -> None:
    """Refuse settings that contradict each other and placeholders without a value."""
    _check_server(settings)
    _check_places(settings)
    if not names_place(settings.arguments, "query"):
        raise ConfigError(f"{WHERE}: arguments have no {{query}}", hint="put {query} where the question goes")
    for name, place in (("path_filter", "path"), ("language_filter", "language")):
        template = getattr(settings, name)
        if template and not names_place(template, place):
            raise ConfigError(f"{WHERE}: {name} has no {{{place}}}", hint=f"write {{{place}}} where it goes")
    if settings.content == "structured" and (settings.pattern or settings.format in ("jsonl", "text")):
        raise ConfigError(f"{WHERE}: structured content is JSON", hint="leave format and pattern out")


def _check_server(settings: Settings) -> None:
    """Refuse a server with two addresses or none, and what the chosen one has no use for."""
    if bool(settings.command) == bool(settings.url):
        both = "both command and url" if settings.url else "neither command nor url"
        raise ConfigError(f"{WHERE}: {both}", hint='write command = ["server"] or url = "http://host/mcp"')
    idle = ("env",) if settings.url else ("headers", "token_env")
    for name in idle:
        if getattr(settings, name):
            other = "url" if settings.url else "command"
            raise ConfigError(f"{WHERE}: {name} means nothing with {other}", hint=f"leave {name} out")
    if settings.url:
        _check_url(settings.url)


def _check_url(url: str) -> None:
    """Refuse addresses that are none, or that hold a password."""
    if url.startswith("{env:"):
        return  # checked when it is filled in
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{WHERE}: url = {url!r}", hint="write it like http://127.0.0.1:8000/mcp")
    if parts.username or parts.password:
        raise ConfigError(f"{WHERE}: url holds a name or a password", hint="use headers with {env:NAME}, or token_env")


def _check_places(settings: Settings) -> None:
    """Refuse misspelt placeholders everywhere."""
    asked: Sequence[str] = (*FOLDERS, *ASKED)
    for name in ("command", "env", "headers", "url"):
        check_template(getattr(settings, name), FOLDERS, f"{WHERE}: {name}")
    for name in ("index", "update"):
        for call in calls_of(getattr(settings, name)):
            check_template(call.arguments, FOLDERS, f"{WHERE}: {name}")
    check_template(settings.arguments, asked, f"{WHERE}: arguments")
    check_template(settings.path_filter, (*asked, "path"), f"{WHERE}: path_filter")
    check_template(settings.language_filter, (*asked, "language"), f"{WHERE}: language_filter")
