"""A server of the mcp package: `server.py stdio`, or `server.py http [TOKEN]`, which prints its port."""

from __future__ import annotations

import functools
import socket
import sys

import toys  # type: ignore[import-not-found]
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer(toys.NAME, version=toys.VERSION)


def _tool(function):
    """Offer a tool, with the failures that the package knows."""

    @functools.wraps(function)
    def call(*arguments, **named):
        try:
            return function(*arguments, **named)
        except toys.ToyError as problem:
            raise ToolError(str(problem)) from problem

    server.tool()(call)


for _function in (toys.index, toys.search, toys.text, toys.behave):
    _tool(_function)


def main(mode: str, token: str = "") -> None:
    toys.note_start()
    if mode == "stdio":
        server.run("stdio")
        return
    import uvicorn

    door = socket.create_server(("127.0.0.1", 0))
    print(door.getsockname()[1], flush=True)
    app = _guarded(server.streamable_http_app(), token)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[door])


def _guarded(app, token):
    """Let in who has the token."""

    async def guard(scope, receive, send):
        given = dict(scope.get("headers") or []).get(b"authorization", b"").decode()
        if scope["type"] != "http" or not token or given == f"Bearer {token}":
            await app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 401, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"who are you, " + given.encode()})

    return guard


if __name__ == "__main__":
    main(*sys.argv[1:])
