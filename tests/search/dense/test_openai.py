"""The embedder against a server on 127.0.0.1 that speaks /v1/embeddings."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from assay.errors import AssayError, ConfigError
from assay.search.embedders import EmbedderConfig, make_embedder

TOKEN = "sk-very-secret-0123456789"


@dataclass
class Server:
    """What was asked, and how to answer."""

    url: str = ""
    asked: list[tuple[str, str | None, dict]] = field(default_factory=list)
    failures: int = 0  # answers 503 so many times before it works
    reversed: bool = False
    answer: object = None  # instead of a right one

    def inputs(self) -> list[list[str]]:
        """The texts of each request after the first, which asks for the dimension."""
        return [payload["input"] for _, _, payload in self.asked[1:]]


def vector(text: str) -> list[float]:
    """Make a vector of a text."""
    return [float(len(text)), float(sum(text.encode()) % 97), 1.0]


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.asked.append((self.path, self.headers.get("Authorization"), payload))
            data = [{"index": i, "embedding": vector(text)} for i, text in enumerate(payload["input"])]
            value = {"data": data[::-1] if state.reversed else data} if state.answer is None else state.answer
            fails = state.failures > 0
            state.failures -= fails
            body = json.dumps({"error": "busy"} if fails else value).encode()
            self.send_response(503 if fails else 200)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Stay silent."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield state
    http.shutdown()
    http.server_close()
    thread.join()


def expected(texts: list[str]) -> np.ndarray:
    rows = np.array([vector(text) if text.strip() else [0, 0, 0] for text in texts])
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


@pytest.mark.parametrize("in_reverse", [False, True])
def test_vectors_come_in_batches_and_in_the_order_of_the_texts(server, in_reverse):
    server.reversed = in_reverse
    embedder = make_embedder(f"openai:{server.url}#tiny", EmbedderConfig(http_batch=2))
    texts = ["one", "", "three", "four", "  \n", "six"]
    rows = embedder.embed(texts, "code")
    assert embedder.dimension == 3
    assert rows.dtype == np.float32
    assert np.allclose(rows, expected(texts), atol=1e-6)
    assert server.inputs() == [["one", "three"], ["four", "six"]]
    assert {payload["model"] for _, _, payload in server.asked} == {"tiny"}
    assert embedder.embed([], "query").shape == (0, 3)


def test_token_is_sent_and_shown_nowhere(server, monkeypatch):
    monkeypatch.setenv("TINY_TOKEN", TOKEN)
    embedder = make_embedder(f"openai:{server.url}/v1#tiny", EmbedderConfig(token_env="TINY_TOKEN"))
    embedder.embed(["x"], "query")
    assert {login for _, login, _ in server.asked} == {f"Bearer {TOKEN}"}
    assert TOKEN not in repr(embedder) + embedder.identity
    server.answer = {"error": TOKEN}
    with pytest.raises(AssayError) as caught:
        embedder.embed(["y"], "query")
    assert TOKEN not in str(caught.value)


def test_token_that_is_not_set_is_an_error_before_anything_is_sent(server, monkeypatch):
    monkeypatch.delenv("TINY_TOKEN", raising=False)
    with pytest.raises(ConfigError, match="TINY_TOKEN"):
        make_embedder(f"openai:{server.url}#tiny", EmbedderConfig(token_env="TINY_TOKEN"))
    assert not server.asked


def test_busy_server_is_asked_again(server):
    server.failures = 2
    embedder = make_embedder(f"openai:{server.url}#tiny")
    server.failures = 1
    assert np.allclose(embedder.embed(["x"], "query"), expected(["x"]), atol=1e-6)
    assert len(server.asked) == 5


def test_server_that_stays_busy_is_an_error(server):
    server.failures = 10
    with pytest.raises(AssayError, match="503"):
        make_embedder(f"openai:{server.url}#tiny", EmbedderConfig(http_retries=1))
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        {"data": []},
        {"data": [{"index": 0}]},
        {"data": [{"index": 1, "embedding": [1, 2, 3]}]},
        {"data": [{"index": 0, "embedding": "abc"}]},
        {"data": [{"index": 0, "embedding": [1, 2]}]},
        {"data": [{"index": 0, "embedding": [1, 2, 3]}] * 2},
        {"data": 3},
        {"data": [3]},
    ],
    ids=json.dumps,
)
def test_answers_that_are_no_vectors_are_errors(server, answer):
    embedder = make_embedder(f"openai:{server.url}#tiny")
    server.answer = answer
    with pytest.raises(AssayError, match="one vector per text|expected vectors of") as caught:
        embedder.embed(["x"], "query")
    assert caught.value.hint


def test_long_texts_are_cut(server):
    make_embedder(f"openai:{server.url}#tiny", EmbedderConfig(http_characters=4)).embed(["abcdefgh"], "code")
    assert server.inputs() == [["abcd"]]


@pytest.mark.parametrize(
    ("base", "path"),
    [("", "/v1/embeddings"), ("/", "/v1/embeddings"), ("/v1", "/v1/embeddings"), ("/v1/", "/v1/embeddings")]
    + [("/api/v3", "/api/v3/embeddings"), ("/api/embeddings", "/api/embeddings")],
)
def test_address_is_completed(server, base, path):
    embedder = make_embedder(f"openai:{server.url}{base}#tiny")
    assert server.asked[0][0] == path
    assert embedder.identity.startswith(f"openai/1 {server.url}{path}#tiny")


def test_keys_in_an_address_are_not_part_of_the_identity(server):
    embedder = make_embedder(f"openai:{server.url}/v1?key={TOKEN}#tiny")
    assert server.asked[0][0] == f"/v1/embeddings?key={TOKEN}"
    assert TOKEN not in embedder.identity + repr(embedder)
