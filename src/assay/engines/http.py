from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Literal, cast
from urllib.parse import urlencode, urlsplit

from assay.clock import Deadline, format_duration, min_timeout
from assay.engines.base import EngineContext, EngineReply, SearchFilter, SearchReply
from assay.engines.config_files import ConfigSettings, check_config_used, load_config_template, recorded_config
from assay.engines.json_output import parse_selector, select
from assay.engines.output import OutputSettings, make_layout, parse_output
from assay.engines.secrets import check_literal_secrets, recorded_table, recorded_url, secret_values
from assay.engines.shared_index import INDEX_KEYS_HELP, IndexBuilder, SharedIndexEngine, make_index_settings
from assay.engines.templates import (
    QUERY_PLACEHOLDERS,
    check_template,
    fill,
    fill_json,
    fill_url,
    has_placeholder,
    make_filters,
    merge,
    named_secrets,
)
from assay.engines.tool import ExternalSession
from assay.engines.workspace import IndexWorkspace, fixed_placeholders, placeholder_names
from assay.errors import AssayError, ConfigError, EngineError, EngineTimeoutError
from assay.http import (
    HttpClient,
    HttpRequest,
    HttpResponse,
    RetryPolicy,
    describe_attempts,
    make_request,
    parse_web_address,
    read_token,
)
from assay.settings import read_settings, setting, setting_errors
from assay.toml import write_key
from assay.types import Corpus


class RateLimiter:
    """A rate limiter that spaces requests evenly, because servers reject bursts."""

    def __init__(self, rate: float | None) -> None:
        self._interval = 0.0 if rate is None else 1 / rate
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> float:
        begin = time.monotonic()
        with self._lock:
            at = max(begin, self._next)
            self._next = at + self._interval
        if at <= begin:
            return 0.0
        time.sleep(at - begin)
        return time.monotonic() - begin


WHERE = "engine http"
Method = Literal["GET", "POST", "PUT"]
Body = Mapping[str, object] | str


@dataclass(frozen=True, kw_only=True)
class RequestTemplate:
    url: str = field(metadata={"about": "URL, such as https://host/search?q={query}&limit={k}"})
    method: Method | None = setting(None, "HTTP method; default: POST with a body, else GET")
    headers: Mapping[str, str] = setting({}, "request headers; use {env:NAME} for secrets")
    body: Body | None = setting(None, 'a table is sent as JSON, a string as text; in a table, "{k}" becomes a number')
    form: bool = setting(False, "send the body as a form instead of JSON")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessProbe(RequestTemplate):
    path: str = field(metadata={"about": "selector of the state in the JSON response"})
    value: object = setting(True, "state of an index that is ready")
    # an index takes seconds to minutes; more requests would only load the server
    every: float = setting(0.5, "seconds between requests", above=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings(RequestTemplate, OutputSettings):
    """Settings of `kind = "http"`.

    Placeholders in templates: {query} and {k}; {root} (the corpus), {here} (the directory of assay.toml), {store} (an
    empty directory for the engine), {config} (the file rendered from `config.template`); {env:NAME} for a secret.
    Values in a URL are percent-encoded, except that of an {env:NAME} at the start. `index`, `update` and `ready`
    cannot use {query} and {k}; filters use {path} and {language}.

    After a rate limit, status 5xx or a lost connection, requests are retried within the timeout. Redirects fail.
    """

    token_env: str | None = setting(None, "environment variable with the bearer token for every request")
    index: RequestTemplate | None = setting(None, "request that builds the index: url, method, headers, body, form")
    update: RequestTemplate | None = setting(None, "request after files change; default: the index request")
    ready: ReadinessProbe | None = setting(None, "request to repeat until path equals value: url, path, value, every")
    path_filter: Mapping[str, object] = setting({}, "fields to add to the body, if any, else to the URL, with {path}")
    language_filter: Mapping[str, object] = setting({}, "like path_filter, with {language}")
    retries: int = setting(2, "maximum retries per request, for example after a rate limit", least=0)
    rate: float | None = setting(None, "maximum requests per second; the wait is excluded from query times", above=0)
    config: ConfigSettings | None = setting(None, "configuration file {config}: template, format, edits, new_keys")
    index_keys: tuple[str, ...] | None = setting(None, INDEX_KEYS_HELP)
    concurrency: int = setting(1, "maximum concurrent queries", least=1)

    @property
    def search(self) -> RequestTemplate:
        return RequestTemplate(**{field.name: getattr(self, field.name) for field in fields(RequestTemplate)})

    @property
    def requests(self) -> dict[str, RequestTemplate]:
        named = {"search": self.search, "index": self.index, "update": self.update, "ready": self.ready}
        return {name: request for name, request in named.items() if request is not None}

    @property
    def templates(self) -> list[object]:
        requests = [[request.url, request.headers, request.body or ""] for request in self.requests.values()]
        return [*requests, self.path_filter, self.language_filter]


def _build_request(
    request: RequestTemplate,
    placeholders: Mapping[str, object],
    added: Mapping[str, object] | None = None,
    *,
    token_env: str | None = None,
    secrets: tuple[str, ...] = (),
) -> HttpRequest:
    """Fill a request template; `added` goes into the body, or into the URL if the request has no body."""
    texts = {name: str(value).encode("utf-8", "replace").decode() for name, value in placeholders.items()}
    url, body, headers = fill_url(request.url, texts), None, {"accept": "application/json, */*;q=0.5"}
    if request.body is None:
        if added:
            parts = urlsplit(url)
            url = parts._replace(query="&".join(filter(None, (parts.query, _encode_form(added))))).geturl()
    elif isinstance(request.body, str):
        body, headers["content-type"] = fill(request.body, texts), "text/plain; charset=utf-8"
    else:
        table = cast(Mapping[str, object], merge(fill_json(request.body, placeholders), added or {}))
        if request.form:
            body, headers["content-type"] = _encode_form(table), "application/x-www-form-urlencoded"
        else:
            body, headers["content-type"] = json.dumps(table, default=str), "application/json"  # TOML has dates
    return make_request(
        url,
        method=request.method or ("GET" if body is None else "POST"),
        body=None if body is None else body.encode(),
        headers={**headers, **{name.lower(): fill(value, texts) for name, value in request.headers.items()}},
        token_env=token_env,
        secrets=secrets,
    )


def _encode_form(table: Mapping[str, object]) -> str:
    pairs = []
    for key, value in table.items():
        for item in value if isinstance(value, list | tuple) else [value]:
            if isinstance(item, Mapping):
                message = f"{WHERE}: {key}: a form or URL cannot contain a table"
                raise ConfigError(message, hint="use strings, numbers and lists", keys=[f"body.{write_key([key])}"])
            pairs.append((key, str(item).lower() if isinstance(item, bool) else str(item)))
    return urlencode(pairs, errors="replace")


class HttpSession(ExternalSession):
    """A session of an HTTP API; safe for concurrent searches."""

    def __init__(self, engine: HttpEngine, index: IndexWorkspace) -> None:
        super().__init__(engine, index)
        self._settings = engine.settings
        self._layout = engine.layout
        self._secrets = engine.secrets
        self._limiter = RateLimiter(engine.settings.rate)
        self._client = HttpClient(keep=engine.settings.concurrency)

    def search_filtered(self, query: str, k: int, wanted: SearchFilter, seconds: float | None) -> SearchReply:
        settings = self._settings
        placeholders = {**self.placeholders, "query": query, "k": k}
        with self.redactor.cleaning():
            added = self.filtering.table(wanted, placeholders, flat=settings.body is None or settings.form)
            response = self._send(settings.search, placeholders, min_timeout(seconds, settings.timeout), added)
            reply = self._parse(response)
        retries = (describe_attempts(response.failures),) if response.failures else ()
        notes = tuple(map(self.redactor.text, (*reply.notes, *retries)))
        return EngineReply(reply.hits, reply.cost, notes, response.waited)

    def _parse(self, response: HttpResponse) -> EngineReply:  # a separate frame keeps secrets out of traceback locals
        try:
            text = response.body.decode("utf-8")
        except UnicodeDecodeError as problem:
            message = f"the response is not UTF-8: invalid byte at offset {problem.start}"
            raise EngineError(message, hint="configure the server to send UTF-8") from None
        return parse_output(text, self._layout, self.known)

    def close(self) -> None:
        try:
            self._client.close()
        finally:
            super().close()

    def index(self, request: RequestTemplate, seconds: float | None) -> None:
        deadline = Deadline(seconds, self._settings.index_timeout)
        try:
            with self.redactor.cleaning():
                self._send(request, self.workspace.index_placeholders, deadline.limit)
                if self._settings.ready is not None:
                    self._wait_until_ready(self._settings.ready, deadline)
        except AssayError as problem:
            message = f"indexing failed: {problem.message}"
            raise type(problem)(message, file=problem.file, line=problem.line, hint=problem.hint) from None

    def _wait_until_ready(self, ready: ReadinessProbe, deadline: Deadline) -> None:
        selector, is_bool = parse_selector(ready.path, WHERE, "ready.path"), isinstance(ready.value, bool)
        try:
            while True:
                document = self._send(ready, self.workspace.index_placeholders, deadline.remaining_or_raise()).json()
                states = [row[0] for row in select(document, (selector,))]
                if states and all(state == ready.value and isinstance(state, bool) == is_bool for state in states):
                    return
                time.sleep(min(ready.every, deadline.remaining_or_raise() or ready.every))
        except TimeoutError:
            message = f"the index is not ready after {format_duration(deadline.limit)}"
            hint = "raise `index_timeout`, or correct `ready.path` and `ready.value`"
            raise EngineTimeoutError(message, hint=hint) from None

    def _send(
        self,
        request: RequestTemplate,
        placeholders: Mapping[str, object],
        limit: float | None,
        added: Mapping[str, object] | None = None,
    ) -> HttpResponse:
        settings = self._settings
        call = _build_request(request, placeholders, added, token_env=settings.token_env, secrets=self._secrets)
        return self._client.send(call, RetryPolicy(limit, settings.retries, limit), wait_for_slot=self._limiter.wait)


class UpdatableHttpSession(HttpSession):
    def update_within(self, corpus: Corpus, seconds: float | None) -> None:
        self.use_corpus(corpus)
        request = self._settings.update or self._settings.index
        assert request is not None
        self.index(request, seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpEngine(SharedIndexEngine):
    settings: HttpSettings
    parallel: int

    @property
    def private(self) -> bool:  # type: ignore[override]  # computed
        return any(has_placeholder(self.texts, name) for name in ("root", "store"))

    @property
    def written(self) -> list[object]:
        return self.settings.templates

    @property
    def secrets(self) -> tuple[str, ...]:  # type: ignore[override]  # computed
        settings = self.settings
        urls = [request.url for request in settings.requests.values()]
        own = secret_values(settings.templates, env={}, urls=urls, token_env=settings.token_env)
        return (*own, *(self.template.secrets if self.template else ()))

    @property
    def config(self) -> Mapping[str, object]:
        settings = self.settings
        requests = {
            name: {**asdict(request), "url": recorded_url(request.url), **recorded_table("headers", request.headers)}
            for name, request in settings.requests.items()
        }
        search = requests.pop("search")
        own = {**self.filters.recorded(), **recorded_config(self.template, settings.index_keys)}
        return {"kind": "http", **search, **requests, **own, **settings.recorded()}

    def open_at(self, index: IndexWorkspace, seconds: float | None, *, indexed: bool) -> HttpSession:
        settings = self.settings
        follows = settings.update is not None or settings.index is not None
        session = (UpdatableHttpSession if follows else HttpSession)(self, index)
        try:
            if not indexed and settings.index is not None:
                session.index(settings.index, seconds)
        except BaseException:
            session.close()
            raise
        return session

    def build_index(self, index: IndexWorkspace, seconds: float | None) -> str:
        self.for_index().open_at(index, seconds, indexed=False).close()
        return ""

    def tool_identity(self, corpus: Corpus) -> list[object]:  # noqa: ARG002 - part of the protocol
        return []  # the server's state is unknown


def make(settings: Mapping[str, object], context: EngineContext) -> HttpEngine:
    url = settings.get("url")
    if isinstance(url, str) and url.startswith("//"):  # `--engine http://host/...` is split at the first colon
        settings = {**settings, "url": f"http:{url}"}
    read = read_settings(HttpSettings, settings, WHERE)
    fixed = fixed_placeholders(context)
    config = load_config_template(read.config, fixed, WHERE)
    names = placeholder_names(fixed, config)
    _check_request(read.search, names, QUERY_PLACEHOLDERS, WHERE)
    for name, request in read.requests.items():
        if name != "search":
            with setting_errors(name):
                _check_request(request, names, (), f"{WHERE}: {name}")
    filters = make_filters(read.path_filter, read.language_filter, (*names, *QUERY_PLACEHOLDERS), WHERE)
    _check_settings(read)
    check_config_used(config, read.templates, WHERE)
    read_token(read.token_env)
    index_url = read.index.url if read.index else ""
    address = index_url and parse_web_address(fill_url(index_url, dict.fromkeys(placeholder_names(fixed), "x"))).netloc
    builder: IndexBuilder = "server" if read.index else "none"
    always, about = ("index", "update", "ready", "token_env"), index_url and recorded_url(index_url)
    keys = read.index_keys
    indexing = make_index_settings(
        WHERE, read, fixed, config, index_keys=keys, always=always, builder=builder, about=about, address=address
    )
    return HttpEngine(
        settings=read,
        placeholders=fixed,
        template=config,
        indexing=indexing,
        layout=make_layout(read, WHERE),
        filters=filters,
        parallel=read.concurrency,
    )


def _check_request(request: RequestTemplate, common: Sequence[str], query: Sequence[str], where: str) -> None:
    parts = {"url": request.url, "headers": request.headers, "body": request.body or ""}
    for name, template in parts.items():
        check_template(template, common if name == "headers" else (*common, *query), where, name)
    named_secrets(list(parts.values()))
    names = (*common, *query)
    try:
        hosts = {parse_web_address(fill_url(request.url, dict.fromkeys(names, value))).netloc for value in ("a", "b")}
    except ConfigError as problem:
        raise ConfigError(f"{where}: url: {problem.message}", hint=problem.hint, keys=["url"]) from None
    if len(hosts) > 1:
        message = f"{where}: url: the host contains a placeholder"
        raise ConfigError(message, hint="use only {env:NAME} in the host", keys=["url"])
    check_literal_secrets(where, parts)
    if request.form and not isinstance(request.body, Mapping):
        message = f"{where}: `form = true` requires a table as `body`"
        raise ConfigError(message, hint='set `body`, for example { q = "{query}" }', keys=["form", "body"])
    _build_request(request, dict.fromkeys(names, "x"))


def _check_settings(settings: HttpSettings) -> None:
    if not has_placeholder([settings.url, settings.body or ""], "query"):
        hint = "add {query} to `url` or `body`"
        raise ConfigError(f"{WHERE}: no {{query}} in `url` or `body`", hint=hint, keys=["url", "body"])
    filters = {"path_filter": settings.path_filter, "language_filter": settings.language_filter}
    check_literal_secrets(WHERE, {**filters, "token_env": settings.token_env or ""})
    for name, table in filters.items():
        if table and isinstance(settings.body, str):
            message = f"{WHERE}: {name} requires a table as `body`"
            raise ConfigError(message, hint='set body = { q = "{query}" }', keys=[name, "body"])
    if settings.ready is not None:
        parse_selector(settings.ready.path, WHERE, "ready.path")
        if settings.index is None and settings.update is None:
            message = f"{WHERE}: `ready` requires `index` or `update`"
            raise ConfigError(message, hint="set `index`, or remove `ready`", keys=["ready"])
