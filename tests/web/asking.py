"""Ask a server as a browser would, and as one never would."""

from __future__ import annotations

import http.client
import json
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from assay.web.web_server import WebServer
from tests.waiting import WATCHDOG


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        return str(self.json["error"])


class Client:
    """Somebody who was given the address of a server."""

    def __init__(self, server: WebServer) -> None:
        self.server = server
        self.host = server.origin.removeprefix("http://")
        reply = self.ask("GET", server.url.removeprefix(server.origin), cookie=False)
        self.cookie = reply.headers.get("set-cookie", "").partition(";")[0]
        self.login = reply

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str | None] | None = None,
        *,
        cookie: bool = True,
    ) -> Reply:
        """Ask; a header that is None is left out of those that are sent otherwise."""
        usual: dict[str, str | None] = {"Host": self.host, "Cookie": self.cookie if cookie else None}
        if method == "POST":
            usual |= {"Origin": self.server.origin, "Content-Type": "application/json"}
        if body is not None:
            usual |= {"Content-Length": str(len(body))}
        connection = http.client.HTTPConnection(self.host, timeout=WATCHDOG)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {**usual, **(headers or {})}.items():
            if value is not None:
                connection.putheader(name, value)
        with suppress(BrokenPipeError, ConnectionResetError):  # refused before all of it was read
            connection.endheaders(body)
        response = connection.getresponse()
        reply = Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        connection.close()
        return reply

    def get(self, path: str, **headers: str | None) -> Reply:
        """Ask for something."""
        return self.ask("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def post(self, path: str, value: object, **headers: str | None) -> Reply:
        """Send something."""
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return self.ask("POST", path, json.dumps(value).encode(), named)


def connect(server: WebServer) -> socket.socket:
    host, _, port = server.origin.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=WATCHDOG)


def raw(server: WebServer, data: bytes) -> bytes:
    """Send bytes and return all that comes back until the connection is closed."""
    got = b""
    with connect(server) as connection, suppress(ConnectionResetError):
        connection.sendall(data)
        while part := connection.recv(65536):
            got += part
    return got
