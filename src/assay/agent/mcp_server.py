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
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import ValidationError

from assay._version import __version__
from assay.agent.benchmark_tools import READ, Benchmarks
from assay.agent.context import Roots, as_tool, error_response
from assay.agent.search_tools import EXPLAIN, RELATED, SEARCH, SearchTools
from assay.errors import ConfigError, SetupError, did_you_mean

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from assay.experiment.spec import Spec

INSTRUCTIONS = """\
Assay searches code, and measures the quality of code search.
To find code: call `search` with a question, keywords or a name, then read the files at the returned lines.
From a place in the code: `related` lists its callers, the code it uses and similar code.
To understand a ranking: `explain`.
To measure search engines on queries with known targets: `run_benchmark`, then `read_report`.
Served directories: {roots}. Paths are relative to a served directory, or absolute inside it; other paths are rejected.
The first search of a directory builds its index, which may take a while; later searches are fast and see every edit."""


#: The variable with the token; a flag would be visible to all users of the machine.
TOKEN: Final = "ASSAY_MCP_TOKEN"  # noqa: S105 - the name of a variable
_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_SHORTEST_TOKEN: Final = 16  # characters: too many to guess over a network
_SHUTDOWN_SECONDS: Final = 2  # for calls in progress: a search ends, a benchmark is stopped


def make_server(roots: Roots, spec: Spec | None = None) -> AgentServer:
    """Return a server of the directories; engines are loaded by the first call."""
    tools, benchmarks = SearchTools(roots), Benchmarks(roots, spec)
    server = AgentServer(
        name="assay",
        title="Assay",
        version=__version__,
        instructions=INSTRUCTIONS.format(roots=roots),
        log_level="ERROR",  # stderr is for the user; rejected calls concern only the agent
    )
    server.benchmarks = benchmarks

    for tool, title, description, writes in (
        (as_tool(tools.search), "Search code", SEARCH, False),
        (as_tool(tools.explain), "Explain a ranking", EXPLAIN, False),
        (as_tool(tools.related), "Find related code", RELATED, False),
        (benchmarks.run_benchmark, "Measure code search", benchmarks.description, True),
        (as_tool(benchmarks.read_report), "Read a report", READ, False),
    ):
        hints = ToolAnnotations(title=title, read_only_hint=not writes, destructive_hint=False if writes else None)
        # text only: some clients, such as Claude Code, show the model only the structured content if there is any
        server.add_tool(tool, description=description, annotations=hints, structured_output=False)
    return server


class AgentServer(MCPServer[Any]):
    """MCP server with readable errors for unknown tools and wrong arguments."""

    benchmarks: Benchmarks

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        known = {tool.name: tool.parameters["properties"] for tool in self._tool_manager.list_tools()}
        if name not in known:
            return error_response(_unknown("tool", name, known))
        for argument in arguments:
            if argument not in known[name]:
                return error_response(f"{name}: {_unknown('argument', argument, known[name])}")
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            problems = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.__cause__.errors()]
            return error_response(f"{name}: {'; '.join(problems)}\n  → correct the arguments and call again")


def _unknown(kind: str, name: str, known: Mapping[str, object]) -> str:
    hint = f"{did_you_mean(name, known)} known: {', '.join(known)}".lstrip()
    return f"unknown {kind} {name[:80]!r}\n  → {hint}"


@dataclass(frozen=True, slots=True)
class ListenAddress:
    host: str
    port: int
    names: tuple[str, ...] = ()  # by which other machines address this one
    token: str | None = None

    @classmethod
    def parse(cls, text: str, names: tuple[str, ...], token: str | None) -> ListenAddress:
        """Parse HOST:PORT; raise ConfigError if other machines could connect without a token."""
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not colon or not host or not port.isdigit() or int(port) > 65_535:
            raise ConfigError(f"--http: expected HOST:PORT, got {text!r}", hint="use --http 127.0.0.1:8765")
        if not (names or _is_loopback(host)):
            hint = "use 127.0.0.1, or name this machine with --allow-remote NAME"
            raise ConfigError(f"--http {text} is open to other machines", hint=hint)
        if names and token is None:
            raise ConfigError("--allow-remote requires a token", hint=f"set {TOKEN}; clients send it as a bearer token")
        if token is not None and len(token) < _SHORTEST_TOKEN:
            hint = f"set it to {_SHORTEST_TOKEN} or more random characters"
            raise ConfigError(f"{TOKEN} has only {len(token)} characters", hint=hint)
        return cls(host, int(port), names, token)

    def listen(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            return socket.create_server((self.host, self.port), family=family)
        except OSError as error:
            message = f"cannot listen on {self.host}:{self.port}: {error.strerror or error}"
            raise SetupError(message, hint="choose another port, or 0 for a free one") from error


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def serve_stdio(server: AgentServer) -> None:
    """Serve on stdin and stdout until stdin ends or the process is terminated."""
    import anyio

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # flush output of engines before the server takes over stdout

    def leave() -> None:
        try:
            server.benchmarks.stop()
        finally:
            os._exit(128 + signal.SIGTERM)  # the thread that reads stdin would block a normal exit

    before = signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=leave).start())
    try:
        server.run("stdio")
    except* (BrokenPipeError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # the client disconnected
    finally:
        signal.signal(signal.SIGTERM, before)
        server.benchmarks.stop()


def serve_http(server: AgentServer, address: ListenAddress, tell: Callable[[str], None]) -> None:
    """Serve over HTTP until interrupted; `tell` receives the URL."""
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    with address.listen() as listener:
        port = listener.getsockname()[1]
        names = [*_LOOPBACK, *address.names]
        # against DNS rebinding: a page in a browser can reach this port under another host name
        security = TransportSecuritySettings(
            allowed_hosts=[f"{name}:{port}" for name in names] + list(address.names),
            allowed_origins=[f"http://{name}:{port}" for name in names],
        )
        app: ASGIApp = server.streamable_http_app(transport_security=security, host=address.host)
        if address.token is not None:
            app = TokenAuth(app, address.token)
        host = f"[{address.host}]" if ":" in address.host else address.host
        tell(f"http://{host}:{port}/mcp")
        config = uvicorn.Config(
            app, log_level="error", access_log=False, lifespan="on", timeout_graceful_shutdown=_SHUTDOWN_SECONDS
        )
        try:
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            server.benchmarks.stop()


class TokenAuth:
    """ASGI middleware that requires a bearer token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._expected):
                headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": b"the bearer token is missing or wrong\n"})
                return
        await self._app(scope, receive, send)
