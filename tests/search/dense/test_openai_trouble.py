"""Servers as they are: slow, narrow, forgetful, and down half of the time. Nothing may be lost, and no token shown."""

from __future__ import annotations

import hashlib
import json
import logging
import random
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pytest

from assay.errors import AssayError, EngineError, EngineTimeoutError, SetupError
from assay.search import Index, SearchConfig
from assay.search.config import DenseSettings, TranslationSettings
from assay.search.dense import embed_parts
from assay.search.embedders import Embedder, EmbedderConfig, make_embedder
from assay.search.vectors import Matrix
from assay.store.store import Store
from tests.search.conftest import write_files
from tests.serving import Asked, Reply, Server, serving

TOKEN = "sk-Zq81-very+secret/42"
Rule = Callable[[list[str]], Reply | None]  # what a server says instead of vectors


def vector(text: str) -> list[float]:
    """Make a vector that no other text has."""
    return [byte / 255 + 0.001 for byte in hashlib.sha256(text.encode()).digest()[:8]]


def vectors(texts: Sequence[str]) -> Matrix:
    rows = np.array([vector(text) for text in texts], dtype=np.float32).reshape(len(texts), 8)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@dataclass
class Api:
    """An embeddings server that may answer by a rule of its own, and remembers what it gave."""

    rule: Rule = lambda texts: None
    given: list[list[str]] = field(default_factory=list)
    refused: int = 0

    def __call__(self, asked: Asked) -> Reply:
        texts = asked.payload["input"]
        other = self.rule(texts)
        if other is not None:
            self.refused += 1
            return other
        self.given.append(texts)
        data = [{"index": at, "embedding": vector(text)} for at, text in enumerate(texts)]
        return Reply({"data": data})

    def texts(self) -> list[str]:
        """Everything that was embedded, in the order of the requests."""
        return [text for texts in self.given for text in texts]


@contextmanager
def opened(api: Api, **settings: object) -> Iterator[tuple[Embedder, Server]]:
    """Open an embedder on a server that works at first; the rule holds from then on."""
    rule, api.rule = api.rule, lambda texts: None
    with serving(api) as server:
        embedder = make_embedder(f"openai:{server.url}#tiny", EmbedderConfig(**settings))  # type: ignore[arg-type]
        server.asked.clear()
        api.given.clear()
        api.rule = rule
        yield embedder, server


@pytest.fixture
def waits(monkeypatch) -> list[float]:
    """The waits between attempts, none of which is waited."""
    seen: list[float] = []
    monkeypatch.setattr("assay.http.time.sleep", seen.append)
    return seen


def texts_of(count: int, length: int = 0) -> list[str]:
    return [f"text {number} {'x' * length}" for number in range(count)]


def drop(texts: list[str]) -> Reply:
    """Hang up without a word."""
    raise ConnectionAbortedError


FAILURES: list[Rule] = [
    drop,
    lambda texts: Reply({"error": "overloaded"}, 503),
    lambda texts: Reply({"error": "slow down"}, 429, {"Retry-After": "0"}),
    lambda texts: Reply(b"<html>bad gateway</html>", 502),
    lambda texts: Reply(b'{"data": [{"ind', 200, {"Content-Length": "5000"}),
    lambda texts: Reply({"error": {"message": "internal error"}}, 500),
]


def cached(store: Store, embedder: Embedder, texts: list[str], batch: int = 2_048) -> Matrix:
    return embed_parts(embedder, [[text] for text in texts], "code", store, batch)


def half_of_the_time(seed: int) -> Rule:
    """Fail every other time or so, in any way a server can."""
    chance = random.Random(seed)
    return lambda texts: chance.choice(FAILURES)(texts) if chance.random() < 0.5 else None


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(1, 5))])
def test_server_that_fails_half_of_the_time_loses_nothing(tmp_path, waits, seed):
    api, store = Api(half_of_the_time(seed)), Store(tmp_path)
    texts = texts_of(200)
    with opened(api, http_batch=3) as (embedder, server):
        shuffled = random.Random(seed).sample(texts, len(texts)) * 2
        assert np.allclose(cached(store, embedder, shuffled, 90), vectors(shuffled), atol=1e-6)
        assert sorted(api.texts()) == sorted(texts)  # each once, and not once more than needed
        assert len(server.asked) > 1.5 * len(api.given)
        server.asked.clear()
        assert np.allclose(cached(store, embedder, texts, 90), vectors(texts), atol=1e-6)
        assert not server.asked


def test_index_on_a_failing_server_answers_as_on_a_sound_one(tmp_path, monkeypatch, waits):
    monkeypatch.setenv("TINY_TOKEN", TOKEN)
    files = {f"part{n}.py": f"def call_{n}(x):\n    return x + {n}\n" for n in range(200)}
    root, api = write_files(tmp_path / "repo", files), Api()
    with serving(api) as server:
        dense = DenseSettings(model=f"openai:{server.url}#tiny", token_env="TINY_TOKEN")
        config = SearchConfig(dense=dense, translation=TranslationSettings(model=""))
        sound = Index.build(root, config).search("how is a call returned?", per="span")
        api.rule = half_of_the_time(1)
        failing = Index.open(root, config).search("how is a call returned?", per="span")
        api.given.clear()
        again = Index.open(root, config).search("how is a call returned?", per="span")
    assert sound == failing == again
    assert len(sound) == 10
    assert sorted(api.texts()) == ["a", "how is a call returned?"]
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(kept) > len(files)
    assert not any(TOKEN.encode() in content for content in kept)


def test_server_that_goes_away_keeps_what_it_gave(tmp_path, waits):
    api, store = Api(), Store(tmp_path)
    api.rule = lambda texts: drop(texts) if len(api.given) >= 9 else None
    texts = texts_of(60)
    with opened(api, http_batch=5) as (embedder, server):
        with pytest.raises(SetupError, match="cannot be reached"):
            cached(store, embedder, texts, 10)
        assert len(waits) == EmbedderConfig().http_patience
        api.rule, api.given = lambda texts: None, []
        assert np.allclose(cached(store, embedder, texts, 10), vectors(texts), atol=1e-6)
    assert api.texts() == texts[40:]


def test_waits_grow_up_to_a_bound_and_differ_by_chance(waits):
    api = Api(lambda texts: Reply("busy", 503))
    with opened(api, http_patience=8) as (embedder, _), pytest.raises(EngineError, match="503"):
        embedder.embed(["x"], "code")
    longest = [0.5, 1, 2, 4, 8, 8, 8, 8]
    assert all(most / 2 <= wait <= most for wait, most in zip(waits, longest, strict=True))
    assert len({wait / most for wait, most in zip(waits, longest, strict=True)}) > 4


def test_server_says_how_long_to_wait(waits):
    replies = [Reply("busy", 429, {"Retry-After": "3"}), Reply("busy", 503, {"Retry-After": "7"})]
    api = Api(lambda texts: replies.pop(0) if replies else None)
    with opened(api) as (embedder, _):
        assert np.allclose(embedder.embed(["x"], "code"), vectors(["x"]), atol=1e-6)
    assert waits == [3, 7]


def test_requests_are_as_large_as_they_may_be_and_no_larger():
    api = Api()
    with opened(api, http_batch=32) as (embedder, _):
        embedder.embed(texts_of(70), "code")
    assert [len(texts) for texts in api.given] == [32, 32, 6]


def error(status: int, said: str) -> Reply:
    return Reply({"error": {"message": said}}, status)


def openai_limit(texts: list[str]) -> Reply | None:
    """A token a character, 1,000 of each text."""
    if (most := max(map(len, texts))) > 1000:
        return error(400, f"This model's maximum context length is 1000 tokens, however you requested {most} tokens")
    return None


def ollama_limit(texts: list[str]) -> Reply | None:
    """1,000 of all texts together."""
    return error(400, "the input length exceeds the context length") if sum(map(len, texts)) > 1000 else None


def llama_limit(texts: list[str]) -> Reply | None:
    """1,000 of each text, and the wrong status."""
    if (most := max(map(len, texts))) > 1000:
        return error(500, f"input ({most} tokens) is too large to process. increase the physical batch size")
    return None


def tei_limit(texts: list[str]) -> Reply | None:
    """Four texts, 1,000 of each."""
    if len(texts) > 4:
        return Reply({"error": f"batch size {len(texts)} > maximum allowed batch size 4"}, 422)
    return Reply({"error": "`inputs` must have less than 1000 tokens"}, 413) if max(map(len, texts)) > 1000 else None


@pytest.mark.parametrize("rule", [openai_limit, ollama_limit, llama_limit, tei_limit])
def test_what_is_too_much_for_a_server_is_sent_in_smaller_pieces(rule, waits):
    texts = [*texts_of(20, 40), "long " * 2000, "u" * 900, "v" * 900, "w" * 1000, "y" * 1333, "z" * 1334, "short"]
    api = Api(rule)
    with opened(api) as (embedder, server):
        rows = embedder.embed(texts, "code")
        asked = len(server.asked)
        again = embedder.embed(texts[::-1], "docs")[::-1]
    sent = {text: next(one for one in api.texts() if text.startswith(one)) for text in texts}
    assert np.allclose(rows, vectors([sent[text] for text in texts]), atol=1e-6)
    assert (rows == again).all()  # a vector is a matter of its text alone
    assert all(sent[text] == text for text in texts if len(text) <= 1000)
    assert all(750 <= len(sent[text]) <= 1000 for text in texts if len(text) > 1000)
    assert asked < 3 * len(texts)
    assert not waits


def test_texts_are_cut_at_the_limit_of_characters_before_anything_is_sent():
    api = Api()
    with opened(api, http_characters=100) as (embedder, _):
        embedder.embed(["x" * 99, "x" * 101], "code")
    assert api.given == [["x" * 99, "x" * 100]]


def test_slow_server_is_asked_for_less_at_a_time():
    api = Api(lambda texts: Reply("late", wait=5.0) if len(texts) > 2 else None)
    texts = texts_of(5)
    with opened(api, http_seconds=0.4) as (embedder, _):
        assert np.allclose(embedder.embed(texts, "code"), vectors(texts), atol=1e-6)


def test_server_that_never_answers_is_an_error_soon():
    api = Api(lambda texts: Reply("late", wait=5.0))
    with (
        opened(api, http_seconds=0.2) as (embedder, server),
        pytest.raises(EngineTimeoutError, match="within 0.2 s") as caught,
    ):
        embedder.embed(texts_of(4), "code")
    assert len(server.asked) == 3
    assert caught.value.hint


def test_text_that_is_refused_for_itself_is_an_error_with_the_servers_words():
    api = Api(lambda texts: error(400, "content is not allowed here") if any("bad" in text for text in texts) else None)
    with opened(api) as (embedder, server), pytest.raises(EngineError, match="content is not allowed here") as caught:
        embedder.embed([*texts_of(7), "bad" * 1000], "code")
    assert caught.value.hint
    assert len(server.asked) < 30


def replace_first(change: Callable[[dict], object]) -> Rule:
    """Answer rightly but for one row."""

    def rule(texts: list[str]) -> Reply:
        data = [{"index": at, "embedding": vector(text)} for at, text in enumerate(texts)]
        return Reply({"data": [changed for changed in (change(data[0]), *data[1:]) if changed is not None]})

    return rule


def with_number(number: str) -> Rule:
    """Answer with one number that is none, as JSON or what some take for it."""
    return lambda texts: Reply(
        json.dumps({"data": [{"index": at, "embedding": vector(text)} for at, text in enumerate(texts)]})
        .replace("[0.", f"[{number}, 0.", 1)
        .encode()
    )


WRONG: dict[str, Rule] = {
    "a row is missing": replace_first(lambda row: None),
    "a row is empty": replace_first(lambda row: {**row, "embedding": []}),
    "a row is short": replace_first(lambda row: {**row, "embedding": row["embedding"][:7]}),
    "all rows are short": lambda texts: Reply(
        {"data": [{"index": at, "embedding": vector(text)[:7]} for at, text in enumerate(texts)]}
    ),
    "all rows are empty": lambda texts: Reply({"data": [{"index": at, "embedding": []} for at in range(len(texts))]}),
    "an index comes twice": replace_first(lambda row: {**row, "index": 1}),
    "base64": replace_first(lambda row: {**row, "embedding": "AACAPw=="}),
    "null": replace_first(lambda row: {**row, "embedding": [None, *row["embedding"][1:]]}),
    "too large for a float32": replace_first(lambda row: {**row, "embedding": [1e39, *row["embedding"][1:]]}),
    "too large for a float": with_number("1e999"),
    "NaN": with_number("NaN"),
    "an error and status 200": lambda texts: Reply({"error": "no such model"}),
    "a page": lambda texts: Reply(b"<html></html>"),
}


@pytest.mark.parametrize("rule", WRONG.values(), ids=WRONG)
def test_answers_that_are_wrong_are_told_and_not_kept(tmp_path, rule, waits):
    with opened(Api(rule)) as (embedder, server):
        with pytest.raises(EngineError) as caught:
            cached(Store(tmp_path), embedder, texts_of(3))
        assert len(server.asked) == 1
    assert caught.value.file == f"{server.url}/v1/embeddings"
    assert caught.value.hint
    assert not list(tmp_path.iterdir())


def test_vectors_of_no_length_are_refused_at_once():
    nothing = Reply({"data": [{"index": 0, "embedding": []}]})
    with serving(lambda asked: nothing) as server, pytest.raises(EngineError, match="one vector per text"):
        make_embedder(f"openai:{server.url}#tiny")


def failure_of(store: Store, embedder: Embedder) -> AssayError:
    """Fail where nothing but the program's own values is around."""
    with pytest.raises(AssayError) as caught:
        cached(store, embedder, ["x"])
    return caught.value


def everything_said(error: BaseException) -> str:
    """All that a terminal, a log or a debugger shows of an error."""
    captured = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "".join([str(error), repr(error), *captured.format()])


ECHOES: dict[str, Rule] = {
    "refused": lambda texts: error(401, f"bad token {TOKEN}"),
    "too long": lambda texts: error(400, f"context length, says Bearer {TOKEN}"),
    "failing": lambda texts: Reply(f"{'x' * 140} {TOKEN}".encode(), 500),
    "no vectors": lambda texts: Reply({"error": TOKEN}),
    "no json": lambda texts: Reply(f"<p>{TOKEN}</p>".encode()),
    "gone": drop,
}


@pytest.mark.parametrize("rule", ECHOES.values(), ids=ECHOES)
def test_token_is_in_no_error_no_log_and_no_file(tmp_path, monkeypatch, capfd, caplog, waits, rule):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("TINY_TOKEN", TOKEN)
    api = Api()
    api.rule = lambda texts: rule(texts) if "text 3 " in texts else None
    with opened(api, token_env="TINY_TOKEN", http_batch=2) as (embedder, server):
        with pytest.raises(AssayError) as caught:
            cached(Store(tmp_path / "cache"), embedder, texts_of(6), 2)
        assert {asked.token for asked in server.asked} == {f"Bearer {TOKEN}"}
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    assert files
    kept = "".join(f"{path} {path.read_bytes().decode('latin-1')}" for path in files)
    said = [str(caught.value), repr(caught.value), repr(embedder), embedder.identity, caplog.text, *capfd.readouterr()]
    for secret in (TOKEN, TOKEN[:12]):
        assert secret not in "".join([kept, *said])


def test_token_is_in_no_traceback_with_values(tmp_path, monkeypatch, waits):
    monkeypatch.setenv("TINY_TOKEN", TOKEN)
    with opened(Api(drop), token_env="TINY_TOKEN") as (embedder, _):
        said = everything_said(failure_of(Store(tmp_path), embedder))
    assert "cannot be reached" in said
    assert TOKEN not in said
