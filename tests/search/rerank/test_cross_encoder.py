import sys
from types import ModuleType

import numpy as np
import pytest

from assay.errors import ConfigError, EngineError, SetupError
from assay.search.rerank import RerankPassage, make_reranker
from tests.search.dense.models import WORDS, write_tokenizer
from tests.search.rerank.conftest import PASSAGES


@pytest.fixture
def tiny(request):
    """A model name of the test, because models are loaded once per process."""
    return f"tiny-{request.node.name}"


@pytest.fixture
def fastembed(monkeypatch):
    """A stand-in with fastembed's interface; the real one needs weights from the network."""
    module = ModuleType("fastembed.rerank.cross_encoder")
    loaded: list[str] = []

    class TextCrossEncoder:
        def __init__(self, model_name):
            if not model_name.startswith("tiny"):
                raise ValueError(f"Model {model_name} is not supported")
            loaded.append(model_name)

        def rerank(self, query, documents):
            for document in documents:
                if "explode" in document:
                    raise RuntimeError("out of memory")
                yield document.count(query) - len(document) / 1e6

    module.TextCrossEncoder = TextCrossEncoder  # type: ignore[attr-defined]
    for name in ("fastembed", "fastembed.rerank"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "fastembed.rerank.cross_encoder", module)
    return loaded


def test_cross_encoder_scores_every_passage(fastembed, tiny):
    scores = make_reranker(f"cross-encoder:{tiny}").order("retry", PASSAGES)
    assert len(scores) == len(PASSAGES)
    assert max(range(len(scores)), key=scores.__getitem__) == 2


def test_cross_encoder_loads_its_model_once(fastembed, tiny):
    for _ in range(2):
        make_reranker(f"cross-encoder:{tiny}").order("tax", PASSAGES)
    assert fastembed == [tiny]


def test_cross_encoder_reads_a_bounded_part(fastembed, tiny):
    short, long = make_reranker(f"cross-encoder:{tiny}").order(
        "x", [RerankPassage("a", 1, 1, "y" * n) for n in (4000, 9000)]
    )
    assert short == long


def test_cross_encoder_that_cannot_be_loaded_is_an_engine_error(fastembed):
    with pytest.raises(EngineError, match="cannot load huge: Model huge is not supported"):
        make_reranker("cross-encoder:huge").order("tax", PASSAGES)


def test_cross_encoder_that_fails_is_an_engine_error(fastembed, tiny):
    with pytest.raises(EngineError, match="out of memory"):
        make_reranker(f"cross-encoder:{tiny}").order("tax", [RerankPassage("a.py", 1, 1, "explode")])


def test_cross_encoder_without_the_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastembed", None)
    monkeypatch.setitem(sys.modules, "fastembed.rerank.cross_encoder", None)
    with pytest.raises(SetupError, match=r"'\.\[fastembed\]'"):
        make_reranker(f"cross-encoder:{tiny}").order("tax", PASSAGES)


@pytest.fixture
def local(tmp_path):
    """An ONNX model that counts `retry` in both texts, minus a tenth of all tokens."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    onnx = pytest.importorskip("onnx", reason="the onnx package is not installed")
    helper, tensor = onnx.helper, onnx.TensorProto
    worth = np.where(np.array(WORDS) == "retry", 0.9, -0.1).astype(np.float32)
    nodes = [
        helper.make_node("Gather", ["worth", "input_ids"], ["each"], axis=0),
        helper.make_node("ReduceSum", ["each", "axes"], ["logits"], keepdims=1),
    ]
    weights = [onnx.numpy_helper.from_array(worth, "worth"), onnx.numpy_helper.from_array(np.array([1]), "axes")]
    inputs = [helper.make_tensor_value_info("input_ids", tensor.INT64, ["batch", "length"])]
    outputs = [helper.make_tensor_value_info("logits", tensor.FLOAT, ["batch", 1])]
    graph = helper.make_graph(nodes, "tiny", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(tmp_path / "model.onnx"))
    write_tokenizer(tmp_path / "tokenizer.json")
    return tmp_path


def test_local_cross_encoder_scores_passages_one_by_one(local):
    reranker = make_reranker(f"cross-encoder:{local}")
    passages = [RerankPassage("a", 1, 2, text) for text in ("the socket", "retry retry retry", "retry " * 900, "")]
    scores = reranker.order("retry the file", passages)
    assert scores[1] > scores[0]
    assert [reranker.order("retry the file", [passage])[0] for passage in passages] == scores
    assert max(scores) <= 512, "no more than 512 tokens are read"


def test_local_cross_encoder_is_identified_by_its_files(local):
    first = make_reranker(f"cross-encoder:{local}").identity
    (local / "tokenizer.json").write_text((local / "tokenizer.json").read_text() + " ")
    assert make_reranker(f"cross-encoder:{local}").identity != first


def test_directory_without_a_cross_encoder_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match=r"no model\.onnx"):
        make_reranker(f"cross-encoder:{tmp_path}")
