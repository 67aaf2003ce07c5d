"""Ask until there is an answer, or no use in asking."""

from __future__ import annotations

import base64
import io
import json
import math
import os
import queue
import random
import re
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead, LineTooLong
from types import TracebackType
from typing import Any, Final, Self, cast
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from assay.clock import Deadline, format_duration
from assay.errors import AssayError, ConfigError, EngineError, EngineTimeoutError, SetupError
from assay.redaction import Redactor


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """How much of a server's answer is read, and how patiently it is asked again."""

    #: 256 embeddings of 3,072 numbers are 17 MB of JSON; the largest answer anyone has a use for, twice.
    body_bytes: int = 32_000_000
    #: Sent and read at a time, so that the clock and the size are looked at in between.
    piece_bytes: int = 65_536
    #: Two lines of a terminal: APIs put the reason into the first sentence.
    excerpt_chars: int = 160
    #: A value in a URL's query that is shorter is an API version or a flag, and no secret.
    secret_chars: int = 8
    #: The first wait when the server names none; doubled each time: 0.5 s, 1 s. A limit per second is over by then.
    backoff_seconds: float = 0.5
    #: Doubled up to here: a server that restarts loads its model for some ten seconds.
    longest_backoff: float = 8.0
    #: Taken off such a wait by chance, at most: those who failed together shall not come back together.
    jitter: float = 0.5
    #: Limits per minute are the usual ones; who asks for a longer wait has a daily limit, and nobody waits that out.
    longest_wait: float = 60.0


DEFAULT_HTTP: Final = HttpLimits()


_PORTS: Mapping[str, int] = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ProxyRoute:
    """Whom to speak to, and who is to be reached that way."""

    tls: bool
    host: str
    port: int
    door: tuple[str, int]  # where the connection goes: the host itself, or a proxy
    pass_through: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)  # the proxy's password

    @property
    def proxied(self) -> bool:
        """Whether somebody stands between."""
        return self.door != (self.host, self.port)


def find_route(address: SplitResult) -> ProxyRoute:
    """Find the way to an address; `http_proxy`, `https_proxy` and `no_proxy` are read each time, as curl does."""
    from urllib.request import getproxies, proxy_bypass

    host, port = address.hostname or "", address.port or _PORTS[address.scheme]
    tls = address.scheme == "https"
    proxy = getproxies().get(address.scheme)
    if not proxy or proxy_bypass(f"{host}:{port}"):
        return ProxyRoute(tls, host, port, (host, port))
    parts = _read_proxy(proxy, address.scheme)
    return ProxyRoute(tls, host, port, (parts.hostname or "", parts.port or _PORTS["http"]), _password(parts))


def _read_proxy(text: str, scheme: str) -> SplitResult:
    wrong = ConfigError(f"{scheme}_proxy names no proxy that can be used", hint="write it as http://host:port")
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        usable = parts.scheme == "http" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise wrong from None
    if not usable:
        raise wrong
    return parts


def _password(proxy: SplitResult) -> Mapping[str, str]:
    if proxy.username is None:
        return {}
    plain = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {base64.b64encode(plain.encode()).decode()}"}


Addresses = list[tuple[Any, ...]]


class DeadlineSocket:
    """What http.client uses of a socket; each operation has the time that is left."""

    def __init__(self, inner: socket.socket, piece_bytes: int) -> None:
        self.inner = inner
        self.clock = Deadline(None)
        self._piece_bytes = piece_bytes

    def sendall(self, data: bytes) -> None:
        """Send in pieces: over TLS the time limit of a socket is one for each of them."""
        view = memoryview(data)
        for start in range(0, len(view), self._piece_bytes):
            self.inner.settimeout(self.clock.left())
            self.inner.sendall(view[start : start + self._piece_bytes])

    def makefile(self, mode: str) -> io.BufferedReader:  # noqa: ARG002 (http.client always reads bytes)
        """Give a file to read from; the socket lives until it is closed too."""
        return io.BufferedReader(_ClockedFile(self), self._piece_bytes)

    def close(self) -> None:
        """Close the socket, once nothing reads from it."""
        self.inner.close()


class _ClockedFile(io.RawIOBase):
    """The reading end."""

    def __init__(self, owner: DeadlineSocket) -> None:
        super().__init__()
        self._owner = owner
        self._inner = cast(io.RawIOBase, owner.inner.makefile("rb", buffering=0))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:  # noqa: ANN401 (the base class takes any buffer)
        self._owner.inner.settimeout(self._owner.clock.left())
        return cast("int | None", self._inner.readinto(buffer))

    def close(self) -> None:
        self._inner.close()
        super().close()


def open_socket(host: str, port: int, clock: Deadline) -> socket.socket:
    """Connect to the first address of a host that answers; all of them share the time."""
    problem: OSError = OSError("no address")
    for family, kind, protocol, _, address in _resolve(host, port, clock):
        made = socket.socket(family, kind, protocol)
        try:
            made.settimeout(clock.left())
            made.connect(address)
            # head and body of a request go out apart; held back, the second would wait for the first one's receipt
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            made.close()
            problem = error
        except BaseException:
            made.close()
            raise
        else:
            return made
    raise problem


def _resolve(host: str, port: int, clock: Deadline) -> Addresses:
    found: queue.SimpleQueue[Addresses | OSError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            found.put(cast(Addresses, socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
        except OSError as error:
            found.put(error)
        except ValueError:  # a name that cannot be written for it
            found.put(OSError(0, "no such host"))

    threading.Thread(target=look_up, name="assay-resolver", daemon=True).start()
    try:
        addresses = found.get(timeout=clock.left())
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(addresses, OSError):
        raise addresses
    return addresses


def redact_url(url: str) -> str:
    """Give a web address without user, password, query and fragment, the four places where secrets stand."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "the address"
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" if parts.scheme in ("http", "https") and host else "the address"


def web_address(url: str) -> SplitResult:
    """Refuse what is no plain web address before any of it is sent, and without repeating it: it may hold a secret."""
    wrong = ConfigError("not a web address", hint="write it as https://host/path")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise wrong from None
    if not usable or not is_word(url):
        raise wrong
    if "@" in parts.netloc:
        hint = "put the token into an environment variable and give the name of that variable"
        raise ConfigError("the address holds a user or a password", file=redact_url(url), hint=hint)
    return parts


def query_secrets(address: SplitResult, shortest: int) -> frozenset[str]:
    """List what may be a secret in the query of an address: all of it, and each value that is no flag."""
    values = {value for _, value in parse_qsl(address.query) if len(value) >= shortest}
    return frozenset({address.query, *values} - {""})


def is_word(text: str) -> bool:
    """Tell printable ASCII without a space from what breaks a header: http.client's complaint would quote all of it."""
    return text.isascii() and text.isprintable() and " " not in text


#: RFC 9110, 5.6.2: what a method or the name of a header is made of.
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: Set by what is sent, not by whom.
_OURS: Final = frozenset({"connection", "content-length", "host", "transfer-encoding"})
#: By these a server refuses a request as it stands.
_REFUSALS: Final = frozenset({400, 413, 422})
_DENIALS: Final = frozenset({401, 403, 404})
#: Ollama and llama.cpp answer 500 to a text that is too long for them; asking again is of no use.
_TOO_MUCH: Final = re.compile(rb"too large to process|context (?:length|size|window)", re.IGNORECASE)


class RequestRejected(EngineError):
    """A server does not take a request as it stands; a smaller one may do."""


class AccessDenied(EngineError):
    """A server does not let us: without the right, GitHub and others say that nothing is there."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request; its repr holds no secret. `make_call` checks it."""

    url: str = field(repr=False)
    address: SplitResult = field(repr=False)
    method: str
    body: bytes | None = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    token_env: str | None
    secrets: frozenset[str] = field(repr=False)  # what no message may show


@dataclass(frozen=True, slots=True)
class RawResponse:
    """What the server said."""

    status: int
    body: bytes = field(repr=False)
    retry_after: str | None = field(default=None, repr=False)
    location: str | None = field(default=None, repr=False)
    spent: bool = False  # it says that nothing is left of what we may ask

    @property
    def fine(self) -> bool:
        """Whether it is what was asked for."""
        return 200 <= self.status < 300

    @property
    def denies(self) -> bool:
        """Whether it is the asker that may not."""
        return self.status in _DENIALS and not self.limits

    @property
    def limits(self) -> bool:
        """Whether it is only too much at a time; GitHub says so by 403 too, with the time to wait or what is left."""
        return self.status == 429 or (self.status == 403 and (self.spent or self.retry_after is not None))

    @property
    def refuses(self) -> bool:
        """Whether it is the request that is wrong, and neither the moment nor the asker."""
        return self.status in _REFUSALS or (self.status >= 500 and _TOO_MUCH.search(self.body) is not None)


@dataclass(frozen=True, slots=True)
class ConnectionFailed:
    """Why there is no answer."""

    sentence: str
    kind: type[AssayError] = SetupError
    hint: str = "check the address, and that the server runs and can be reached from here"
    passing: bool = False


Outcome = RawResponse | ConnectionFailed


def make_call(
    url: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    token_env: str | None = None,
    secrets: Iterable[str] = (),
) -> HttpRequest:
    """Check a request before any of it is sent; the token goes into the Authorization header."""
    address = web_address(url)
    _check(method, headers or {})
    token = read_token(token_env)
    given = {"Accept": "application/json", "User-Agent": "assay"} | dict(headers or {})
    own = {"Authorization": f"Bearer {token}"} if token else {}
    hidden = frozenset({token, *secrets} - {""})
    return HttpRequest(url, address, method, body, _merged(given, own), token_env, hidden)


def read_token(name: str | None) -> str:
    """Read the token; its value is in no message."""
    if name is None:
        return ""
    token = os.environ.get(name, "").strip()
    if not token:
        raise ConfigError(f"the environment variable {name} is not set", hint=f"export {name}=... with the API's token")
    if not is_word(token):
        hint = "a token is one word of plain ASCII characters"
        raise ConfigError(f"the environment variable {name} holds no token", hint=hint)
    return token


def _check(method: str, headers: Mapping[str, str]) -> None:
    if not _NAME.fullmatch(method):
        raise ConfigError("the method is no word", hint="write GET, POST or PUT")
    for name, value in headers.items():
        if not _NAME.fullmatch(name) or name.lower() in _OURS:
            raise ConfigError(f"{name!r:.40} is no header that can be set", hint="write it like X-Request-Source")
        if not (value.isascii() and value.isprintable()):
            hint = "a header is one line of plain ASCII characters; check the variable it comes from"
            raise ConfigError(f"the header {name} holds what no header can", hint=hint)


def _merged(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
    by_name = {name.lower(): (name, value) for headers in (first, second) for name, value in headers.items()}
    return dict(by_name.values())


def retry_delay(outcome: Outcome, attempt: int, limits: HttpLimits, chance: random.Random) -> float | None:
    """Say how long to wait before the next attempt; None when there is no use in one."""
    longest = min(limits.backoff_seconds * 2**attempt, limits.longest_backoff)
    backoff = longest * (1 - limits.jitter * chance.random())
    if isinstance(outcome, ConnectionFailed):
        return backoff if outcome.passing else None
    if outcome.refuses or not (outcome.limits or outcome.status >= 500):
        return None
    asked = _retry_after(outcome.retry_after)
    wait = backoff if asked is None else asked
    return wait if wait <= limits.longest_wait else None


def _retry_after(value: str | None) -> float | None:
    """Read Retry-After, seconds or a date (RFC 9110, 10.2.3); nonsense is as good as nothing."""
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


class ProxyError(HTTPException):
    """A proxy does not let us through."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class HttpConnection(HTTPConnection):
    """A connection whose every step has the time that is left."""

    def __init__(self, route: ProxyRoute, tls: Callable[[], ssl.SSLContext], piece_bytes: int) -> None:
        super().__init__(route.host, route.port)
        self.default_port = 443 if route.tls else 80  # which the Host header leaves out
        self.route = route
        self._tls = tls
        self._piece_bytes = piece_bytes
        self._clock = Deadline(None)

    def ask(self, call: HttpRequest, clock: Deadline, *, keep: bool) -> OpenResponse:
        """Send a request and read the head of the answer; what fails at it is closed."""
        self._clock = clock
        if self.sock is not None:
            cast(DeadlineSocket, self.sock).clock = clock
        try:
            self.request(call.method, self._target(call), call.body, self._headers(call, keep=keep))
            return OpenResponse(self, self.getresponse())
        except BaseException:
            self.close()
            raise

    def _target(self, call: HttpRequest) -> str:
        path = call.address._replace(scheme="", netloc="", path=call.address.path or "/", fragment="").geturl()
        return f"http://{call.address.netloc}{path}" if self.route.proxied and not self.route.tls else path

    def _headers(self, call: HttpRequest, *, keep: bool) -> dict[str, str]:
        headers = {**call.headers, "Connection": "keep-alive" if keep else "close"}
        return headers if self.route.tls else headers | dict(self.route.pass_through)

    def connect(self) -> None:
        """Open the way to the server."""
        raw = open_socket(*self.route.door, self._clock)
        try:
            if self.route.tls and self.route.proxied:
                self._tunnel_through(self._clocked(raw))
            if self.route.tls:
                raw.settimeout(self._clock.left())
                raw = self._tls().wrap_socket(raw, server_hostname=self.route.host)
        except BaseException:
            raw.close()
            raise
        self.sock = cast(Any, self._clocked(raw))

    def _clocked(self, raw: Any) -> DeadlineSocket:  # noqa: ANN401 (a socket, or one with TLS)
        made = DeadlineSocket(raw, self._piece_bytes)
        made.clock = self._clock
        return made

    def _tunnel_through(self, proxy: DeadlineSocket) -> None:
        """Ask a proxy for a way through (RFC 9110, 9.3.6); what it says is for nobody but us."""
        host = f"[{self.route.host}]" if ":" in self.route.host else self.route.host
        goal = f"{host}:{self.route.port}"
        lines = [f"{name}: {value}" for name, value in {"Host": goal, **self.route.pass_through}.items()]
        proxy.sendall("\r\n".join([f"CONNECT {goal} HTTP/1.1", *lines, "", ""]).encode())
        response = HTTPResponse(cast(Any, proxy), method="CONNECT")
        try:
            response.begin()
        finally:
            response.close()
        if response.status != 200:
            raise ProxyError(response.status)

    def is_quiet(self) -> bool:
        """Tell whether it waits for us: what can be read now is its end, or nothing we asked for."""
        if self.sock is None:
            return False
        watch = select.poll()
        watch.register(cast(DeadlineSocket, self.sock).inner, select.POLLIN)
        return not watch.poll(0)


@dataclass(frozen=True, slots=True)
class OpenResponse:
    """A server that has begun to answer."""

    connection: HttpConnection
    response: HTTPResponse


#: Ten digits are a second of our time; fewer would be a time to wait, which others write there.
_SECOND = re.compile(r"[0-9]{10}")
_PLAIN = ("", "identity")
_CODINGS = ("br", "compress", "deflate", "gzip", "zstd")


@dataclass(frozen=True, slots=True)
class BodyPart:
    """What was read of an answer, and whether that was all of it."""

    outcome: Outcome
    whole: bool


def read_answer(response: HTTPResponse, limits: HttpLimits) -> BodyPart:
    """Read an answer; of a refusal the status is answer enough."""
    headers = response.headers
    head = RawResponse(response.status, b"", _wait(headers), headers.get("Location"), _is_spent(headers))
    try:
        body = _read_body(response, limits)
    except (OSError, HTTPException):
        if head.fine:
            raise
        return BodyPart(head, whole=False)
    if isinstance(body, ConnectionFailed):
        return BodyPart(body if head.fine else head, whole=False)
    return BodyPart(replace(head, body=body), whole=True)


def _is_spent(headers: Message) -> bool:
    return str(headers.get("X-RateLimit-Remaining", "")).strip() == "0"


def _wait(headers: Message) -> str | None:
    """Give how long a server asks to wait: Retry-After, or until its limit begins anew, a second since 1970."""
    told, reset = headers.get("Retry-After"), str(headers.get("X-RateLimit-Reset", "")).strip()
    if told is not None or not _is_spent(headers) or not _SECOND.fullmatch(reset):
        return told
    return str(max(0, int(reset) - int(time.time()) + 1))


def _read_body(response: HTTPResponse, limits: HttpLimits) -> bytes | ConnectionFailed:
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding not in _PLAIN:
        named = coding if coding in _CODINGS else "a coding of its own"  # what it says may be anything, a token too
        return ConnectionFailed(
            f"answered in {named}, which nobody asked for", EngineError, "let it answer uncompressed"
        )
    pieces: list[bytes] = []
    size = 0
    while max(size, response.length or 0) <= limits.body_bytes:
        piece = response.read1(limits.piece_bytes)
        if not piece:
            break
        pieces.append(piece)
        size += len(piece)
    else:
        return ConnectionFailed(
            f"answered with more than {limits.body_bytes:,} bytes", EngineError, "ask for less at a time"
        )
    if response.length:
        raise IncompleteRead(b"")
    return b"".join(pieces)


_UNTRUSTED = ConnectionFailed(
    "its certificate is not trusted", hint="set SSL_CERT_FILE to the certificates of your network"
)


class Connections:
    """Connections of one asker; threads may share it. At most `keep` wait for the next request."""

    def __init__(self, keep: int = 0, limits: HttpLimits = DEFAULT_HTTP) -> None:
        self.limits = limits
        self._keep = keep
        self._idle: list[HttpConnection] = []  # the one that was used last is at the end, and is used first
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close those that wait; one that is in use is closed when it comes back."""
        with self._lock:
            idle, self._idle, self._keep = self._idle, [], 0
        for connection in idle:
            connection.close()

    def attempt(self, call: HttpRequest, clock: Deadline) -> Outcome:
        """Send a request once and read the answer."""
        route = find_route(call.address)
        try:
            return self._exchange(route, call, clock)
        except (OSError, HTTPException) as error:
            return _explain(error, clock, route)

    def _fresh(self, route: ProxyRoute) -> HttpConnection:
        return HttpConnection(route, lambda: self._tls, self.limits.piece_bytes)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _take(self, route: ProxyRoute) -> HttpConnection | None:
        while True:
            with self._lock:
                at = next((n for n in reversed(range(len(self._idle))) if self._idle[n].route == route), None)
                found = None if at is None else self._idle.pop(at)
            if found is None or found.is_quiet():
                return found
            found.close()

    def _exchange(self, route: ProxyRoute, call: HttpRequest, clock: Deadline) -> Outcome:
        reached = self._reach(route, call, clock)
        connection, again = reached.connection, False
        try:
            with reached.response as response:
                read = read_answer(response, self.limits)
                again = read.whole and not response.will_close
        finally:
            if not (again and self._give_back(connection)):
                connection.close()
        return read.outcome

    def _reach(self, route: ProxyRoute, call: HttpRequest, clock: Deadline) -> OpenResponse:
        kept = self._take(route)
        if kept is not None:
            with suppress(ConnectionError):
                return kept.ask(call, clock, keep=True)
        return self._fresh(route).ask(call, clock, keep=self._keep > 0)

    def _give_back(self, connection: HttpConnection) -> bool:
        with self._lock:
            room = len(self._idle) < self._keep
            if room:
                self._idle.append(connection)
        return room


def _explain(error: OSError | HTTPException, clock: Deadline, route: ProxyRoute) -> ConnectionFailed:
    if isinstance(error, TimeoutError) and clock.limit is not None:
        return ConnectionFailed(
            f"no answer within {format_duration(clock.limit)}",
            EngineTimeoutError,
            "allow more time, or send less at a time",
        )
    if isinstance(error, ssl.SSLCertVerificationError):
        return _UNTRUSTED
    if isinstance(error, IncompleteRead):
        return ConnectionFailed("broke off in the middle of its answer", passing=True)
    if isinstance(error, ProxyError):
        return ConnectionFailed(
            f"the proxy answered {error.status}", hint="check https_proxy, or add the host to no_proxy"
        )
    if isinstance(error, LineTooLong) or type(error) is HTTPException:  # of http.client: more than 100 headers
        return ConnectionFailed("its headers have no end", EngineError, "see that it is the address of an API")
    said = error.strerror if isinstance(error, OSError) else None
    way = " through the proxy" if route.proxied else ""
    return ConnectionFailed(f"cannot be reached{way} ({said or type(error).__name__})", passing=True)


def read_json(call: HttpRequest, answer: RawResponse, limits: HttpLimits) -> object:
    """Give the value that an answer is, or raise what the user is to know."""
    why, hint = "", "check that the address is the API's and not a page's"
    try:
        return json.loads(answer.body, parse_constant=_no_constant)
    except _NoNumberError as error:
        why, hint = f" (it holds {error})", "the model behind the address failed; see the server's own log"
    except (ValueError, RecursionError):
        pass
    sentence = f"answered {answer.status}, but not with JSON{why}: {_excerpt(answer.body, call, limits)}"
    raise EngineError(sentence, file=_place(call), hint=hint)


class _NoNumberError(Exception):
    """Something that Python writes as a number and JSON does not."""


def _no_constant(name: str) -> object:
    raise _NoNumberError(name)


def failure(call: HttpRequest, outcome: Outcome, troubles: Sequence[str], limits: HttpLimits) -> AssayError:
    """Word why there is no answer: what broke, or the status and what the server said."""
    after = f" ({asked_again(len(troubles) + 1, troubles)})" if troubles else ""
    if isinstance(outcome, ConnectionFailed):
        if set(troubles) == {outcome.sentence}:  # the same each time is said once
            after = f" (asked {len(troubles) + 1} times)"
        return outcome.kind(outcome.sentence + after, file=_place(call), hint=outcome.hint)
    said = _excerpt(outcome.body, call, limits)
    sentence = f"answered {outcome.status}" + (f": {said}" if said else "")
    kind = RequestRejected if outcome.refuses else AccessDenied if outcome.denies else EngineError
    return kind(sentence + after, file=_place(call), hint=_advice(call, outcome))


def asked_again(times: int, troubles: Sequence[str]) -> str:
    """Say how often a server was asked, and what was the matter each time before the last."""
    return f"asked {times} times: {', '.join(troubles)}"


def short(outcome: Outcome) -> str:
    """Name an attempt that failed in a word or two."""
    return outcome.sentence if isinstance(outcome, ConnectionFailed) else str(outcome.status)


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


def _place(call: HttpRequest) -> str:
    return _clean(redact_url(call.url), call)


def _excerpt(body: bytes, call: HttpRequest, limits: HttpLimits) -> str:
    text = _clean(body.decode("utf-8", "replace"), call)
    most = limits.excerpt_chars
    return text if len(text) <= most else text[: most - 1] + "…"


def _clean(text: str, call: HttpRequest) -> str:
    line = " ".join("".join(char for char in text if char.isprintable() or char.isspace()).split())
    return Redactor(call.secrets).text(line)


_CHANCE: Final = random.SystemRandom()  # no result depends on how long somebody waited

#: Wait for one's turn to send a request, and tell how many seconds that took.
Turn = Callable[[], float]


def _at_once() -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long and how often to ask; None is no limit."""

    attempt: float | None = 30.0  # seconds for one attempt, from the first byte sent to the last one read
    retries: int = 2  # after the first attempt
    whole: float | None = None  # seconds for all attempts and the waits between them


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An answer, and what it took to get it."""

    answer: RawResponse
    troubles: tuple[str, ...] = ()  # why it was asked again, each time
    waited: float = 0.0  # seconds for one's turn, which are not the server's


def send(
    call: HttpRequest,
    connections: Connections,
    patience: RetryPolicy,
    *,
    turn: Turn = _at_once,
    chance: random.Random = _CHANCE,
) -> HttpResponse:
    """Give the answer to a request, or raise what the user is to know.

    429 (or 403 that means it), 5xx and broken connections are tried again. Other refusals are not, nor is silence:
    that is what the time of an attempt is for. A wait that would outlast the whole time is not begun. Waiting for
    one's turn costs no time.
    """
    clock, waited = Deadline(patience.whole), 0.0
    troubles: tuple[str, ...] = ()
    while True:
        pause = turn()
        clock.extend(pause)
        waited += pause
        outcome = connections.attempt(call, clock.within(patience.attempt))
        if isinstance(outcome, RawResponse) and outcome.fine:
            return HttpResponse(outcome, troubles, waited)
        wait = _next(outcome, len(troubles), patience, connections.limits, chance)
        if wait is None or not clock.allows(wait):
            raise failure(call, outcome, troubles, connections.limits)
        troubles = (*troubles, short(outcome))
        time.sleep(wait)


def _next(
    outcome: Outcome, done: int, patience: RetryPolicy, limits: HttpLimits, chance: random.Random
) -> float | None:
    """Say how long to wait before another attempt; None when there is none."""
    return retry_delay(outcome, done, limits, chance) if done < patience.retries else None


def post_json(
    url: str,
    payload: object,
    *,
    token_env: str | None = None,
    timeout: float = 30.0,
    retries: int = 2,
    limits: HttpLimits = DEFAULT_HTTP,
    chance: random.Random = _CHANCE,
) -> object:
    """Send a JSON value and give the JSON value that comes back.

    429, 5xx and broken connections are retried up to `retries` times; other statuses and timeouts are not. `timeout`
    limits one attempt. A request that the server rejects for its content raises `RequestRejected`.
    """
    body = json.dumps(payload, allow_nan=False).encode()
    call = make_call(
        url,
        method="POST",
        body=body,
        headers={"Content-Type": "application/json"},
        token_env=token_env,
        secrets=query_secrets(web_address(url), limits.secret_chars),
    )
    with Connections(limits=limits) as connections:
        heard = send(call, connections, RetryPolicy(timeout, retries), chance=chance)
    return read_json(call, heard.answer, limits)
