"""Servers that do their worst: each is one failed query with a reason, and the next query works."""

from __future__ import annotations

import gzip
import socket
import traceback
from pathlib import Path

import pytest

import assay
from assay.engines.calls import open_session, query_session
from assay.errors import EngineTimeoutError
from assay.types import Hit, Status
from tests.engines.http.conftest import TOKEN, engine_of
from tests.serving import Reply, Talk, dripping, in_turn, saying, serving, talking
from tests.waiting import WATCHDOG

GOOD = b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n["README.md"]'
HEAD = b"HTTP/1.1 200 OK\r\n"
ASK = "/?q={query}"


def body(data: bytes, *headers: bytes, status: bytes = b"200 OK") -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(data), *headers]
    return b"\r\n".join([*lines, b"", data])


def flood(visitor: socket.socket) -> None:
    """A gigabyte, in pieces of which nobody says how many there are."""
    visitor.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    piece = b"%x\r\n" % 1_000_000 + b"x" * 1_000_000 + b"\r\n"
    for _ in range(1000):
        visitor.sendall(piece)


def reset(visitor: socket.socket) -> None:
    """Hang up hard."""
    visitor.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    visitor.close()


def wait(visitor: socket.socket) -> None:
    """Say nothing until the visitor goes."""
    visitor.recv(1)


ECHO = TOKEN.encode()
HOSTILE: dict[str, tuple[Talk, Status, str]] = {
    "500": (saying(body(ECHO, status=b"500 No")), Status.ERROR, "answered 500"),
    "429": (saying(body(ECHO, status=b"429 No")), Status.ERROR, "answered 429"),
    "429 for a day": (saying(body(b"", b"Retry-After: 86400", status=b"429 No")), Status.ERROR, "Retry-After: 86400"),
    "429 too long": (saying(body(b"", b"Retry-After: 50", status=b"429 No")), Status.ERROR, "Retry-After: 50"),
    "401": (saying(body(ECHO, status=b"401 No")), Status.ERROR, "check the token in SHOP_TOKEN"),
    "drips headers": (dripping(HEAD, b"X-A: b\r\n"), Status.TIMEOUT, "no answer within 0.2 s"),
    "drips a header": (dripping(HEAD + b"X-A: ", b"b"), Status.TIMEOUT, "no answer within 0.2 s"),
    "drips a body": (dripping(HEAD + b"Content-Length: 99999\r\n\r\n", b" "), Status.TIMEOUT, "no answer within"),
    "silent": (wait, Status.TIMEOUT, "no answer within 0.2 s"),
    "to a file": (
        saying(body(b"", b"Location: file:///etc/passwd", status=b"302 There")),
        Status.ERROR,
        "answered 302",
    ),
    "a gigabyte": (flood, Status.ERROR, "more than 32,000,000 bytes"),
    "a gigabyte announced": (
        saying(HEAD + b"Content-Length: 1000000000\r\n\r\nx"),
        Status.ERROR,
        "more than 32,000,000",
    ),
    "cut off": (saying(HEAD + b'Content-Length: 900\r\n\r\n["README.md"'), Status.ERROR, "before the end"),
    "cut off chunk": (saying(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab"), Status.ERROR, "before the end"),
    "no chunk": (saying(HEAD + b"Transfer-Encoding: chunked\r\n\r\nhello\r\n"), Status.ERROR, "before the end"),
    "gzip": (saying(body(gzip.compress(b"[]"), b"Content-Encoding: gzip")), Status.ERROR, "content coding"),
    "gzip unsaid": (saying(body(gzip.compress(b"[]"))), Status.ERROR, "not UTF-8"),
    "a page": (saying(body(b"<html>" + ECHO + b"</html>")), Status.ERROR, "not json"),
    "another shape": (saying(body(b'{"found": []}')), Status.ERROR, "expected a list"),
    "latin 1": (saying(body(b'["na\xefve.py"]')), Status.ERROR, "not UTF-8"),
    "closes at once": (lambda visitor: None, Status.ERROR, "cannot be reached"),
    "resets": (reset, Status.ERROR, "cannot be reached"),
    "no http": (saying(b"SSH-2.0-OpenSSH_9.6\r\n"), Status.ERROR, "cannot be reached"),
    "headers without end": (saying(HEAD + b"X-A: b\r\n" * 5000), Status.ERROR, "too many or too long headers"),
    "a line without end": (saying(HEAD + b"X-A: " + b"b" * 200_000), Status.ERROR, "too many or too long headers"),
    "a status without sense": (saying(b"HTTP/1.1 999999 What\r\n\r\n"), Status.ERROR, "cannot be reached"),
}


#: Variants that wait for the same limit.
ALSO_SLOW = ("drips headers", "drips a body")


@pytest.mark.parametrize(
    ("talk", "status", "said"),
    [
        pytest.param(*case, id=name, marks=[pytest.mark.nightly] if name in ALSO_SLOW else [])
        for name, case in HOSTILE.items()
    ],
)
def test_hostile_server_is_one_failed_query(opened, talk, status, said):
    settings = {"token_env": "SHOP_TOKEN", "retries": 0, "format": "json", "path": "[]"}
    with talking(talk, saying(GOOD)) as server, opened(url=server.url, **settings) as session:
        failed = query_session(session, "question", 5, 0.2 if status is Status.TIMEOUT else WATCHDOG)
        after = query_session(session, "question", 5, WATCHDOG)
    assert failed.status is status
    assert said in str(failed.error)
    assert not failed.hits
    assert TOKEN not in str(failed.error)
    assert (after.status, after.hits) == (Status.OK, (Hit("README.md"),))
    assert len(server.visits) == 2


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_hostile_server_that_recovers_is_asked_again(opened, status):
    replies = in_turn(Reply("busy", status, {"Retry-After": "0"}), Reply(["README.md"]))
    with serving(replies) as server, opened(url=server.url + ASK) as session:
        answer = query_session(session, "x", 1, WATCHDOG)
    assert (answer.status, answer.notes) == (Status.OK, (f"2 attempts: {status}",))
    assert server.connections == 1


def test_hostile_server_is_asked_no_longer_than_the_limit(opened, naps):
    with (
        serving(in_turn(Reply("busy", 503))) as server,
        opened(url=server.url + ASK, retries=999) as session,
    ):
        answer = query_session(session, "x", 1, WATCHDOG)
    assert (answer.status, answer.hits) == (Status.ERROR, ())
    assert "answered 503" in str(answer.error)
    assert WATCHDOG / 2 < sum(naps) < WATCHDOG


def test_hostile_server_that_stays_and_then_goes_is_no_failure(opened):
    with talking(saying(GOOD)) as server, opened(url=server.url) as session:
        answers = [query_session(session, "x", 1, WATCHDOG) for _ in range(3)]
    assert [answer.status for answer in answers] == [Status.OK] * 3
    assert not any(answer.notes for answer in answers)


def test_hostile_redirect_does_not_get_the_token(opened):
    with serving(in_turn(Reply(["README.md"]))) as other:
        elsewhere = Reply("", 307, {"Location": f"{other.url}/search?key={TOKEN}"})
        with serving(in_turn(elsewhere)) as server, opened(url=server.url + ASK, token_env="SHOP_TOKEN") as session:
            answer = query_session(session, "x", 1, WATCHDOG)
    assert not other.asked
    assert "redirects are not followed" in str(answer.error)
    assert f"{other.url}/search" in str(answer.error)
    assert TOKEN not in str(answer.error)


SPILLING = {
    "refusal": Reply({"error": f"bad token {TOKEN}"}, 401),
    "failure": Reply(f"{TOKEN}".encode(), 500),
    "page": Reply(f"{TOKEN} is no JSON".encode()),
    "document": Reply({TOKEN: 1}),
    "result": Reply([{TOKEN: 1}]),
    "talk": Reply(f'{TOKEN}\n["README.md"]\n{TOKEN}'.encode()),
    "redirect": Reply("", 302, {"Location": f"http://x.test/{TOKEN}"}),
    "limit": Reply("", 429, {"Retry-After": TOKEN}),
    "coding": Reply([], 200, {"Content-Encoding": TOKEN}),
}


@pytest.mark.parametrize("reply", SPILLING.values(), ids=SPILLING)
def test_hostile_server_that_repeats_the_token_spills_nothing(opened, reply, capfd):
    with serving(in_turn(reply)) as server:
        headers = {"X-Api-Key": "{env:SHOP_TOKEN}"}
        settings = {"url": f"{server.url}/{{env:SHOP_TOKEN}}?q={{query}}", "format": "json", "headers": headers}
        with opened(**settings, token_env="SHOP_TOKEN", retries=0) as session:
            try:
                said = "".join(session.search("x", 1).notes)
            except Exception as problem:
                captured = traceback.TracebackException.from_exception(problem, capture_locals=True)
                said = "".join([str(problem), repr(problem), repr(problem.args), *_locals_of_ours(captured)])
    assert server.asked[0].token == f"Bearer {TOKEN}"
    said += "".join(capfd.readouterr())
    for secret in (TOKEN, TOKEN[:12], "sk-Zq81-very%2Bsecret%2F42"):
        assert secret.lower() not in said.lower()


def _locals_of_ours(captured: traceback.TracebackException) -> list[str]:
    """What a debugger shows of the adapter's own frames; the test's hold the token by right."""
    home = str(Path(assay.__file__).parent)
    return [repr(frame.locals) for frame in captured.stack if frame.filename.startswith(home)]


def test_hostile_index_is_an_engine_that_does_not_open(corpus):
    with talking(dripping(HEAD)) as server:
        engine = engine_of(url=server.url, index={"url": server.url.split("?")[0]})
        with pytest.raises(EngineTimeoutError, match="cannot open the engine: indexing failed: no answer"):
            open_session(engine, corpus, 0.1)
