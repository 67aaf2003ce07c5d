"""The MCP server: tools, instructions, error handling."""

from __future__ import annotations

import hmac
import io
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, InputRequiredResult
from pydantic import ValidationError

from assay._version import __version__
from assay.agent.benchmark_tools import Benchmarks, add_benchmark, add_report
from assay.agent.context import IndexCache, Roots, ServerContext, error_response
from assay.agent.explain_tool import add_explain
from assay.agent.related_tool import add_related
from assay.agent.search_tool import add_search
from assay.errors import ConfigError, SetupError, did_you_mean

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from assay.agent.benchmark_tools import Benchmarks
    from assay.experiment.spec import Spec


INSTRUCTIONS = """\
Assay finds code, and measures how well code search finds it.
To find code: `search` with a question in plain words, keywords or a name; then read the files at the lines it gives.
From a place you have found: `related` shows its callers, what it uses and what is alike.
When a result surprises: `explain`.
To measure search engines on questions with known answers: `run_benchmark`, then `read_report`.
Served: {roots}. Paths are relative to that folder, or absolute inside it; everything else is refused.
The first search of a folder makes its index, which may take a while; later ones are quick and follow every edit."""


class AgentServer(MCPServer[Any]):
    """An MCP server that tells a caller what was wrong with its arguments in a sentence."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; a misspelt tool or argument is told, never left out in silence."""
        known = {tool.name: tool.parameters["properties"] for tool in self._tool_manager.list_tools()}
        wrong = _misspelt("tool", name, known) or _wrong_argument(name, arguments, known[name])
        if wrong is not None:
            return error_response(wrong)
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                return error_response(_refused(name, error.__cause__))
            raise


@dataclass(frozen=True, slots=True)
class Service:
    """A server, and what its tools share."""

    server: AgentServer
    house: ServerContext


def make_service(roots: Roots, spec: Spec | None = None) -> Service:
    """Make the server of some folders; nothing heavy is loaded before the first call."""
    house = ServerContext(roots, IndexCache(roots.folders), Benchmarks(roots, spec))
    server = AgentServer(
        name="assay",
        title="Assay",
        version=__version__,
        instructions=INSTRUCTIONS.format(roots=roots),
        log_level="ERROR",  # stderr is for what the user must know; a refused call is between agent and server
    )
    for add in (add_search, add_explain, add_related, add_benchmark, add_report):
        add(server, house)
    return Service(server, house)


def _misspelt(what: str, name: str, known: Mapping[str, object]) -> str | None:
    if name in known:
        return None
    hint = f"{did_you_mean(name, known)} there are {', '.join(known)}".lstrip()
    return f"unknown {what} {name[:80]!r}\n  → {hint}"


def _wrong_argument(tool: str, arguments: Mapping[str, object], known: Mapping[str, object]) -> str | None:
    for name in arguments:
        if (wrong := _misspelt("argument", name, known)) is not None:
            return f"{tool}: {wrong}"
    return None


def _refused(tool: str, error: ValidationError) -> str:
    lines = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
    return f"{tool}: {'; '.join(lines)}\n  → correct that and call again"


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
class ListenAddress:
    """Where HTTP is answered, under which names, and what must be shown."""

    host: str
    port: int
    names: tuple[str, ...] = ()  # by which other machines know this one
    token: str | None = None

    @classmethod
    def parse(cls, text: str, names: tuple[str, ...], token: str | None) -> ListenAddress:
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
    try:
        benchmarks.stop()
    finally:
        os._exit(128 + signal.SIGTERM)  # the thread that reads stdin would keep us for as long as nobody writes


def serve_http(service: Service, address: ListenAddress, tell: Callable[[str], None]) -> None:
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
            app = TokenAuth(app, address.token)
        tell(f"http://{_bracketed(address.host)}:{port}/mcp")
        try:
            config = uvicorn.Config(
                app, log_level="error", access_log=False, lifespan="on", timeout_graceful_shutdown=CONFIG.patience
            )
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            service.house.benchmarks.stop()


class TokenAuth:
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


def _listening(address: ListenAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        raise SetupError(
            f"cannot listen on {address.host}:{address.port}: {error.strerror or error}",
            hint="choose another port, or 0 for a free one",
        ) from error


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
