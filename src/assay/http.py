"""HTTP requests with deadlines, retries, size limits and redacted tokens.

The token is read from the environment for each call. Redirects are not followed, so that it never reaches another host.
Certificates are verified. The proxies in `http_proxy`, `https_proxy` and `no_proxy` are used, as by curl.
"""

from __future__ import annotations

import json
import math
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
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from http.client import HTTPException, IncompleteRead, LineTooLong
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from assay.clock import Deadline, call_within, format_duration
from assay.errors import AssayError, ConfigError, EngineError, EngineTimeoutError, SetupError
from assay.redaction import Redactor

if TYPE_CHECKING:
    import urllib3


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """Limits of a response, and the waits between attempts."""

    #: 256 embeddings of 3,072 numbers are 17 MB of JSON, the largest useful response; doubled.
    body_bytes: int = 32_000_000
    #: Bytes per read, after which the size is checked.
    piece_bytes: int = 65_536
    #: Two lines of a terminal: APIs put the reason into the first sentence.
    excerpt_chars: int = 160
    #: Shorter values in the query of a URL are API versions or flags, not secrets.
    secret_chars: int = 8
    #: The first wait when the server requests none, doubled each time: 0.5 s, 1 s. A limit per second is over by then.
    backoff_seconds: float = 0.5
    #: The longest such wait: a restarting server loads its model for some ten seconds.
    longest_backoff: float = 8.0
    #: The maximum random reduction of such a wait, so that clients do not retry at the same time.
    jitter: float = 0.5
    #: Limits per minute are common; a longer requested wait is a daily limit.
    longest_wait: float = 60.0


DEFAULT_HTTP: Final = HttpLimits()

#: RFC 9110, 5.6.2: characters of a method or header name.
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: Headers that depend on the connection or body.
_RESERVED_HEADERS: Final = frozenset({"connection", "content-length", "host", "transfer-encoding"})
#: Statuses of requests that are wrong in themselves.
_REJECTIONS: Final = frozenset({400, 413, 422})
_DENIALS: Final = frozenset({401, 403, 404})
#: Ollama and llama.cpp answer 500 to a text that is too long; a retry is useless.
_TOO_MUCH: Final = re.compile(rb"too large to process|context (?:length|size|window)", re.IGNORECASE)
#: Ten digits are a time in seconds since 1970; fewer are a duration, which some servers send.
_EPOCH_SECONDS: Final = re.compile(r"[0-9]{10}")
_CODINGS: Final = ("br", "compress", "deflate", "gzip", "zstd")
_TUNNEL_STATUS: Final = re.compile(r"Tunnel connection failed: (\d{3})")
_THREAD: Final = "assay-http"
_RANDOM: Final = random.SystemRandom()  # no result depends on the length of a wait


class RequestRejected(EngineError):
    """A server rejects a request as it is; a smaller one may succeed."""


class AccessDenied(EngineError):
    """A server denies access; GitHub and others answer 404 without permission."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request checked by `make_call`; its repr contains no secret."""

    url: str = field(repr=False)
    address: SplitResult = field(repr=False)
    method: str
    body: bytes | None = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    token_env: str | None
    secrets: frozenset[str] = field(repr=False)  # redacted in messages


@dataclass(frozen=True, slots=True)
class RawResponse:
    """The response of a server."""

    status: int
    body: bytes = field(repr=False)
    retry_after: str | None = field(default=None, repr=False)
    location: str | None = field(default=None, repr=False)
    spent: bool = False  # the rate limit is used up

    @property
    def fine(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    @property
    def denies(self) -> bool:
        """Whether access is denied."""
        return self.status in _DENIALS and not self.limits

    @property
    def limits(self) -> bool:
        """Whether a rate limit was reached; GitHub sends 403 with the time to wait or the remaining requests."""
        return self.status == 429 or (self.status == 403 and (self.spent or self.retry_after is not None))

    @property
    def refuses(self) -> bool:
        """Whether the request itself is wrong or too large."""
        return self.status in _REJECTIONS or (self.status >= 500 and _TOO_MUCH.search(self.body) is not None)


@dataclass(frozen=True, slots=True)
class ConnectionFailed:
    """Why there is no response."""

    sentence: str
    kind: type[AssayError] = SetupError
    hint: str = "check the address, and that the server runs and can be reached from here"
    passing: bool = False  # a retry may succeed


Outcome = RawResponse | ConnectionFailed


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Timeouts and number of retries; None is no limit."""

    attempt: float | None = 30.0  # seconds for one attempt, from the first byte sent to the last one read
    retries: int = 2  # after the first attempt
    whole: float | None = None  # seconds for all attempts and the waits between them


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A successful response, and the attempts before it."""

    answer: RawResponse
    troubles: tuple[str, ...] = ()  # the reason of each retry
    waited: float = 0.0  # seconds of rate limiting, which do not count as the server's time


def post_json(
    url: str,
    payload: object,
    *,
    token_env: str | None = None,
    timeout: float = 30.0,
    retries: int = 2,
    limits: HttpLimits = DEFAULT_HTTP,
    chance: random.Random = _RANDOM,
) -> object:
    """Send a JSON value and return the JSON value of the response.

    429, 5xx and broken connections are retried up to `retries` times; other statuses and timeouts are not. `timeout`
    limits one attempt. A request that the server rejects for its content raises `RequestRejected`.
    """
    body = json.dumps(payload, allow_nan=False).encode()
    query = web_address(url).query
    call = make_call(
        url,
        method="POST",
        body=body,
        headers={"Content-Type": "application/json"},
        token_env=token_env,
        secrets={query, *(value for _, value in parse_qsl(query) if len(value) >= limits.secret_chars)},
    )
    with Connections(limits=limits) as connections:
        heard = send(call, connections, RetryPolicy(timeout, retries), chance=chance)
    return read_json(call, heard.answer, limits)


def make_call(
    url: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    token_env: str | None = None,
    secrets: Iterable[str] = (),
) -> HttpRequest:
    """Check and build a request; the token goes into the Authorization header."""
    address = web_address(url)
    if not _NAME.fullmatch(method):
        raise ConfigError("invalid method", hint="write GET, POST or PUT")
    for name, value in (headers or {}).items():
        if not _NAME.fullmatch(name) or name.lower() in _RESERVED_HEADERS:
            raise ConfigError(f"the header {name!r:.40} cannot be set", hint="write it like X-Request-Source")
        if not (value.isascii() and value.isprintable()):
            hint = "a header is one line of plain ASCII characters; check the variable it comes from"
            raise ConfigError(f"the header {name} contains invalid characters", hint=hint)
    token = read_token(token_env)
    given = {"Accept": "application/json", "User-Agent": "assay", **(headers or {})}
    if token:
        given["Authorization"] = f"Bearer {token}"
    once = {name.lower(): (name, value) for name, value in given.items()}  # the last spelling of a name wins
    return HttpRequest(url, address, method, body, dict(once.values()), token_env, frozenset({token, *secrets} - {""}))


def read_token(name: str | None) -> str:
    """Return the token in an environment variable; errors do not contain its value."""
    if name is None:
        return ""
    token = os.environ.get(name, "").strip()
    if not token:
        raise ConfigError(f"the environment variable {name} is not set", hint=f"export {name}=... with the API's token")
    if not _is_word(token):
        hint = "a token is one word of plain ASCII characters"
        raise ConfigError(f"the environment variable {name} holds no token", hint=hint)
    return token


def web_address(url: str) -> SplitResult:
    """Parse a web address; errors do not repeat it, since it may contain a secret."""
    wrong = ConfigError("not a web address", hint="write it as https://host/path")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise wrong from None
    if not usable or not _is_word(url):
        raise wrong
    if "@" in parts.netloc:
        hint = "put the token into an environment variable and give the name of that variable"
        raise ConfigError("the address holds a user or a password", file=redact_url(url), hint=hint)
    return parts


def redact_url(url: str) -> str:
    """Return a web address without user, password, query and fragment, which may contain secrets."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "the address"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if parts.scheme in ("http", "https") and host else "the address"


def _is_word(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def send(
    call: HttpRequest,
    connections: Connections,
    policy: RetryPolicy,
    *,
    turn: Callable[[], float] = lambda: 0.0,
    chance: random.Random = _RANDOM,
) -> HttpResponse:
    """Return the response to a request, or raise an error for the user.

    429 (or 403 for a rate limit), 5xx and broken connections are retried; other statuses and timeouts are not. A wait
    that would exceed the whole time is not begun. `turn` waits for a rate limiter and returns the seconds that it took,
    which do not count.
    """
    clock, waited = Deadline(policy.whole), 0.0
    troubles: tuple[str, ...] = ()
    while True:
        pause = turn()
        clock.extend(pause)
        waited += pause
        outcome = connections.attempt(call, clock.within(policy.attempt))
        if isinstance(outcome, RawResponse) and outcome.fine:
            return HttpResponse(outcome, troubles, waited)
        wait = None
        if len(troubles) < policy.retries:
            wait = retry_delay(outcome, len(troubles), connections.limits, chance)
        if wait is None or not clock.allows(wait):
            raise failure(call, outcome, troubles, connections.limits)
        troubles = (*troubles, outcome.sentence if isinstance(outcome, ConnectionFailed) else str(outcome.status))
        time.sleep(wait)


def retry_delay(outcome: Outcome, attempt: int, limits: HttpLimits, chance: random.Random) -> float | None:
    """Return the seconds to wait before the next attempt; None when a retry is useless."""
    longest = min(limits.backoff_seconds * 2**attempt, limits.longest_backoff)
    backoff = longest * (1 - limits.jitter * chance.random())
    if isinstance(outcome, ConnectionFailed):
        return backoff if outcome.passing else None
    if outcome.refuses or not (outcome.limits or outcome.status >= 500):
        return None
    asked = _parse_retry_after(outcome.retry_after)
    wait = backoff if asked is None else asked
    return wait if wait <= limits.longest_wait else None


def _parse_retry_after(value: str | None) -> float | None:
    # seconds or a date (RFC 9110, 10.2.3); invalid values are ignored
    if value is None:
        return None
    try:
        seconds = float(value)
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())


class _Attempt(threading.local):
    """The connection of the attempt that runs in this thread, so that another thread can shut it down."""

    line: _Line | None = None


@dataclass(slots=True)
class _Line:
    """A connection in use; the socket outlives it while a response is read."""

    connection: Any = None
    sock: Any = None
    reused: bool = False

    def shut_down(self) -> None:
        for sock in {self.sock, getattr(self.connection, "sock", None)} - {None}:
            with suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)  # SSLSocket.shutdown is not safe during a read


_attempt: Final = _Attempt()


class Connections:
    """A connection pool that threads may share; up to `keep` idle connections per host."""

    def __init__(self, keep: int = 0, limits: HttpLimits = DEFAULT_HTTP) -> None:
        self.limits = limits
        self._keep = keep
        self._managers: dict[tuple[str, str], urllib3.PoolManager] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close idle connections; those in use are closed when they are released."""
        with self._lock:
            managers, self._managers = self._managers, {}
        for manager in managers.values():
            manager.clear()

    def attempt(self, call: HttpRequest, clock: Deadline) -> Outcome:
        """Send a request once and read the response."""
        proxy = _find_proxy(call.address)
        manager = self._manager(call.address.scheme, proxy)
        line = _Line()
        try:
            return call_within(clock.left(), lambda: self._exchange(manager, call, clock, line), name=_THREAD)
        except TimeoutError as error:
            line.shut_down()
            return _explain(error, clock, proxied=bool(proxy))
        except _errors() as error:
            return _explain(error, clock, proxied=bool(proxy))

    def _manager(self, scheme: str, proxy: str) -> urllib3.PoolManager:
        with self._lock:
            if (scheme, proxy) not in self._managers:
                self._managers[scheme, proxy] = _make_manager(scheme, proxy, max(1, self._keep))
            return self._managers[scheme, proxy]

    def _exchange(self, manager: urllib3.PoolManager, call: HttpRequest, clock: Deadline, line: _Line) -> Outcome:
        _attempt.line = line
        headers = {**call.headers, "Connection": "keep-alive" if self._keep else "close"}
        while True:
            try:
                response = manager.urlopen(
                    call.method,
                    call.address._replace(fragment="").geturl(),
                    body=call.body,
                    headers=headers,
                    retries=False,
                    redirect=False,
                    timeout=clock.left(),
                    preload_content=False,
                    decode_content=False,
                )
            except _errors() as error:
                # a kept connection that the server closes as the request arrives costs no attempt
                if not (line.reused and any(isinstance(cause, ConnectionError) for cause in _causes(error))):
                    raise
            else:
                return self._read(response)

    def _read(self, response: urllib3.BaseHTTPResponse) -> Outcome:
        headers = response.headers
        spent = headers.get("X-RateLimit-Remaining", "").strip() == "0"
        wait, reset = headers.get("Retry-After"), headers.get("X-RateLimit-Reset", "").strip()
        if wait is None and spent and _EPOCH_SECONDS.fullmatch(reset):
            wait = str(max(0, int(reset) - int(time.time()) + 1))
        head = RawResponse(response.status, b"", wait, headers.get("Location"), spent)
        body: bytes | ConnectionFailed | None = None
        try:
            body = self._read_body(response)
        except _errors():
            if head.fine:
                raise
        finally:
            if not isinstance(body, bytes):
                response.close()
        if isinstance(body, bytes):
            response.release_conn()
            return replace(head, body=body)
        return body if isinstance(body, ConnectionFailed) and head.fine else head  # a failure's status is enough

    def _read_body(self, response: urllib3.BaseHTTPResponse) -> bytes | ConnectionFailed:
        coding = response.headers.get("Content-Encoding", "").strip().lower()
        if coding not in ("", "identity"):
            named = coding if coding in _CODINGS else "an unknown coding"  # whose name may be a token
            return ConnectionFailed(
                f"answered in {named}, which was not requested", EngineError, "let it answer uncompressed"
            )
        pieces: list[bytes] = []
        size = 0
        while max(size, getattr(response, "length_remaining", None) or 0) <= self.limits.body_bytes:
            piece = response.read1(self.limits.piece_bytes)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)
            size += len(piece)
        return ConnectionFailed(
            f"answered with more than {self.limits.body_bytes:,} bytes", EngineError, "ask for less at a time"
        )


def _find_proxy(address: SplitResult) -> str:
    # `http_proxy`, `https_proxy` and `no_proxy` are read each time, as curl does
    from urllib.request import getproxies, proxy_bypass

    port = address.port or (443 if address.scheme == "https" else 80)
    proxy = getproxies().get(address.scheme)
    if not proxy or proxy_bypass(f"{address.hostname}:{port}"):
        return ""
    url = proxy if "://" in proxy else f"http://{proxy}"
    wrong = ConfigError(f"{address.scheme}_proxy is not a usable proxy", hint="write it as http://host:port")
    try:
        parts = urlsplit(url)
        usable = parts.scheme == "http" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise wrong from None
    if not usable:
        raise wrong
    return url


def _make_manager(scheme: str, proxy: str, keep: int) -> urllib3.PoolManager:
    import urllib3

    options: dict[str, Any] = {"maxsize": keep}
    if scheme == "https":
        options["ssl_context"] = ssl.create_default_context()
    if proxy:
        parts = urlsplit(proxy)
        login = None
        if parts.username is not None:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        bare = f"http://{parts.netloc.rpartition('@')[2]}"
        headers = urllib3.make_headers(proxy_basic_auth=login) if login else {}
        manager: urllib3.PoolManager = urllib3.ProxyManager(bare, proxy_headers=headers, **options)
    else:
        manager = urllib3.PoolManager(**options)
    manager.pool_classes_by_scheme = _pool_classes()
    return manager


@cache
def _pool_classes() -> dict[str, Any]:
    import logging

    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

    # urllib3 logs whole URLs, which may contain secrets
    logging.getLogger("urllib3.connectionpool").addFilter(lambda record: record.threadName != _THREAD)

    class Tracked(HTTPConnection):
        def request(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as urllib3 calls it
            if _attempt.line is not None:
                _attempt.line.connection, _attempt.line.reused = self, self.sock is not None
            super().request(*args, **options)

        def getresponse(self) -> Any:  # noqa: ANN401 - of the library
            if _attempt.line is not None:
                _attempt.line.sock = self.sock
            return super().getresponse()

    class TrackedTls(Tracked, HTTPSConnection):
        def set_tunnel(self, host: str, port: int | None = None, headers: Any = None, scheme: str = "http") -> None:  # noqa: ANN401 - as urllib3 calls it
            name = f"[{host}]" if ":" in host else host
            super().set_tunnel(host, port, {"Host": f"{name}:{port}", **(headers or {})}, scheme)

    class Pool(HTTPConnectionPool):
        ConnectionCls = Tracked

    class TlsPool(HTTPSConnectionPool):
        ConnectionCls = TrackedTls

    return {"http": Pool, "https": TlsPool}


@cache
def _errors() -> tuple[type[Exception], ...]:
    from urllib3.exceptions import HTTPError

    return (OSError, HTTPException, HTTPError)


def _causes(error: BaseException) -> Iterator[BaseException]:
    yield error
    inner = [error.__cause__, getattr(error, "reason", None), *error.args]
    for cause in inner:
        if isinstance(cause, BaseException):
            yield from _causes(cause)


def _explain(error: Exception, clock: Deadline, *, proxied: bool) -> ConnectionFailed:
    from urllib3 import exceptions

    causes = list(_causes(error))

    def caused_by(*kinds: type[BaseException]) -> bool:
        return any(isinstance(cause, kinds) for cause in causes)

    # NewConnectionError is a timeout to urllib3, also when the connection was refused
    late = caused_by(exceptions.TimeoutError) and not caused_by(exceptions.NewConnectionError)
    if (late or caused_by(TimeoutError)) and clock.limit is not None:
        return ConnectionFailed(
            f"no answer within {format_duration(clock.limit)}",
            EngineTimeoutError,
            "allow more time, or send less at a time",
        )
    if caused_by(ssl.SSLCertVerificationError) or any(type(cause).__name__ == "CertificateError" for cause in causes):
        return ConnectionFailed(
            "its certificate is not trusted", hint="set SSL_CERT_FILE to the certificates of your network"
        )
    if caused_by(IncompleteRead, exceptions.IncompleteRead):
        return ConnectionFailed("broke off in the middle of its answer", passing=True)
    if tunnel := next((found for cause in causes if (found := _TUNNEL_STATUS.match(str(cause)))), None):
        return ConnectionFailed(
            f"the proxy answered {tunnel[1]}", hint="check https_proxy, or add the host to no_proxy"
        )
    if caused_by(LineTooLong) or any(type(cause) is HTTPException for cause in causes):  # more than 100 headers
        return ConnectionFailed("too many or too long headers", EngineError, "see that it is the address of an API")
    reason = next((cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror), None)
    if caused_by(exceptions.LocationParseError):
        reason = "no such host"
    way = " through the proxy" if proxied else ""
    return ConnectionFailed(f"cannot be reached{way} ({reason or type(causes[-1]).__name__})", passing=True)


def read_json(call: HttpRequest, answer: RawResponse, limits: HttpLimits) -> object:
    """Return the JSON value of a response, or raise an error for the user."""
    why, hint = "", "check that the address is the API's and not a page's"
    try:
        return json.loads(answer.body, parse_constant=_reject_constant)
    except _NoNumberError as error:
        why, hint = f" (it holds {error})", "the model behind the address failed; see the server's own log"
    except (ValueError, RecursionError):
        pass
    sentence = f"answered {answer.status}, but not with JSON{why}: {_excerpt(answer.body, call, limits)}"
    raise EngineError(sentence, file=_clean(redact_url(call.url), call), hint=hint)


class _NoNumberError(Exception):
    """NaN or Infinity, which are not JSON."""


def _reject_constant(name: str) -> object:
    raise _NoNumberError(name)


def failure(call: HttpRequest, outcome: Outcome, troubles: Sequence[str], limits: HttpLimits) -> AssayError:
    """Return the error for a failed request, with the response or the broken connection."""
    after = f" ({describe_attempts(len(troubles) + 1, troubles)})" if troubles else ""
    where = _clean(redact_url(call.url), call)
    if isinstance(outcome, ConnectionFailed):
        if set(troubles) == {outcome.sentence}:
            after = f" (asked {len(troubles) + 1} times)"
        return outcome.kind(outcome.sentence + after, file=where, hint=outcome.hint)
    said = _excerpt(outcome.body, call, limits)
    sentence = f"answered {outcome.status}" + (f": {said}" if said else "")
    kind = RequestRejected if outcome.refuses else AccessDenied if outcome.denies else EngineError
    return kind(sentence + after, file=where, hint=_advice(call, outcome))


def describe_attempts(times: int, troubles: Sequence[str]) -> str:
    """Describe the number of attempts and why each but the last failed."""
    return f"asked {times} times: {', '.join(troubles)}"


def _advice(call: HttpRequest, answer: RawResponse) -> str:
    if 300 <= answer.status < 400:
        where = _clean(redact_url(answer.location or ""), call)
        return f"redirects are not followed; if you trust it, configure where it leads: {where}"
    if answer.limits:
        asks = f" (Retry-After: {_clean(answer.retry_after, call):.40})" if answer.retry_after else ""
        return f"the API's limit is reached{asks}; wait, or send less at a time"
    if answer.status in (401, 403):
        return f"check the token in {call.token_env}" if call.token_env else "name the variable that holds the token"
    return "see the server's own log" if answer.status >= 500 else "check the address and the names in the request"


def _excerpt(body: bytes, call: HttpRequest, limits: HttpLimits) -> str:
    text = _clean(body.decode("utf-8", "replace"), call)
    most = limits.excerpt_chars
    return text if len(text) <= most else text[: most - 1] + "…"


def _clean(text: str, call: HttpRequest) -> str:
    line = " ".join("".join(char for char in text if char.isprintable() or char.isspace()).split())
    return Redactor(call.secrets).text(line)
