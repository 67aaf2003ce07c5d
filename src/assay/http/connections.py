"""Connections that are kept and used again, and one attempt on one of them.

What happens to an attempt comes back as a value, so that no exception carries the request any further.
"""

from __future__ import annotations

import select
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from types import TracebackType
from typing import Any, Self, cast

from assay.errors import EngineError, EngineTimeout
from assay.http.calls import Answer, Broken, Call, Outcome
from assay.http.clock import Clock
from assay.http.limits import DEFAULT_HTTP, HttpLimits
from assay.http.proxies import Route, find_route
from assay.http.sockets import ClockedSocket, open_socket

_UNTRUSTED = Broken("its certificate is not trusted", hint="set SSL_CERT_FILE to the certificates of your network")
_PLAIN = ("", "identity")


class Connections:
    """Connections of one asker; threads may share it. At most `keep` wait for the next request."""

    def __init__(self, keep: int = 0, limits: HttpLimits = DEFAULT_HTTP) -> None:
        self.limits = limits
        self._keep = keep
        self._idle: list[_Connection] = []  # the one that was used last is at the end, and is used first
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

    def attempt(self, call: Call, clock: Clock) -> Outcome:
        """Send a request once and read the answer."""
        route = find_route(call.address)
        try:
            return self._exchange(route, call, clock)
        except (OSError, HTTPException) as error:
            return _explain(error, clock, route)

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """The certificates that are trusted: the system's, or those of SSL_CERT_FILE."""
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _take(self, route: Route) -> _Connection | None:
        """Take a connection that was kept for this way and is still quiet; others of it are closed."""
        while True:
            with self._lock:
                at = next((n for n in reversed(range(len(self._idle))) if self._idle[n].route == route), None)
                found = None if at is None else self._idle.pop(at)
            if found is None or found.is_quiet():
                return found
            found.close()

    def _exchange(self, route: Route, call: Call, clock: Clock) -> Outcome:
        """Send the request and read the answer; keep the connection when all of it was read."""
        reached = self._reach(route, call, clock)
        connection, again = reached.connection, False
        try:
            with reached.response as response:
                read = _read(response, self.limits)
                again = read.whole and not response.will_close
        finally:
            if not (again and self._give_back(connection)):
                connection.close()
        return read.outcome

    def _reach(self, route: Route, call: Call, clock: Clock) -> _Reached:
        """Send a request; a kept connection that the server closed meanwhile is no answer, and costs no attempt."""
        kept = self._take(route)
        if kept is not None:
            with suppress(ConnectionError):
                return kept.ask(call, clock, keep=True)
        return _Connection(route, self).ask(call, clock, keep=self._keep > 0)

    def _give_back(self, connection: _Connection) -> bool:
        """Keep a connection for the next request, when there is room."""
        with self._lock:
            room = len(self._idle) < self._keep
            if room:
                self._idle.append(connection)
        return room


class _Connection(HTTPConnection):
    """A connection whose every step has the time that is left."""

    def __init__(self, route: Route, owner: Connections) -> None:
        super().__init__(route.host, route.port)
        self.default_port = 443 if route.tls else 80  # which the Host header leaves out
        self.route = route
        self._owner = owner
        self._clock = Clock(None)

    def ask(self, call: Call, clock: Clock, *, keep: bool) -> _Reached:
        """Send a request and read the head of the answer; what fails at it is closed."""
        self._clock = clock
        if self.sock is not None:
            cast(ClockedSocket, self.sock).clock = clock
        try:
            self.request(call.method, self._target(call), call.body, self._headers(call, keep=keep))
            return _Reached(self, self.getresponse())
        except BaseException:
            self.close()
            raise

    def _target(self, call: Call) -> str:
        """Write what is asked for; a proxy is told of whom."""
        path = call.address._replace(scheme="", netloc="", path=call.address.path or "/", fragment="").geturl()
        return f"http://{call.address.netloc}{path}" if self.route.proxied and not self.route.tls else path

    def _headers(self, call: Call, *, keep: bool) -> dict[str, str]:
        """Write the headers; the proxy's password is for the proxy alone."""
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
                raw = self._owner.tls.wrap_socket(raw, server_hostname=self.route.host)
        except BaseException:
            raw.close()
            raise
        self.sock = cast(Any, self._clocked(raw))

    def _clocked(self, raw: Any) -> ClockedSocket:  # noqa: ANN401 (a socket, or one with TLS)
        """Give a socket its deadline."""
        made = ClockedSocket(raw, self._owner.limits.piece_bytes)
        made.clock = self._clock
        return made

    def _tunnel_through(self, proxy: ClockedSocket) -> None:
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
            raise _NoWayError(response.status)

    def is_quiet(self) -> bool:
        """Tell whether it waits for us: what can be read now is its end, or nothing we asked for."""
        if self.sock is None:
            return False
        watch = select.poll()
        watch.register(cast(ClockedSocket, self.sock).inner, select.POLLIN)
        return not watch.poll(0)


class _NoWayError(HTTPException):
    """A proxy does not let us through."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True, slots=True)
class _Reached:
    """A server that has begun to answer."""

    connection: _Connection
    response: HTTPResponse


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read of an answer, and whether that was all of it."""

    outcome: Outcome
    whole: bool


def _read(response: HTTPResponse, limits: HttpLimits) -> _Read:
    """Read an answer; of a refusal the status is answer enough."""
    headers = response.headers
    head = Answer(response.status, b"", headers.get("Retry-After"), headers.get("Location"))
    try:
        body = _read_body(response, limits)
    except (OSError, HTTPException):
        if head.fine:
            raise
        return _Read(head, whole=False)
    if isinstance(body, Broken):
        return _Read(body if head.fine else head, whole=False)
    return _Read(replace(head, body=body), whole=True)


def _read_body(response: HTTPResponse, limits: HttpLimits) -> bytes | Broken:
    """Read a body in pieces, up to the bound; nothing of one that is announced as longer."""
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding not in _PLAIN:
        return Broken(f"answered in {coding:.20}, which nobody asked for", EngineError, "let it answer uncompressed")
    pieces: list[bytes] = []
    size = 0
    while max(size, response.length or 0) <= limits.body_bytes:
        piece = response.read1(limits.piece_bytes)
        if not piece:
            break
        pieces.append(piece)
        size += len(piece)
    else:
        return Broken(f"answered with more than {limits.body_bytes:,} bytes", EngineError, "ask for less at a time")
    if response.length:
        raise IncompleteRead(b"")
    return b"".join(pieces)


def _explain(error: OSError | HTTPException, clock: Clock, route: Route) -> Broken:
    """Say what broke without a word of the request: messages of http.client quote headers and addresses."""
    if isinstance(error, TimeoutError) and clock.limit is not None:
        return Broken(f"no answer within {clock.limit:g} s", EngineTimeout, "allow more time, or send less at a time")
    if isinstance(error, ssl.SSLCertVerificationError):
        return _UNTRUSTED
    if isinstance(error, IncompleteRead):
        return Broken("broke off in the middle of its answer", passing=True)
    if isinstance(error, _NoWayError):
        return Broken(f"the proxy answered {error.status}", hint="check https_proxy, or add the host to no_proxy")
    said = error.strerror if isinstance(error, OSError) else None
    way = " through the proxy" if route.proxied else ""
    return Broken(f"cannot be reached{way} ({said or type(error).__name__})", passing=True)
