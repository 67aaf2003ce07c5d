"""A model that orders the first results, through the whole index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, EngineError
from assay.search import Index, Per, SearchConfig
from assay.search.config import RerankSettings
from tests.search.conftest import write_files
from tests.serving import Asked, Reply, Server, in_turn, serving

TOKEN = "sk-Zq81-very+secret/42"
FILES = {f"{folder}/{n}.py": "cart = total\n" * (n + 1) for folder in ("a", "b") for n in range(6)}
PERS: tuple[Per, ...] = ("file", "span")


def last_first(asked: Asked) -> Reply:
    """Find the last document the best."""
    count = len(asked.payload["documents"])
    return Reply({"results": [{"index": n, "relevance_score": n / 100} for n in reversed(range(count))]})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("SHOP_TOKEN", TOKEN)
    with serving(last_first) as running:
        yield running


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path / "repo", FILES)


def config_of(url: str, depth: int = 5) -> SearchConfig:
    return SearchConfig(rerank=RerankSettings(f"rerank:{url}/v1/rerank?key=query-key-5150#m", depth, "SHOP_TOKEN"))


@pytest.mark.parametrize("per", PERS)
@pytest.mark.parametrize("depth", [1, 2, 5, 12, 99])
def test_first_results_are_ordered_anew(root: Path, server: Server, per: Per, depth: int) -> None:
    plain = Index.build(root).search("cart total", 99, per=per)
    index = Index.build(root, config_of(server.url, depth))
    hits = index.search("cart total", 99, per=per)
    assert hits == (*reversed(plain[:depth]), *plain[depth:]), "the same hits, with the scores they were found by"
    assert [index.search("cart total", k, per=per) for k in range(len(hits))] == [hits[:k] for k in range(len(hits))]


@pytest.mark.parametrize("per", PERS)
def test_filter_only_strikes_out_of_the_new_order(root: Path, server: Server, per: Per) -> None:
    index = Index.build(root, config_of(server.url))
    every = index.search("cart total", 99, per=per)
    wants: list[dict[str, Any]] = [
        {"paths": ["b/**"]},
        {"paths": ["!a/0.py"]},
        {"min_score": every[1].score},
        {"regex": "z"},
    ]
    for wanted in wants:
        rest = iter(every)
        assert all(hit in rest for hit in index.search("cart total", 99, per=per, **wanted))
    kept = index.search("cart total", 99, per=per, paths=["b/**"])
    assert list(kept) == [hit for hit in every if hit.path.startswith("b/")]


def test_model_is_asked_once_a_query_and_reads_what_is_shown(root: Path, server: Server) -> None:
    index = Index.build(root, config_of(server.url, 3))
    hits = Index.build(root).search("cart total", 3, per="span")
    index.search("cart total", per="span")
    assert len(server.asked) == 1
    asked = server.asked[0]
    assert (asked.path, asked.token) == ("/v1/rerank?key=query-key-5150", f"Bearer {TOKEN}")
    assert asked.payload == {
        "model": "m",
        "query": "cart total",
        "documents": [f"{hit.path}:{hit.start}-{hit.end}\n{hit.snippet}" for hit in hits],
    }
    assert index.search("?!") == ()
    assert len(server.asked) == 1, "there was nothing to order"


def test_empty_file_can_be_ordered(root: Path, server: Server) -> None:
    write_files(root, {"cart/__init__.py": ""})
    hits = Index.build(root, config_of(server.url, 99)).search("cart", 99)
    assert "cart/__init__.py" in [hit.path for hit in hits]
    assert any(document.startswith("cart/__init__.py:") for document in server.asked[0].payload["documents"])


def test_chat_model_can_order(root: Path) -> None:
    def answer(_: Asked) -> Reply:
        return Reply({"choices": [{"message": {"content": "[3, 1, 2]"}}]})

    plain = Index.build(root).search("cart total", 99)
    with serving(answer) as server:
        config = SearchConfig(rerank=RerankSettings(f"chat:{server.url}/v1/chat/completions#m", 3))
        assert Index.build(root, config).search("cart total", 99) == (plain[2], plain[0], plain[1], *plain[3:])


def test_trace_shows_the_order_of_the_signals_and_the_hits_of_the_model(root: Path, server: Server) -> None:
    plain, index = Index.build(root), Index.build(root, config_of(server.url))
    trace, before = index.explain("cart total"), plain.explain("cart total")
    assert trace.labels == before.labels
    assert trace.candidates() == before.candidates()
    assert trace.hits == (*reversed(before.hits[:5]), *before.hits[5:])


@pytest.mark.parametrize(
    "reply",
    [
        Reply({"error": f"no {TOKEN}"}, status=401),
        Reply({"results": []}),
        Reply({"results": [{"index": 0}]}),
        Reply(b"<html>"),
    ],
)
def test_failing_model_is_an_error(root: Path, reply: Reply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", TOKEN)
    with serving(in_turn(reply)) as server:
        index = Index.open(root, config_of(server.url))
        with pytest.raises(EngineError) as caught:
            index.search("cart total")
    assert caught.value.exit_code == 4
    assert TOKEN not in str(caught.value)
    assert "query-key" not in str(caught.value)


@pytest.mark.parametrize("spec", ["reranker:x", "rerank:ftp://host#m", "rerank:http://127.0.0.1:1", "cross-encoder:"])
def test_wrong_model_is_refused_when_the_index_is_made(root: Path, spec: str) -> None:
    config = SearchConfig(rerank=RerankSettings(spec))
    for make in (Index.open, Index.build):
        with pytest.raises(ConfigError):
            make(root, config)
