"""One connection to a server, straight or through a proxy."""

from __future__ import annotations

import select
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, cast

from assay.clock import Clock
from assay.http.calls import Call
from assay.http.proxies import Route
from assay.http.sockets import ClockedSocket, open_socket


class NoWayError(HTTPException):
    """A proxy does not let us through."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Connection(HTTPConnection):
    """A connection whose every step has the time that is left."""

    def __init__(self, route: Route, tls: Callable[[], ssl.SSLContext], piece_bytes: int) -> None:
        super().__init__(route.host, route.port)
        self.default_port = 443 if route.tls else 80  # which the Host header leaves out
        self.route = route
        self._tls = tls
        self._piece_bytes = piece_bytes
        self._clock = Clock(None)

    def ask(self, call: Call, clock: Clock, *, keep: bool) -> Reached:
        """Send a request and read the head of the answer; what fails at it is closed."""
        self._clock = clock
        if self.sock is not None:
            cast(ClockedSocket, self.sock).clock = clock
        try:
            self.request(call.method, self._target(call), call.body, self._headers(call, keep=keep))
            return Reached(self, self.getresponse())
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
                raw = self._tls().wrap_socket(raw, server_hostname=self.route.host)
        except BaseException:
            raw.close()
            raise
        self.sock = cast(Any, self._clocked(raw))

    def _clocked(self, raw: Any) -> ClockedSocket:  # noqa: ANN401 (a socket, or one with TLS)
        """Give a socket its deadline."""
        made = ClockedSocket(raw, self._piece_bytes)
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
            raise NoWayError(response.status)

    def is_quiet(self) -> bool:
        """Tell whether it waits for us: what can be read now is its end, or nothing we asked for."""
        if self.sock is None:
            return False
        watch = select.poll()
        watch.register(cast(ClockedSocket, self.sock).inner, select.POLLIN)
        return not watch.poll(0)


@dataclass(frozen=True, slots=True)
class Reached:
    """A server that has begun to answer."""

    connection: Connection
    response: HTTPResponse
