import pytest

from assay.errors import ConfigError
from assay.search.rerank import make_reranker
from tests.search.rerank.conftest import TOKEN


@pytest.mark.parametrize(
    ("spec", "identity"),
    [
        ("cross-encoder:Xenova/ms-marco-MiniLM-L-6-v2", "cross-encoder:Xenova/ms-marco-MiniLM-L-6-v2;chars=4000"),
        ("rerank:https://api.test/v2/rerank#rerank-v3.5", "rerank:https://api.test/v2/rerank#rerank-v3.5;chars=4000"),
        ("rerank:http://h:8/rerank?key=query-secret#a/b:c", "rerank:http://h:8/rerank#a/b:c;chars=4000"),
    ],
)
def test_make_reranker_names_what_decides(spec, identity):
    assert make_reranker(spec).identity == identity


def test_make_reranker_of_a_chat_names_its_prompt():
    identity = make_reranker("chat:http://h/v1/chat/completions#m").identity
    assert identity.startswith("chat:http://h/v1/chat/completions#m;chars=1500;prompt=")


@pytest.mark.parametrize("kind", ["rerank", "chat"])
def test_make_reranker_holds_no_secret(kind):
    ranker = make_reranker(f"{kind}:https://h/x?key=query-secret#m", token_env="SHOP_TOKEN")
    for text in (ranker.identity, repr(ranker), str(ranker)):
        assert TOKEN not in text
        assert "query-secret" not in text
    assert ranker.identity == make_reranker(f"{kind}:https://h/x#m").identity


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("", "unknown re-ranker"),
        ("crossencoder:m", "did you mean cross-encoder:MODEL"),
        ("https://h/rerank#m", "use one of"),
        ("cross-encoder", "no model given"),
        ("cross-encoder: ", "no model given"),
        ("rerank:https://h/rerank", "missing model name"),
        ("chat:https://h/chat#", "missing model name"),
        ("chat:h#m", "the address is not a valid HTTP or HTTPS URL"),
        ("rerank:https://joe:pw@h/#m", "user name or a password"),
    ],
)
def test_make_reranker_refuses_what_names_nothing(spec, words):
    with pytest.raises(ConfigError, match=words) as caught:
        make_reranker(spec)
    assert caught.value.hint
    assert "joe" not in str(caught.value)


def test_make_reranker_has_no_use_for_a_token_without_an_endpoint():
    with pytest.raises(ConfigError, match="cannot be used with a local"):
        make_reranker("cross-encoder:m", token_env="SHOP_TOKEN")
