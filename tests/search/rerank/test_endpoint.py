import pytest

from assay.errors import EngineError, SetupError
from assay.search.rerank import RerankPassage, make_reranker, rerank
from tests.search.rerank.conftest import PASSAGES, TOKEN
from tests.serving import Reply, in_turn, serving

SCORED = [{"index": 2, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.5}]
ENTRIES = [*SCORED, {"index": 3, "relevance_score": 0}, {"index": 1, "relevance_score": -0.25}]


def answer_of(entries):
    return Reply({"model": "m", "results": entries})


@pytest.mark.parametrize("key", ["results", "data"])
def test_endpoint_reads_both_forms(key):
    with serving(in_turn(Reply({"id": "x", key: ENTRIES}))) as server:
        ranker = make_reranker(f"rerank:{server.url}/v1/rerank#some/model", token_env="SHOP_TOKEN")
        assert ranker.order("tax", PASSAGES) == [0.5, -0.25, 0.9, 0.0]
    (asked,) = server.asked
    assert (asked.path, asked.token) == ("/v1/rerank", f"Bearer {TOKEN}")


def test_endpoint_sends_what_all_three_accept():
    with serving(in_turn(answer_of(ENTRIES))) as server:
        make_reranker(f"rerank:{server.url}/v1/rerank#some/model").order("tax", PASSAGES)
    payload = server.asked[0].payload
    assert sorted(payload) == ["documents", "model", "query"], "Voyage refuses top_n"
    assert (payload["model"], payload["query"]) == ("some/model", "tax")
    assert payload["documents"][2] == "shop/retry.py:6-13\ndef retry(call): ..."
    assert all(payload["documents"]), "Voyage refuses empty documents"


def test_endpoint_sends_a_bounded_part():
    with serving(in_turn(answer_of([{"index": 0, "relevance_score": 1}]))) as server:
        make_reranker(f"rerank:{server.url}#m").order("tax", [RerankPassage("a", 1, 9, "x" * 9000)])
    assert server.asked[0].payload["documents"][0].count("x") == 4000


WRONG = {
    "no results": {"scores": [1, 2, 3, 4]},
    "a list": ENTRIES,
    "too few": {"results": SCORED},
    "repeated": {"results": [*ENTRIES[:3], ENTRIES[0]]},
    "one too many": {"results": [*ENTRIES, ENTRIES[0]]},
    "invented": {"results": [*ENTRIES[:3], {"index": 4, "relevance_score": 1}]},
    "negative": {"results": [*ENTRIES[:3], {"index": -3, "relevance_score": 1}]},
    "true": {"results": [*ENTRIES[:3], {"index": True, "relevance_score": 1}]},
    "text": {"results": [*ENTRIES[:3], {"index": 1, "relevance_score": "1"}]},
    "no score": {"results": [*ENTRIES[:3], {"index": 1}]},
    "nothing": {"results": [*ENTRIES[:3], None]},
}


@pytest.mark.parametrize("value", WRONG.values(), ids=WRONG)
def test_endpoint_that_breaks_the_contract_is_an_engine_error(value):
    with serving(in_turn(Reply(value))) as server, pytest.raises(EngineError) as caught:
        make_reranker(f"rerank:{server.url}/v1#m").order("tax", PASSAGES)
    assert caught.value.file == f"{server.url}/v1"


def test_endpoint_with_an_infinite_score_is_an_engine_error():
    body = b'{"results": [{"index": 0, "relevance_score": 1e999}]}'
    with serving(in_turn(Reply(body))) as server, pytest.raises(EngineError):
        make_reranker(f"rerank:{server.url}#m").order("tax", PASSAGES[:1])


def test_endpoint_that_fails_is_never_replaced_by_the_old_order(monkeypatch):
    monkeypatch.setattr("assay.http.time.sleep", lambda seconds: None)
    with serving(in_turn(Reply("down", 500, {"Retry-After": "0"}))) as server:
        ranker = make_reranker(f"rerank:{server.url}#m")
        with pytest.raises(EngineError, match="answered 500"):
            rerank("tax", PASSAGES, ranker)
    assert len(server.asked) == 3
    with pytest.raises(SetupError, match="cannot be reached"):
        rerank("tax", PASSAGES, ranker)
