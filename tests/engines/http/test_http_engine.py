from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from assay.engines import as_engine
from assay.engines.base import EngineReply, FilteringSession, MeasuredSession, SearchFilter, UpdatingSession
from assay.engines.calls import query_session
from assay.errors import EngineError, EngineTimeoutError
from assay.types import Corpus, Cost, Hit, Status
from tests.engines.http.conftest import FIELDS, TOKEN, engine_of
from tests.engines.http.searching import Searcher
from tests.serving import Asked, in_turn, serving
from tests.serving import Reply as Answer
from tests.waiting import WATCHDOG

ASK = "/?q={query}"
SEARCH = "/search?query={query}&limit={k}"
INDEX: dict[str, Any] = {"method": "PUT", "body": {"root": "{root}"}}


def index_at(url: str) -> dict[str, Any]:
    return {**INDEX, "url": f"{url}/index"}


WAYS: dict[str, dict[str, Any]] = {
    "address": {"url": "/search?query={query}&limit={k}"},
    "json": {"url": "/search", "body": {"query": "{query}", "limit": "{k}"}},
    "put": {"url": "/search", "method": "PUT", "body": {"query": "{query}", "limit": "{k}"}},
    "form": {"url": "/search", "form": True, "body": {"query": "{query}", "limit": "{k}"}},
    "text": {
        "url": "/search",
        "body": '{"query": "{query}", "limit": {k}}',
        "headers": {"Content-Type": "application/json"},
    },
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_http_engine_finds_the_same_however_it_is_asked(opened, way):
    with serving(Searcher()) as server:
        settings = {**way, "url": server.url + way["url"], "index": index_at(server.url), **FIELDS}
        with opened(**settings) as session:
            answers = [session.search(query, 2) for query in ("class decode", "JSON & more?", "nothing")]
    hits = [answer.hits for answer in answers]
    assert hits[0] == (Hit("json/decoder.py", 1, 3, 2), Hit("json/encoder.py", 1, 3, 1))
    assert hits[1] == (Hit("README.md", 1, 1, 1),)
    assert hits[2] == ()


def test_http_engine_sends_a_question_as_it_is(opened):
    queries = ['a "b" & c=d?#/%41 +', "{k} {root} {env:SHOP_TOKEN}", "naïve π", "a\nb"]
    for way in ("address", "json", "form"):
        seen: list[str] = []

        class Listener(Searcher):
            def search(self, given: dict[str, Any]) -> Answer:
                seen.append(given["query"])  # noqa: B023 (used inside the loop only)
                return super().search(given)

        with (
            serving(Listener()) as server,
            opened(**{**WAYS[way], "url": server.url + WAYS[way]["url"]}, **FIELDS) as session,
        ):
            for query in queries:
                session.search(query, 3)
        assert seen == queries


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_http_engine_sends_half_a_character_as_well_as_it_can(opened, way):
    with serving(Searcher()) as server, opened(**{**way, "url": server.url + way["url"]}, **FIELDS) as session:
        assert query_session(session, "json \ud800", 3, WATCHDOG).status is Status.OK


def test_http_engine_sends_numbers_as_numbers(opened):
    with (
        serving(in_turn(Answer([]))) as server,
        opened(url=server.url, body={"q": "{query}", "n": "{k}", "deep": [{"n": "n={k}"}], "on": True}) as session,
    ):
        session.search("x", 7)
    assert server.asked[0].payload == {"q": "x", "n": 7, "deep": [{"n": "n=7"}], "on": True}
    assert server.asked[0].headers["content-type"] == "application/json"


def test_http_engine_sends_token_and_headers(opened, monkeypatch):
    monkeypatch.setenv("SHOP_KEY", "another-secret")
    headers = {"X-Api-Key": "{env:SHOP_KEY}", "accept": "text/csv"}
    with (
        serving(in_turn(Answer([]))) as server,
        opened(url=f"{server.url}/{{query}}", token_env="SHOP_TOKEN", headers=headers) as session,
    ):
        session.search("x y", 1)
    (asked,) = server.asked
    assert (asked.path, asked.token) == ("/x%20y", f"Bearer {TOKEN}")
    assert (asked.headers["x-api-key"], asked.headers["accept"]) == ("another-secret", "text/csv")


def test_http_engine_takes_its_address_from_the_environment(opened, monkeypatch):
    with serving(in_turn(Answer([]))) as server:
        monkeypatch.setenv("SHOP_URL", f"{server.url}/v2")
        with opened(url="{env:SHOP_URL}/search?q={query}") as session:
            session.search("x", 1)
    assert server.asked[0].path == "/v2/search?q=x"


def test_http_engine_uses_one_connection(opened):
    with serving(Searcher()) as server, opened(url=server.url + SEARCH, **FIELDS) as session:
        for _ in range(6):
            session.search("json", 3)
    assert (len(server.asked), server.connections) == (6, 1)


def test_http_engine_reads_lines_and_text(opened):
    lines = b'{"path": "README.md"}\n{"path": "json/encoder.py", "start": 1, "end": 2}\n'
    with (
        serving(in_turn(Answer(lines), Answer(b"json/decoder.py:2-3\n"))) as server,
        opened(url=server.url + ASK, format="jsonl") as session,
    ):
        assert session.search("x", 3).hits == (Hit("README.md"), Hit("json/encoder.py", 1, 2))
        with opened(url=server.url + ASK, format="text") as session:
            assert session.search("x", 3).hits == (Hit("json/decoder.py", 2, 3),)


def test_http_engine_adds_up_what_it_costs(opened):
    with serving(Searcher()) as server:
        url = server.url + SEARCH
        with opened(url=url, **FIELDS, tokens="usage.tokens", calls="usage.calls") as session:
            assert session.search("json", 3).cost == Cost(calls=1, tokens=7)
        with opened(url=url, **FIELDS) as session:
            assert session.search("json", 3).cost is None


def test_http_engine_waits_until_the_index_is_ready(opened):
    with serving(Searcher(polls=3)) as server:
        ready = {"url": f"{server.url}/status", "path": "index.state", "value": "ready", "every": 0.01}
        with opened(url=f"{server.url}/search?q={{query}}", index=index_at(server.url), ready=ready):
            assert [asked.path for asked in server.asked] == ["/index", *["/status"] * 4]


def test_http_engine_whose_index_is_never_ready_is_not_opened(corpus, naps):
    with serving(Searcher(polls=10**6)) as server:
        ready = {"url": f"{server.url}/status", "path": "index.state", "value": "ready", "every": 100.0}
        engine = engine_of(url=f"{server.url}/search?q={{query}}", index=index_at(server.url), ready=ready)
        with pytest.raises(EngineTimeoutError, match=r"not ready after 1000 s"):
            engine.open_within(corpus, 1000.0)
    assert sum(naps) <= 1000


@pytest.mark.parametrize("found", [1, "true", None, False])
def test_http_engine_takes_nothing_else_for_ready(corpus, naps, found):
    with serving(lambda asked: Answer({"ready": found})) as server:
        ready = {"path": "ready", "every": 100.0, "url": f"{server.url}/status"}
        index = {"url": f"{server.url}/index"}
        engine = engine_of(url=server.url + ASK, index=index, ready=ready, index_timeout=WATCHDOG)
        with pytest.raises(EngineTimeoutError, match="not ready"):
            engine.open(corpus)


def test_http_engine_whose_index_fails_is_not_opened(corpus):
    with serving(in_turn(Answer({"error": "disk full"}, 400))) as server:
        engine = engine_of(url=server.url + ASK, index={"url": f"{server.url}/index"})
        with pytest.raises(EngineError, match=r"indexing failed: answered 400.*disk full"):
            engine.open(corpus)


def test_http_engine_takes_up_changes(opened, corpus_of):
    corpus = corpus_of({"a.py": "alpha\n"})
    with serving(Searcher()) as server:
        url = server.url + SEARCH
        update = {"url": f"{server.url}/index", "method": "POST", "body": {"root": "{root}"}}
        engine = engine_of(url=url, index=index_at(server.url), update=update, **FIELDS)
        session = engine.open(corpus)
        assert isinstance(session, UpdatingSession)
        (corpus.root / "a.py").write_text("beta\n")
        assert _paths(session.search("beta", 3)) == []
        session.update_within(corpus, WATCHDOG)
        assert _paths(session.search("beta", 3)) == ["a.py"]
        assert [asked.method for asked in server.asked if asked.path == "/index"] == ["PUT", "POST"]
        session.close()


def test_http_engine_without_an_update_is_indexed_again(corpus):
    with serving(Searcher()) as server:
        session = engine_of(url=f"{server.url}/search?q={{query}}", index=index_at(server.url)).open(corpus)
        assert isinstance(session, UpdatingSession)
        session.update_within(corpus, WATCHDOG)
        session.close()
    assert [asked.path for asked in server.asked] == ["/index", "/index"]


def _paths(answer: Any) -> list[str]:
    return [hit.path for hit in answer.hits]


FILTERS: dict[str, dict[str, Any]] = {
    "address": {"url": "/search?query={query}&limit={k}", "path_filter": {"paths": "{path}"}},
    "json": {"url": "/search", "body": WAYS["json"]["body"], "path_filter": {"paths": ["{path}"]}},
    "form": {"url": "/search", "form": True, "body": WAYS["json"]["body"], "path_filter": {"paths": "{path}"}},
}


@pytest.mark.parametrize("way", FILTERS.values(), ids=FILTERS)
def test_http_engine_asks_for_a_part(opened, way):
    with serving(Searcher()) as server:
        settings = {**way, "url": server.url + way["url"], "index": index_at(server.url), **FIELDS}
        with opened(**settings) as session:
            assert session.filters == {"paths"}
            one = session.search_filtered("class json", 9, SearchFilter(paths=("json/d*",)), WATCHDOG)
            two = session.search_filtered("class json", 9, SearchFilter(paths=("json/d*", "*.md")), WATCHDOG)
            every = session.search("class json", 9)
    assert isinstance(session, FilteringSession)
    assert _paths(one) == ["json/decoder.py"]
    assert _paths(two) == ["README.md", "json/decoder.py"]
    assert len(_paths(every)) == 3


def test_http_engine_merges_filters_into_the_body(opened):
    body = {"q": "{query}", "filter": {"must": [{"repo": "x"}], "size": 1}}
    path_filter = {"filter": {"must": ["file", {"glob": "{path}"}]}}
    language_filter = {"filter": {"lang": "{language}"}}
    with (
        serving(in_turn(Answer([]))) as server,
        opened(url=server.url, body=body, path_filter=path_filter, language_filter=language_filter) as session,
    ):
        session.search_filtered("x", 1, SearchFilter(paths=("a", "{query}"), languages=("go",)), None)
        with pytest.raises(EngineError, match="language filter takes one value"):
            session.search_filtered("x", 1, SearchFilter(languages=("go", "c")), None)
    must = [{"repo": "x"}, "file", {"glob": "a"}, {"glob": "{query}"}]
    assert server.asked[0].payload == {"q": "x", "filter": {"must": must, "size": 1, "lang": "go"}}


def test_http_engine_with_a_store_tells_its_size(corpus):
    with serving(Searcher()) as server:
        index = {**index_at(server.url), "body": {"root": "{root}", "store": "{store}"}}
        engine = engine_of(url=f"{server.url}/search?q={{query}}", index=index)
        session = engine.open(corpus)
        assert isinstance(session, MeasuredSession)
        store = Path(server.asked[0].payload["store"])
        assert session.usage().store_bytes == 1000
        session.close()
    assert not store.exists()


def test_http_engine_reads_the_original_unless_it_is_told_where_it_lies():
    here = {"url": "http://h/?q={query}"}
    assert not engine_of(**here).private
    assert engine_of(**here, index={"url": "http://h/", "body": {"at": "{root}"}}).private
    assert engine_of(**here, index={"url": "http://h/?at={store}"}).private


def test_http_engine_never_sends_the_root_by_itself(opened, corpus):
    with (
        serving(in_turn(Answer([]))) as server,
        opened(url=server.url + ASK, index={"url": server.url, "body": {"x": 1}}) as session,
    ):
        session.search("x", 1)
    assert str(corpus.root) not in repr(server.asked)


def test_http_engine_tells_that_it_had_to_ask_again(opened):
    replies = in_turn(Answer("busy", 429, {"Retry-After": "0"}), Answer("down", 503, {"Retry-After": "0"}), Answer([]))
    with serving(replies) as server, opened(url=server.url + ASK) as session:
        assert session.search("x", 1) == EngineReply((), None, ("3 attempts: 429, 503",))
        assert session.search("x", 1) == EngineReply(())


def test_http_engine_keeps_to_its_rate(opened):
    with serving(in_turn(Answer([]))) as server, opened(url=server.url + ASK, rate=50.0, concurrency=4) as session:
        before = time.monotonic()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: session.search(f"q{n}", 1), range(9)))
        assert time.monotonic() - before >= 8 / 50


def test_http_engine_does_not_time_out_for_its_own_rate(opened, naps):
    with serving(in_turn(Answer([]))) as server, opened(url=server.url + ASK, rate=0.001) as session:
        answers = [query_session(session, "x", 1, WATCHDOG) for _ in range(3)]
    assert [answer.status for answer in answers] == [Status.OK] * 3
    assert all(answer.seconds < WATCHDOG for answer in answers)
    assert sum(naps) > 2 * (1000 - WATCHDOG)


def test_http_engine_answers_several_at_once_and_mixes_nothing_up(opened):
    flying, most = [0], [0]
    lock, full = threading.Lock(), threading.Event()

    def answer(asked: Asked) -> Answer:
        with lock:
            flying[0] += 1
            most[0] = max(most[0], flying[0])
            if most[0] == 4:
                full.set()
        full.wait(WATCHDOG)
        with lock:
            flying[0] -= 1
        return Answer([f"{asked.path[1:]}.py"])

    with (
        serving(answer) as server,
        opened(url=f"{server.url}/{{query}}", concurrency=4) as session,
        ThreadPoolExecutor(4) as pool,
    ):
        found = list(pool.map(lambda n: _paths(session.search(f"q{n}", 1)), range(20)))
    assert found == [[f"q{n}.py"] for n in range(20)]
    assert most[0] == 4
    assert server.connections <= 4


def test_http_engine_declares_what_it_may():
    engine = engine_of(url="http://h/?q={query}", concurrency=3, oversample=2, token_env="SHOP_TOKEN")
    assert as_engine(engine) is engine  # nothing had to be filled in
    assert (engine.parallel, engine.oversample, engine.git) == (3, 2, False)
    assert engine.secrets == (TOKEN,)


def test_http_engine_shows_where_it_differs(corpus: Corpus):
    base = engine_of(url="http://h/?q={query}").config
    assert base == engine_of(url="http://h/?q={query}", rate=3.0, concurrency=2, retries=9).config
    for change in ({"url": "http://h/?p={query}"}, {"method": "PUT"}, {"headers": {"X": "1"}}, {"path": "[].p"}):
        assert engine_of(**{"url": "http://h/?q={query}", **change}).config != base
    index = engine_of(url="http://h/?q={query}", index={"url": "http://h/i", "body": {"at": "{root}"}}).config
    assert index["index"] == {
        "url": "http://h/i",
        "method": None,
        "headers": [],
        "body": {"at": "{root}"},
        "form": False,
    }


def test_http_engine_without_an_index_or_an_update_claims_no_update(corpus):
    with serving(Searcher()) as server:
        session = engine_of(url=f"{server.url}/search?q={{query}}").open(corpus)
        assert not isinstance(session, UpdatingSession)
        session.close()


def test_http_engine_records_all_of_how_answers_are_read():
    base = {"url": "http://h/?q={query}", "path": "[].p"}
    changes: list[dict[str, Any]] = [{"snippet": "[].t"}, {"tokens": "usage.n"}, {"calls": "usage.c"}, {"score": "s"}]
    configs = [repr(engine_of(**base, **change).config) for change in ({}, *changes)]
    assert len(set(configs)) == len(configs)
    headed = engine_of(**base, headers={"X-Source": "assay-of-somebody"}).config
    assert headed["headers"] == ["X-Source"]
    assert "assay-of-somebody" not in repr(headed)
