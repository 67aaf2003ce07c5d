"""An HTTP server on loopback for one user."""

from __future__ import annotations

import hmac
import io
import json
import os
import re
import secrets
import socket
import socketserver
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from html import escape
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from assay.errors import AssayError, ConfigError, InputError, NotComparableError, SetupError

if TYPE_CHECKING:
    from typing_extensions import Buffer


JSON = "application/json; charset=utf-8"
HTML = "text/html; charset=utf-8"

#: What is no page of ours may do nothing at all in a browser.
_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'"
_POLICY = re.compile(rb'<meta http-equiv="Content-Security-Policy" content="([^"]+)">')

#: The policy stands in the head of a page, before anything that people wrote.
_HEAD_BYTES = 4_096


class HttpError(InputError):
    """A request that is not answered, with the status that says so."""

    def __init__(self, status: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


@dataclass(frozen=True, slots=True)
class WebRequest:
    """One request that has passed every check: it comes from our own page, or from whoever was given the address."""

    method: str
    path: str  # as it was asked for, without what follows `?`
    parts: Mapping[str, str] = field(default_factory=dict)  # what the {names} of the route's pattern stood for
    query: Mapping[str, str] = field(default_factory=dict)  # what follows `?`; a name that comes twice is refused
    data: Mapping[str, object] = field(default_factory=dict)  # the JSON object of a POST
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)  # of routes that know browsers by their own

    def text(self, name: str) -> str:
        """Give a text of the data; what is missing or no text is refused."""
        value = self.data.get(name)
        if not isinstance(value, str):
            raise HttpError(400, f"{name!r} must be a text", hint="reload the page")
        return value


@dataclass(frozen=True, slots=True)
class Response:
    """What is sent back."""

    body: bytes
    kind: str = JSON
    status: int = 200
    policy: str = _NOTHING  # what a browser may do with it
    headers: Mapping[str, str] = field(default_factory=dict)


def json_response(value: object, status: int = 200) -> Response:
    """Answer with a value."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # Half a character, as broken file names have it, becomes the escape that JSON knows it by.
    return Response(text.encode("utf-8", "backslashreplace"), status=status)


def page_response(page: bytes, status: int = 200) -> Response:
    """Answer with a page of `browser.shell`, under the policy that it carries."""
    found = _POLICY.search(page[:_HEAD_BYTES])
    if not found:
        raise ValueError("a page without a policy")
    return Response(page, HTML, status, policy=found[1].decode("ascii"))


def error_response(status: int, message: str, hint: str | None = None, *, as_page: bool = False) -> Response:
    """Answer with a sentence: JSON for scripts, a bare page for whoever typed an address."""
    if not as_page:
        return json_response({"error": message, **({"hint": hint} if hint else {})}, status)
    said = f"<h1>{escape(message)}</h1>" + (f"<p>{escape(hint)}</p>" if hint else "")
    head = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Assay</title></head>'
    text = f"{head}<body>{said}</body></html>\n"
    return Response(text.encode("utf-8", "backslashreplace"), HTML, status)


def status_of(error: AssayError) -> int:
    """Give the status that an error is answered with."""
    if isinstance(error, HttpError):
        return error.status
    if isinstance(error, NotComparableError):
        return 409
    return 400 if isinstance(error, InputError) else 500


def sentence_of(error: AssayError) -> str:
    """Say what was wrong and where, without the hint."""
    line = f":{error.line}" if error.line is not None else ""
    return f"{error.file}{line}: {error.message}" if error.file else error.message


_BYTES = 32


@dataclass(frozen=True, slots=True)
class RequestAuth:
    """The secrets of one server, and the names by which it may be asked."""

    hosts: tuple[str, ...]  # `127.0.0.1:8123`: as browsers write it
    cookie: str  # its name, which has the port: two servers must not overwrite each other's
    token: str = field(default_factory=lambda: secrets.token_urlsafe(_BYTES), repr=False)
    session: str = field(default_factory=lambda: secrets.token_urlsafe(_BYTES), repr=False)

    def check_host(self, headers: Message) -> None:
        """Refuse a request that was meant for another name."""
        given = headers.get_all("Host") or []
        if len(given) != 1 or given[0].lower() not in self.hosts:
            raise HttpError(421, "this server goes by another name", hint="use the address that was printed")

    def check_source(self, headers: Message, method: str) -> None:
        """Refuse what another page asks: any POST, and every GET but somebody's following a link."""
        site, origin = headers.get("Sec-Fetch-Site"), headers.get("Origin")
        ours = origin == f"http://{headers['Host'].lower()}"
        if method == "POST":
            allowed = (site in (None, "same-origin")) and (ours or (origin is None and site is not None))
        else:
            link = headers.get("Sec-Fetch-Mode") == "navigate" and headers.get("Sec-Fetch-Dest") == "document"
            allowed = (origin is None or ours) and (site in (None, "none", "same-origin") or link)
        if not allowed:
            raise HttpError(403, "another page asked for this", hint="open Assay's page itself")

    def check_session(self, headers: Message) -> None:
        """Refuse whoever was not given the address."""
        given = [value for name, value in cookies(headers) if name == self.cookie]
        if not any(_same(value, self.session) for value in given):
            raise HttpError(403, "this page needs the token of its server", hint="open the address that Assay printed")

    def admit(self, headers: Message, path: str, query: Mapping[str, str]) -> Response:
        """Take a token out of an address: the right one becomes a cookie, and the address is asked for without it."""
        if not _same(query["token"], self.token):
            raise HttpError(
                403, "the token is not that of this server", hint="open the address that Assay printed last"
            )
        rest = urlencode({name: value for name, value in query.items() if name != "token"})
        # Two slashes would name another server, and browsers take a backslash for one. Nothing but the path is kept.
        clean = "/" + path.replace("\\", "/").lstrip("/") + (f"?{rest}" if rest else "")
        cookie = f"{self.cookie}={self.session}; HttpOnly; SameSite=Strict; Path=/"
        if headers.get("Sec-Fetch-Site") in (None, "none", "same-origin"):
            return Response(b"", HTML, 303, headers={"Location": clean, "Set-Cookie": cookie})
        # Followed from another page, such as a terminal in a browser: a strict cookie would not be sent along with a
        # redirect, while what this answer itself asks for is no other page's doing any more.
        return Response(b"", HTML, 200, headers={"Refresh": f"0; url={clean}", "Set-Cookie": cookie})


def guard_for(host: str, port: int) -> RequestAuth:
    """Make the secrets of a server that listens at a port of loopback."""
    names = {"[::1]" if ":" in host else host, "localhost"}
    tail = "" if port == 80 else f":{port}"  # browsers leave out the port that everybody knows
    return RequestAuth(tuple(sorted(f"{name}{tail}" for name in names)), f"assay-{port}")


def cookies(headers: Message) -> list[tuple[str, str]]:
    """List the cookies of a request."""
    pairs = (part.partition("=") for line in headers.get_all("Cookie") or [] for part in line.split(";"))
    return [(name.strip(), value.strip()) for name, _, value in pairs]


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode("utf-8"))


RouteHandler = Callable[[WebRequest], Response]


@dataclass(frozen=True, slots=True)
class Route:
    """One address: `Route("GET", "/run/{id}", show)`; a `{name}` stands for one part between slashes, never for none.

    A GET changes nothing. Handlers are called from several threads at once.
    """

    method: str  # GET or POST
    pattern: str
    handler: RouteHandler

    def match(self, path: str) -> dict[str, str] | None:
        """Give what the names of the pattern stand for in a path, None where it is another address."""
        names, given = self.pattern.split("/"), path.split("/")
        if len(names) != len(given):
            return None
        found: dict[str, str] = {}
        for name, part in zip(names, given, strict=True):
            # Decoded after it was cut: a slash that was encoded belongs to the part, and stays in it.
            value = decoded(part)
            if name.startswith("{") and value:
                found[name[1:-1]] = value
            elif name != value:
                return None
        return found


def decoded(part: str) -> str:
    """Decode a part of an address; what is no UTF-8 is refused."""
    try:
        return unquote(part, errors="strict")
    except UnicodeDecodeError:
        raise HttpError(400, "the address is not UTF-8") from None


def find(routes: Sequence[Route], method: str, path: str) -> tuple[Route, dict[str, str]]:
    """Find the route of an address; one that takes other methods says which."""
    fitting = [(route, parts) for route in routes if (parts := route.match(path)) is not None]
    wanted = "GET" if method == "HEAD" else method
    for route, parts in fitting:
        if route.method == wanted:
            return route, parts
    if fitting:
        known = ", ".join(sorted({route.method for route, _ in fitting}))
        raise HttpError(405, f"{method} is not taken here", hint=f"this address takes {known}")
    raise HttpError(404, "nothing is at this address", hint="start from the address that was printed")


_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Connection": "close",
}


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """How much one request may take."""

    body: int = 1 << 20  # bytes: a decision or settings are a few hundred; nothing is uploaded
    reading: float = 10.0  # seconds for a whole request: a slow one holds a thread, which others wait for
    writing: float = 30.0  # seconds for a whole answer: pages have 3 MB, and loopback takes them in no time
    threads: int = 32  # requests at once: a browser opens six connections a page; beyond it 503
    yielding: float = 0.5  # seconds that a connection whose place is needed has to go: a thread that wakes up ends
    closing: float = 5.0  # seconds that answers under way have when the server ends
    fields: int = 100  # of an address


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """What every request of a server meets."""

    routes: tuple[Route, ...]
    guard: RequestAuth
    limits: RequestLimits
    log: Callable[[str], None] | None = None


class _ConfiguredServer(Protocol):
    """A server that knows its house."""

    house: ServerConfig

    def recognise(self, connection: socket.socket) -> None:
        """Let a connection stay: it has said who it is."""


class Handler(BaseHTTPRequestHandler):
    """One request on one connection: checked, routed, answered."""

    server: _ConfiguredServer  # type: ignore[assignment]  # the library knows no more of it than an address
    server_version, sys_version = "assay", ""

    def setup(self) -> None:
        """Read what comes within the time for a whole request, however slowly its bytes drip."""
        super().setup()
        until = time.monotonic() + self.server.house.limits.reading
        self.rfile = io.BufferedReader(_Timed(self.connection, until))

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Answer every method the same way; what no route takes is refused there."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def _answer(self) -> None:
        path = self.path.partition("?")[0]
        try:
            response = self._respond()
        except AssayError as error:
            response = self._refusal(error)
        except Exception as error:
            show_trace()
            message = f"unexpected {type(error).__name__}: a bug in Assay"
            response = error_response(500, message, as_page=self._asks_page())
        if self.server.house.log:
            self.server.house.log(f"{self.command} {path} {response.status}")
        self._send(response)

    def _respond(self) -> Response:
        guard = self.server.house.guard
        guard.check_host(self.headers)
        path, query = self._address()
        if self.command == "GET" and "token" in query:
            return guard.admit(self.headers, path, query)
        guard.check_source(self.headers, "POST" if self.command not in ("GET", "HEAD") else "GET")
        guard.check_session(self.headers)
        self.server.recognise(self.connection)
        route, parts = find(self.server.house.routes, self.command, path)
        data = self._data() if self.command == "POST" else {}
        return route.handler(WebRequest(self.command, path, parts, query, data, dict(cookies(self.headers))))

    def _address(self) -> tuple[str, dict[str, str]]:
        """Cut an address into path and query; it must be a path of ours."""
        try:
            cut = urlsplit(self.path)
            pairs = parse_qsl(
                cut.query, keep_blank_values=True, errors="strict", max_num_fields=self.server.house.limits.fields
            )
        except ValueError:
            raise HttpError(400, "the address cannot be read") from None
        if cut.scheme or cut.netloc or not cut.path.startswith("/"):
            raise HttpError(400, "the address is no path of this server")
        if len({name for name, _ in pairs}) < len(pairs):
            raise HttpError(400, "the address says the same thing twice")
        return cut.path, dict(pairs)

    def _data(self) -> dict[str, object]:
        kind = self.headers.get_content_type()
        if kind != "application/json":
            raise HttpError(415, f"{kind} is not taken", hint="send application/json")
        raw = self._body()
        try:
            value = json.loads(raw, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise HttpError(400, "the request is not JSON") from None
        if not isinstance(value, dict):
            raise HttpError(400, "the request is no JSON object")
        return value

    def _body(self) -> bytes:
        lengths, most = self.headers.get_all("Content-Length") or [], self.server.house.limits.body
        if self.headers.get("Transfer-Encoding") or len(lengths) != 1 or not lengths[0].isascii():
            raise HttpError(411, "the request does not say how long it is")
        if not lengths[0].isdigit():
            raise HttpError(400, "the length of the request is no number")
        if len(lengths[0]) > len(str(most)) or int(lengths[0]) > most:
            raise HttpError(413, f"the request is longer than {most} bytes")
        try:
            raw = self.rfile.read(int(lengths[0]))
        except OSError:
            raise HttpError(408, "the request took too long") from None
        if len(raw) < int(lengths[0]):
            raise HttpError(400, "the request ended early")
        return raw

    def _asks_page(self) -> bool:
        return "text/html" in self.headers.get("Accept", "")

    def _refusal(self, error: AssayError) -> Response:
        return error_response(status_of(error), sentence_of(error), error.hint, as_page=self._asks_page())

    def _send(self, response: Response) -> None:
        self.connection.settimeout(self.server.house.limits.writing)
        self.send_response(response.status)
        policy = f"{response.policy}; frame-ancestors 'none'"
        fixed = {"Content-Type": response.kind, "Content-Length": str(len(response.body)), **_HEADERS}
        for name, value in {**fixed, "Content-Security-Policy": policy, **response.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)
        _drain(self.connection)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002  # the library's own sentences repeat what was sent
        """Answer what is no HTTP with a sentence too; nothing of it is repeated."""
        self.command, self.close_connection = getattr(self, "command", None) or "GET", True
        self._send(error_response(int(code), "the request cannot be read"))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name that it has in the library
        """Say nothing: addresses have the token."""


class _Timed(io.RawIOBase):
    """The bytes of a connection until a moment; after it reading fails, even where something still drips."""

    def __init__(self, connection: socket.socket, until: float) -> None:
        self._connection, self._until = connection, until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


def _drain(connection: socket.socket, most: int = 1 << 21, seconds: float = 1.0) -> None:
    try:
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(seconds)
        until = time.monotonic() + seconds
        while most > 0 and time.monotonic() < until and (got := connection.recv(1 << 16)):
            most -= len(got)
    except OSError:
        return


def _no_constant(name: str) -> float:
    raise ValueError(name)


def show_trace() -> None:
    """Show where an unexpected error came from, to whoever asked for it and never to a client."""
    if os.environ.get("ASSAY_DEBUG"):
        import traceback

        traceback.print_exc(file=sys.stderr)


__all__ = ["LOOPBACK", "RequestLimits", "Route", "WebServer", "serve"]

_Socket: TypeAlias = Any  # a socket, or for servers of datagrams more
_Address: TypeAlias = Any

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_LAST_PORT = 65_535


class WebServer:
    """A server that listens; use it as a context, so that its port is free afterwards."""

    def __init__(self, listener: _Listener, host: str) -> None:
        self._listener = listener
        self._thread: threading.Thread | None = None
        name = f"[{host}]" if ":" in host else host
        self.port = int(listener.server_address[1])
        self.origin = f"http://{name}:{self.port}"

    @property
    def url(self) -> str:
        """The address that lets in: whoever has it may ask everything."""
        return self.address("/")

    def address(self, path: str) -> str:
        """Give the address of a page with the token, for whoever has no cookie yet."""
        return f"{self.origin}{path}?token={self._listener.house.guard.token}"

    def wait(self) -> None:
        """Serve until the process is interrupted."""
        try:
            self._listener.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            return

    def start(self) -> WebServer:
        """Serve from a thread of its own, until it is closed."""
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop listening, and give the answers under way a moment to be sent."""
        if self._thread is not None:
            self._listener.shutdown()
            self._thread.join()
            self._thread = None
        self._listener.server_close()
        self._listener.drain()

    def __enter__(self) -> WebServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def serve(
    routes: Sequence[Route],
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    limits: RequestLimits | None = None,
    log: Callable[[str], None] | None = None,
) -> WebServer:
    """Listen on loopback, at any free port unless one is named; `log` is told of each request, without its query."""
    if host not in LOOPBACK:
        raise ConfigError(
            f"{host} is not this machine's own address: whoever reaches it could read your code",
            hint=f"choose one of {', '.join(LOOPBACK)}; to look from elsewhere: ssh -L PORT:127.0.0.1:PORT",
        )
    if not 0 <= port <= _LAST_PORT:
        raise ConfigError(f"--port {port}", hint=f"ports go to {_LAST_PORT}; leave it out for a free one")
    host = "127.0.0.1" if host == "localhost" else host
    try:
        return WebServer(_Listener(host, port, tuple(routes), limits or RequestLimits(), log), host)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        hint = "leave --port out for a free one"
        raise SetupError(f"cannot listen at {host}:{port}: {why}", hint=hint) from error


class _Listener(socketserver.ThreadingTCPServer):
    """Takes connections, each in a thread, no more at once than there are threads for."""

    daemon_threads = True
    block_on_close = False  # `drain` waits, but not for ever
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(
        self, host: str, port: int, routes: tuple[Route, ...], limits: RequestLimits, log: Callable[[str], None] | None
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), Handler)
        self.house = ServerConfig(routes, guard_for(host, int(self.server_address[1])), limits, log)
        self._free = threading.BoundedSemaphore(limits.threads)
        self._strangers: OrderedDict[_Socket, None] = OrderedDict()  # that have not said who they are, the oldest first

    def process_request(self, request: _Socket, client_address: _Address) -> None:
        if not (self._free.acquire(blocking=False) or self._make_room()):
            _turn_away(request)
            self.shutdown_request(request)
            return
        self._strangers[request] = None
        super().process_request(request, client_address)

    def _make_room(self) -> bool:
        try:
            oldest = self._strangers.popitem(last=False)[0]
        except KeyError:
            return False
        with suppress(OSError):
            oldest.shutdown(socket.SHUT_RDWR)  # whoever reads from it wakes up
        return self._free.acquire(timeout=self.house.limits.yielding)

    def recognise(self, connection: _Socket) -> None:
        self._strangers.pop(connection, None)

    def process_request_thread(self, request: _Socket, client_address: _Address) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.recognise(request)
            self._free.release()

    def handle_error(self, request: _Socket, client_address: _Address) -> None:  # noqa: ARG002  # the library's names
        show_trace()

    def drain(self) -> None:
        until, got = time.monotonic() + self.house.limits.closing, 0
        while got < self.house.limits.threads and self._free.acquire(timeout=max(0.0, until - time.monotonic())):
            got += 1
        for _ in range(got):
            self._free.release()


def _turn_away(connection: socket.socket) -> None:
    body = b'{"error": "too many requests at once", "hint": "try again in a moment"}'
    head = f"HTTP/1.0 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    try:
        connection.settimeout(0.2)  # the thread that takes connections waits for nobody
        connection.sendall(head.encode() + b"Retry-After: 1\r\nConnection: close\r\n\r\n" + body)
    except OSError:
        return


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """The values that were used last; whoever asks first makes one, and others who ask meanwhile wait for it."""

    def __init__(self, most: int, drop: Callable[[V], None] | None = None) -> None:
        self._most = most
        self._drop = drop
        self._lock = threading.Lock()
        self._made: OrderedDict[K, Future[V]] = OrderedDict()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Give the value of a key; one that cannot be made is tried again next time."""
        with self._lock:
            future = self._made.get(key)
            first = future is None
            if future is None:
                future = self._made[key] = Future()
            self._made.move_to_end(key)
        if first:
            self._make(key, future, make)
        return future.result()

    def _make(self, key: K, future: Future[V], make: Callable[[], V]) -> None:
        try:
            future.set_result(make())
        except BaseException as error:
            with self._lock:
                self._made.pop(key, None)
            future.set_exception(error)
            return
        for old in self._surplus():
            if self._drop is not None:
                self._drop(old.result())

    def _surplus(self) -> list[Future[V]]:
        with self._lock:
            done = [key for key, future in self._made.items() if future.done()]
            return [self._made.pop(key) for key in done[: max(0, len(self._made) - self._most)]]
