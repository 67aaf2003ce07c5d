"""HTTP requests with deadlines, retries, size limits and redacted tokens.

Tokens are read from the environment for each request. Redirects are not followed, so that no other host gets a
token. Certificates are verified. `http_proxy`, `https_proxy` and `no_proxy` have the same effect as for curl.
"""

from __future__ import annotations

import json
import logging
import os
import random
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from http.client import HTTPException, IncompleteRead, LineTooLong
from typing import Any, Final, Self
from urllib.parse import SplitResult, parse_qsl, unquote, urldefrag, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3 import exceptions
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from assay.clock import Deadline, call_within, format_duration
from assay.errors import AssayError, ConfigError, EngineError, EngineTimeoutError, SetupError
from assay.redaction import Redactor, redact_url


@dataclass(frozen=True, slots=True)
class HttpLimits:
    body_bytes: int = 32_000_000  # 256 embeddings of 3,072 numbers, the largest useful response, are 17 MB; doubled
    secret_chars: int = 8  # shorter values in the query of a URL are API versions or flags, not secrets
    backoff_seconds: float = 0.5  # first wait, doubled each time; short, since many rate limits are per second
    longest_backoff: float = 8.0  # a restarting server loads its model for some ten seconds
    jitter: float = 0.5  # maximum random reduction of a wait, so that clients do not retry at the same time
    longest_wait: float = 60.0  # limits per minute are common; a longer requested wait suggests a daily limit


DEFAULT_HTTP: Final = HttpLimits()

#: RFC 9110, 5.6.2: characters of a method or header name.
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: Headers that depend on the connection or body.
_RESERVED_HEADERS: Final = frozenset({"connection", "content-length", "host", "transfer-encoding"})
#: Statuses of invalid requests.
_REJECTIONS: Final = frozenset({400, 413, 422})
#: Ollama and llama.cpp send 500 for a text that is too long; a retry is useless.
_TOO_MUCH: Final = re.compile(rb"too large to process|context (?:length|size|window)", re.IGNORECASE)
#: Ten digits are a time in seconds since 1970; fewer are a duration, which some servers send.
_EPOCH_SECONDS: Final = re.compile(r"[0-9]{10}")
#: Two lines of a terminal: APIs put the reason into the first sentence.
_EXCERPT_CHARS: Final = 160
_CODINGS: Final = ("br", "compress", "deflate", "gzip", "zstd")
_TUNNEL_STATUS: Final = re.compile(r"Tunnel connection failed: (\d{3})")
_THREAD: Final = "assay-http"
_ERRORS: Final = (OSError, HTTPException, exceptions.HTTPError)
_RANDOM: Final = random.SystemRandom()  # no result depends on the length of a wait


class RequestRejected(EngineError):
    """A request that the server rejects because of its content or size."""


class AccessDenied(EngineError):
    """A request without permission or for a missing resource (401, 403, 404; some servers send 404 for 403)."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request checked by `make_request`; its repr contains no secret."""

    url: str = field(repr=False)
    method: str
    body: bytes | None = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    token_env: str | None
    secrets: frozenset[str] = field(repr=False)  # redacted in messages

    def redact(self, text: str) -> str:
        line = " ".join("".join(char for char in text if char.isprintable() or char.isspace()).split())
        return Redactor(self.secrets).text(line)

    def excerpt(self, body: bytes) -> str:
        text = self.redact(body.decode("utf-8", "replace"))
        return text if len(text) <= _EXCERPT_CHARS else text[: _EXCERPT_CHARS - 1] + "…"


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response with status 2xx, and the failed attempts before it."""

    request: HttpRequest
    status: int
    body: bytes = field(repr=False)
    failures: tuple[str, ...] = ()  # why each earlier attempt failed
    waited: float = 0.0  # seconds of rate limiting, which do not count as response time

    def json(self) -> object:
        """Parse the body as JSON; raise EngineError if it is invalid or contains NaN or Infinity."""
        constants: list[str] = []
        why, hint = "", "check that the address is an API, not a web page"
        with suppress(ValueError, RecursionError):
            value: object = json.loads(self.body, parse_constant=constants.append)
            if not constants:
                return value
            why, hint = f" ({constants[0]} is not valid JSON)", "check the server log for errors of the model"
        message = f"answered {self.status} without JSON{why}: {self.request.excerpt(self.body)}"
        raise EngineError(message, file=self.request.redact(redact_url(self.request.url)), hint=hint)


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    message: str
    kind: type[AssayError] = SetupError
    hint: str = "check the address, the network, and that the server is running"
    reason: str = ""  # short message for the list of attempts; by default `message`
    retry: bool = False  # a retry may succeed
    retry_after: float | None = None  # seconds, as the server requests

    def delay(self, attempt: int, limits: HttpLimits = DEFAULT_HTTP) -> float | None:
        """Return the seconds to wait before the next attempt; None if a retry is useless or the wait is too long."""
        longest = min(limits.backoff_seconds * 2**attempt, limits.longest_backoff)
        wait = longest * (1 - limits.jitter * _RANDOM.random()) if self.retry_after is None else self.retry_after
        return wait if self.retry and wait <= limits.longest_wait else None

    def error(self, request: HttpRequest, failures: Sequence[str] = ()) -> AssayError:
        after = f" ({describe_attempts(failures)})" if failures else ""
        if set(failures) == {self.message}:
            after = f" ({len(failures) + 1} attempts)"
        return self.kind(self.message + after, file=request.redact(redact_url(request.url)), hint=self.hint)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    attempt: float | None = 30.0  # seconds for one attempt, from connecting to the last byte read
    retries: int = 2  # after the first attempt
    whole: float | None = None  # seconds for all attempts and the waits between them


def describe_attempts(failures: Sequence[str]) -> str:
    return f"{len(failures) + 1} attempts: {', '.join(failures)}"


def post_json(
    url: str,
    payload: object,
    *,
    token_env: str | None = None,
    timeout: float = 30.0,
    retries: int = 2,
    limits: HttpLimits = DEFAULT_HTTP,
) -> object:
    """Send a JSON value and return the JSON value of the response.

    Failures are retried up to `retries` times, as by `HttpClient.send`; `timeout` limits one attempt. Raise
    `RequestRejected` if the server rejects the content of the request.
    """
    query = parse_web_address(url).query
    request = make_request(
        url,
        method="POST",
        body=json.dumps(payload, allow_nan=False).encode(),
        headers={"Content-Type": "application/json"},
        token_env=token_env,
        secrets={query, *(value for _, value in parse_qsl(query) if len(value) >= limits.secret_chars)},
    )
    with HttpClient(limits=limits) as client:
        return client.send(request, RetryPolicy(timeout, retries)).json()


def make_request(
    url: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    token_env: str | None = None,
    secrets: Iterable[str] = (),
) -> HttpRequest:
    """Build a request, with the token in the variable `token_env` as Authorization header.

    Raise ConfigError for an invalid address, method, header or token.
    """
    parse_web_address(url)
    if not _NAME.fullmatch(method):
        raise ConfigError(f"invalid HTTP method {method!r:.20}", hint="use GET, POST or PUT")
    for name, value in (headers or {}).items():
        if not _NAME.fullmatch(name):
            raise ConfigError(f"invalid header name {name!r:.40}", hint="use letters, digits and hyphens")
        if name.lower() in _RESERVED_HEADERS:
            raise ConfigError(f"cannot set the header {name}: Assay sets it itself", hint="remove the header")
        if not (value.isascii() and value.isprintable()):
            hint = "use one line of ASCII characters; check the environment variable in the header"
            raise ConfigError(f"the header {name} contains invalid characters", hint=hint)
    token = read_token(token_env)
    given = {"Accept": "application/json", "User-Agent": "assay", **(headers or {})}
    if token:
        given["Authorization"] = f"Bearer {token}"
    once = {name.lower(): (name, value) for name, value in given.items()}  # the last spelling of a name wins
    return HttpRequest(url, method, body, dict(once.values()), token_env, frozenset({token, *secrets} - {""}))


def read_token(name: str | None) -> str:
    """Return the token in the variable `name`, "" for None; raise ConfigError if the token is missing or invalid."""
    if name is None:
        return ""
    token = os.environ.get(name, "").strip()
    if not token:
        raise ConfigError(f"the environment variable {name} is not set or empty", hint=f"set {name} to the API token")
    if not _is_word(token):
        message = f"invalid token in the environment variable {name}: expected ASCII characters without spaces"
        raise ConfigError(message, hint=f"set {name} to the token only")
    return token


def parse_web_address(url: str) -> SplitResult:
    """Parse a web address; the ConfigError for an invalid address does not quote it, since it may contain a secret."""
    with suppress(ValueError):
        parts = urlsplit(url)
        if "@" in parts.netloc:
            hint = "store the token in an environment variable and configure the name of the variable"
            raise ConfigError("the address contains a user name or a password", file=redact_url(url), hint=hint)
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and _is_word(url):
            return parts
    hint = "write the address as https://host/path, in ASCII without spaces"
    raise ConfigError("the address is not a valid HTTP or HTTPS URL", hint=hint)


def _is_word(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


class _OpenConnection:
    connection: Any = None
    sock: Any = None
    reused = False

    def shut_down(self) -> None:
        sock = self.sock or getattr(self.connection, "sock", None)
        if sock is not None:
            with suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)  # SSLSocket.shutdown is not safe during a read


#: `opened` is the connection of the attempt that runs in this thread, so that another thread can shut it down.
_attempt: Final = threading.local()


class HttpClient:
    """A thread-safe HTTP client that keeps up to `keep` idle connections per host."""

    def __init__(self, keep: int = 0, limits: HttpLimits = DEFAULT_HTTP) -> None:
        self.limits = limits
        self._keep = keep
        self._managers: dict[str, urllib3.PoolManager] = {}  # by proxy
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            managers, self._managers = self._managers, {}
        for manager in managers.values():
            manager.clear()

    def send(
        self, request: HttpRequest, policy: RetryPolicy, *, wait_for_slot: Callable[[], float] = lambda: 0.0
    ) -> HttpResponse:
        """Send a request and return the response; raise an AssayError if all attempts fail.

        429 (or 403 for a rate limit), 5xx (unless the request is too large) and connection errors are retried; timeouts
        and untrusted certificates are not. If a wait would exceed `policy.whole`, the error is raised at once.
        `wait_for_slot` waits for a rate limiter and returns the seconds, which do not count towards the timeouts.
        """
        deadline, waited, failures = Deadline(policy.whole), 0.0, list[str]()
        while True:
            deadline.extend(pause := wait_for_slot())
            waited += pause
            outcome = self.attempt(request, deadline.within(policy.attempt))
            if isinstance(outcome, HttpResponse):
                return replace(outcome, failures=tuple(failures), waited=waited)
            wait = outcome.delay(len(failures), self.limits) if len(failures) < policy.retries else None
            if wait is None or not deadline.allows(wait):
                raise outcome.error(request, failures)
            failures.append(outcome.reason or outcome.message)
            time.sleep(wait)

    def attempt(self, request: HttpRequest, deadline: Deadline) -> HttpResponse | FailedAttempt:
        address = urlsplit(request.url)
        # the environment is read each time, as by curl
        proxy = getproxies().get(address.scheme, "")
        if proxy and proxy_bypass(f"{address.hostname}:{address.port or (443 if address.scheme == 'https' else 80)}"):
            proxy = ""
        with self._lock:
            if proxy not in self._managers:
                self._managers[proxy] = _make_manager(address.scheme, proxy, max(1, self._keep))
            manager = self._managers[proxy]
        opened = _OpenConnection()
        try:
            seconds = deadline.remaining_or_raise()
            return call_within(seconds, lambda: self._exchange(manager, request, deadline, opened), name=_THREAD)
        except _ERRORS as error:  # TimeoutError too
            opened.shut_down()
            return _explain(error, deadline, proxied=bool(proxy))

    def _exchange(
        self, manager: urllib3.PoolManager, request: HttpRequest, deadline: Deadline, opened: _OpenConnection
    ) -> HttpResponse | FailedAttempt:
        _attempt.opened = opened
        response = self._open_response(manager, request, deadline, opened)
        ok, body = 200 <= response.status < 300, b""
        try:
            body, problem = _read_body(response, self.limits.body_bytes)
        except _ERRORS:
            response.close()
            if ok:
                raise
        else:
            if problem:
                response.close()
                return problem if ok else _classify(request, response, b"")
            response.release_conn()
        return HttpResponse(request, response.status, body) if ok else _classify(request, response, body)

    def _open_response(
        self, manager: urllib3.PoolManager, request: HttpRequest, deadline: Deadline, opened: _OpenConnection
    ) -> urllib3.BaseHTTPResponse:
        headers = {**request.headers, "Connection": "keep-alive" if self._keep else "close"}
        while True:
            try:
                return manager.urlopen(
                    request.method,
                    urldefrag(request.url).url,
                    body=request.body,
                    headers=headers,
                    retries=False,
                    redirect=False,
                    timeout=deadline.remaining_or_raise(),
                    preload_content=False,
                    decode_content=False,
                )
            except _ERRORS as error:
                # the server may close a reused connection as the request arrives; that does not count as an attempt
                if not (opened.reused and any(isinstance(cause, ConnectionError) for cause in _causes(error))):
                    raise


def _read_body(response: urllib3.BaseHTTPResponse, limit: int) -> tuple[bytes, FailedAttempt | None]:
    body, too_long = b"", (getattr(response, "length_remaining", None) or 0) > limit
    while not too_long and len(body) <= limit and (piece := response.read(limit + 1 - len(body))):
        body += piece
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding not in ("", "identity"):
        named = coding if coding in _CODINGS else "an unknown coding"  # not quoted, since it may be a token
        message = f"unexpected content coding of the response: {named}"
        return body, FailedAttempt(message, EngineError, "turn off compression on the server")
    if too_long or len(body) > limit:
        hint = "request fewer results, or send smaller batches"
        return body, FailedAttempt(f"the response has more than {limit:,} bytes", EngineError, hint)
    return body, None


def _classify(request: HttpRequest, response: urllib3.BaseHTTPResponse, body: bytes) -> FailedAttempt:
    status, headers, excerpt = response.status, response.headers, request.excerpt(body)
    failed = partial(FailedAttempt, f"answered {status}" + (f": {excerpt}" if excerpt else ""), reason=str(status))
    hint = "check the server log" if status >= 500 else "check the address and the settings of the request"
    if status in _REJECTIONS or (status >= 500 and _TOO_MUCH.search(body)):
        return failed(RequestRejected, "check the settings of the request, such as the model, and its size")
    if 300 <= status < 400:
        hint = "redirects are not followed"
        if location := headers.get("Location"):
            target = request.redact(redact_url(urljoin(request.url, location)))
            hint += f"; if you trust the target, use {target}"
        return failed(EngineError, hint)
    spent = headers.get("X-RateLimit-Remaining", "").strip() == "0"
    wait, reset = headers.get("Retry-After"), headers.get("X-RateLimit-Reset", "").strip()
    if wait is None and spent and _EPOCH_SECONDS.fullmatch(reset):
        wait = str(max(0, int(reset) - int(time.time()) + 1))
    retry_after = None
    with suppress(exceptions.InvalidHeader):
        retry_after = urllib3.Retry().parse_retry_after(wait or "")
    # GitHub sends 403 with the time to wait or the number of remaining requests
    if status == 429 or (status == 403 and (spent or wait is not None)):
        requested = f" (Retry-After: {request.redact(wait):.40})" if wait else ""
        hint = f"wait until the rate limit is reset{requested}, or send fewer requests"
        return failed(EngineError, hint, retry=True, retry_after=retry_after)
    if status in (401, 403):
        hint = f"check the token in {request.token_env}" if request.token_env else "configure a token"
    if status in (401, 403, 404):
        return failed(AccessDenied, hint)
    return failed(EngineError, hint, retry=status >= 500, retry_after=retry_after)


def _make_manager(scheme: str, proxy: str, keep: int) -> urllib3.PoolManager:
    manager: urllib3.PoolManager | None = None if proxy else urllib3.PoolManager(maxsize=keep)
    with suppress(ValueError):
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        if parts.scheme == "http" and parts.hostname and parts.port != 0:
            login, _, host = parts.netloc.rpartition("@")
            login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}" if login else ""
            headers = urllib3.make_headers(proxy_basic_auth=login or None)
            manager = urllib3.ProxyManager(f"http://{host}", proxy_headers=headers, maxsize=keep)
    if manager is None:
        raise ConfigError(f"invalid proxy address in {scheme}_proxy", hint="use an address such as http://host:port")
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
    return manager


class _Connection(HTTPConnection):
    def request(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as urllib3 calls it
        opened = _attempt.opened
        opened.connection, opened.sock, opened.reused = self, None, self.sock is not None
        super().request(*args, **options)
        opened.sock = self.sock


class _TlsConnection(_Connection, HTTPSConnection):
    def set_tunnel(self, host: str, port: int | None = None, headers: Any = None, scheme: str = "http") -> None:  # noqa: ANN401 - as urllib3 calls it
        name = f"[{host}]" if ":" in host else host
        super().set_tunnel(host, port, {"Host": f"{name}:{port}", **(headers or {})}, scheme)


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


# urllib3 logs whole URLs, which may contain secrets
logging.getLogger("urllib3.connectionpool").addFilter(lambda record: record.threadName != _THREAD)


def _causes(error: BaseException) -> Iterator[BaseException]:
    yield error
    for cause in (error.__cause__, getattr(error, "reason", None), *error.args):
        if isinstance(cause, BaseException):
            yield from _causes(cause)


def _explain(error: Exception, deadline: Deadline, *, proxied: bool) -> FailedAttempt:
    causes = list(_causes(error))

    def caused_by(*kinds: type[BaseException]) -> bool:
        return any(isinstance(cause, kinds) for cause in causes)

    # NewConnectionError is a timeout to urllib3, also when the connection was refused
    late = caused_by(exceptions.TimeoutError) and not caused_by(exceptions.NewConnectionError)
    if (late or caused_by(TimeoutError)) and deadline.limit is not None:
        message = f"no answer within {format_duration(deadline.limit)}"
        return FailedAttempt(message, EngineTimeoutError, "raise the timeout, or check the load of the server")
    if caused_by(ssl.SSLCertVerificationError) or any(type(cause).__name__ == "CertificateError" for cause in causes):
        hint = "check the host name and the certificate, or set SSL_CERT_FILE to the CA certificates of your network"
        return FailedAttempt("the certificate of the server is not trusted", hint=hint)
    if caused_by(IncompleteRead, exceptions.IncompleteRead):
        return FailedAttempt("the server closed the connection before the end of the response", retry=True)
    if tunnel := next((match for cause in causes if (match := _TUNNEL_STATUS.match(str(cause)))), None):
        hint = "check https_proxy, or add the host to no_proxy"
        return FailedAttempt(f"the proxy answered {tunnel[1]}", hint=hint)
    if caused_by(LineTooLong) or any(type(cause) is HTTPException for cause in causes):  # more than 100 headers
        return FailedAttempt("the response has too many or too long headers", EngineError, "check the address")
    reason = next((cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror), None)
    if caused_by(exceptions.LocationParseError):
        reason = "no such host"
    through = " through the proxy" if proxied else ""
    return FailedAttempt(f"cannot be reached{through} ({reason or type(causes[-1]).__name__})", retry=True)
