"""The same server without a package, which takes a second to import: `bare.py stdio`, or `bare.py http`.

As much of the protocol as a client needs that calls tools.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from typing import Any

import toys  # type: ignore[import-not-found]

TOOLS = {function.__name__: function for function in (toys.index, toys.search, toys.text, toys.behave)}


def _described(name: str) -> dict[str, Any]:
    """Describe a tool by the parameters of its function."""
    parameters = inspect.signature(TOOLS[name]).parameters
    required = [one.name for one in parameters.values() if one.default is one.empty]
    schema = {"type": "object", "properties": {one: {} for one in parameters}, "required": required}
    return {"name": name, "inputSchema": schema}


def _called(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool."""
    try:
        value = TOOLS[name](**arguments)
    except toys.ToyError as problem:
        return {"content": [{"type": "text", "text": str(problem)}], "isError": True}
    words = value if isinstance(value, str) else json.dumps(value)
    return {"content": [{"type": "text", "text": words}], "structuredContent": {"result": value}}


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    """Answer a request; nothing is said to a notification."""
    if "id" not in message:
        return None
    head = {"jsonrpc": "2.0", "id": message["id"]}
    asked = message.get("params") or {}
    match message["method"]:
        case "initialize":
            about = {"name": toys.NAME, "version": toys.VERSION}
            version = asked["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            result = {"tools": [_described(name) for name in TOOLS]}
        case "tools/call":
            result = _called(asked["name"], asked.get("arguments") or {})
        case _:
            return {**head, "error": {"code": -32601, "message": f"no method {message['method']}"}}
    return {**head, "result": result}


def serve_stdio() -> None:
    for line in sys.stdin:
        said = answer(json.loads(line))
        if said is not None:
            os.write(toys.WIRE, json.dumps(said).encode() + b"\n")


def serve_http() -> None:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            said = answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = b"" if said is None else json.dumps(said).encode()
            self._say(202 if said is None else 200, body)

        def do_GET(self) -> None:
            self._say(405, b"")

        do_DELETE = do_GET

        def _say(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    toys.note_start()
    serve_stdio() if sys.argv[1] == "stdio" else serve_http()
