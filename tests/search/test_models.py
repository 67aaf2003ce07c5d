"""Settings of models: what is written down of them, and what is imported for them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from assay.engines import make_engine
from assay.search import Index, SearchConfig
from assay.search.config import DenseSettings, DescriptionSettings, IndexConfig, RerankSettings, redact_settings
from tests.search.conftest import write_files
from tests.serving import Asked, Reply, serving

TOKEN = "sk-Zq81-very+secret/42"
SECRETS = ("hunter2", "query-key-5150", TOKEN)
ADDRESS = "https://me:hunter2@host:8080/v1/path?key=query-key-5150"


def secret_config(address: str = ADDRESS) -> SearchConfig:
    return SearchConfig(
        index=IndexConfig(description=DescriptionSettings(address, "writer", "SHOP_TOKEN")),
        dense=DenseSettings(f"openai:{address}#reader", f"openai:{address}#docs-reader", token_env="SHOP_TOKEN"),
        rerank=RerankSettings(f"rerank:{address}#judge", token_env="SHOP_TOKEN"),
    )


def test_settings_are_written_down_without_secrets() -> None:
    config = secret_config()
    shown = config.as_dict()
    assert shown["index"]["description"]["url"] == "https://host:8080/v1/path"
    assert shown["index"]["description"]["model"] == "writer"
    assert shown["dense"]["model"] == "openai:https://host:8080/v1/path#reader"
    assert shown["dense"]["docs_model"] == "openai:https://host:8080/v1/path#docs-reader"
    assert shown["rerank"]["model"] == "rerank:https://host:8080/v1/path#judge"
    assert shown["rerank"]["token_env"] == "SHOP_TOKEN"
    for text in (json.dumps(shown), repr(config)):
        assert not any(secret in text for secret in SECRETS)
    assert config.rerank.model == f"rerank:{ADDRESS}#judge", "what is asked stays whole"


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("model2vec:models/potion", "model2vec:models/potion"),
        ("fastembed:BAAI/bge-small", "fastembed:BAAI/bge-small"),
        ("openai:http://host/v1?key=query-key-5150", "openai:http://host/v1"),
        ("openai:http://host/v1#query-key-5150#m", "openai:http://host/v1#m"),
        ("openai:me:hunter2@host/v1#m", "openai:the address#m"),
        ("opnai:http://me:hunter2@host/v1#m", "opnai:http://host/v1#m"),
        ("", ""),
    ],
)
def test_a_model_is_named_without_secrets(spec: str, shown: str) -> None:
    assert redact_settings(DenseSettings(spec)).model == redact_settings(RerankSettings(spec)).model == shown


def test_engine_records_models_without_secrets() -> None:
    settings = {
        "kind": "builtin",
        "search": {
            "dense": {"model": f"openai:{ADDRESS}#reader", "token_env": "SHOP_TOKEN"},
            "rerank": {"model": f"rerank:{ADDRESS}#judge"},
            "index": {"description": {"url": ADDRESS, "model": "writer"}},
        },
    }
    record = json.dumps(dict(make_engine(settings).config))
    assert not any(secret in record for secret in SECRETS)
    for wanted in ("openai:https://host:8080/v1/path#reader", "#judge", "writer", "SHOP_TOKEN"):
        assert wanted in record


def test_records_without_models_are_read_back_whole() -> None:
    assert SearchConfig().as_dict()["dense"]["model"] == "static"
    assert SearchConfig().as_dict()["index"]["description"]["url"] == ""


def test_nothing_that_is_written_holds_a_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", TOKEN)
    root = write_files(tmp_path / "repo", {"cart.py": "cart = total\n", "tax.py": "cart = tax\n", "a.md": "# Cart\n"})

    def answer(asked: Asked) -> Reply:
        if "input" in asked.payload:
            texts = asked.payload["input"]
            return Reply({"data": [{"index": n, "embedding": [1.0, len(t) % 7]} for n, t in enumerate(texts)]})
        if "documents" in asked.payload:
            count = len(asked.payload["documents"])
            return Reply({"results": [{"index": n, "relevance_score": n} for n in range(count)]})
        return Reply({"choices": [{"message": {"content": "Something about a shop."}}]})

    with serving(answer) as server:
        config = secret_config(f"{server.url}/v1?key=query-key-5150")
        index = Index.open(root, config)
        assert len(index.search("the cart of a shop")) == 3
        assert {asked.token for asked in server.asked} == {f"Bearer {TOKEN}"}
        assert {asked.path for asked in server.asked} == {
            "/v1?key=query-key-5150",
            "/v1/embeddings?key=query-key-5150",
        }
    written = [path for place in ("cache", "index") for path in (tmp_path / place).rglob("*") if path.is_file()]
    assert {"index.assay", "vectors-code.assay", "vectors-docs.assay"} <= {path.name for path in written}
    for path in written:
        assert not any(secret in str(path) or secret.encode() in path.read_bytes() for secret in SECRETS), path
    assert not any(secret in repr(index) for secret in SECRETS)


@pytest.mark.parametrize("model", ["", "static"])
def test_search_imports_nothing_that_it_does_not_use(tmp_path: Path, model: str) -> None:
    root = write_files(tmp_path / "repo", {"cart.py": "cart = total\n"})
    code = (
        "import sys; from assay.search import Index, SearchConfig\n"
        "from assay.search.config import DenseSettings, TranslationSettings\n"
        "config = SearchConfig(dense=DenseSettings(sys.argv[2]), translation=TranslationSettings(sys.argv[2]))\n"
        "assert Index.build(sys.argv[1], config).search('cart')\n"
        "print([name for name in sys.modules if name.startswith(('assay.http', 'assay.search.rerank', 'scipy',"
        " 'assay.chat', 'urllib.request', 'onnxruntime', 'tokenizers', 'assay.training', *sys.argv[3:]))])"
    )
    unused = [] if model else ["assay.search.embedders", "assay.search.static"]
    command = [sys.executable, "-c", code, str(root), model, *unused]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
