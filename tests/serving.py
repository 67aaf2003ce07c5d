"""An HTTP server on 127.0.0.1 that answers as told, and remembers what it was asked."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Asked:
    """One request as it came in."""

    path: str
    payload: Any
    token: str | None
    method: str = "POST"
    headers: dict[str, str] = field(default_factory=dict)  # names in small letters
    client: int = 0  # the port it came from: one for each connection


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

    @property
    def connections(self) -> int:
        """Over how many connections it was asked."""
        return len({asked.client for asked in self.asked})


def _payload(body: bytes) -> Any:
    """A JSON value, else text."""
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body.decode("utf-8", "replace")


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
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            token, port = self.headers.get("Authorization"), self.client_address[1]
            asked.append(Asked(self.path, _payload(body), token, self.command, headers, port))
            reply = answer(asked[-1])
            closing.wait(reply.wait)
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(reply.body())), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body())

        do_GET = do_POST
        do_PUT = do_POST
        do_PATCH = do_POST

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


Talk = Callable[[socket.socket], None]


@dataclass
class Talker:
    """Where a server listens that need not speak HTTP, and how often it was visited."""

    url: str
    visits: list[bytes] = field(default_factory=list)  # what each visitor said first


@contextmanager
def talking(*talks: Talk) -> Iterator[Talker]:
    """Let each visitor have the next talk, and the last one be had for ever; all hang up at the end of the block."""
    rest = list(talks)
    visitors: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as door:
        talker = Talker(f"http://127.0.0.1:{door.getsockname()[1]}/search?q={{query}}&k={{k}}")

        def host(visitor: socket.socket, talk: Talk) -> None:
            with visitor, suppress(OSError):
                talker.visits.append(visitor.recv(65536))
                talk(visitor)
                # closing on bytes that were not read would reset the connection, and the answer with it
                visitor.shutdown(socket.SHUT_WR)
                while visitor.recv(65536):
                    pass

        def serve() -> None:
            while True:
                try:
                    visitor, _ = door.accept()
                except OSError:
                    return
                visitors.append(visitor)
                talk = rest.pop(0) if len(rest) > 1 else rest[0]
                threads.append(threading.Thread(target=host, args=(visitor, talk), daemon=True))
                threads[-1].start()

        threads = [threading.Thread(target=serve, daemon=True)]
        threads[0].start()
        try:
            yield talker
        finally:
            with suppress(OSError):
                door.shutdown(socket.SHUT_RDWR)
            threads[0].join(5)
            for visitor in visitors:
                with suppress(OSError):
                    visitor.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join(5)


def saying(data: bytes) -> Talk:
    """Say something and hang up."""
    return lambda visitor: visitor.sendall(data)


def dripping(head: bytes, drop: bytes = b"x", pause: float = 0.02) -> Talk:
    """Say something, then go on for ever, a little at a time."""

    def talk(visitor: socket.socket) -> None:
        visitor.sendall(head)
        while True:
            visitor.sendall(drop)
            time.sleep(pause)

    return talk
