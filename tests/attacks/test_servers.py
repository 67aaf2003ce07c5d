"""The web server and the MCP server, asked as no browser and no agent would."""

from __future__ import annotations

import http.client
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from tests.attacks.outside import PATIENCE, Attack, World, marked, mcp_server, serving, wait_until
from tests.attacks.test_kills import RUN

Headers = dict[str, str]


def ask(address: str, method: str, path: str, headers: Headers, body: bytes | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=60 * PATIENCE)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        if body is not None and "Content-Length" not in headers:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        if body is not None:
            try:
                connection.send(body)
            except (BrokenPipeError, ConnectionResetError):
                return 413, b""
        response = connection.getresponse()
        return response.status, response.read()
    except (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected):
        return 400, b""
    finally:
        connection.close()


@contextmanager
def web(world: World) -> Iterator[tuple[str, str, Headers]]:
    """Return the origin of a server, the path with the token, and the headers of its page."""
    assert world.assay(*RUN).code == 0
    with serving(world, "serve", "results", "--gold", "gold.yaml") as address:
        parts = urlsplit(address)
        origin, path = f"http://{parts.netloc}", parts.path + (f"?{parts.query}" if parts.query else "")
        connection = http.client.HTTPConnection(parts.netloc, timeout=60 * PATIENCE)
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        cookie = (response.getheader("Set-Cookie") or "").partition(";")[0]
        yield origin, path, {"Cookie": cookie}
        assert ask(origin, "GET", path, {})[0] < 400, "the server does not answer any more"


def test_web_wrong_hosts_origins_tokens_and_methods(world: World, attack: Attack) -> None:
    with web(world) as (origin, path, cookie):
        for host in (
            "evil.example",
            "127.0.0.1",
            "localhost:1",
            "127.0.0.1.evil.example",
            "",
            "[::1]",
            "127.0.0.1:80@evil",
        ):
            status, body = ask(origin, "GET", path, {"Host": host, **cookie})
            attack.expect(400 <= status < 500 and b"Traceback" not in body, f"host {host!r}: {status}")
        for other in ("http://evil.example", "null", "https://127.0.0.1", origin + ".evil.example", "file://"):
            for page in ("/", "/api/runs", "/api/vote", "/review", path):
                status, body = ask(
                    origin, "POST", page, {"Origin": other, "Content-Type": "application/json", **cookie}, b"{}"
                )
                attack.expect(400 <= status < 500, f"origin {other} {page}: {status}")
        for wrong in ({}, {"Cookie": "assay=x"}, {"Cookie": cookie["Cookie"][:-1]}, {"Cookie": cookie["Cookie"] + "0"}):
            for page in ("/api/runs", "/runs", "/?token=", "/?token=" + "0" * 43):
                status, body = ask(origin, "GET", page, dict(wrong))
                attack.expect(400 <= status < 500 and b"cart" not in body, f"cookie {wrong} {page}: {status}")
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "GÉT", "A" * 5_000, "POST"):
            try:
                status, body = ask(origin, method, "/", cookie)
            except (UnicodeEncodeError, ValueError):
                continue
            attack.expect(400 <= status < 600 and b"Traceback" not in body, f"{method[:20]}: {status}")
        for page in (
            "/../../etc/passwd", "/..%2f..%2fetc/passwd", "/%00", "//evil.example", "/static/../../../etc/passwd", "/run/../..",
            "/" + "a" * 100_000, "/?" + "a=b&" * 10_000, "/%", "/%ff%fe", "/run/%2e%2e%2f%2e%2e/run.json", "*",
            "http://evil.example/",
        ):  # fmt: skip
            status, body = ask(origin, "GET", page, cookie)
            attack.expect(
                400 <= status < 500 and b"root:" not in body and b"Traceback" not in body, f"{page[:60]}: {status}"
            )


def test_web_slow_many_and_large_requests(world: World, attack: Attack) -> None:
    with web(world) as (origin, path, cookie):
        netloc = urlsplit(origin).netloc
        host, port = netloc.split(":")
        held = []
        for number in range(200):
            connection = socket.create_connection((host, int(port)), timeout=30 * PATIENCE)
            if number % 2:
                connection.sendall(b"GET / HTTP/1.1\r\nHost: " + netloc.encode() + b"\r\nX: ")
            held.append(connection)
            if number % 20 == 19:
                status, _ = ask(origin, "GET", path, {})
                # 503: too many connections wait; it ends with them
                attack.expect(status < 400 or status == 503, f"{number} connections: {status}")
        for connection in held:
            connection.close()
        for body, headers in (
            (b"x" * 10_000_000, {}), (b"[" * 1_000_000, {}), (b"{}", {"Content-Length": "99999999999"}),
            (b"{}", {"Content-Length": "-1"}), (b"{}", {"Content-Length": "x"}), (b'{"a": ' + b"9" * 100_000 + b"}", {}),
            (b"\xff\xfe", {}), (b"0\r\n\r\n", {"Transfer-Encoding": "chunked"}), (b'"x"', {}), (b"null", {}), (b"NaN", {}),
        ):  # fmt: skip
            for page in ("/api/rerun", "/api/vote", "/"):
                sent = {"Origin": origin, "Content-Type": "application/json", **cookie, **headers}
                status, answer = (0, b"")
                if headers.get("Content-Length") == "99999999999" or "Transfer-Encoding" in headers:
                    sent["Connection"] = "close"
                try:
                    status, answer = ask(origin, "POST", page, sent, body)
                except TimeoutError:
                    status = 408
                attack.expect(
                    400 <= status < 500 and b"Traceback" not in answer, f"{body[:20]!r} {headers} {page}: {status}"
                )
        raw = [
            b"\0" * 1_000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 1_000, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5_000,
            b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A" * 200_000, b"\x16\x03\x01" * 100,
        ]  # fmt: skip
        for data in raw:
            with socket.create_connection((host, int(port)), timeout=30 * PATIENCE) as connection:
                connection.settimeout(30 * PATIENCE)
                try:
                    connection.sendall(data)
                    connection.shutdown(socket.SHUT_WR)
                    answer = connection.recv(10_000)
                except (ConnectionResetError, BrokenPipeError):
                    answer = b""
                attack.expect(b"Traceback" not in answer and b" 200 " not in answer, f"{data[:30]!r}: {answer[:200]!r}")


def test_mcp_malformed_and_huge_messages(world: World, attack: Attack) -> None:
    lines = [
        b"", b"{", b"null", b"[]", b"1", b'"x"', b"\xff\xfe\x00", b"[" * 100_000, b"{}" * 1_000, b'{"jsonrpc": "2.0"}',
        b'{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}', b'{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}',
        b'{"jsonrpc": "2.0", "id": 91, "method": "nothing/here"}', b'{"jsonrpc": "2.0", "id": 92, "method": 5}',
        b'{"jsonrpc": "2.0", "id": 93, "method": "tools/call", "params": []}',
        b'{"jsonrpc": "2.0", "id": 94, "method": "tools/call", "params": {"name": "search"}}',
        b'{"jsonrpc": "2.0", "id": 95, "method": "tools/call", "params": {"name": "nothing", "arguments": {}}}',
        b'{"jsonrpc": "2.0", "id": 96, "method": "tools/call", "params": {"name": "search", "arguments": {"query": 5, "k": "x"}}}',
        b'{"jsonrpc": "2.0", "id": 97, "result": {}}', b'{"jsonrpc": "2.0", "id": NaN, "method": "tools/list"}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 12345}}',
        b'{"jsonrpc": "2.0", "id": 98, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "'
        + b"x" * 10_000_000 + b'"}}}',
        b"x" * 10_000_000,
    ]  # fmt: skip
    with mcp_server(world, str(world.repo)) as pipe:
        for line in lines:
            pipe.send(line)
            error, text = pipe.call("search", query="total", k=1)
            attack.expect(not error and "shop" in text and "Traceback" not in text, f"{line[:60]!r}: {text[:300]}")


def test_mcp_paths_outside_and_hostile_arguments(world: World, attack: Attack) -> None:
    (world.base / "secret.py").write_text("TOP_SECRET = 1\n")
    (world.repo / "link").symlink_to(world.base)
    outside = [
        "..", "/", "/etc", "../secret.py", str(world.base), "link", "link/secret.py", "shop/../..", "~", "\0", "file:///etc",
        "repo/../../secret.py", "a" * 5_000, "", ".", "C:\\", "%2e%2e",
    ]  # fmt: skip
    with mcp_server(world, str(world.repo)) as pipe:
        tools = pipe.read(pipe.request("tools/list", {}))["result"]["tools"]
        for tool in tools:
            properties = tool["inputSchema"].get("properties", {})
            for path in outside:
                for key, schema in properties.items():
                    kinds = json.dumps(schema)
                    if '"string"' not in kinds:
                        continue
                    arguments: dict[str, object] = {
                        "query": "TOP_SECRET",
                        "file": "shop/cart.py",
                        "place": "shop/cart.py:1",
                    }
                    arguments = {name: value for name, value in arguments.items() if name in properties}
                    arguments[key] = [path] if '"array"' in kinds and '"string"' in kinds else path
                    _, text = pipe.call(tool["name"], **arguments)
                    wrong = "TOP_SECRET = 1" in text or "root:" in text or "Traceback" in text
                    attack.expect(not wrong, f"{tool['name']} {key}={path[:60]!r}: {text[:300]}")
        for pattern in ("(a+)+$", "(", "(a|aa)+$" * 20, "x" * 100_000):
            _, text = pipe.call("search", query="total", regex=pattern)
            attack.expect("Traceback" not in text, text[:300])


def test_mcp_cancelled_calls(world: World, attack: Attack) -> None:
    (world.repo / "assay.toml").write_text(
        f'''[run]
gold = ["gold.yaml"]
[engines.slow]
kind = "command"
argv = ["{sys.executable}", "-c", "import time; time.sleep(1000)", "{{query}}"]
'''
    )
    mark = f"ASSAY_ATTACK_{os.getpid()}_{time.monotonic_ns()}"
    with mcp_server(world, str(world.repo), "--config", "assay.toml", env=world.env(MARK=mark)) as pipe:

        def cancel(number: int) -> None:
            params = {"requestId": number, "reason": "x" * 1_000}
            message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            pipe.send(json.dumps(message).encode())

        for number in range(100):
            sent = pipe.request("tools/call", {"name": "search", "arguments": {"query": f"total {number}"}})
            cancel(sent)
            if number % 10 == 9:
                error, text = pipe.call("search", query="total")
                attack.expect(not error and "cart.py" in text, text)
        for seconds in (0, 0.2, 1, 3):
            sent = pipe.request("tools/call", {"name": "run_benchmark", "arguments": {"engines": ["slow"]}})
            time.sleep(seconds)
            cancel(sent)
            cancel(sent)
            error, text = pipe.call("search", query="total")
            attack.expect(not error and "cart.py" in text, text)
            attack.expect(wait_until(lambda: not [line for line in marked(mark) if "sleep" in line]), marked(mark))
