"""Search APIs over HTTP: requests from templates, answers by selectors."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar, Literal, cast
from urllib.parse import SplitResult, urlencode, urlsplit

from assay.clock import Deadline, format_duration, min_timeout
from assay.engines.base import Answered, EngineContext, EngineReply, SearchFilter, SessionUsage, TimedSession
from assay.engines.config_files import (
    ConfigSettings,
    ConfigTemplate,
    check_config_used,
    load_config,
    recorded_config,
)
from assay.engines.fingerprints import EngineInputs, fingerprint_inputs, fingerprint_of
from assay.engines.json_output import parse_selector, select
from assay.engines.output import OutputLayout, make_layout, parse_output
from assay.engines.secrets import check_literal_secrets, recorded_table, recorded_url, secret_values
from assay.engines.shared_index import (
    INDEX_KEYS_HELP,
    IndexBuilder,
    IndexDeclaration,
    IndexSettings,
    IndexWorkspace,
    SharedIndexEngine,
    index_config,
    make_index_settings,
)
from assay.engines.templates import (
    QUERY_PLACEHOLDERS,
    Filters,
    check_template,
    fill,
    fill_json,
    fill_url,
    has_placeholder,
    make_filters,
    merge,
    named_secrets,
)
from assay.engines.text_output import OutputSettings
from assay.engines.tool import EngineWorkspace, ExternalSession, fixed_placeholders, placeholder_names
from assay.errors import AssayError, ConfigError, EngineError, EngineTimeoutError
from assay.http import (
    Connections,
    HttpRequest,
    HttpResponse,
    RawResponse,
    RetryPolicy,
    describe_attempts,
    make_call,
    read_json,
    read_token,
    send,
    web_address,
)
from assay.redaction import make_redactor
from assay.settings import check_counts, read_settings
from assay.types import Corpus, Role


class RateLimiter:
    """Spaces requests evenly, because servers reject bursts."""

    def __init__(self, rate: float | None) -> None:
        self._distance = 0.0 if rate is None else 1 / rate
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> float:
        """Wait for the next slot and return the seconds that took."""
        begin = time.monotonic()
        with self._lock:
            at = max(begin, self._next)
            self._next = at + self._distance
        if at <= begin:
            return 0.0
        time.sleep(at - begin)
        return time.monotonic() - begin


Method = Literal["GET", "POST", "PUT"]
Body = Mapping[str, object] | str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTemplate:
    """A request with placeholders."""

    url: str = field(metadata={"about": "the address"})
    method: Method | None = field(default=None, metadata={"about": "default: POST with a body, else GET"})
    headers: Mapping[str, str] = field(default_factory=dict, metadata={"about": "sent with it"})
    body: Body | None = field(default=None, metadata={"about": "a table is sent as JSON, a text unchanged"})
    form: bool = field(default=False, metadata={"about": "send the table as a form instead of JSON"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessProbe(RequestTemplate):
    """A request that is repeated until the index is ready."""

    path: str = field(metadata={"about": "where in the JSON the state is"})
    value: object = field(default=True, metadata={"about": "the state when it is ready"})
    every: float = field(
        default=0.5,  # an index takes seconds to minutes; more requests would only load the server
        metadata={"about": "seconds between two requests"},
    )

    def __post_init__(self) -> None:
        if not self.every > 0:
            raise ConfigError(f"engine http: ready: every = {self.every:g}", hint="it must be more than 0 seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(OutputSettings):
    """Settings of `kind = "http"`.

    Placeholders of the templates: {query} and {k}; {root} (the corpus), {here} (the directory of assay.toml), {store}
    (an empty directory of the engine), {config} (the file rendered from `config.template`); {env:NAME} for a secret.
    In a URL they are percent-encoded, except a variable at its beginning. `index`, `update` and `ready` have no query;
    filters have {path} and {language}.

    429, 5xx and broken connections are retried within the time limit of the query. Redirects are not followed.
    """

    where: ClassVar[str] = "engine http"

    url: str = field(metadata={"about": "the address, as in https://host/search?q={query}&limit={k}"})
    method: Method | None = field(default=None, metadata={"about": "default: POST with a body, else GET"})
    headers: Mapping[str, str] = field(
        default_factory=dict, metadata={"about": "sent with every query; a secret is written {env:NAME}"}
    )
    body: Body | None = field(
        default=None, metadata={"about": "a table is sent as JSON, a text unchanged; {k} alone is a number"}
    )
    form: bool = field(default=False, metadata={"about": "send the table as a form instead of JSON"})
    token_env: str | None = field(
        default=None, metadata={"about": "the variable that holds the bearer token, sent with every request"}
    )
    index: RequestTemplate | None = field(
        default=None, metadata={"about": "sent when the corpus is opened: url, method, headers, body, form"}
    )
    update: RequestTemplate | None = field(
        default=None, metadata={"about": "sent when files have changed; by default the index request is repeated"}
    )
    ready: ReadinessProbe | None = field(
        default=None,
        metadata={
            "about": "repeated after index and update until path is value: url, path, value, every, headers, body"
        },
    )
    path_filter: Mapping[str, object] = field(
        default_factory=dict,
        metadata={"about": "added to the body, else to the address, for results under {path}, a glob"},
    )
    language_filter: Mapping[str, object] = field(
        default_factory=dict, metadata={"about": "the same for results in {language}"}
    )
    retries: int = field(default=2, metadata={"about": "how often a query is retried; bridges a limit per second"})
    rate: float | None = field(
        default=None,
        metadata={"about": "requests per second at most; waiting for it is not counted as the engine's time"},
    )
    config: ConfigSettings | None = field(
        default=None,
        metadata={"about": "a file for the server, {config}, rendered from template (format, edits, new_keys)"},
    )
    index_keys: tuple[str, ...] | None = field(default=None, metadata={"about": INDEX_KEYS_HELP})
    concurrency: int = field(default=1, metadata={"about": "how many queries may be in flight at once"})

    def __post_init__(self) -> None:
        OutputSettings.__post_init__(self)
        check_counts(self.where, concurrency=self.concurrency)
        if self.retries < 0:
            raise ConfigError(f"{self.where}: retries = {self.retries}", hint="it must be 0 or more")
        if self.rate is not None and not self.rate > 0:
            raise ConfigError(f"{self.where}: rate = {self.rate:g}", hint="it must be more than 0 requests a second")

    @property
    def search(self) -> RequestTemplate:
        """The request for a query."""
        return RequestTemplate(url=self.url, method=self.method, headers=self.headers, body=self.body, form=self.form)


_TYPES = {"json": "application/json", "form": "application/x-www-form-urlencoded", "text": "text/plain; charset=utf-8"}
_ACCEPT = "application/json, */*;q=0.5"


@dataclass(frozen=True, slots=True)
class Sender:
    """Token and secrets for all requests of an engine."""

    token_env: str | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def build(
        self, request: RequestTemplate, placeholders: Mapping[str, object], added: Mapping[str, object] | None = None
    ) -> HttpRequest:
        """Fill a request; `added` goes into its body, or into its URL if it has none."""
        texts = {name: _sendable(str(value)) for name, value in placeholders.items()}
        headers = {name.lower(): fill(value, texts) for name, value in request.headers.items()}
        bare = request.body is None
        return make_call(
            _add_parameters(fill_url(request.url, texts), added if bare and added else {}),
            method=request.method or ("GET" if bare else "POST"),
            body=_fill_body(request, placeholders, added or {}),
            headers={**_defaults(request), **headers},
            token_env=self.token_env,
            secrets=self.secrets,
        )


def requests_of(settings: Settings) -> dict[str, RequestTemplate]:
    """Return the requests that are set, by name."""
    named = {"search": settings.search, "index": settings.index, "update": settings.update, "ready": settings.ready}
    return {name: request for name, request in named.items() if request is not None}


def templates_of(settings: Settings) -> list[object]:
    """List everything that may hold a placeholder."""
    requests = [[one.url, one.headers, one.body or ""] for one in requests_of(settings).values()]
    return [*requests, settings.path_filter, settings.language_filter]


def check_request(request: RequestTemplate, placeholders: Sequence[str], asked: Sequence[str], where: str) -> None:
    """Raise ConfigError for a request that cannot be sent, without quoting secrets."""
    check_template(request.url, (*placeholders, *asked), f"{where}: url")
    check_template(request.headers, placeholders, f"{where}: headers")
    check_template(request.body or "", (*placeholders, *asked), f"{where}: body")
    named_secrets([request.url, request.headers, request.body or ""])
    _check_address(request, (*placeholders, *asked), where)
    check_literal_secrets(where, {"url": request.url, "headers": request.headers, "body": request.body or ""})
    if request.form and not isinstance(request.body, Mapping):
        raise ConfigError(f"{where}: form without a table as body", hint="write body = { q = '{query}' }")
    Sender().build(request, dict.fromkeys((*placeholders, *asked), "x"))


def _check_address(request: RequestTemplate, names: Sequence[str], where: str) -> None:
    ways = [_address(request.url, dict.fromkeys(names, value), where) for value in ("a", "b")]
    if ways[0].netloc != ways[1].netloc:
        raise ConfigError(f"{where}: url: the host has a placeholder", hint="only {env:NAME} may stand there")


def _address(template: str, placeholders: Mapping[str, object], where: str) -> SplitResult:
    try:
        return web_address(fill_url(template, placeholders))
    except ConfigError as problem:
        raise ConfigError(f"{where}: url: {problem.message}", hint=problem.hint) from None


def _defaults(request: RequestTemplate) -> dict[str, str]:
    if request.body is None:
        return {"accept": _ACCEPT}
    kind = "text" if isinstance(request.body, str) else "form" if request.form else "json"
    return {"accept": _ACCEPT, "content-type": _TYPES[kind]}


def _fill_body(
    request: RequestTemplate, placeholders: Mapping[str, object], added: Mapping[str, object]
) -> bytes | None:
    if request.body is None:
        return None
    if isinstance(request.body, str):
        return fill(request.body, {name: _sendable(str(value)) for name, value in placeholders.items()}).encode()
    table = cast(Mapping[str, object], merge(fill_json(request.body, placeholders), added))
    return _parameters(table).encode() if request.form else json.dumps(table, default=str).encode()  # TOML has dates


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _add_parameters(url: str, parameters: Mapping[str, object]) -> str:
    if not parameters:
        return url
    parts = urlsplit(url)
    return parts._replace(query="&".join(filter(None, (parts.query, _parameters(parameters))))).geturl()


def _parameters(table: Mapping[str, object]) -> str:
    pairs = [
        (key, _text(item))
        for key, value in table.items()
        for item in (value if isinstance(value, list | tuple) else [value])
    ]
    return urlencode(pairs, errors="replace")


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        raise ConfigError("engine http: a table in a form", hint="a form has texts, numbers and lists of them")
    return str(value).lower() if isinstance(value, bool) else str(value)


class HttpSession(ExternalSession):
    """An API on one corpus; safe for concurrent searches."""

    def __init__(
        self,
        settings: Settings,
        layout: OutputLayout,
        sender: Sender,
        corpus: Corpus,
        folders: EngineWorkspace,
        filters: Filters,
    ) -> None:
        self.filtering = filters
        self._settings = settings
        self._layout = layout
        self._sender = sender
        self._redactor = make_redactor(sender.secrets)
        self._known = frozenset(file.path for file in corpus.files)
        self._limiter = RateLimiter(settings.rate)
        self._folders = folders
        self.placeholders = folders.placeholders
        self._connections = Connections(keep=settings.concurrency)

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> Answered:
        """Send a query and parse the answer."""
        placeholders = {**self._folders.placeholders, "query": query, "k": k}
        flat = self._settings.body is None or self._settings.form
        with self._redactor.cleaning():
            added = self.filtering.table(wanted, placeholders, flat=flat)
            call = self._sender.build(self._settings.search, placeholders, added)
            heard = self._ask(call, min_timeout(seconds, self._settings.timeout))
            reply = self._read(heard.answer)
        retries = (describe_attempts(len(heard.troubles) + 1, heard.troubles),) if heard.troubles else ()
        notes = (*reply.notes, *retries)
        return EngineReply(reply.hits, reply.cost, tuple(map(self._redactor.text, notes)), heard.waited)

    def build_index(self, seconds: float | None) -> None:
        """Send the index request, if any, and wait until it is ready."""
        if self._settings.index is not None:
            self._prepare(self._settings.index, seconds)

    def usage(self) -> SessionUsage:
        """Return the size of the store."""
        return SessionUsage(store_bytes=self._folders.store_bytes())

    def close(self) -> None:
        """Close connections and remove directories."""
        try:
            self._connections.close()
        finally:
            self._folders.close()

    def _ask(self, call: HttpRequest, limit: float | None) -> HttpResponse:
        policy = RetryPolicy(limit, self._settings.retries, limit)
        return send(call, self._connections, policy, turn=self._limiter.wait)

    def _prepare(self, request: RequestTemplate, seconds: float | None) -> None:
        clock = Deadline(seconds, self._settings.index_timeout)
        try:
            with self._redactor.cleaning():
                self._ask(self._sender.build(request, self._folders.index_placeholders), clock.limit)
                if self._settings.ready is not None:
                    self._wait_for(self._settings.ready, clock)
        except AssayError as problem:
            message = f"indexing failed: {problem.message}"
            raise type(problem)(message, file=problem.file, line=problem.line, hint=problem.hint) from None

    def _wait_for(self, ready: ReadinessProbe, clock: Deadline) -> None:
        call = self._sender.build(ready, self._folders.index_placeholders)
        try:
            while not self._says_ready(call, ready, clock):
                time.sleep(min(ready.every, clock.left() or ready.every))
        except TimeoutError:
            hint = "raise index_timeout, or correct path and value of ready"
            raise EngineTimeoutError(
                f"the index is not ready after {format_duration(clock.limit)}", hint=hint
            ) from None

    def _says_ready(self, call: HttpRequest, ready: ReadinessProbe, clock: Deadline) -> bool:
        answer = self._ask(call, clock.left()).answer
        document = read_json(call, answer, self._connections.limits)
        found = [row.values[0] for row in select(document, (parse_selector(ready.path, "ready"),))]
        return bool(found) and all(_same(value, ready.value) for value in found)

    def _read(self, answer: RawResponse) -> EngineReply:
        try:
            text = answer.body.decode("utf-8")
        except UnicodeDecodeError as problem:
            message = f"answered with bytes that are not UTF-8, at {problem.start}"
            raise EngineError(message, hint="let it answer UTF-8") from None
        return parse_output(text, self._layout, self._known)


class UpdatableHttpSession(HttpSession):
    """An API that can update its index."""

    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        """Send the update request, else the index request."""
        self._known = frozenset(file.path for file in corpus.files)
        request = self._settings.update or self._settings.index
        assert request is not None
        self._prepare(request, seconds)


def _same(found: object, wanted: object) -> bool:
    return found == wanted and isinstance(found, bool) == isinstance(wanted, bool)


__all__ = ["HttpEngine", "Settings", "make"]


@dataclass(frozen=True, slots=True)
class HttpEngine(SharedIndexEngine):
    """A search API with its templates; values of variables are read when needed and not stored."""

    settings: Settings
    layout: OutputLayout
    placeholders: Mapping[str, str]  # {here} and {preset}
    indexing: IndexSettings
    template: ConfigTemplate | None = None  # of a file for the server
    filters: Filters = field(default_factory=Filters)
    role: Role = "contestant"
    notes: tuple[str, ...] = ()
    identity: str | None = None  # a server may change unseen
    git: bool = False

    @property
    def oversample(self) -> int:
        """The setting."""
        return self.settings.oversample

    @property
    def parallel(self) -> int:
        """The setting."""
        return self.settings.concurrency

    @property
    def private(self) -> bool:
        """Whether the server gets the path of the corpus or of a store."""
        return any(has_placeholder(self.texts, place) for place in ("root", "store"))

    @property
    def wants_store(self) -> bool:
        """Whether it names {store}."""
        return has_placeholder(self.texts, "store")

    @property
    def texts(self) -> list[object]:
        """Everything that may hold a placeholder."""
        return [*templates_of(self.settings), *(self.template.said if self.template else ())]

    @property
    def secrets(self) -> tuple[str, ...]:
        """The token, variables in templates, and keys in URLs."""
        settings = self.settings
        urls = [request.url for request in requests_of(settings).values()]
        own = secret_values(templates_of(settings), env={}, urls=urls, token_env=settings.token_env)
        return (*own, *(self.template.secrets if self.template else ()))

    @property
    def fingerprint(self) -> str:
        """The templates, and the files and variables that they name."""
        inputs = EngineInputs(self.placeholders, texts=self.texts, token_env=self.settings.token_env)
        return fingerprint_of(self.config, fingerprint_inputs(inputs))

    @property
    def config(self) -> Mapping[str, object]:
        """The templates and the output format, without values of variables."""
        settings = self.settings
        requests = {name: _recorded(request) for name, request in requests_of(settings).items()}
        search = requests.pop("search")
        own = {**self.filters.recorded(), **recorded_config(self.template, settings.index_keys)}
        return {"kind": "http", **search, **requests, **own, **settings.recorded()}

    def open(self, corpus: Corpus) -> TimedSession:
        """Index the corpus, with the time limits of the settings."""
        return self.open_within(corpus, None)

    def open_within(self, corpus: Corpus, seconds: float | None) -> TimedSession:
        """Index the corpus; the shorter of the two time limits holds."""
        return self.open_at(IndexWorkspace(corpus), seconds, indexed=False)

    def open_at(self, spot: IndexWorkspace, seconds: float | None, *, indexed: bool) -> HttpSession:
        """Open on an index, or make it first."""
        settings = self.settings
        follows = settings.update is not None or settings.index is not None
        for_index = index_config(self.template, self.indexing.named)
        folders = EngineWorkspace(
            self.placeholders,
            spot.corpus.root,
            self.texts,
            store=spot.store,
            config=self.template,
            index_config=for_index,
        )
        session = (UpdatableHttpSession if follows else HttpSession)(
            settings, self.layout, Sender(settings.token_env, self.secrets), spot.corpus, folders, self.filters
        )
        try:
            if not indexed:
                session.build_index(seconds)
        except BaseException:
            session.close()
            raise
        return session

    def make_index(self, spot: IndexWorkspace, seconds: float | None) -> str:
        """Make the index with the settings that belong to it."""
        config = index_config(self.template, self.indexing.named)
        replace(self, template=config).open_at(spot, seconds, indexed=False).close()
        return ""

    def tool_identity(self, corpus: Corpus) -> list[object]:  # noqa: ARG002 - part of the protocol
        """Return nothing: facts about a server are unknown."""
        return []


def make(settings: Mapping[str, object], context: EngineContext) -> HttpEngine:
    """Make the engine from its settings; errors in them are raised before anything is sent."""
    url = settings.get("url")
    if isinstance(url, str) and url.startswith("//"):  # `--engine http://host/...` is split at the first colon
        settings = {**settings, "url": f"http:{url}"}
    read = read_settings(Settings, settings, Settings.where)
    settled = fixed_placeholders(context)
    config = load_config(read.config, settled, Settings.where)
    placeholders = placeholder_names(settled, config)
    for name, request in requests_of(read).items():
        asked = QUERY_PLACEHOLDERS if name == "search" else ()
        check_request(request, placeholders, asked, Settings.where if name == "search" else f"{Settings.where}: {name}")
    filters = make_filters(read.path_filter, read.language_filter, (*placeholders, *QUERY_PLACEHOLDERS), Settings.where)
    _check(read)
    check_config_used(config, templates_of(read), Settings.where)
    read_token(read.token_env)
    indexing = _indexing(read, settled, config)
    return HttpEngine(read, make_layout(read, Settings.where), settled, indexing, config, filters)


def _indexing(settings: Settings, placeholders: Mapping[str, str], config: ConfigTemplate | None) -> IndexSettings:
    index = settings.index
    address = (
        ""
        if index is None
        else web_address(fill_url(index.url, dict.fromkeys(placeholder_names(placeholders), "x"))).netloc
    )
    always = ("index", "update", "ready", "token_env")
    builder: IndexBuilder = "none" if index is None else "server"
    about = "" if index is None else recorded_url(index.url)
    return make_index_settings(
        IndexDeclaration(Settings.where, settings, always, builder, placeholders, config, about, address)
    )


def _check(settings: Settings) -> None:
    where = Settings.where
    if not has_placeholder([settings.url, settings.body or ""], "query"):
        raise ConfigError(f"{where}: neither url nor body has {{query}}", hint="put {query} where the query goes")
    filters = {"path_filter": settings.path_filter, "language_filter": settings.language_filter}
    check_literal_secrets(where, {**filters, "token_env": settings.token_env or ""})
    for name, table in filters.items():
        if table and isinstance(settings.body, str):
            raise ConfigError(f"{where}: {name} with a text as body", hint="write body as a table")
    if settings.ready is not None:
        parse_selector(settings.ready.path, f"{where}: ready: path")
        if settings.index is None and settings.update is None:
            raise ConfigError(f"{where}: ready without index", hint="name the request that it is to wait for")


def _recorded(request: RequestTemplate) -> dict[str, object]:
    return {**asdict(request), "url": recorded_url(request.url), **recorded_table("headers", request.headers)}
