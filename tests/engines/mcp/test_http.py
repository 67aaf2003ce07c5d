"""The MCP engine against real servers over streamable HTTP on loopback."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from assay.errors import ConfigError, EngineError, EngineTimeoutError
from assay.processes.running import ANSWER_BYTES
from assay.types import Corpus, Hit
from tests.engines.mcp.conftest import engine_of, opened, served
from tests.processes import time_out
from tests.serving import Asked, Reply, serving
from tests.waiting import WATCHDOG

TOKEN = "tok-3n-v3ry-s3cr3t"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server of the mcp package that wants a token."""
    with served("server.py", TOKEN) as url:
        yield url


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    """The token where it belongs."""
    monkeypatch.setenv("TOY_TOKEN", TOKEN)


def test_mcp_over_http_answers_as_over_stdio(url: str, corpus: Corpus) -> None:
    settings: dict[str, Any] = {"arguments": {"query": "{query}", "top_k": "{k}"}, "url": url}
    threads = threading.active_count()
    with opened(corpus, token_env="TOY_TOKEN", **settings) as session:
        over_http = session.search_within("q", 2, WATCHDOG)
        usage = session.usage()
    assert over_http.hits == (Hit("json/encoder.py", 1, 2, 0.5), Hit("README.md", 1, 1, 0.25))
    assert (usage.version, usage.peak_bytes, usage.store_bytes) == ("toy 1.2.3", None, None)
    assert usage.startup_seconds > 0
    with opened(corpus, headers={"Authorization": "Bearer {env:TOY_TOKEN}"}, **settings) as session:
        assert session.search_within("q", 2, WATCHDOG) == over_http
    assert threading.active_count() == threads


def test_mcp_over_http_that_hangs_is_given_up_and_asked_anew(corpus: Corpus) -> None:
    with served("bare.py") as url, opened(corpus, url=url, tool="behave") as session:
        with pytest.raises(EngineTimeoutError, match=r"no answer after 0\.1 s"):
            session.search_within("hang", 3, 0.1)
        after = session.search_within("fine", 3, WATCHDOG)
        assert [hit.path for hit in after.hits] == ["README.md"]
        assert "the server was restarted before this query" in after.notes[0]


def test_mcp_over_http_that_dies_is_a_crash_and_then_not_there(corpus: Corpus) -> None:
    with served("bare.py") as url, opened(corpus, url=url, tool="behave", token_env="TOY_TOKEN") as session:
        for query, message in (("crash", "the server closed the connection"), ("fine", "ConnectError")):
            with pytest.raises(EngineError, match=message) as caught:
                session.search_within(query, 3, WATCHDOG)
            assert TOKEN not in str(caught.value)


def answering(reply: Reply) -> Any:
    """Answer an initialize request with a reply that may quote the token."""

    def answer(asked: Asked) -> Reply:
        value = reply.value if not isinstance(reply.value, str) else reply.value.replace("TOKEN", asked.token or "?")
        return Reply(value.encode() if isinstance(value, str) else value, reply.status, reply.headers, reply.wait)

    return answer


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(status=307, headers={"Location": "file:///etc/passwd"}), "Redirect to file:.*/etc/passwd not followed"),
        (Reply(status=307, headers={"Location": "http://other.invalid/mcp"}), "other.invalid/mcp not followed"),
        (Reply("who is TOKEN?", 401, {"Content-Type": "text/plain"}), r"returned an error: .*\(HTTP 401\)"),
        (Reply("<html>TOKEN", 200, {"Content-Type": "text/html"}), "Unexpected content type: text/html"),
        (Reply('{"TOKEN": [', 200, {"Content-Type": "application/json"}), r"parse JSON response.*\*\*\*"),
        (
            Reply(b"x" * (ANSWER_BYTES + 1), 200, {"Content-Type": "application/json"}),
            f"sent more than {ANSWER_BYTES:,} bytes",
        ),
        (
            Reply(gzip.compress(b"{}"), 200, {"Content-Type": "application/json", "Content-Encoding": "gzip"}),
            "sent a compressed response",
        ),
        (Reply("", 500), "error response"),
    ],
)
def test_mcp_over_http_told_nonsense_says_so_without_the_token(corpus: Corpus, reply: Reply, message: str) -> None:
    with serving(answering(reply)) as server, pytest.raises(EngineError, match=message) as caught:
        engine_of(url=server.url, token_env="TOY_TOKEN").open_within(corpus, WATCHDOG)
    assert TOKEN not in f"{caught.value!s} {caught.value.hint} {caught.value.__cause__}"
    assert {one.token for one in server.asked} == {f"Bearer {TOKEN}"}


def test_mcp_over_http_that_never_answers_is_given_up(corpus: Corpus) -> None:
    def attempt(limit: float) -> list[Asked]:
        too_late = pytest.raises(EngineTimeoutError, match=f"no answer after {limit:g} s")
        with serving(lambda _: Reply({}, wait=WATCHDOG)) as server, too_late:
            engine_of(url=server.url, startup_timeout=limit).open_within(corpus, WATCHDOG)
        return server.asked

    assert time_out(attempt, bool)


def test_mcp_over_http_with_nobody_there_says_so(corpus: Corpus) -> None:
    with serving(lambda _: Reply({})) as server:
        url = server.url
    with pytest.raises(EngineError) as caught:
        engine_of(url=url).open_within(corpus, WATCHDOG)
    assert caught.value.hint == "check that the server is running, and read its log"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"url": "file:///etc/passwd"}, "expected an HTTP URL .*, got 'file:///etc/passwd'"),
        ({"url": "http://me:word@host/mcp"}, "contains a user name or password"),
        ({"url": "http://host/mcp", "command": ["x"]}, "both `command` and `url`"),
        ({"url": "", "command": []}, "neither `command` nor `url`"),
        ({"url": "http://host/mcp", "env": {"A": "b"}}, "`env` cannot be combined with `url`"),
        ({"url": "", "command": "x", "token_env": "TOY_TOKEN"}, "`token_env` cannot be combined with `command`"),
        ({"url": "http://host", "headers": {"Authorization": "Bearer abc"}}, "Authorization contains a literal secret"),
        ({"url": "http://host", "token_env": "NO_SUCH_TOKEN"}, "NO_SUCH_TOKEN is not set"),
        ({"url": "http://host", "headers": {"X-Key": "{env:NO_SUCH_KEY}"}}, "NO_SUCH_KEY is not set"),
        ({"arguments": {"q": "{qeury}"}}, r"arguments: .*placeholder \{qeury\}"),
        ({"arguments": {"q": "x"}}, r"no \{query\} in `arguments`"),
        ({"path_filter": {"in": "src"}}, r"path_filter has no \{path\}"),
        ({"content": "structured", "pattern": "(?P<path>.+)"}, 'content = "structured" cannot be combined'),
        ({"startup_timeout": 0}, "startup_timeout: expected more than 0"),
        ({"restarts": -1}, "restarts: expected at least 0, got -1"),
        ({"oversample": 0}, "engine mcp: oversample: expected at least 1, got 0"),
        ({"index": {"tol": "x"}}, "unknown setting 'tol'"),
    ],
)
def test_mcp_settings_that_cannot_work_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        engine_of(**settings)
    assert caught.value.hint or "expected" in caught.value.message


def test_mcp_config_of_an_address_has_no_secret() -> None:
    engine = engine_of(
        url="http://host/mcp?k=abcdefgh1234567890", headers={"X": "{env:TOY_TOKEN}"}, token_env="TOY_TOKEN"
    )
    recorded = json.dumps(engine.config)
    assert TOKEN not in recorded
    assert "abcdefgh1234567890" not in recorded
    assert engine.config["headers"] == ["X"]
    assert set(engine.secrets) == {TOKEN, "abcdefgh1234567890"}
