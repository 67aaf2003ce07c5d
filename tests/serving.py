"""An HTTP server on 127.0.0.1 that answers as told, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Asked:
    """One request as it came in."""

    path: str
    payload: Any
    token: str | None


@dataclass
class Reply:
    """One answer: a JSON value or raw bytes, and what comes with it."""

    value: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0

    def body(self) -> bytes:
        return self.value if isinstance(self.value, bytes) else json.dumps(self.value).encode()


@dataclass
class Server:
    """Where it listens, and what it was asked so far."""

    url: str
    asked: list[Asked]


Answering = Callable[[Asked], Reply]


def in_turn(*replies: Reply) -> Answering:
    """Answer with each reply once, then with the last for ever."""
    rest = list(replies)
    return lambda _: rest.pop(0) if len(rest) > 1 else rest[0]


@contextmanager
def serving(answer: Answering) -> Iterator[Server]:
    """Serve until the end of the block."""
    asked: list[Asked] = []
    closing = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(Asked(self.path, payload, self.headers.get("Authorization")))
            reply = answer(asked[-1])
            closing.wait(reply.wait)
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(reply.body())), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body())

        def do_GET(self) -> None:
            asked.append(Asked(self.path, None, self.headers.get("Authorization")))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Stay silent."""

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *arguments: object) -> None:
            """A client that hung up is what some tests are about."""

    server = Quiet(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield Server(f"http://127.0.0.1:{server.server_address[1]}", asked)
    finally:
        closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
