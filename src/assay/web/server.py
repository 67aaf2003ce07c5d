"""A server on loopback for the person who started it, and nobody else.

    routes = [Route("GET", "/", index), Route("POST", "/vote/{item}", vote)]
    with serve(routes, port=0) as server:
        print(server.url)       # has the token: tell nobody but the user
        server.wait()           # until Ctrl-C; `start()` instead serves from a thread of its own

A handler takes a `Request` (parts of the address, query, the JSON of a POST) and gives a `Response`
(`json_response(value)`, `page_response(shell.page(..., live=True))`). What it raises becomes a JSON sentence:
`Refused(status, message)` with its status, any `AssayError` by its kind, anything else "unexpected", without a trace.
Handlers run in several threads at once; a GET changes nothing; a POST that was answered is on disk.

Checked before a handler sees anything: the Host, the cookie that the token was exchanged for, for a POST the Origin,
that it is JSON and not too long. Every answer says no-store, nosniff, no-referrer, and that nobody may frame it.
"""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from assay.errors import ConfigError, EnvironmentFailure
from assay.web.guarding import guard_for
from assay.web.handling import Handler, House, Limits, show_trace
from assay.web.routing import Route

__all__ = ["LOOPBACK", "Limits", "Route", "Server", "serve"]

_Socket: TypeAlias = Any  # a socket, or for servers of datagrams more
_Address: TypeAlias = Any

LOOPBACK = ("127.0.0.1", "::1", "localhost")
_LAST_PORT = 65_535


class Server:
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

    def start(self) -> Server:
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

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def serve(
    routes: Sequence[Route],
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    limits: Limits | None = None,
    log: Callable[[str], None] | None = None,
) -> Server:
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
        return Server(_Listener(host, port, tuple(routes), limits or Limits(), log), host)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        hint = "leave --port out for a free one"
        raise EnvironmentFailure(f"cannot listen at {host}:{port}: {why}", hint=hint) from error


class _Listener(socketserver.ThreadingTCPServer):
    """Takes connections, each in a thread, no more at once than there are threads for."""

    daemon_threads = True
    block_on_close = False  # `drain` waits, but not for ever
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(
        self, host: str, port: int, routes: tuple[Route, ...], limits: Limits, log: Callable[[str], None] | None
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), Handler)
        self.house = House(routes, guard_for(host, int(self.server_address[1])), limits, log)
        self._free = threading.BoundedSemaphore(limits.threads)
        self._strangers: OrderedDict[_Socket, None] = OrderedDict()  # that have not said who they are, the oldest first

    def process_request(self, request: _Socket, client_address: _Address) -> None:
        """Answer in a thread, or say at once that all are busy."""
        if not (self._free.acquire(blocking=False) or self._make_room()):
            _turn_away(request)
            self.shutdown_request(request)
            return
        self._strangers[request] = None
        super().process_request(request, client_address)

    def _make_room(self) -> bool:
        """Have the connection go that has longest not said who it is: whoever opens many keeps nobody out."""
        try:
            oldest = self._strangers.popitem(last=False)[0]
        except KeyError:
            return False
        with suppress(OSError):
            oldest.shutdown(socket.SHUT_RDWR)  # whoever reads from it wakes up
        return self._free.acquire(timeout=self.house.limits.yielding)

    def recognise(self, connection: _Socket) -> None:
        """Let a connection stay: it has said who it is."""
        self._strangers.pop(connection, None)

    def process_request_thread(self, request: _Socket, client_address: _Address) -> None:
        """Answer, and give the thread back."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.recognise(request)
            self._free.release()

    def handle_error(self, request: _Socket, client_address: _Address) -> None:  # noqa: ARG002  # the library's names
        """Say nothing of a client that went away; show a mistake of ours to whoever looks for it."""
        show_trace()

    def drain(self) -> None:
        """Wait for the answers under way, as long as they may take."""
        until, got = time.monotonic() + self.house.limits.closing, 0
        while got < self.house.limits.threads and self._free.acquire(timeout=max(0.0, until - time.monotonic())):
            got += 1
        for _ in range(got):
            self._free.release()


def _turn_away(connection: socket.socket) -> None:
    """Tell a client that all threads are busy."""
    body = b'{"error": "too many requests at once", "hint": "try again in a moment"}'
    head = f"HTTP/1.0 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    try:
        connection.settimeout(0.2)  # the thread that takes connections waits for nobody
        connection.sendall(head.encode() + b"Retry-After: 1\r\nConnection: close\r\n\r\n" + body)
    except OSError:
        return
