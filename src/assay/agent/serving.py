"""How the server is reached: over stdin and stdout, or by HTTP."""

from __future__ import annotations

import hmac
import io
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from assay.errors import ConfigError, EnvironmentFailure

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from assay.agent.benchmarks import Benchmarks
    from assay.agent.server import Service

#: The variable that holds the token; a flag would show it to every user of the machine.
TOKEN: Final = "ASSAY_MCP_TOKEN"  # noqa: S105  # the name of a variable
_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class ServingConfig:
    """What a token must be, and how an end is waited for."""

    shortest: int = 16  # characters: nobody guesses 16 over a network
    patience: int = 2  # seconds that calls under way have to end: a search does, a benchmark is stopped


CONFIG: Final = ServingConfig()


@dataclass(frozen=True, slots=True)
class Address:
    """Where HTTP is answered, under which names, and what must be shown."""

    host: str
    port: int
    names: tuple[str, ...] = ()  # by which other machines know this one
    token: str | None = None

    @classmethod
    def parse(cls, text: str, names: tuple[str, ...], token: str | None) -> Address:
        """Read HOST:PORT; what is open to others without a token is refused."""
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not port.isdigit() or int(port) > 65_535:
            raise ConfigError(f"--http {text}", hint="write HOST:PORT, such as 127.0.0.1:8765")
        if not (names or _is_loopback(host)):
            hint = "use 127.0.0.1, or name this machine as others do with --allow-remote NAME"
            raise ConfigError(f"--http {text} is open to other machines", hint=hint)
        if names and token is None:
            raise ConfigError("--allow-remote without a token", hint=f"set {TOKEN}; clients send it as a bearer token")
        if token is not None and len(token) < CONFIG.shortest:
            raise ConfigError(f"{TOKEN} is too short", hint=f"use {CONFIG.shortest} random characters or more")
        return cls(host, int(port), names, token)


def serve_stdio(service: Service) -> None:
    """Serve until stdin ends or somebody ends us; stdout belongs to the protocol alone."""
    import anyio

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # what an engine prints must not wait until stdout is ours again
    benchmarks = service.house.benchmarks
    before = signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=_leave, args=(benchmarks,)).start())
    try:
        service.server.run("stdio")
    except* (BrokenPipeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # the client is gone; there is nobody left to tell
    finally:
        signal.signal(signal.SIGTERM, before)
        benchmarks.stop()


def _leave(benchmarks: Benchmarks) -> None:
    """End at once, but not before what engines started; a thread of its own waits for no lock that we may hold."""
    try:
        benchmarks.stop()
    finally:
        os._exit(128 + signal.SIGTERM)  # the thread that reads stdin would keep us for as long as nobody writes


def serve_http(service: Service, address: Address, tell: Callable[[str], None]) -> None:
    """Serve by HTTP until interrupted; `tell` is given the URL."""
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    with _listening(address) as listener:
        port = listener.getsockname()[1]
        names = [*_LOOPBACK, *address.names]
        # A page in a browser can reach this port under a name of its own; the names of the request give it away.
        security = TransportSecuritySettings(
            allowed_hosts=[f"{name}:{port}" for name in names] + list(address.names),
            allowed_origins=[f"http://{name}:{port}" for name in names],
        )
        app: ASGIApp = service.server.streamable_http_app(transport_security=security, host=address.host)
        if address.token is not None:
            app = Guard(app, address.token)
        tell(f"http://{_bracketed(address.host)}:{port}/mcp")
        try:
            config = uvicorn.Config(
                app, log_level="error", access_log=False, lifespan="on", timeout_graceful_shutdown=CONFIG.patience
            )
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            service.house.benchmarks.stop()


class Guard:
    """Lets only those in who show the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request without the token with 401, whatever it asks."""
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._wanted):
                await send(_UNAUTHORISED)
                await send({"type": "http.response.body", "body": b"the bearer token is missing or wrong\n"})
                return
        await self._app(scope, receive, send)


_UNAUTHORISED: Final = {
    "type": "http.response.start",
    "status": 401,
    "headers": [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")],
}


def _listening(address: Address) -> socket.socket:
    """Open the port; one that is taken is an error with a next step."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        raise EnvironmentFailure(
            f"cannot listen on {address.host}:{address.port}: {error.strerror or error}",
            hint="choose another port, or 0 for a free one",
        ) from error


def _is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _bracketed(host: str) -> str:
    """Write an address as a URL does."""
    return f"[{host}]" if ":" in host else host
