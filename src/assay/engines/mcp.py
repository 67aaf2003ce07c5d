"""MCP servers as engines; the sessions are in `mcp_session`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from assay.digests import digest_of
from assay.engines.base import EngineContext
from assay.engines.config_files import (
    ConfigSettings,
    ConfigTemplate,
    check_config_used,
    load_config_template,
    recorded_config,
)
from assay.engines.output import OutputSettings, make_layout
from assay.engines.secrets import check_literal_secrets, recorded_table, recorded_url, secret_values
from assay.engines.shared_index import (
    INDEX_KEYS_HELP,
    IndexBuilder,
    IndexSettings,
    SharedIndexEngine,
    make_index_settings,
)
from assay.engines.templates import (
    QUERY_PLACEHOLDERS,
    Filters,
    check_template,
    has_placeholder,
    make_filters,
    named_secrets,
)
from assay.engines.tool import RESTARTS, STARTUP_SECONDS, Argv, parse_command, stat_files
from assay.engines.workspace import IndexWorkspace, fixed_placeholders, placeholder_names
from assay.errors import ConfigError, SetupError, install_hint
from assay.settings import read_settings, setting
from assay.types import Corpus

if TYPE_CHECKING:
    from types import ModuleType

    from assay.engines.mcp_session import McpSession

WHERE = "engine mcp"
Content = Literal["auto", "structured", "text"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    tool: str = field(metadata={"about": "name of the tool"})
    arguments: Mapping[str, object] = setting({}, "arguments of the tool")


ToolCalls = ToolCall | tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSettings(OutputSettings):
    """Settings of `kind = "mcp"`.

    The server is a program (`command`, run in {root}, over stdin and stdout) or a URL (`url`).
    Placeholders in arguments: {query}, {k} ("{k}" becomes a number), {root} (the corpus), {here} (the directory of
    assay.toml), {store} (an empty directory for the engine), {config} (the file rendered from `config.template`) and
    {env:NAME}; filters also use {path} or {language}, where a list item is repeated for each value: ["{path}"].

    If the server dies or hangs, the query fails. Before the next query, the server is restarted and the `index` calls
    are repeated, but `index_command` is not; the time is noted and excluded from query times. After files change,
    `update = "restart"` restarts the server; `update = "index"` runs `index_command` before the restart.
    """

    command: Argv = setting((), "server command; a string is split like a shell command")
    index_command: Argv = setting((), "command that builds an index before startup, excluded from startup time")
    url: str = setting("", "URL of a server, for streamable HTTP")
    headers: Mapping[str, str] = setting(
        {}, "headers for url; use {env:NAME} for secrets; only names and a digest are recorded", repr=False
    )
    token_env: str | None = setting(None, "environment variable with the bearer token for url")
    env: Mapping[str, str] = setting({}, "environment variables; only names and a digest are recorded", repr=False)
    tool: str = field(metadata={"about": "name of the search tool"})
    arguments: Mapping[str, object] = setting({"query": "{query}"}, "arguments of the search tool")
    index: ToolCalls = setting((), "tool call that builds the index (tool, arguments), or a list of calls")
    update: str | ToolCalls = setting((), 'calls after files change, "restart" or "index"; default: the calls in index')
    path_filter: Mapping[str, object] = setting({}, "arguments that restrict a search to {path}, a glob")
    language_filter: Mapping[str, object] = setting({}, "arguments that restrict a search to {language}")
    content: Content = setting("auto", "part of the result to parse; auto: structured content if present, else text")
    startup_timeout: float = setting(STARTUP_SECONDS, "maximum seconds for the server to start and initialize", above=0)
    restarts: int = setting(RESTARTS, "maximum consecutive restarts without a successful query between them", least=0)
    git: bool = setting(False, "make the copy of the corpus a Git repository with one commit")
    config: ConfigSettings | None = setting(None, "configuration file {config}: template, format, edits, new_keys")
    index_keys: tuple[str, ...] | None = setting(None, f"{INDEX_KEYS_HELP}; a separate server makes the index calls")


@dataclass(frozen=True, slots=True)
class McpTemplates:
    command: tuple[str, ...]
    index_command: tuple[str, ...]
    filters: Filters
    search: ToolCall
    index: tuple[ToolCall, ...]
    update: tuple[ToolCall, ...]
    named: Mapping[str, object]  # templates that may contain a placeholder, by setting


def _read_templates(settings: McpSettings, names: Sequence[str]) -> McpTemplates:
    _check_server(settings)
    query_names = (*names, *QUERY_PLACEHOLDERS)
    for name, known in {"env": names, "headers": names, "url": names, "arguments": query_names}.items():
        check_template(getattr(settings, name), known, WHERE, name)
    command = parse_command(settings.command, names, WHERE, "command")
    index_command = parse_command(settings.index_command, names, WHERE, "index_command")
    filters = make_filters(settings.path_filter, settings.language_filter, query_names, WHERE)
    update = () if isinstance(settings.update, str) else settings.update or settings.index
    calls: dict[str, tuple[ToolCall, ...]] = {}
    for name, given in {"index": settings.index, "update": update}.items():
        calls[name] = (given,) if isinstance(given, ToolCall) else given
        for call in calls[name]:
            check_template(call.arguments, names, WHERE, name)
    if not has_placeholder(settings.arguments, "query"):
        hint = 'add an argument such as query = "{query}"'
        raise ConfigError(f"{WHERE}: no {{query}} in `arguments`", hint=hint, keys=["arguments"])
    if settings.content == "structured" and (settings.pattern or settings.format in ("jsonl", "text")):
        conflict = "`pattern`" if settings.pattern else f'format = "{settings.format}"'
        message = f'{WHERE}: content = "structured" cannot be combined with {conflict}'
        hint = "remove `format` and `pattern`, or `content`"
        raise ConfigError(message, hint=hint, keys=["content", "pattern" if settings.pattern else "format"])
    named = {
        "command": command,
        "index_command": index_command,
        **{name: getattr(settings, name) for name in ("url", "headers", "env", "arguments")},
        "path_filter": filters.paths,
        "language_filter": filters.languages,
        **{name: [call.arguments for call in made] for name, made in calls.items()},
    }
    check_literal_secrets(WHERE, {**named, "token_env": settings.token_env or ""})
    search = ToolCall(settings.tool, settings.arguments)
    return McpTemplates(command, index_command, filters, search, calls["index"], calls["update"], named)


def _check_server(settings: McpSettings) -> None:
    url, update = settings.url, settings.update
    if bool(settings.command) == bool(url):
        problem = "both `command` and `url` are set" if url else "neither `command` nor `url` is set"
        hint = 'set one: command = ["server"] or url = "http://host/mcp"'
        raise ConfigError(f"{WHERE}: {problem}", hint=hint, keys=["command", "url"])
    server, unused = ("url", ("env", "index_command")) if url else ("command", ("headers", "token_env"))
    for name in unused:
        if getattr(settings, name):
            message = f"{WHERE}: `{name}` cannot be combined with `{server}`"
            raise ConfigError(message, hint=f"remove `{name}`", keys=[name, server])
    if url and not url.startswith("{env:"):  # a variable is checked when it is filled in
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            message = f"{WHERE}: url: expected an HTTP URL such as http://127.0.0.1:8000/mcp, got {url!r}"
            raise ConfigError(message, keys=["url"])
        if parts.username or parts.password:
            hint = "use `headers` with {env:NAME}, or `token_env`"
            raise ConfigError(f"{WHERE}: `url` contains a user name or password", hint=hint, keys=["url"])
    if isinstance(update, str):
        if update not in ("index", "restart"):
            message = f'{WHERE}: update: expected "restart", "index" or tool calls, got {update!r:.40}'
            raise ConfigError(message, keys=["update"])
        if update == "index" and not settings.index_command:
            message = f'{WHERE}: update = "index" requires `index_command`'
            raise ConfigError(message, hint="add `index_command`", keys=["update"])
        if url:
            hint = "set `update` to tool calls, or remove `update`"
            message = f'{WHERE}: update = "{update}" cannot be combined with `url`'
            raise ConfigError(message, hint=hint, keys=["update", "url"])


# Settings that are recorded elsewhere, and limits that do not affect rankings.
_UNRECORDED = frozenset(
    {"startup_timeout", "restarts", "config", "index_keys", *(field.name for field in fields(OutputSettings))}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpEngine(SharedIndexEngine):
    settings: McpSettings
    templates: McpTemplates
    git: bool

    @property
    def env(self) -> Mapping[str, str]:
        return self.settings.env

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        return tuple(filter(None, (self.templates.index_command, self.templates.command)))

    @property
    def private(self) -> bool:  # type: ignore[override]  # computed
        return bool(self.templates.command) or any(has_placeholder(self.texts, name) for name in ("root", "store"))

    @property
    def written(self) -> list[object]:
        return [self.templates.named]

    @property
    def secrets(self) -> tuple[str, ...]:  # type: ignore[override]  # computed
        settings = self.settings
        own = secret_values(self.templates.named, env=settings.env, urls=[settings.url], token_env=settings.token_env)
        return (*own, *(self.template.secrets if self.template else ()))

    @property
    def config(self) -> Mapping[str, object]:
        settings, templates = self.settings, self.templates
        names = [field.name for field in fields(settings) if field.name not in _UNRECORDED]
        own = {name: getattr(settings, name) for name in names}
        own |= {name: list(getattr(templates, name)) for name in ("command", "index_command")}
        own |= {"url": recorded_url(settings.url), "index": [asdict(call) for call in templates.index]}
        named = settings.update if isinstance(settings.update, str) else ""
        own |= {"update": named or [asdict(call) for call in templates.update]}
        own |= {**recorded_table("env", settings.env), **recorded_table("headers", settings.headers)}
        own |= recorded_config(self.template, settings.index_keys)
        return {"kind": "mcp", **own, **settings.recorded()}

    def open_at(self, index: IndexWorkspace, seconds: float | None, *, indexed: bool) -> McpSession:
        sessions = _session_module()
        follows = self.settings.update or self.templates.update
        session: McpSession = (sessions.UpdatableMcpSession if follows else sessions.McpSession)(
            self, index, indexed=indexed
        )
        session.start(seconds)
        return session

    def build_index(self, index: IndexWorkspace, seconds: float | None) -> str:
        session: McpSession = _session_module().McpSession(self.for_index(), index, indexed=False)
        session.start(seconds, serve=self.indexing.builder != "command")
        session.close()
        return session.stderr()

    def tool_identity(self, corpus: Corpus) -> list[object]:  # noqa: ARG002 - part of the protocol
        engine, templates = self.for_index(), self.templates
        calls = [call.arguments for call in templates.index]
        texts = engine.template.texts if engine.template else []
        named = [templates.index_command, templates.command, engine.env, calls, texts]
        return [*stat_files(self.commands, self.placeholders), digest_of(named_secrets(named))]


def _session_module() -> ModuleType:
    try:
        from assay.engines import mcp_session
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] not in ("anyio", "httpx2", "mcp", "mcp_types"):
            raise
        raise SetupError("engine mcp: the mcp package is not installed", hint=install_hint("mcp")) from problem
    return mcp_session


def make(settings: Mapping[str, object], context: EngineContext) -> McpEngine:
    read = read_settings(McpSettings, settings, WHERE)
    fixed = fixed_placeholders(context)
    config = load_config_template(read.config, fixed, WHERE)
    templates = _read_templates(read, placeholder_names(fixed, config))
    check_config_used(config, templates.named, WHERE)
    indexing = _index_settings(read, templates, fixed, config)
    engine = McpEngine(
        settings=read,
        placeholders=fixed,
        template=config,
        indexing=indexing,
        layout=make_layout(read, WHERE),
        filters=templates.filters,
        templates=templates,
        git=read.git,
    )
    engine.secrets  # noqa: B018 - a variable that is not set is an error now, not during a run
    _session_module()  # import takes half a second, which must not count for the server
    return engine


def _index_settings(
    settings: McpSettings, templates: McpTemplates, fixed: Mapping[str, str], config: ConfigTemplate | None
) -> IndexSettings:
    texts = [templates.named, *(config.texts if config else ())]
    calls = bool(templates.index) and settings.index_keys is not None
    starts = not templates.index_command and bool(templates.command) and has_placeholder(texts, "store")
    builder: IndexBuilder = "none"
    if calls and settings.url:
        builder = "server"
    elif calls or (starts and not templates.index):
        builder = "session"
    elif templates.index_command:
        builder = "command"
    own = {"session": ("command",), "server": ("url", "token_env", "headers")}.get(builder, ())
    always, keys = ("index_command", "index", "git", "update", *own), settings.index_keys
    about = shlex.join(templates.index_command) or " ".join(call.tool for call in templates.index)
    address = recorded_url(settings.url) if builder == "server" else ""
    return make_index_settings(
        WHERE, settings, fixed, config, index_keys=keys, always=always, builder=builder, about=about, address=address
    )
