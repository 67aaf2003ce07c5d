import socket
import ssl
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from assay.errors import ConfigError, EngineError, EngineTimeoutError, SetupError
from assay.http import HttpClient, HttpLimits, HttpRequest, RetryPolicy, make_request
from tests.processes import time_out
from tests.serving import Asked, Reply, Server, Talk, in_turn, saying, serving, talking
from tests.waiting import WATCHDOG

#: A key and a certificate for 127.0.0.1 that nobody trusts, good for a hundred years.
LOOPBACK = Path(__file__).with_name("loopback.pem")
ONCE = RetryPolicy(attempt=WATCHDOG, retries=0)
QUICK = HttpLimits(backoff_seconds=0.01)
FINE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def get(client: HttpClient, url: str, patience: RetryPolicy = ONCE) -> bytes:
    return client.send(make_request(url), patience).body


def test_connections_are_used_again():
    with serving(in_turn(Reply("fine"))) as server, HttpClient(keep=1) as client:
        assert [get(client, server.url) for _ in range(5)] == [b'"fine"'] * 5
    assert (len(server.asked), server.connections) == (5, 1)


def test_connections_that_are_not_kept_are_closed():
    with serving(in_turn(Reply("fine"))) as server, HttpClient(keep=0) as client:
        for _ in range(3):
            get(client, server.url)
    assert server.connections == 3
    assert {asked.headers["connection"] for asked in server.asked} == {"close"}


@pytest.mark.parametrize("status", [400, 404, 500])
def test_connections_outlive_a_refusal(status):
    with serving(in_turn(Reply("no", status), Reply("fine"))) as server, HttpClient(keep=1) as client:
        with pytest.raises(EngineError, match=f"answered {status}"):
            get(client, server.url)
        assert get(client, server.url) == b'"fine"'
    assert server.connections == 1


def test_connections_are_shared_by_threads():
    paths, all_at_once = [f"/{n}" for n in range(24)], threading.Barrier(4)

    def answer(asked: Asked) -> Reply:
        if asked.path in paths[:4]:
            all_at_once.wait(WATCHDOG)
        return Reply(asked.path)

    with serving(answer) as server, HttpClient(keep=4) as client, ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda path: get(client, server.url + path), paths))
    assert answers == [f'"{path}"'.encode() for path in paths]
    assert server.connections == 4


def test_connections_to_another_host_are_others():
    first, second = in_turn(Reply("one")), in_turn(Reply("two"))
    with serving(first) as one, serving(second) as two, HttpClient(keep=4) as client:
        said = [get(client, server.url) for server in (one, two, one, two)]
    assert said == [b'"one"', b'"two"', b'"one"', b'"two"']
    assert (one.connections, two.connections) == (1, 1)


def answer_once(visitor: socket.socket) -> None:
    """Promise to stay, and go."""
    visitor.sendall(FINE)


def test_connection_that_the_server_closed_meanwhile_costs_no_attempt():
    closed = threading.Semaphore(0)

    def talk(visitor: socket.socket) -> None:
        visitor.sendall(FINE)
        visitor.shutdown(socket.SHUT_WR)
        closed.release()

    with talking(talk) as server, HttpClient(keep=1) as client:
        for _ in range(3):
            assert get(client, server.url) == b"hi"
            assert closed.acquire(timeout=WATCHDOG)
    assert len(server.visits) == 3


def answer_then_hang_up(visitor: socket.socket) -> None:
    """Take a second request and go without a word: what a server does whose patience ends as the request arrives."""
    visitor.sendall(FINE)
    visitor.recv(65536)


def test_connection_that_closes_as_the_request_arrives_costs_no_attempt():
    with talking(answer_then_hang_up, answer_once) as server, HttpClient(keep=1) as client:
        assert get(client, server.url) == b"hi"
        heard = client.send(make_request(server.url), ONCE)
    assert (heard.body, heard.failures) == (b"hi", ())
    assert len(server.visits) == 2


def test_fresh_connection_that_closes_at_once_is_a_failure():
    unreached = pytest.raises(SetupError, match="cannot be reached")
    with talking(lambda visitor: None) as server, HttpClient(keep=1) as client, unreached:
        get(client, server.url)
    assert len(server.visits) == 1


def test_connection_with_something_left_to_read_is_not_used_again():
    answered, smuggled = threading.Event(), threading.Event()

    def talk(visitor: socket.socket) -> None:
        visitor.sendall(FINE)
        answered.wait(WATCHDOG)
        visitor.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
        smuggled.set()
        visitor.recv(65536)

    with talking(talk, saying(FINE)) as server, HttpClient(keep=1) as client:
        assert get(client, server.url) == b"hi"
        answered.set()
        assert smuggled.wait(WATCHDOG)
        assert get(client, server.url) == b"hi"
    assert len(server.visits) == 2


class Drip:
    """Say something, then go on, a little at a time: ten times in the time that the client has, and far beyond it."""

    def __init__(self, head: bytes, drop: bytes = b"x") -> None:
        self.head, self.drop, self.drops = head, drop, 0
        self.limit = 0.0

    def __call__(self, visitor: socket.socket) -> None:
        visitor.sendall(self.head)
        end = time.monotonic() + WATCHDOG
        while time.monotonic() < end:
            visitor.sendall(self.drop)
            self.drops += 1
            time.sleep(self.limit / 10)

    def is_asked(self, scheme: str, seconds: float) -> int:
        """Let a client run out of time, and count its visits."""
        self.limit = seconds
        return times_out(self, scheme, seconds)


SLOW = {
    "status": (b"HTTP/1.1 2", b"x"),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"),
    "in a header": (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"),
    "continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "body": (b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"x"),
    "endless body": (b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
    "chunk size": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
    "trailer": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n"),
}


def times_out(talk: Talk, scheme: str, seconds: float) -> int:
    """Ask a server that never comes to an end, and count how often it was visited."""
    too_late = pytest.raises(EngineTimeoutError, match=f"no answer within {seconds:g} s")
    with talking(talk) as server, HttpClient(keep=1) as client, too_late:
        get(client, server.url.replace("http", scheme), RetryPolicy(attempt=seconds))
    return len(server.visits)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(
            said, id=name, marks=() if name in ("status", "headers", "body", "chunks") else pytest.mark.nightly
        )
        for name, said in SLOW.items()
    ],
)
def test_ask_ends_at_the_deadline_however_slowly_the_server_goes_on(said):
    drip = Drip(*said)
    assert time_out(lambda seconds: drip.is_asked("http", seconds), lambda _: drip.drops > 2) == 1


def test_ask_of_a_server_that_takes_nothing_ends_at_the_deadline():
    with socket.create_server(("127.0.0.1", 0)) as door, HttpClient() as client:
        call = make_request(f"http://127.0.0.1:{door.getsockname()[1]}/", method="POST", body=b"x" * 20_000_000)
        with pytest.raises(EngineTimeoutError):
            client.send(call, RetryPolicy(attempt=0.1))


def test_ask_bounds_the_look_up_of_a_name(monkeypatch):
    done = threading.Event()

    def slow(*arguments: object, **options: object) -> list[object]:
        done.wait(WATCHDOG)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    with HttpClient() as client, pytest.raises(EngineTimeoutError):
        get(client, "http://slow.test/", RetryPolicy(attempt=0.1))
    done.set()


def test_ask_of_a_name_that_is_none_says_so():
    with HttpClient() as client, pytest.raises(SetupError, match="cannot be reached"):
        get(client, f"http://{'a' * 70}.test/")


def test_ask_begins_no_wait_that_outlasts_the_whole_time(naps):
    limits = HttpLimits(longest_wait=10 * WATCHDOG)
    busy = in_turn(Reply("busy", 429, {"Retry-After": f"{2 * WATCHDOG:.0f}"}))
    refused = pytest.raises(EngineError, match="answered 429")
    with serving(busy) as server, HttpClient(limits=limits) as client, refused as caught:
        get(client, server.url, RetryPolicy(whole=WATCHDOG))
    assert "Retry-After: 600" in str(caught.value.hint)
    assert not naps


def test_ask_stops_when_the_whole_time_is_over(naps):
    limits = HttpLimits(backoff_seconds=100.0, longest_backoff=100.0, longest_wait=100.0, jitter=0.0)
    given_up = pytest.raises(EngineError, match=r"503.*2 attempts|attempts.*503")
    with serving(in_turn(Reply("busy", 503))) as server, HttpClient(limits=limits) as client, given_up:
        get(client, server.url, RetryPolicy(retries=1000, whole=600.0))
    assert naps == [100.0] * 5
    assert len(server.asked) == 6


def test_ask_tells_why_it_asked_again():
    replies = in_turn(Reply("busy", 429), Reply("down", 503), Reply("fine"))
    with serving(replies) as server, HttpClient(keep=1, limits=QUICK) as client:
        heard = client.send(make_request(server.url), RetryPolicy())
    assert heard.failures == ("429", "503")


def test_ask_does_not_count_the_wait_for_its_turn(naps):
    def turn() -> float:
        time.sleep(400.0)
        return 400.0

    with serving(in_turn(Reply("busy", 503), Reply("fine"))) as server, HttpClient(limits=QUICK) as client:
        heard = client.send(make_request(server.url), RetryPolicy(attempt=WATCHDOG, whole=WATCHDOG), wait_for_slot=turn)
    assert heard.waited == 800.0


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_ask_sends_any_method_and_header(method):
    with serving(in_turn(Reply("fine"))) as server, HttpClient() as client:
        client.send(make_request(server.url, method=method, headers={"X-Source": "a b"}), ONCE)
    (asked,) = server.asked
    assert (asked.method, asked.headers["x-source"], asked.payload) == (method, "a b", None)


def test_ask_sends_a_header_once_and_the_token_before_another(monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "planted-secret")
    with talking(saying(FINE)) as server, HttpClient() as client:
        headers = {"authorization": "Basic x", "ACCEPT": "text/csv"}
        client.send(make_request(server.url, headers=headers, token_env="SHOP_TOKEN"), ONCE)
    lines = sorted(server.visits[0].lower().split(b"\r\n"))
    assert [line for line in lines if line.startswith((b"accept:", b"auth"))] == [
        b"accept: text/csv",
        b"authorization: bearer planted-secret",
    ]


WRONG_HEADERS = [
    {"X-Key": "hunter22\r\nX-Other: y"},
    {"X-Key": "hunter22\x00"},
    {"X-Key": "hünter22"},
    {"X Key": "hunter22"},
    {"X-Key\r\nX": "hunter22"},
    {"Content-Length": "5"},
    {"host": "elsewhere.test"},
]


@pytest.mark.parametrize("headers", WRONG_HEADERS)
def test_make_request_refuses_headers_that_break_out(headers):
    with pytest.raises(ConfigError) as caught:
        make_request("http://127.0.0.1/", headers=headers)
    assert "hunter22" not in str(caught.value)
    assert "hünter22" not in str(caught.value)


def test_make_request_refuses_a_method_that_breaks_out():
    with pytest.raises(ConfigError, match="method"):
        make_request("http://127.0.0.1/", method="GET /x HTTP/1.1\r\nX:")


def test_call_shows_no_secret(monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "planted-secret-1")
    call = make_request(
        "http://h/?key=planted-secret-2",
        body=b"planted-secret-3",
        headers={"X": "planted-secret-4"},
        token_env="SHOP_TOKEN",
        secrets=["planted-secret-5"],
    )
    assert isinstance(call, HttpRequest)
    assert "planted" not in repr(call)


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_ask_refuses_what_is_packed(coding):
    packed = in_turn(Reply(b"\x1f\x8b", 200, {"Content-Encoding": coding}))
    refused = pytest.raises(EngineError, match=f"content coding of the response: {coding}")
    with serving(packed) as server, HttpClient() as client, refused:
        get(client, server.url)
    assert server.asked[0].headers["accept-encoding"] == "identity"


def test_ask_reads_nothing_of_what_is_announced_as_too_long():
    sent: list[int] = []

    def talk(visitor: socket.socket) -> None:
        visitor.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        while True:
            sent.append(visitor.send(b"x" * 65536))

    too_long = pytest.raises(EngineError, match="more than 32,000,000 bytes")
    with talking(talk) as server, HttpClient() as client, too_long:
        get(client, server.url)
    assert sum(sent) < 20_000_000


def trusting(monkeypatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(LOOPBACK))


@contextmanager
def secured(answer: bytes = FINE) -> Iterator[tuple[str, list[bytes]]]:
    """Speak TLS, and answer every request of a visitor alike."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(LOOPBACK)
    heard: list[bytes] = []

    def serve(door: socket.socket) -> None:
        while True:
            try:
                raw, _ = door.accept()
            except OSError:
                return
            try:
                with raw, context.wrap_socket(raw, server_side=True) as visitor:
                    heard.append(b"a visitor")
                    while said := visitor.recv(65536):
                        heard.append(said)
                        visitor.sendall(answer)
            except OSError:
                continue

    with socket.create_server(("127.0.0.1", 0)) as door:
        thread = threading.Thread(target=serve, args=(door,), daemon=True)
        thread.start()
        yield f"https://127.0.0.1:{door.getsockname()[1]}/x", heard
        door.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def untrusted() -> pytest.RaisesExc[SetupError]:
    return pytest.raises(SetupError, match="certificate of the server is not trusted")


def test_ask_checks_certificates():
    with secured() as (url, heard), HttpClient(keep=1) as client, untrusted():
        get(client, url)
    assert not heard


def test_ask_checks_the_name_in_the_certificate(monkeypatch):
    trusting(monkeypatch)
    with secured() as (url, heard), HttpClient(keep=1) as client, untrusted():
        get(client, url.replace("127.0.0.1", "localhost"))
    assert not heard


def test_ask_keeps_connections_with_tls(monkeypatch):
    trusting(monkeypatch)
    with secured() as (url, heard), HttpClient(keep=1) as client:
        assert [get(client, url) for _ in range(3)] == [b"hi"] * 3
    assert heard.count(b"a visitor") == 1


def test_ask_ends_at_the_deadline_with_tls(monkeypatch):
    trusting(monkeypatch)
    broken_off = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx"
    with secured(broken_off) as (url, _), HttpClient() as client, pytest.raises(EngineTimeoutError):
        get(client, url, RetryPolicy(attempt=0.2))


def test_ask_ends_at_the_deadline_of_a_handshake_that_never_ends():
    drip = Drip(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc")
    time_out(lambda seconds: drip.is_asked("https", seconds), lambda _: drip.drops > 2)


def test_ask_ends_at_the_deadline_of_a_handshake_that_never_begins():
    def wait(visitor: socket.socket) -> None:
        visitor.recv(1)

    times_out(wait, "https", 0.1)


def test_ask_ends_at_the_deadline_of_a_connection_that_is_never_made():
    with socket.socket() as door, ExitStack() as others, HttpClient() as client:
        door.bind(("127.0.0.1", 0))
        door.listen(0)
        for _ in range(3):  # more than may wait
            other = others.enter_context(socket.socket())
            other.setblocking(False)
            other.connect_ex(door.getsockname())
        with pytest.raises((EngineTimeoutError, SetupError)):  # Linux lets it wait, others refuse
            get(client, f"http://127.0.0.1:{door.getsockname()[1]}/", RetryPolicy(attempt=0.1, retries=0))


def port_of(server: Server) -> str:
    return server.url.rpartition(":")[2]


def test_ask_goes_through_the_proxy_of_the_environment(monkeypatch):
    with serving(in_turn(Reply("from the proxy"))) as proxy, HttpClient(keep=1) as client:
        monkeypatch.setenv("http_proxy", f"http://joe:hunter22@127.0.0.1:{port_of(proxy)}")
        assert get(client, "http://shop.test/search?q=1") == b'"from the proxy"'
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert get(client, f"{proxy.url}/direct") == b'"from the proxy"'
    first, second = proxy.asked
    assert first.path == "http://shop.test/search?q=1"
    assert first.headers["host"] == "shop.test"
    assert first.headers["proxy-authorization"] == "Basic am9lOmh1bnRlcjIy"
    assert second.path == "/direct"
    assert "proxy-authorization" not in second.headers


@contextmanager
def tunnel(goal: str) -> Iterator[tuple[str, list[bytes]]]:
    """A proxy that lets whoever asks through to one place."""
    heard: list[bytes] = []

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def talk(visitor: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", int(goal))) as far:
            visitor.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=pump, args=(far, visitor), daemon=True)
            back.start()
            pump(visitor, far)
            back.join(5)

    with talking(talk) as talker:
        heard = talker.visits
        yield talker.url.split("/search")[0], heard


def test_ask_goes_through_the_tunnel_of_a_proxy(monkeypatch):
    trusting(monkeypatch)
    monkeypatch.setenv("SHOP_TOKEN", "planted-secret")
    with secured() as (url, heard), tunnel(url.rpartition(":")[2].removesuffix("/x")) as (proxy, asked):
        monkeypatch.setenv("https_proxy", proxy.replace("//", "//joe:hunter22@"))
        with HttpClient(keep=1) as client:
            call = make_request(url, token_env="SHOP_TOKEN")
            assert client.send(call, ONCE).body == b"hi"
    goal = url.split("/")[2].encode()
    assert asked[0].startswith(b"CONNECT " + goal + b" HTTP/1.")
    assert b"\r\nHost: " + goal + b"\r\n" in asked[0]
    assert b"am9lOmh1bnRlcjIy" in asked[0]
    assert b"planted-secret" not in asked[0]
    assert b"planted-secret" in heard[1]
    assert b"am9lOmh1bnRlcjIy" not in heard[1]


def test_ask_says_that_a_proxy_refuses(monkeypatch):
    with (
        talking(saying(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")) as proxy,
        HttpClient() as client,
    ):
        monkeypatch.setenv("https_proxy", proxy.url.split("/search")[0].replace("//", "//joe:hunter22@"))
        with pytest.raises(SetupError, match="the proxy answered 407") as caught:
            get(client, "https://shop.test/")
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("proxy", ["socks5://hunter22:1080", "http://hunter22:port", "http://"])
def test_ask_refuses_a_proxy_it_cannot_use(monkeypatch, proxy):
    monkeypatch.setenv("http_proxy", proxy)
    with HttpClient() as client, pytest.raises(ConfigError, match="http_proxy") as caught:
        get(client, "http://shop.test/")
    assert "hunter22" not in str(caught.value)
