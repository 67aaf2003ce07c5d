import sys
from types import ModuleType

import pytest

from assay.errors import EngineError, SetupError
from assay.search.rerank import RerankPassage, make_reranker
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
