"""MCP servers as engines: settings, checks and answers; `session` has the connection."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast
from urllib.parse import urlsplit

from mcp_types import CallToolResult, ContentBlock, EmbeddedResource, TextContent, TextResourceContents, Tool

from assay.digests import digest_of
from assay.engines.base import EngineContext, EngineReply, TimedSession
from assay.engines.config_files import (
    ConfigSettings,
    ConfigTemplate,
    check_config_used,
    load_config,
    recorded_config,
)
from assay.engines.fingerprints import EngineInputs, fingerprint_inputs, fingerprint_of
from assay.engines.output import OutputLayout, make_layout, parse_document, parse_output
from assay.engines.secrets import check_literal_secrets, recorded_table, recorded_url, secret_values
from assay.engines.shared_index import (
    INDEX_KEYS_HELP,
    IndexBuilder,
    IndexDeclaration,
    IndexSettings,
    IndexWorkspace,
    SharedIndexEngine,
    index_config,
    index_env,
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
from assay.engines.text_output import OutputSettings, find_failure
from assay.engines.tool import (
    RESTARTS,
    STARTUP_SECONDS,
    Argv,
    check_restarts,
    check_startup,
    fixed_placeholders,
    parse_command,
    placeholder_names,
    stat_files,
)
from assay.errors import ConfigError, EngineError, SetupError, closest_match, install_hint
from assay.settings import read_settings
from assay.types import Corpus, Role

if TYPE_CHECKING:
    from types import ModuleType

    from assay.engines.mcp.session import McpSession


WHERE = "engine mcp"
#: Values of `update` that stand for no calls.
AGAIN, RESTART = "index", "restart"
Content = Literal["auto", "structured", "text"]
SHOWN_ERROR = 300  # characters of a server's error that a message shows


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool and its arguments."""

    tool: str = field(metadata={"about": "the name of the tool"})
    arguments: Mapping[str, object] = field(default_factory=dict, metadata={"about": "its arguments"})


ToolCalls = ToolCall | tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(OutputSettings):
    """Settings of `kind = "mcp"`.

    The server is a program (`command`, run in {root}, over stdin and stdout) or a URL (`url`).
    In the arguments: {query}, {k} (a number where it stands alone), {root} (the corpus), {here} (the folder of
    assay.toml), {store} (an empty directory of the engine), {config} (the file rendered from
    `config.template`) and {env:NAME}; in the filters also {path} or {language}, where the item of a list is repeated
    for each value: ["{path}"].

    A server that dies or hangs fails that query. Before the next one it is restarted and the calls of `index` are
    repeated; that time is noted and not counted. `index_command` is not run again.
    """

    where: ClassVar[str] = WHERE

    command: Argv = field(
        default=(), metadata={"about": "the server's program and its arguments; a text is split as a shell would"}
    )
    index_command: Argv = field(
        default=(),
        metadata={
            "about": "a program that makes an index before command starts; its time is part of opening, but not of "
            "startup"
        },
    )
    url: str = field(default="", metadata={"about": "the server's URL, for streamable HTTP"})
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
        default_factory=lambda: {"query": "{query}"}, metadata={"about": "arguments of the search tool"}
    )
    index: ToolCalls = field(
        default=(), metadata={"about": "tool and arguments, or several of them, called when the corpus is opened"}
    )
    update: str | ToolCalls = field(
        default=(),
        metadata={
            "about": 'the same, called when files have changed; "restart" restarts the server, and "index" runs '
            "index_command before that; by default the calls of index are repeated"
        },
    )
    path_filter: Mapping[str, object] = field(
        default_factory=dict, metadata={"about": "arguments that restrict a search to {path}, a glob"}
    )
    language_filter: Mapping[str, object] = field(
        default_factory=dict, metadata={"about": "arguments that restrict a search to {language}"}
    )
    content: Content = field(
        default="auto", metadata={"about": "which part of an answer is read; auto: structured if present"}
    )
    startup_timeout: float = field(
        default=STARTUP_SECONDS,
        metadata={"about": "seconds for the server to start and initialize"},
    )
    restarts: int = field(
        default=RESTARTS,
        metadata={"about": "how often in a row, without an answer in between, a server that died or hung is restarted"},
    )
    git: bool = field(default=False, metadata={"about": "whether the copy of the corpus is a git repository"})
    config: ConfigSettings | None = field(
        default=None,
        metadata={"about": "a file for the server, {config}, rendered from template (format, edits, new_keys)"},
    )
    index_keys: tuple[str, ...] | None = field(
        default=None,
        metadata={"about": f"{INDEX_KEYS_HELP}; with them the calls of index are made once, by a separate server"},
    )

    def __post_init__(self) -> None:
        OutputSettings.__post_init__(self)
        check_startup(WHERE, self.startup_timeout)
        check_restarts(WHERE, self.restarts)


@dataclass(frozen=True, slots=True)
class McpTemplates:
    """The templates of the settings, split and checked."""

    command: tuple[str, ...]
    index_command: tuple[str, ...]
    filters: Filters
    index: tuple[ToolCall, ...]
    update: tuple[ToolCall, ...]  # by default the calls of `index`

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """List the commands that are set."""
        return tuple(filter(None, (self.index_command, self.command)))


def read_templates(settings: Settings, folders: Sequence[str]) -> McpTemplates:
    """Check the settings and their placeholders; `folders` are those that always have a value."""
    _check_server(settings)
    _check_update(settings)
    asked = (*folders, *QUERY_PLACEHOLDERS)
    for name, known in {"env": folders, "headers": folders, "url": folders, "arguments": asked}.items():
        check_template(getattr(settings, name), known, f"{WHERE}: {name}")
    templates = McpTemplates(
        parse_command(settings.command, folders, f"{WHERE}: command"),
        parse_command(settings.index_command, folders, f"{WHERE}: index_command"),
        make_filters(settings.path_filter, settings.language_filter, asked, WHERE),
        _read_calls(settings.index, folders, "index"),
        () if isinstance(settings.update, str) else _read_calls(settings.update or settings.index, folders, "update"),
    )
    _check_search(settings)
    check_literal_secrets(WHERE, {**named_templates(settings, templates), "token_env": settings.token_env or ""})
    return templates


def named_templates(settings: Settings, templates: McpTemplates) -> Mapping[str, object]:
    """Return everything that may hold a placeholder, by the names of the settings."""
    given = {name: getattr(settings, name) for name in ("url", "headers", "env", "arguments")}
    filters = {"path_filter": templates.filters.paths, "language_filter": templates.filters.languages}
    calls = {name: [call.arguments for call in getattr(templates, name)] for name in ("index", "update")}
    return {"command": templates.command, "index_command": templates.index_command, **given, **filters, **calls}


def _read_calls(calls: ToolCalls, known: Sequence[str], name: str) -> tuple[ToolCall, ...]:
    listed = (calls,) if isinstance(calls, ToolCall) else calls
    for call in listed:
        check_template(call.arguments, known, f"{WHERE}: {name}")
    return listed


def _check_search(settings: Settings) -> None:
    if not has_placeholder(settings.arguments, "query"):
        raise ConfigError(f"{WHERE}: arguments have no {{query}}", hint="put {query} where the query goes")
    if settings.content == "structured" and (settings.pattern or settings.format in ("jsonl", "text")):
        raise ConfigError(f"{WHERE}: structured content is JSON", hint="leave format and pattern out")


def _check_update(settings: Settings) -> None:
    update = settings.update
    if isinstance(update, str) and update not in (AGAIN, RESTART):
        hint = f'write "{RESTART}", "{AGAIN}", or a tool and its arguments'
        raise ConfigError(f"{WHERE}: update = {update!r:.40}", hint=hint)
    if update == AGAIN and not settings.index_command:
        raise ConfigError(f'{WHERE}: update = "{AGAIN}" without an index_command', hint="take it out, or add it")
    if isinstance(update, str) and settings.url:
        raise ConfigError(f'{WHERE}: update = "{update}" with url', hint="a server behind a URL is not restarted")


def _check_server(settings: Settings) -> None:
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
    if url.startswith("{env:"):
        return  # checked when it is filled in
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{WHERE}: url = {url!r}", hint="write it like http://127.0.0.1:8000/mcp")
    if parts.username or parts.password:
        raise ConfigError(f"{WHERE}: url holds a name or a password", hint="use headers with {env:NAME}, or token_env")


__all__ = ["McpEngine", "Settings", "make"]

# Limits of startup and indexing change no ranking.
_UNRECORDED = frozenset(
    {"startup_timeout", "restarts", "config", "index_keys", *(field.name for field in fields(OutputSettings))}
)


@dataclass(frozen=True, slots=True)
class McpEngine(SharedIndexEngine):
    """An MCP server with its templates; values of variables are read when needed and not stored."""

    settings: Settings
    layout: OutputLayout
    templates: McpTemplates
    placeholders: Mapping[str, str]  # {here} and {preset}
    indexing: IndexSettings
    template: ConfigTemplate | None = None  # of a file for the server
    role: Role = "contestant"
    notes: tuple[str, ...] = ()
    identity: str | None = None  # a program or server may change unseen
    parallel: int = 1

    @property
    def oversample(self) -> int:
        """The setting."""
        return self.settings.oversample

    @property
    def git(self) -> bool:
        """The setting."""
        return self.settings.git

    @property
    def private(self) -> bool:
        """Whether the server is started here, and may write beside the code, or gets the path of the code."""
        named = any(has_placeholder(self.texts, place) for place in ("root", "store"))
        return bool(self.templates.command) or named

    @property
    def named(self) -> Mapping[str, object]:
        """Everything that may hold a placeholder."""
        return named_templates(self.settings, self.templates)

    @property
    def texts(self) -> list[object]:
        """The same, with the texts of the configuration file."""
        return [self.named, *(self.template.said if self.template else ())]

    @property
    def wants_store(self) -> bool:
        """Whether it names {store}."""
        return has_placeholder(self.texts, "store")

    @property
    def secrets(self) -> tuple[str, ...]:
        """The token, variables in templates, the server's environment, and keys in the URL."""
        settings = self.settings
        own = secret_values(self.named, env=settings.env, urls=[settings.url], token_env=settings.token_env)
        return (*own, *(self.template.secrets if self.template else ()))

    @property
    def fingerprint(self) -> str:
        """The templates, and the programs, files and variables that they name."""
        settings = self.settings
        inputs = EngineInputs(
            self.placeholders, self.templates.commands(), settings.env, self.texts, settings.token_env
        )
        return fingerprint_of(self.config, fingerprint_inputs(inputs))

    @property
    def config(self) -> Mapping[str, object]:
        """The templates and the output format; of environment and headers only names and digests."""
        settings, templates = self.settings, self.templates
        own = {one.name: getattr(settings, one.name) for one in fields(settings) if one.name not in _UNRECORDED}
        own |= {name: list(getattr(templates, name)) for name in ("command", "index_command")}
        own |= {"url": recorded_url(settings.url), "index": [asdict(call) for call in templates.index]}
        named = settings.update if isinstance(settings.update, str) else ""
        own |= {"update": named or [asdict(call) for call in templates.update]}
        own |= {**recorded_table("env", settings.env), **recorded_table("headers", settings.headers)}
        own |= recorded_config(self.template, settings.index_keys)
        return {"kind": "mcp", **own, **settings.recorded()}

    def open(self, corpus: Corpus) -> TimedSession:
        """Start the server and index, with the time limits of the settings."""
        return self.open_within(corpus, None)

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Start the server and index; the shortest of the time limits holds."""
        return self.open_at(IndexWorkspace(corpus), seconds, indexed=False)

    def open_at(self, spot: IndexWorkspace, seconds: float | None, *, indexed: bool) -> McpSession:
        """Open on an index, or make it first."""
        sessions = _session_module()
        follows = self.settings.update or self.templates.update
        session = (sessions.UpdatableMcpSession if follows else sessions.McpSession)(self, spot, indexed=indexed)
        with _closed_on_failure(session):
            session.start(seconds)
        return cast("McpSession", session)

    def make_index(self, spot: IndexWorkspace, seconds: float | None) -> str:
        """Make the index with the settings that belong to it, and return stderr."""
        session = cast("McpSession", _session_module().McpSession(self._for_index(), spot, indexed=False))
        with _closed_on_failure(session):
            session.make_index(seconds, serve=self.indexing.builder != "command")
        session.close()
        return session.stderr()

    def tool_identity(self, corpus: Corpus) -> list[object]:  # noqa: ARG002 - part of the protocol
        """Return facts about the files of the server, and a digest of the variables of its index."""
        engine = self._for_index()
        calls = [call.arguments for call in self.templates.index]
        said = engine.template.said if engine.template else []
        named = [self.templates.index_command, self.templates.command, engine.settings.env, calls, said]
        return [*stat_files(self.templates.commands(), self.placeholders), digest_of(named_secrets(named))]

    def _for_index(self) -> McpEngine:
        named = self.indexing.named
        settings = replace(self.settings, env=index_env(self.settings.env, named))
        return replace(self, settings=settings, template=index_config(self.template, named))


@contextmanager
def _closed_on_failure(session: McpSession) -> Iterator[None]:
    try:
        yield
    except BaseException as problem:
        session.close()
        if isinstance(problem, EngineError):
            problem.stderr = session.stderr()
        raise


def make(settings: Mapping[str, object], context: EngineContext) -> McpEngine:
    """Make the engine from its settings; errors in them are raised before anything starts."""
    read = read_settings(Settings, settings, WHERE)
    placeholders = fixed_placeholders(context)
    config = load_config(read.config, placeholders, WHERE)
    templates = read_templates(read, placeholder_names(placeholders, config))
    check_config_used(config, named_templates(read, templates), WHERE)
    indexing = _indexing(read, templates, placeholders, config)
    engine = McpEngine(read, make_layout(read, WHERE), templates, placeholders, indexing, config)
    engine.secrets  # noqa: B018 - a variable that is not set is an error now, not during a run
    _session_module()  # import takes half a second, which must not count for the server
    return engine


def _indexing(
    settings: Settings, templates: McpTemplates, placeholders: Mapping[str, str], config: ConfigTemplate | None
) -> IndexSettings:
    texts = [named_templates(settings, templates), *(config.said if config else ())]
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
    always = ("index_command", "index", "git", "update", *own)
    about = shlex.join(templates.index_command) or " ".join(call.tool for call in templates.index)
    address = recorded_url(settings.url) if builder == "server" else ""
    return make_index_settings(IndexDeclaration(WHERE, settings, always, builder, placeholders, config, about, address))


def _session_module() -> ModuleType:
    try:
        from assay.engines.mcp import session
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] not in ("anyio", "httpx2", "mcp", "mcp_types"):
            raise
        raise SetupError("engine mcp: the mcp package is not installed", hint=install_hint("mcp")) from problem
    return session


def check_answer(tool: str, result: CallToolResult) -> CallToolResult:
    """Raise EngineError if a tool reports an error."""
    if result.is_error:
        said = " ".join(" ".join(_texts(result.content)).split())[:SHOWN_ERROR]
        raise EngineError(
            f"the tool {tool!r} failed: {said or 'it does not say why'}", hint="correct its arguments, or the server"
        )
    return result


def check_words(result: CallToolResult, failed: re.Pattern[str] | None) -> None:
    """Raise EngineError if the output of a tool matches `failed`."""
    problem = find_failure("\n".join(_texts(result.content)), failed)
    if problem is not None:
        raise problem


def read_answer(result: CallToolResult, content: Content, layout: OutputLayout, known: frozenset[str]) -> EngineReply:
    """Parse an answer; a text that a library wrapped as `{"result": ...}` is read as text."""
    structured = result.structured_content
    wrapped = isinstance(structured, dict) and list(structured) == ["result"] and isinstance(structured["result"], str)
    if content == "structured" and structured is None:
        raise EngineError("the answer has no structured content", hint='set content = "text"')
    as_document = (
        structured is not None and not wrapped and not layout.text.pattern and layout.format in ("auto", "json")
    )
    if content != "text" and as_document:
        return parse_document(structured, layout)
    texts = _texts(result.content)
    if not "".join(texts).strip():
        return EngineReply((), None, _unread(result.content))
    reply = parse_output("\n".join(texts), layout, known)
    return replace(reply, notes=(*reply.notes, *_unread(result.content)))


def _texts(content: Sequence[ContentBlock]) -> list[str]:
    plain = [item.text if isinstance(item, TextContent) else _embedded(item) for item in content]
    return [text for text in plain if text is not None]


def _embedded(item: ContentBlock) -> str | None:
    if isinstance(item, EmbeddedResource) and isinstance(item.resource, TextResourceContents):
        return item.resource.text
    return None


def _unread(content: Sequence[ContentBlock]) -> tuple[str, ...]:
    counts = Counter(item.type for item in content if not isinstance(item, TextContent) and _embedded(item) is None)
    return tuple(f"{count} of type {name} in the answer not read" for name, count in sorted(counts.items()))


def check_call(tools: Mapping[str, Tool], tool: str, arguments: Iterable[str]) -> None:
    """Raise EngineError for an unknown tool, unknown arguments and missing ones."""
    if tool not in tools:
        near = closest_match(tool, tools)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise EngineError(
            f"the server has no tool {tool!r}{meant}", hint=f"its tools: {', '.join(sorted(tools)) or 'none'}"
        )
    schema: Mapping[str, Any] = tools[tool].input_schema
    takes = schema.get("properties")
    if not isinstance(takes, Mapping):
        return
    given = set(arguments)
    strange = sorted(given - set(takes))
    if strange and not schema.get("additionalProperties"):  # most servers would ignore it without a word
        raise EngineError(f"the tool {tool!r} takes no {', '.join(strange)}", hint=_names(takes, schema))
    missing = sorted(set(schema.get("required") or ()) - given)
    if missing:
        raise EngineError(f"the tool {tool!r} needs {', '.join(missing)}", hint=_names(takes, schema))


def _names(takes: Mapping[str, object], schema: Mapping[str, Any]) -> str:
    needs = [name for name in takes if name in (schema.get("required") or ())]
    rest = [name for name in takes if name not in needs]
    return f"it takes {', '.join(takes and [*needs, *rest]) or 'nothing'}" + (
        f"; it needs {', '.join(needs)}" if needs else ""
    )
