from __future__ import annotations

import hmac
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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from html import escape
from http.server import BaseHTTPRequestHandler
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from assay.errors import AssayError, ConfigError, InputError, NotComparableError, SetupError, located_message

JSON = "application/json; charset=utf-8"
HTML = "text/html; charset=utf-8"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_LAST_PORT = 65_535
#: The policy of responses that are not pages: a browser may load and run nothing.
_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'"
_POLICY = re.compile(rb'<meta http-equiv="Content-Security-Policy" content="([^"]+)">')
_HEAD_BYTES = 4_096  # searched for the policy of a page, which comes before any text of users
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
    body: int = 1 << 20  # bytes: a decision or settings take a few hundred; nothing is uploaded
    reading: float = 10.0  # seconds without a byte of the request: a stalled one holds a thread
    writing: float = 30.0  # seconds to send a response: pages have 3 MB, which loopback takes at once
    threads: int = 32  # concurrent requests: a browser opens six connections per page; more get 503
    fields: int = 100  # in the query of a URL


class HttpError(InputError):
    def __init__(self, status: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status


@dataclass(frozen=True, slots=True)
class WebRequest:
    """Request that passed the checks of its host, source and session."""

    parts: Mapping[str, str]  # values of the {names} in the route's pattern
    query: Mapping[str, str]
    data: Mapping[str, object]  # the JSON object of a POST
    cookies: Mapping[str, str] = field(repr=False)

    def text(self, name: str) -> str:
        value = self.data.get(name)
        if not isinstance(value, str):
            raise HttpError(400, f"expected text as {name!r}", hint="reload the page")
        return value


@dataclass(frozen=True, slots=True)
class Response:
    body: bytes
    kind: str = JSON
    status: int = 200
    policy: str = _NOTHING  # its Content-Security-Policy
    headers: Mapping[str, str] = field(default_factory=dict)


def json_response(value: object, status: int = 200) -> Response:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # Lone surrogates of broken file names become JSON escapes.
    return Response(text.encode("utf-8", "backslashreplace"), status=status)


def page_response(page: bytes, status: int = 200) -> Response:
    """Return a response with a page of `assay.browser`, under the policy in its head."""
    policy = _POLICY.search(page[:_HEAD_BYTES])
    if not policy:
        raise ValueError("the page has no policy")
    return Response(page, HTML, status, policy=policy[1].decode("ascii"))


def error_response(status: int, message: str, hint: str | None = None, *, as_page: bool = False) -> Response:
    """Return an error as JSON, or as a page for a browser that opened the URL."""
    if not as_page:
        return json_response({"error": message, **({"hint": hint} if hint else {})}, status)
    head = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Assay</title></head>'
    body = f"<h1>{escape(message)}</h1>" + (f"<p>{escape(hint)}</p>" if hint else "")
    return Response(f"{head}<body>{body}</body></html>\n".encode("utf-8", "backslashreplace"), HTML, status)


def status_of(error: AssayError) -> int:
    if isinstance(error, HttpError):
        return error.status
    if isinstance(error, NotComparableError):
        return 409
    return 400 if isinstance(error, InputError) else 500


@dataclass(frozen=True, slots=True)
class Route:
    """Method and path pattern, such as `/run/{id}`; a `{name}` matches one non-empty part between slashes.

    Handlers run in several threads at once; a returned mapping is sent as JSON.
    """

    method: str  # GET or POST
    pattern: str
    handler: Callable[[WebRequest], Response | Mapping[str, object]]

    def match(self, path: str) -> dict[str, str] | None:
        """Return the values of the names in the pattern, or None for another path."""
        found = re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", self.pattern), path)
        try:  # decoded after the match: an encoded slash stays in its part
            return found and {name: unquote(part, errors="strict") for name, part in found.groupdict().items()}
        except UnicodeDecodeError:
            raise HttpError(400, "the address is not UTF-8") from None


def serve(
    routes: Sequence[Route], *, port: int = 0, host: str = "127.0.0.1", limits: RequestLimits | None = None
) -> WebServer:
    """Return a server that listens on loopback, by default at a free port."""
    if host not in LOOPBACK:
        raise ConfigError(
            f"{host} is not a loopback address: other machines could read your code",
            hint=f"choose one of {', '.join(LOOPBACK)}; to connect from elsewhere: ssh -L PORT:127.0.0.1:PORT HOST",
        )
    if not 0 <= port <= _LAST_PORT:
        raise ConfigError(f"expected port 0 to {_LAST_PORT}, got {port}", hint="leave --port out for a free port")
    host = "127.0.0.1" if host == "localhost" else host
    try:
        return WebServer(host, port, routes, limits or RequestLimits())
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        hint = "leave --port out for a free port"
        raise SetupError(f"cannot listen at {host}:{port}: {why}", hint=hint) from error


_Socket: TypeAlias = Any  # as socketserver declares it


class WebServer(socketserver.ThreadingTCPServer):
    """Listening server with a thread per connection; as a context manager, it frees its port."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 64
    _thread: threading.Thread | None = None

    def __init__(self, host: str, port: int, routes: Sequence[Route], limits: RequestLimits) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)
        self.routes, self.limits = routes, limits
        self.port = int(self.server_address[1])
        name = f"[{host}]" if ":" in host else host
        self.origin = f"http://{name}:{self.port}"
        suffix = "" if self.port == 80 else f":{self.port}"  # browsers omit the default port
        self.auth = RequestAuth((f"{name}{suffix}", f"localhost{suffix}"), f"assay-{self.port}")
        self._free = threading.BoundedSemaphore(limits.threads)

    @property
    def url(self) -> str:
        return self.address("/")

    def address(self, path: str) -> str:
        """Return the address of a page with the token, which a browser exchanges for the session cookie."""
        return f"{self.origin}{path}?token={self.auth.token}"

    def wait(self) -> None:
        with suppress(KeyboardInterrupt):
            self.serve_forever(poll_interval=0.2)

    def start(self) -> WebServer:
        """Serve in a thread until the server is closed."""
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def server_close(self) -> None:
        if self._thread is not None:
            self.shutdown()
            self._thread.join()
        super().server_close()

    def process_request(self, request: _Socket, client_address: object) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            _send_busy(request)
            self.shutdown_request(request)

    def process_request_thread(self, request: _Socket, client_address: object) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: _Socket, client_address: object) -> None:  # noqa: ARG002  # the library's names
        _print_trace()


def _send_busy(connection: socket.socket) -> None:
    body = b'{"error": "too many requests at once", "hint": "try again in a moment"}'
    head = f"HTTP/1.0 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    with suppress(OSError):
        connection.settimeout(0.2)  # the accepting thread must not wait
        connection.sendall(head.encode() + b"Retry-After: 1\r\nConnection: close\r\n\r\n" + body)


@dataclass(frozen=True, slots=True)
class RequestAuth:
    """Secrets and host names of one server."""

    hosts: tuple[str, ...]  # such as `127.0.0.1:8123`, as browsers send them
    cookie: str  # its name contains the port, so that two servers do not overwrite each other's
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def check_host(self, headers: Message) -> None:
        """Reject a request for another host name (DNS rebinding)."""
        given = headers.get_all("Host") or []
        if len(given) != 1 or given[0].lower() not in self.hosts:
            raise HttpError(421, "unknown host name", hint="open the address that Assay printed")

    def check_source(self, headers: Message, method: str) -> None:
        """Reject requests from other pages, except GET requests of followed links."""
        site, origin = headers.get("Sec-Fetch-Site"), headers.get("Origin")
        own = origin == f"http://{headers['Host'].lower()}"
        if method == "POST":
            allowed = (site in (None, "same-origin")) and (own or (origin is None and site is not None))
        else:
            link = headers.get("Sec-Fetch-Mode") == "navigate" and headers.get("Sec-Fetch-Dest") == "document"
            allowed = (origin is None or own) and (site in (None, "none", "same-origin") or link)
        if not allowed:
            raise HttpError(403, "the request came from another page", hint="open Assay's page directly")

    def check_session(self, headers: Message) -> None:
        given = [value for name, value in _read_cookies(headers) if name == self.cookie]
        if not any(_is_secret(value, self.session) for value in given):
            raise HttpError(403, "no session cookie for this server", hint="open the address that Assay printed")

    def admit(self, headers: Message, path: str, query: Mapping[str, str]) -> Response:
        """Exchange the token of an address for the session cookie, and redirect to the address without the token."""
        if not _is_secret(query["token"], self.token):
            raise HttpError(403, "wrong token", hint="open the address that Assay printed last")
        rest = urlencode({name: value for name, value in query.items() if name != "token"})
        # Two slashes would name another server, and browsers take a backslash for a slash.
        clean = "/" + path.replace("\\", "/").lstrip("/") + (f"?{rest}" if rest else "")
        cookie = f"{self.cookie}={self.session}; HttpOnly; SameSite=Strict; Path=/"
        if headers.get("Sec-Fetch-Site") in (None, "none", "same-origin"):
            return Response(b"", HTML, 303, headers={"Location": clean, "Set-Cookie": cookie})
        # After a link from another page, a browser does not send a strict cookie with a redirect, but with a refresh.
        return Response(b"", HTML, 200, headers={"Refresh": f"0; url={clean}", "Set-Cookie": cookie})


def _read_cookies(headers: Message) -> list[tuple[str, str]]:
    pairs = (part.partition("=") for line in headers.get_all("Cookie") or [] for part in line.split(";"))
    return [(name.strip(), value.strip()) for name, _, value in pairs]


def _is_secret(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode("utf-8"))


class _Handler(BaseHTTPRequestHandler):
    server: WebServer
    server_version, sys_version = "assay", ""

    def setup(self) -> None:
        super().setup()
        self.connection.settimeout(self.server.limits.reading)

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Return one handler for every HTTP method; `_find_route` rejects unknown ones."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def _answer(self) -> None:
        as_page = "text/html" in self.headers.get("Accept", "")
        try:
            response = self._respond()
        except AssayError as error:
            response = error_response(status_of(error), located_message(error), error.hint, as_page=as_page)
        except Exception as error:
            _print_trace()
            response = error_response(500, f"unexpected {type(error).__name__}: a bug in Assay", as_page=as_page)
        self._send(response)

    def _respond(self) -> Response:
        auth = self.server.auth
        auth.check_host(self.headers)
        path, query = self._parse_address()
        if self.command == "GET" and "token" in query:
            return auth.admit(self.headers, path, query)
        auth.check_source(self.headers, "POST" if self.command not in ("GET", "HEAD") else "GET")
        auth.check_session(self.headers)
        route, parts = self._find_route(path)
        data = self._read_data() if self.command == "POST" else {}
        made = route.handler(WebRequest(parts, query, data, dict(_read_cookies(self.headers))))
        return made if isinstance(made, Response) else json_response(made)

    def _parse_address(self) -> tuple[str, dict[str, str]]:
        try:
            url = urlsplit(self.path)
            most = self.server.limits.fields
            pairs = parse_qsl(url.query, keep_blank_values=True, errors="strict", max_num_fields=most)
        except ValueError:
            raise HttpError(400, "invalid address") from None
        if url.scheme or url.netloc or not url.path.startswith("/"):
            raise HttpError(400, "the address is not a path on this server")
        if len({name for name, _ in pairs}) < len(pairs):
            raise HttpError(400, "the address repeats a parameter")
        return url.path, dict(pairs)

    def _find_route(self, path: str) -> tuple[Route, dict[str, str]]:
        matches = [(route, parts) for route in self.server.routes if (parts := route.match(path)) is not None]
        method = "GET" if self.command == "HEAD" else self.command
        for route, parts in matches:
            if route.method == method:
                return route, parts
        if matches:
            known = ", ".join(sorted({route.method for route, _ in matches}))
            raise HttpError(405, f"{self.command} is not allowed here", hint=f"use {known}")
        raise HttpError(404, "no page at this address", hint="open the address that Assay printed")

    def _read_data(self) -> dict[str, object]:
        kind = self.headers.get_content_type()
        if kind != "application/json":
            raise HttpError(415, f"expected application/json, got {kind}")
        body = self._read_body()
        try:
            value = json.loads(body, parse_constant=_reject_constant)
        except (ValueError, RecursionError):
            raise HttpError(400, "the request is not JSON") from None
        if not isinstance(value, dict):
            raise HttpError(400, "the request is not a JSON object")
        return value

    def _read_body(self) -> bytes:
        lengths, most = self.headers.get_all("Content-Length") or [], self.server.limits.body
        if self.headers.get("Transfer-Encoding") or len(lengths) != 1 or not lengths[0].isascii():
            raise HttpError(411, "the request has no valid Content-Length")
        if not lengths[0].isdigit():
            raise HttpError(400, "Content-Length is not a number")
        if len(lengths[0]) > len(str(most)) or int(lengths[0]) > most:
            raise HttpError(413, f"the request is longer than {most} bytes")
        try:
            body = self.rfile.read(int(lengths[0]))
        except OSError:
            raise HttpError(408, "the request took too long") from None
        if len(body) < int(lengths[0]):
            raise HttpError(400, "the request ended early")
        return body

    def _send(self, response: Response) -> None:
        self.connection.settimeout(self.server.limits.writing)
        self.send_response(response.status)
        policy = f"{response.policy}; frame-ancestors 'none'"
        fixed = {"Content-Type": response.kind, "Content-Length": str(len(response.body)), **_HEADERS}
        for name, value in {**fixed, "Content-Security-Policy": policy, **response.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)
        _discard_rest(self.connection)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002  # the messages of the library repeat the request
        """Respond to a malformed request."""
        self.command, self.close_connection = getattr(self, "command", None) or "GET", True
        self._send(error_response(int(code), "the request cannot be read"))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's name
        """Log nothing: addresses contain the token."""


def _discard_rest(connection: socket.socket, most: int = 1 << 21, seconds: float = 1.0) -> None:
    """Read the rest of a rejected body: closing at once would reset the connection and lose the response."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(seconds)
        until = time.monotonic() + seconds
        while most > 0 and time.monotonic() < until and (received := connection.recv(1 << 16)):
            most -= len(received)


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _print_trace() -> None:
    if os.environ.get("ASSAY_DEBUG"):
        import traceback

        traceback.print_exc(file=sys.stderr)


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class LruCache(Generic[_Key, _Value]):
    """Cache of the last used values; one value is computed at a time."""

    def __init__(self, size: int, drop: Callable[[_Value], None] = lambda _: None) -> None:
        self._size, self._drop = size, drop
        self._lock = threading.Lock()
        self._values: OrderedDict[_Key, _Value] = OrderedDict()

    def get(self, key: _Key, make: Callable[[], _Value]) -> _Value:
        """Return the value of a key; a failed computation is repeated at the next call."""
        with self._lock:
            if key not in self._values:
                self._values[key] = make()
            self._values.move_to_end(key)
            if len(self._values) > self._size:
                self._drop(self._values.popitem(last=False)[1])
            return self._values[key]
