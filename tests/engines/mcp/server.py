"""A real MCP server, well-behaved and hostile by the tool: `server.py stdio`, or `server.py http PORT [TOKEN]`."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

WIRE = os.dup(1)  # the mcp package turns descriptor 1 to stderr; not every server is so careful
server = MCPServer("toy", version="1.2.3")
indexed: list[str] = []


@server.tool()
def index(root: str) -> str:
    """Remember a folder."""
    if root == "bad":
        raise ToolError("no such folder")
    indexed.append(root)
    return "ok"


@server.tool()
def search(query: str, top_k: int = 5, include: list[str] | None = None, language: str = "") -> list[dict[str, object]]:
    """Give structured results."""
    found: list[dict[str, object]] = [
        {"path": "json/encoder.py", "start": 1, "end": 2, "score": 0.5},
        {"path": "README.md", "start": 1, "end": 1, "score": 0.25},
    ]
    found.append({"path": json.dumps([query, top_k, include, language, indexed])})
    return found[:top_k]


@server.tool()
def text(query: str) -> str:
    """Give fenced snippets under headers."""
    if query == "nothing":
        return "No results found."
    return "Found 1:\n\n### json/encoder.py:1-2 (score 0.5)\n```python\nREADME.md:1\n```\n"


@server.tool()
def behave(query: str) -> str:
    """Do what the query says."""
    if query == "crash":
        print("out of luck", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if query == "hang":
        time.sleep(60)
    if query == "junk":
        os.write(WIRE, b"\x1b[31mloading\x1b[0m\n\n[50%]\nWARNING {not json}\n50%\r\x1b[2K")
    if query == "flood":
        flood()
    if query == "close":
        close_pipe()
        time.sleep(60)
    if query == "fail":
        raise ToolError("the index is gone")
    if query == "many":
        return "\n".join(f"dir/file{n}.py:{n}" for n in range(1, 10_001))
    if query == "outside":
        return "/etc/passwd:1\n../../secret.py:3\n"
    if query == "token":
        raise ToolError(f"refused {os.environ.get('TOY_TOKEN')}")
    return "README.md"


def flood() -> None:
    """Print 1 GB without a newline."""
    for _ in range(1000):
        os.write(WIRE, b"x" * 1_000_000)


def close_pipe() -> None:
    """Close every descriptor of stdout."""
    pipe = os.fstat(WIRE).st_ino
    for descriptor in range(1, 64):
        with contextlib.suppress(OSError):
            if os.fstat(descriptor).st_ino == pipe:
                os.close(descriptor)


def main(mode: str, port: str = "0", token: str = "") -> None:
    """Serve."""
    with Path(os.environ.get("TOY_PIDS", os.devnull)).open("a") as file:
        file.write(f"{os.getpid()}\n")
    if mode == "stdio":
        server.run("stdio")
        return
    import uvicorn

    app = server.streamable_http_app()
    uvicorn.run(_guarded(app, token), host="127.0.0.1", port=int(port), log_level="error")


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
