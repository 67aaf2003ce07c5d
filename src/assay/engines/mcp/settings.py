"""What an MCP engine is told: how to reach the server, which tools to call, and how to read what they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal
from urllib.parse import urlsplit

from assay.engines.configs.settings import ConfigSettings
from assay.engines.filtering import Filters, read_filters
from assay.engines.indexes.keys import ABOUT
from assay.engines.programs import Argv, read_argv
from assay.engines.reading.settings import ReadingSettings
from assay.engines.restarting import RESTARTS, STARTUP_SECONDS, check_restarts, check_startup
from assay.engines.secrets import check_written_out
from assay.engines.templates import ASKED, check_template, names_place
from assay.errors import ConfigError

WHERE = "engine mcp"
#: In place of calls for an update: what can be done without any.
AGAIN, RESTART = "index", "restart"
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
    assay.toml), {store} (an empty folder of the engine's own), {config} (the file that is rendered from
    `config.template`) and {env:NAME}; in the filters also {path} or {language}, where the item of a list is repeated
    for each that is wanted: ["{path}"].

    A server that dies or hangs costs the query it was asked. Before the next one it is started again and makes the
    calls of `index` again, in time that is told and is no part of the answer's; `index_command` is not run again.
    """

    where: ClassVar[str] = WHERE

    command: Argv = field(
        default=(), metadata={"about": "the server's program and its arguments; a text is split as a shell would"}
    )
    index_command: Argv = field(
        default=(),
        metadata={
            "about": "a program that is run to its end before command starts, to make an index; its time is part of "
            "opening, and no part of the start-up"
        },
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
        metadata={"about": "added to the environment of command and index_command; only the names are recorded"},
    )
    tool: str = field(metadata={"about": "the tool that searches"})
    arguments: Mapping[str, object] = field(
        default_factory=lambda: {"query": "{query}"}, metadata={"about": "what the search tool is given"}
    )
    index: ToolCalls = field(
        default=(), metadata={"about": "tool and arguments, or several of them, called when the corpus is opened"}
    )
    update: str | ToolCalls = field(
        default=(),
        metadata={
            "about": 'the same, called when files have changed; "restart" starts the server anew, and "index" runs '
            "index_command before that; if not given, the calls of index are made again where there are any"
        },
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
        default=STARTUP_SECONDS,
        metadata={"about": "seconds for the server to start and to shake hands"},
    )
    restarts: int = field(
        default=RESTARTS,
        metadata={"about": "how often in a row, with no answer between, a server that died or hung is started again"},
    )
    git: bool = field(default=False, metadata={"about": "whether the copy of the corpus is a git repository"})
    config: ConfigSettings | None = field(
        default=None,
        metadata={"about": "a file for the server, {config}, rendered from template (format, edits, new_keys)"},
    )
    index_keys: tuple[str, ...] | None = field(
        default=None,
        metadata={"about": f"{ABOUT}; with them the calls of index are made once, by a server of its own"},
    )

    def __post_init__(self) -> None:
        """Refuse what cannot work on any corpus."""
        ReadingSettings.__post_init__(self)
        check_startup(WHERE, self.startup_timeout)
        check_restarts(WHERE, self.restarts)


@dataclass(frozen=True, slots=True)
class Templates:
    """All that is filled in, split and checked."""

    command: tuple[str, ...]
    index_command: tuple[str, ...]
    filters: Filters
    index: tuple[ToolCall, ...]
    update: tuple[ToolCall, ...]  # what is called, the calls of the index where nothing else is said

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """List the programs there are."""
        return tuple(filter(None, (self.index_command, self.command)))


def read_templates(settings: Settings, folders: Sequence[str]) -> Templates:
    """Refuse settings that contradict each other, and placeholders without a value: `folders` have one."""
    _check_server(settings)
    _check_update(settings)
    asked = (*folders, *ASKED)
    for name, known in {"env": folders, "headers": folders, "url": folders, "arguments": asked}.items():
        check_template(getattr(settings, name), known, f"{WHERE}: {name}")
    templates = Templates(
        read_argv(settings.command, folders, f"{WHERE}: command"),
        read_argv(settings.index_command, folders, f"{WHERE}: index_command"),
        read_filters(settings.path_filter, settings.language_filter, asked, WHERE),
        _read_calls(settings.index, folders, "index"),
        () if isinstance(settings.update, str) else _read_calls(settings.update or settings.index, folders, "update"),
    )
    _check_asking(settings)
    check_written_out(WHERE, {**named_templates(settings, templates), "token_env": settings.token_env or ""})
    return templates


def named_templates(settings: Settings, templates: Templates) -> Mapping[str, object]:
    """Give everything that may hold a placeholder, under the names of the settings."""
    given = {name: getattr(settings, name) for name in ("url", "headers", "env", "arguments")}
    filters = {"path_filter": templates.filters.paths, "language_filter": templates.filters.languages}
    calls = {name: [call.arguments for call in getattr(templates, name)] for name in ("index", "update")}
    return {"command": templates.command, "index_command": templates.index_command, **given, **filters, **calls}


def _read_calls(calls: ToolCalls, known: Sequence[str], name: str) -> tuple[ToolCall, ...]:
    """Give calls as a sequence, checked."""
    listed = (calls,) if isinstance(calls, ToolCall) else calls
    for call in listed:
        check_template(call.arguments, known, f"{WHERE}: {name}")
    return listed


def _check_asking(settings: Settings) -> None:
    """Refuse a search that asks nothing, and answers that cannot be read as they are said to be."""
    if not names_place(settings.arguments, "query"):
        raise ConfigError(f"{WHERE}: arguments have no {{query}}", hint="put {query} where the question goes")
    if settings.content == "structured" and (settings.pattern or settings.format in ("jsonl", "text")):
        raise ConfigError(f"{WHERE}: structured content is JSON", hint="leave format and pattern out")


def _check_update(settings: Settings) -> None:
    """Refuse an update that means nothing."""
    update = settings.update
    if isinstance(update, str) and update not in (AGAIN, RESTART):
        hint = f'write "{RESTART}", "{AGAIN}", or a tool and its arguments'
        raise ConfigError(f"{WHERE}: update = {update!r:.40}", hint=hint)
    if update == AGAIN and not settings.index_command:
        raise ConfigError(f'{WHERE}: update = "{AGAIN}" without an index_command', hint="take it out, or add it")
    if isinstance(update, str) and settings.url:
        raise ConfigError(f'{WHERE}: update = "{update}" with url', hint="a server that is not ours is not started")


def _check_server(settings: Settings) -> None:
    """Refuse a server with two addresses or none, and what the chosen one has no use for."""
    if bool(settings.command) == bool(settings.url):
        both = "both command and url" if settings.url else "neither command nor url"
        raise ConfigError(f"{WHERE}: {both}", hint='write command = ["server"] or url = "http://host/mcp"')
    idle = ("env", "index_command") if settings.url else ("headers", "token_env")
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
