import logging
import socket
import threading
import traceback
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from assay.errors import AssayError, ConfigError, EngineError, EngineTimeoutError, SetupError
from assay.http import HttpLimits, RequestRejected, post_json
from assay.redaction import redact_url
from tests.processes import time_out
from tests.serving import Asked, Reply, in_turn, serving
from tests.waiting import WATCHDOG

QUICK = HttpLimits(backoff_seconds=0.01, longest_wait=1.5)
TOKEN = "sk-Zq81-very+secret/42"


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", TOKEN)


def everything_said(error: BaseException) -> str:
    """All that a terminal, a log or a debugger shows of an error."""
    captured = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "".join([str(error), repr(error), *captured.format()])


@contextmanager
def listening(answer: bytes):
    """A server that writes bytes of its own, HTTP or not, to whoever connects, and counts them."""
    calls: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as door:

        def serve():
            while True:
                try:
                    visitor, _ = door.accept()
                except OSError:
                    return
                with visitor:
                    calls.append(visitor.recv(65536))
                    visitor.sendall(answer)
                    # closing on bytes that were not read would reset the connection, and the answer with it
                    visitor.shutdown(socket.SHUT_WR)
                    visitor.settimeout(5)
                    with suppress(OSError):
                        while visitor.recv(65536):
                            pass

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{door.getsockname()[1]}/v1", calls
        door.shutdown(socket.SHUT_RDWR)


def test_post_json_sends_the_payload_and_the_token():
    with serving(in_turn(Reply({"naïve": [1, 2.5, None]}))) as server:
        answer = post_json(f"{server.url}/v1/x?flag=1", {"text": "π \ud800"}, token_env="SHOP_TOKEN")
    assert answer == {"naïve": [1, 2.5, None]}
    (asked,) = server.asked
    assert (asked.path, asked.payload, asked.token) == ("/v1/x?flag=1", {"text": "π \ud800"}, f"Bearer {TOKEN}")


def test_post_json_without_a_token_sends_none():
    with serving(in_turn(Reply([]))) as server:
        post_json(server.url, {})
    assert server.asked[0].token is None


def test_post_json_reads_the_token_at_call_time(monkeypatch):
    with serving(in_turn(Reply([]))) as server:
        post_json(server.url, {}, token_env="SHOP_TOKEN")
        monkeypatch.setenv("SHOP_TOKEN", " another\n")
        post_json(server.url, {}, token_env="SHOP_TOKEN")
    assert [asked.token for asked in server.asked] == [f"Bearer {TOKEN}", "Bearer another"]


@pytest.mark.parametrize("value", [None, "", "  "])
def test_post_json_without_the_variable_says_which(monkeypatch, value):
    monkeypatch.delenv("SHOP_TOKEN") if value is None else monkeypatch.setenv("SHOP_TOKEN", value)
    with serving(in_turn(Reply([]))) as server, pytest.raises(ConfigError, match="SHOP_TOKEN is not set") as caught:
        post_json(server.url, {}, token_env="SHOP_TOKEN")
    assert caught.value.hint
    assert not server.asked


@pytest.mark.parametrize("value", ["secret one", "secret\none", "secrët", "secret\x7f"])
def test_post_json_refuses_a_token_no_header_can_hold(monkeypatch, value):
    monkeypatch.setenv("SHOP_TOKEN", value)
    with pytest.raises(ConfigError, match="invalid token in the environment variable SHOP_TOKEN") as caught:
        post_json("http://127.0.0.1:1/", {}, token_env="SHOP_TOKEN")
    assert "secr" not in str(caught.value)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_post_json_tries_again_until_the_server_recovers(status):
    replies = (Reply("busy", status), Reply("busy", status), Reply("fine"))
    with serving(in_turn(*replies)) as server:
        assert post_json(server.url, {"n": 1}, limits=QUICK) == "fine"
    assert [asked.payload for asked in server.asked] == [{"n": 1}] * 3


def test_post_json_gives_up_after_the_retries():
    with serving(in_turn(Reply({"error": "out of memory"}, 500))) as server:
        with pytest.raises(EngineError, match="answered 500.*out of memory") as caught:
            post_json(f"{server.url}/v1/x", {}, retries=1, limits=QUICK)
        assert caught.value.file == f"{server.url}/v1/x"
        assert len(server.asked) == 2
        with pytest.raises(EngineError):
            post_json(server.url, {}, retries=0, limits=QUICK)
    assert len(server.asked) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_post_json_does_not_repeat_what_was_refused(status):
    with serving(in_turn(Reply({"detail": "no such model"}, status), Reply("fine"))) as server:
        with pytest.raises(EngineError, match=f"answered {status}.*no such model") as caught:
            post_json(server.url, {}, token_env="SHOP_TOKEN", limits=QUICK)
        assert len(server.asked) == 1
    assert ("SHOP_TOKEN" in str(caught.value)) == (status in (401, 403))


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_post_json_waits_as_long_as_the_server_asks(form, naps):
    asked = "3600" if form == "seconds" else format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    with serving(in_turn(Reply("busy", 429, {"Retry-After": asked}), Reply("fine"))) as server:
        assert post_json(server.url, {}, limits=HttpLimits(longest_wait=4000.0)) == "fine"
    (nap,) = naps
    assert nap == 3600 if form == "seconds" else 3600 - WATCHDOG < nap <= 3600


def test_post_json_waits_longer_each_time_and_never_quite_as_long(naps):
    limits = HttpLimits(backoff_seconds=1.0, longest_backoff=8.0, jitter=0.5)
    with serving(in_turn(Reply("busy", 503))) as server, pytest.raises(EngineError):
        post_json(server.url, {}, retries=6, limits=limits)
    longest = [1, 2, 4, 8, 8, 8]
    assert all(most / 2 <= wait <= most for wait, most in zip(naps, longest, strict=True))
    assert len({wait / most for wait, most in zip(naps, longest, strict=True)}) == len(longest)


TOO_LONG = [
    "This model's maximum context length is 8192 tokens, however you requested 9001 tokens",
    "the input length exceeds the context length",
    "input (596 tokens) is too large to process. increase the physical batch size (current batch size: 512)",
]


@pytest.mark.parametrize("status", [400, 413, 422, 500])
@pytest.mark.parametrize("said", TOO_LONG)
def test_post_json_of_what_is_too_much_is_refused_at_once(status, said):
    replies = in_turn(Reply({"error": {"message": said}}, status), Reply("fine"))
    with serving(replies) as server, pytest.raises(RequestRejected, match=f"answered {status}"):
        post_json(server.url, {}, limits=QUICK)
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_post_json_of_another_refusal_is_not_about_the_request(status):
    reply = Reply({"error": "it took too long"}, status)
    with serving(in_turn(reply)) as server, pytest.raises(EngineError) as caught:
        post_json(server.url, {}, retries=0, limits=QUICK)
    assert not isinstance(caught.value, RequestRejected)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_post_json_says_which_number_json_has_not(number):
    body = f'{{"data": [{"0.25, " * 100}{number}]}}'.encode()
    with serving(in_turn(Reply(body))) as server, pytest.raises(EngineError, match=f"{number} is not") as caught:
        post_json(server.url, {})
    assert "log" in str(caught.value.hint)


@pytest.mark.parametrize("asked", ["-1", "nan", "inf", "soon", "Wed, 99 Oct 2015 99:99:99 GMT"])
def test_post_json_ignores_a_senseless_wait(asked):
    with serving(in_turn(Reply("busy", 429, {"Retry-After": asked}), Reply("fine"))) as server:
        assert post_json(server.url, {}, limits=QUICK) == "fine"
    assert len(server.asked) == 2


def test_post_json_does_not_wait_a_day(naps):
    with serving(in_turn(Reply("come back tomorrow", 429, {"Retry-After": "86400"}))) as server:
        with pytest.raises(EngineError, match="429.*tomorrow"):
            post_json(server.url, {}, limits=QUICK)
        assert len(server.asked) == 1
    assert not naps


def test_post_json_of_a_slow_server_times_out_once():
    def attempt(seconds: float) -> list[Asked]:
        too_late = pytest.raises(EngineTimeoutError, match=f"no answer within {seconds:g} s")
        with serving(in_turn(Reply("late", wait=WATCHDOG))) as server, too_late:
            post_json(server.url, {}, timeout=seconds, limits=QUICK)
        return server.asked

    assert len(time_out(attempt, lambda asked: asked)) == 1


def test_post_json_reads_no_more_than_its_bound():
    with serving(in_turn(Reply(b'"' + b"x" * 3_000_000 + b'"'))) as server:
        with pytest.raises(EngineError, match="more than 1,000,000 bytes"):
            post_json(server.url, {}, limits=HttpLimits(body_bytes=1_000_000))
        assert len(server.asked) == 1
        assert post_json(server.url, {}) == "x" * 3_000_000


def test_post_json_of_a_huge_refusal_keeps_the_status():
    with serving(in_turn(Reply(b"x" * 3_000_000, 400))) as server, pytest.raises(EngineError, match="answered 400"):
        post_json(server.url, {}, limits=HttpLimits(body_bytes=1_000_000))


OTHER = [b"<html>hello\x1b[31m</html>", b"", b"\xff\xfe", b"[NaN]", b"[" * 100_000, b'{"a": 1']


@pytest.mark.parametrize("body", OTHER)
def test_post_json_of_something_else_is_an_error(body):
    with serving(in_turn(Reply(body))) as server, pytest.raises(EngineError, match="without JSON") as caught:
        post_json(server.url, {})
    assert len(str(caught.value)) < 400
    assert "\x1b" not in str(caught.value)


def test_post_json_of_an_answer_that_breaks_off_is_tried_again():
    cut = b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"a": 1}'
    with listening(cut) as (url, calls), pytest.raises(SetupError, match="before the end"):
        post_json(url, {}, limits=QUICK)
    assert len(calls) == 3


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH_9.6\r\n"])
def test_post_json_of_a_server_that_speaks_no_http_is_tried_again(answer):
    with listening(answer) as (url, calls), pytest.raises(SetupError, match="cannot be reached"):
        post_json(url, {}, limits=QUICK)
    assert len(calls) == 3


def test_post_json_to_nobody_is_a_failure_of_the_environment():
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    with pytest.raises(SetupError, match=f"127.0.0.1:{port}.*refused"):
        post_json(f"http://127.0.0.1:{port}/v1", {}, limits=QUICK)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_post_json_follows_no_redirect(status):
    with serving(in_turn(Reply("fine"))) as other:
        elsewhere = Reply("", status, {"Location": f"{other.url}/v2?key=abc"})
        with serving(in_turn(elsewhere)) as server, pytest.raises(EngineError, match=f"answered {status}") as caught:
            post_json(server.url, {}, token_env="SHOP_TOKEN", limits=QUICK)
        assert len(server.asked) == 1
        assert not other.asked
    assert f"{other.url}/v2" in str(caught.value)
    assert "abc" not in str(caught.value)


NO_ADDRESS = ["", "host/path", "ftp://host/", "file:///etc/passwd", "http://", "http://host:port/", "http://[::1/"]
BROKEN_ADDRESS = ["http://h/a b", "http://h/\r\nX: y", "http://hóst/", "joe:hunter22@h/x", "http://joe:hunter22/@h/"]


@pytest.mark.parametrize("url", [*NO_ADDRESS, *BROKEN_ADDRESS])
def test_post_json_refuses_what_is_no_web_address(url):
    with pytest.raises(ConfigError, match="the address is not a valid HTTP or HTTPS URL") as caught:
        post_json(url, {})
    assert "hunter22" not in str(caught.value)
    assert caught.value.hint


def test_post_json_refuses_an_address_with_a_password():
    with pytest.raises(ConfigError, match="user name or a password") as caught:
        post_json("http://joe:hunter22@127.0.0.1:1/v1", {})
    assert "http://127.0.0.1:1/v1" in str(caught.value)
    assert "joe" not in str(caught.value) + repr(caught.value)
    assert "hunter22" not in str(caught.value) + repr(caught.value)


def test_shown_url_leaves_every_secret_out():
    assert redact_url("https://joe:pw@h:8080/v1/x?key=abc#top") == "https://h:8080/v1/x"
    assert redact_url("joe:pw@h/x") == redact_url("http://[::1") == "the address"


ECHOES = {
    "refused": Reply({"error": f"bad token {TOKEN} and Bearer {TOKEN}"}, 401),
    "failing": Reply(f"{'x' * 140} {TOKEN}".encode(), 500),
    "escaped": Reply(f'{{"error": "{TOKEN.replace("/", chr(92) + "/")}"}}'.encode(), 400),
    "no json": Reply(f"<p>{TOKEN}</p>".encode()),
    "torn": Reply(f"{TOKEN[:5]}\x00{TOKEN[5:]} {TOKEN[:7]}\x07{TOKEN[7:]}".encode(), 400),
    "redirect": Reply("", 307, {"Location": f"http://x.test/{TOKEN}"}),
    "query": Reply("asked for ?key=query-secret", 404),
}


@pytest.mark.parametrize("reply", ECHOES.values(), ids=ECHOES)
def test_post_json_never_shows_a_secret(reply, capfd, caplog):
    caplog.set_level(logging.DEBUG)
    with serving(in_turn(reply)) as server, pytest.raises(AssayError) as caught:
        post_json(f"{server.url}/v1?key=query-secret", {}, token_env="SHOP_TOKEN", limits=QUICK)
    assert server.asked[0].token == f"Bearer {TOKEN}"
    out, err = capfd.readouterr()
    said = "".join([str(caught.value), repr(caught.value), *map(str, caught.value.args), out, err, caplog.text])
    for secret in (TOKEN, TOKEN[:12], "query-secret"):
        assert secret not in said
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_post_json_shows_no_rest_of_a_secret_that_begins_like_another(monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "shop-key-and-more")
    with serving(in_turn(Reply("no shop-key-and-more", 400))) as server, pytest.raises(EngineError) as caught:
        post_json(f"{server.url}/?key=shop-key", {}, token_env="SHOP_TOKEN")
    assert "-and-more" not in str(caught.value)


def test_post_json_of_an_unreachable_server_shows_no_secret(capfd):
    with pytest.raises(SetupError) as caught:
        post_json("http://127.0.0.1:1/v1?key=query-secret", {}, token_env="SHOP_TOKEN", limits=QUICK)
    said = everything_said(caught.value) + "".join(capfd.readouterr())
    assert TOKEN not in said
    assert "query-secret" not in str(caught.value) + repr(caught.value)


def test_post_json_sends_what_json_is():
    with pytest.raises(ValueError, match="JSON compliant"):
        post_json("http://127.0.0.1:1/", {"score": float("nan")})
