"""Nobody but the user gets in, and nobody can hold it up: token, names, origins, sizes, slow clients, many at once."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http.client import RemoteDisconnected

import pytest

from assay.errors import ConfigError, NotComparableError, SetupError
from assay.web.web_server import HttpError, RequestLimits, Route, json_response, page_response, serve
from tests.waiting import WATCHDOG, wait_until
from tests.web.asking import Client, raw

#: Limits that no busy machine reaches.
PATIENT = partial(RequestLimits, reading=WATCHDOG, writing=WATCHDOG)
PAGE = b'<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src \'none\'"><p>hello</p>'


def _refuse(_request):
    raise HttpError(409, "it is taken", hint="wait")


def _unlike(_request):
    raise NotComparableError("they differ", hint="run both")


def _break(_request):
    raise KeyError("a secret of ours")


ROUTES = (
    Route("GET", "/", lambda request: page_response(PAGE)),
    Route("GET", "/say/{what}", lambda request: json_response({"parts": request.parts, "query": request.query})),
    Route("POST", "/say/{what}", lambda request: json_response(dict(request.data))),
    Route("GET", "/refused", _refuse),
    Route("GET", "/unlike", _unlike),
    Route("GET", "/broken", _break),
)


@pytest.fixture(scope="module")
def server():
    with serve(ROUTES, limits=PATIENT(body=1000)) as server:
        yield server.start()


@pytest.fixture(scope="module")
def client(server):
    return Client(server)


# The token.


def test_token_becomes_a_cookie_and_leaves_the_address(server, client):
    login = client.login
    assert login.status == 303
    assert login.headers["location"] == "/"
    cookie = login.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert server.url.rpartition("=")[2] not in cookie, "what lets in by address is no cookie"


def test_rest_of_an_address_outlives_the_token(server, client):
    token = server.url.rpartition("=")[2]
    reply = client.ask("GET", f"/say/x?a=1%262&token={token}", cookie=False)
    assert reply.headers["location"] == "/say/x?a=1%262"


@pytest.mark.parametrize("slashes", ["//", "/\\", "/\\/", "\\\\"])
def test_two_slashes_lead_to_no_other_server(server, slashes):
    """Browsers read a backslash in an address as a slash."""
    token = server.url.rpartition("=")[2]
    host = server.origin.removeprefix("http://")
    answer = raw(server, f"GET {slashes}evil.example/x?token={token} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
    assert not re.search(rb"Location: [/\\]{2}", answer)


def test_link_from_another_page_is_let_in_without_a_redirect(server, client):
    """A strict cookie is not sent along with a redirect that another page caused."""
    path = server.url.removeprefix(server.origin)
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    reply = client.ask("GET", path, headers=foreign, cookie=False)
    assert (reply.status, reply.headers["refresh"]) == (200, "0; url=/")
    assert "set-cookie" in reply.headers


@pytest.mark.parametrize("cookie", [None, "", "assay=1", "{name}=", "{name}=wrong", "other={value}", "{name}={value}x"])
def test_nobody_gets_in_without_the_cookie(client, cookie):
    name, _, value = client.cookie.partition("=")
    sent = None if cookie is None else cookie.format(name=name, value=value)
    for method, path in (("GET", "/"), ("GET", "/say/x"), ("POST", "/say/x"), ("GET", "/nowhere")):
        reply = client.ask(method, path, b"{}" if method == "POST" else None, {"Cookie": sent})
        assert reply.status == 403, (method, path)
        assert "set-cookie" not in reply.headers


def test_wrong_token_is_refused(client):
    reply = client.get("/?token=guess")
    assert reply.status == 403
    assert "set-cookie" not in reply.headers


def test_token_and_session_are_compared_in_constant_time(client, monkeypatch):
    seen: list[tuple[bytes, bytes]] = []

    def compare(given, secret):
        seen.append((given, secret))
        return False

    monkeypatch.setattr("hmac.compare_digest", compare)
    assert client.get("/say/x").status == 403
    assert client.get("/?token=guess").status == 403
    assert len(seen) == 2


def test_token_is_in_no_output(capfd):
    with serve(ROUTES) as server:
        client = Client(server.start())
        client.get("/say/x?q=1")
        token = server.url.rpartition("=")[2]
        raw(server, f"GET /?token={token}\x01 nonsense\r\n\r\n".encode())
    out, err = capfd.readouterr()
    assert token not in out + err
    assert client.cookie.partition("=")[2] not in out + err


# Names and origins.


@pytest.mark.parametrize(
    "host", [None, "", "evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost.evil:{port}"]
)
def test_foreign_names_are_refused(server, client, host):
    """A name of another's that points to this machine is how pages of others reach it."""
    port = server.origin.rpartition(":")[2]
    assert client.get("/say/x", Host=None if host is None else host.format(port=port)).status == 421


def test_two_names_are_refused(server, client):
    answer = raw(
        server, f"GET / HTTP/1.0\r\nHost: {client.host}\r\nHost: evil\r\nCookie: {client.cookie}\r\n\r\n".encode()
    )
    assert b" 421 " in answer.partition(b"\r\n")[0]


def test_localhost_is_a_name_of_ours(server, client):
    port = server.origin.rpartition(":")[2]
    assert client.get("/say/x", Host=f"localhost:{port}").status == 200
    assert client.get("/say/x", Host=f"LOCALHOST:{port}").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": None},
        {"Origin": "null"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://{host}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": None, "Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"},
    ],
)
def test_nothing_is_sent_from_other_pages(client, headers):
    named = {name: value and value.format(host=client.host) for name, value in headers.items()}
    assert client.ask("POST", "/say/x", b"{}", named).status == 403


@pytest.mark.parametrize(
    "headers", [{}, {"Sec-Fetch-Site": "same-origin"}, {"Origin": None, "Sec-Fetch-Site": "same-origin"}]
)
def test_own_pages_send(client, headers):
    assert client.ask("POST", "/say/x", b'{"a": 1}', headers).json == {"a": 1}


def test_other_pages_read_nothing_but_may_link(client):
    linked = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    for site in ("same-site", "cross-site"):
        assert client.ask("GET", "/say/x", headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}).status == 403
        framed = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
        assert client.ask("GET", "/", headers={"Sec-Fetch-Site": site, **framed}).status == 403
        assert client.ask("GET", "/", headers={"Sec-Fetch-Site": site, **linked}).status == 200
    assert client.get("/say/x", Origin="http://evil.example").status == 403
    assert "access-control-allow-origin" not in client.get("/say/x").headers


# Answers.


def test_every_answer_ties_the_browsers_hands(client):
    for reply in (client.get("/"), client.get("/say/x"), client.get("/nowhere"), client.login, client.get("/broken")):
        sent = reply.headers
        assert (sent["cache-control"], sent["x-content-type-options"]) == ("no-store", "nosniff")
        assert (sent["referrer-policy"], sent["x-frame-options"]) == ("no-referrer", "DENY")
        assert sent["cross-origin-resource-policy"] == "same-origin"
        assert sent["content-security-policy"].startswith("default-src 'none'")
        assert sent["content-security-policy"].endswith("frame-ancestors 'none'")
        assert "python" not in sent["server"].lower()


def test_page_without_a_policy_is_not_sent():
    with pytest.raises(ValueError, match="policy"):
        page_response(b"<p>hello</p>" + PAGE.rjust(10_000))


def test_errors_are_sentences_without_traces(client):
    assert client.get("/refused").json == {"error": "it is taken", "hint": "wait"}
    assert (client.get("/refused").status, client.get("/unlike").status) == (409, 409)
    broken = client.get("/broken")
    assert broken.status == 500
    assert broken.error == "unexpected KeyError: a bug in Assay"
    assert b"secret" not in broken.body
    assert b"Traceback" not in broken.body


def test_errors_are_pages_for_whoever_typed_the_address(client):
    reply = client.get("/<b>nowhere", Accept="text/html,application/xhtml+xml")
    assert reply.headers["content-type"].startswith("text/html")
    assert reply.status == 404
    assert b"<h1>" in reply.body
    assert b"<b>" not in reply.body


def test_half_characters_are_told_in_json():
    assert json_response({"path": "a\udc80"}).body == b'{"path": "a\\udc80"}'


# Addresses.


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "/../../etc/passwd", "/say", "/say/", "/say/x/", "/say/a/b", "/%2e%2e/", "/static/", "/run/"],
)
def test_nothing_is_at_other_addresses(client, path):
    reply = client.get(path)
    assert reply.status in (400, 404)
    assert b"root:" not in reply.body


def test_encoded_slashes_and_dots_stay_in_their_part(client):
    assert client.get("/say/..%2F..%2Fetc%2Fpasswd").json["parts"] == {"what": "../../etc/passwd"}
    assert client.get("/say/a%00b").json["parts"] == {"what": "a\0b"}


@pytest.mark.parametrize(
    "path",
    [
        "/say/%ff",
        "/say/x?a=%ff",
        "/say/x?a=1&a=2",
        "http://evil/say/x",
        "/say/x?" + "&".join(f"a{n}=1" for n in range(200)),
    ],
)
def test_addresses_that_cannot_be_read_are_refused(client, path):
    assert client.get(path).status == 400


def test_methods_are_taken_or_refused(client):
    own = {"Origin": client.server.origin}
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"):
        reply = client.ask(method, "/say/x", headers=own)
        assert (reply.status, reply.error) == (405, f"{method} is not allowed here")
    assert client.ask("POST", "/", b"{}").status == 405
    head = client.ask("HEAD", "/say/x")
    assert (head.status, head.body) == (200, b"")
    assert int(head.headers["content-length"]) > 0


# Bodies.


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp"]
)
def test_only_json_is_taken(client, kind):
    assert client.ask("POST", "/say/x", b"{}", {"Content-Type": kind}).status == 415


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b'"a"', b'{"a": NaN}', b"\xff", b"[" * 900])
def test_what_is_no_json_object_is_refused(client, body):
    assert client.ask("POST", "/say/x", body).status == 400


def test_long_bodies_are_refused_and_told_so(client):
    assert client.ask("POST", "/say/x", b" " * 1001).status == 413
    assert client.ask("POST", "/say/x", b" " * 500_000).status == 413, "while it is still being sent"
    assert client.ask("POST", "/say/x", b"{}".ljust(1000)).status == 200


def test_a_body_may_have_a_mebibyte():
    with serve(ROUTES, limits=PATIENT()) as server:
        client = Client(server.start())
        assert client.ask("POST", "/say/x", b"{}".ljust(1 << 20)).status == 200
        assert client.ask("POST", "/say/x", b"{}".ljust((1 << 20) + 1)).status == 413


@pytest.mark.parametrize(
    ("length", "status"),
    [(None, 411), ("-1", 400), ("+2", 400), ("2 2", 400), ("٢", 411), ("9" * 400, 413), ("0x2", 400)],
)
def test_lengths_that_are_no_lengths_are_refused(server, client, length, status):
    line = "" if length is None else f"Content-Length: {length}\r\n"
    head = f"POST /say/x HTTP/1.0\r\nHost: {client.host}\r\nCookie: {client.cookie}\r\nOrigin: {server.origin}\r\n"
    answer = raw(server, f"{head}Content-Type: application/json\r\n{line}\r\n{{}}".encode())
    assert f" {status} ".encode() in answer.partition(b"\r\n")[0]


def test_chunks_and_two_lengths_are_refused(server, client):
    head = f"POST /say/x HTTP/1.1\r\nHost: {client.host}\r\nCookie: {client.cookie}\r\nOrigin: {server.origin}\r\n"
    for lines in ("Transfer-Encoding: chunked\r\nContent-Length: 2\r\n", "Content-Length: 2\r\nContent-Length: 3\r\n"):
        answer = raw(server, f"{head}Content-Type: application/json\r\n{lines}\r\n2\r\n{{}}\r\n0\r\n\r\n".encode())
        assert b" 411 " in answer.partition(b"\r\n")[0]


def test_one_request_a_connection(server, client):
    """Nothing that follows a request is taken for another one."""
    one = f"GET /say/x HTTP/1.1\r\nHost: {client.host}\r\nCookie: {client.cookie}\r\n\r\n".encode()
    assert raw(server, one + one).count(b"HTTP/1.") == 1


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01" + b"\x00" * 200 + b"\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.0\r\n" + b"A: b\r\n" * 200 + b"\r\n",
    ],
)
def test_what_is_no_http_does_no_harm(server, client, data):
    answer = raw(server, data)
    assert b"Traceback" not in answer
    assert client.get("/say/x").status == 200


# Time and numbers.


def test_body_that_never_comes_is_not_waited_for():
    with serve(ROUTES, limits=RequestLimits(reading=0.2)) as server:
        server.start()
        statuses = []

        def asked():
            # a busy machine may need longer than that for what comes before the body: then there is no answer at all
            with suppress(RemoteDisconnected, ConnectionResetError):
                statuses.append(Client(server).ask("POST", "/say/x", None, {"Content-Length": "10"}).status)
            return statuses

        wait_until(asked, "an answer")
        assert statuses == [408]


def test_no_more_threads_than_were_allowed():
    entered, leave = threading.Semaphore(0), threading.Event()

    def hold(_request):
        entered.release()
        leave.wait(WATCHDOG)
        return json_response({})

    with serve([Route("POST", "/hold", hold)], limits=PATIENT(threads=2)) as server, ThreadPoolExecutor(2) as pool:
        client = Client(server.start())
        held = [pool.submit(client.post, "/hold", {}) for _ in range(2)]
        try:
            assert all(entered.acquire(timeout=WATCHDOG) for _ in held)
            before = threading.active_count()
            refused = [raw(server, b"GET / HTTP/1.0\r\n\r\n") for _ in range(5)]
            assert all(b" 503 " in answer.partition(b"\r\n")[0] for answer in refused)
            assert threading.active_count() <= before
        finally:
            leave.set()
        assert [reply.result().status for reply in held] == [200, 200]


def test_many_at_once_each_get_their_own_answer(client):
    with ThreadPoolExecutor(12) as pool:
        replies = list(pool.map(lambda n: client.post(f"/say/{n}", {"n": n}).json["n"], range(150)))
    assert replies == list(range(150))


# Listening.


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "example.org", "127.0.0.1.evil", "", "127.1"])
def test_other_machines_are_not_listened_to(host):
    with pytest.raises(ConfigError, match="not a loopback address"):
        serve(ROUTES, host=host)


def test_listens_on_loopback_alone():
    with serve(ROUTES, host="localhost") as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", server.origin)


def test_taken_port_is_told():
    with serve(ROUTES) as server, pytest.raises(SetupError, match="cannot listen"):
        serve(ROUTES, port=int(server.origin.rpartition(":")[2]))
    for port in (-1, 65_536):
        with pytest.raises(ConfigError, match=f"expected port 0 to 65535, got {port}"):
            serve(ROUTES, port=port)


def test_two_servers_have_other_tokens_and_cookies():
    with serve(ROUTES) as one, serve(ROUTES) as other:
        first, second = Client(one.start()), Client(other.start())
        assert first.cookie.partition("=")[0] != second.cookie.partition("=")[0]
        assert second.get("/say/x", Cookie=first.cookie).status == 403
        both = f"{first.cookie}; {second.cookie}"
        assert second.get("/say/x", Cookie=both).status == 200
