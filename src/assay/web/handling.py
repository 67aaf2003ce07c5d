"""One request on one connection: checked, routed, answered, within limits."""

from __future__ import annotations

import io
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Protocol
from urllib.parse import parse_qsl, urlsplit

from assay.errors import AssayError
from assay.web.guarding import Guard, cookies
from assay.web.messages import Refused, Request, Response, error_response, sentence_of, status_of
from assay.web.routing import Route, find

if TYPE_CHECKING:
    from typing_extensions import Buffer

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
class Limits:
    """How much one request may take."""

    body: int = 1 << 20  # bytes: a decision or settings are a few hundred; nothing is uploaded
    reading: float = 10.0  # seconds for a whole request: a slow one holds a thread, which others wait for
    writing: float = 30.0  # seconds for a whole answer: pages have 3 MB, and loopback takes them in no time
    threads: int = 32  # requests at once: a browser opens six connections a page; beyond it 503
    yielding: float = 0.5  # seconds that a connection whose place is needed has to go: a thread that wakes up ends
    closing: float = 5.0  # seconds that answers under way have when the server ends
    fields: int = 100  # of an address


@dataclass(frozen=True, slots=True)
class House:
    """What every request of a server meets."""

    routes: tuple[Route, ...]
    guard: Guard
    limits: Limits
    log: Callable[[str], None] | None = None


class _Housed(Protocol):
    """A server that knows its house."""

    house: House

    def recognise(self, connection: socket.socket) -> None:
        """Let a connection stay: it has said who it is."""


class Handler(BaseHTTPRequestHandler):
    """One request on one connection: checked, routed, answered."""

    server: _Housed  # type: ignore[assignment]  # the library knows no more of it than an address
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
        """Answer one request, whatever it is."""
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
        """Check a request and hand it to its route."""
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
        return route.handler(Request(self.command, path, parts, query, data, dict(cookies(self.headers))))

    def _address(self) -> tuple[str, dict[str, str]]:
        """Cut an address into path and query; it must be a path of ours."""
        try:
            cut = urlsplit(self.path)
            pairs = parse_qsl(
                cut.query, keep_blank_values=True, errors="strict", max_num_fields=self.server.house.limits.fields
            )
        except ValueError:
            raise Refused(400, "the address cannot be read") from None
        if cut.scheme or cut.netloc or not cut.path.startswith("/"):
            raise Refused(400, "the address is no path of this server")
        if len({name for name, _ in pairs}) < len(pairs):
            raise Refused(400, "the address says the same thing twice")
        return cut.path, dict(pairs)

    def _data(self) -> dict[str, object]:
        """Read the JSON object of a POST."""
        kind = self.headers.get_content_type()
        if kind != "application/json":
            raise Refused(415, f"{kind} is not taken", hint="send application/json")
        raw = self._body()
        try:
            value = json.loads(raw, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise Refused(400, "the request is not JSON") from None
        if not isinstance(value, dict):
            raise Refused(400, "the request is no JSON object")
        return value

    def _body(self) -> bytes:
        """Read as many bytes as were announced, and no more than are taken."""
        lengths, most = self.headers.get_all("Content-Length") or [], self.server.house.limits.body
        if self.headers.get("Transfer-Encoding") or len(lengths) != 1 or not lengths[0].isascii():
            raise Refused(411, "the request does not say how long it is")
        if not lengths[0].isdigit():
            raise Refused(400, "the length of the request is no number")
        if len(lengths[0]) > len(str(most)) or int(lengths[0]) > most:
            raise Refused(413, f"the request is longer than {most} bytes")
        try:
            raw = self.rfile.read(int(lengths[0]))
        except OSError:
            raise Refused(408, "the request took too long") from None
        if len(raw) < int(lengths[0]):
            raise Refused(400, "the request ended early")
        return raw

    def _asks_page(self) -> bool:
        """Tell whether somebody typed or followed the address."""
        return "text/html" in self.headers.get("Accept", "")

    def _refusal(self, error: AssayError) -> Response:
        """Answer with the sentence of an error."""
        return error_response(status_of(error), sentence_of(error), error.hint, as_page=self._asks_page())

    def _send(self, response: Response) -> None:
        """Send an answer with all that keeps a browser from doing more with it than it should."""
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
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read what is there, waiting no longer than until the moment."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request took too long")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


def _drain(connection: socket.socket, most: int = 1 << 21, seconds: float = 1.0) -> None:
    """Take what a refused client still sends: closing over unread bytes would take the answer back from it."""
    try:
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(seconds)
        until = time.monotonic() + seconds
        while most > 0 and time.monotonic() < until and (got := connection.recv(1 << 16)):
            most -= len(got)
    except OSError:
        return


def _no_constant(name: str) -> float:
    """Refuse the numbers that JSON does not have."""
    raise ValueError(name)


def show_trace() -> None:
    """Show where an unexpected error came from, to whoever asked for it and never to a client."""
    if os.environ.get("ASSAY_DEBUG"):
        import traceback

        traceback.print_exc(file=sys.stderr)
