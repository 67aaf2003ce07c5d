import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import EngineError
from assay.search.rerank import Reranker, RerankPassage, rerank


def score(query, passages):
    """Score a passage by its text."""
    return [float(passage.text) for passage in passages]


def passages_of(values):
    return tuple(RerankPassage(f"{place}.py", 1, 1, str(value)) for place, value in enumerate(values))


@given(st.lists(st.integers(0, 3), max_size=12))
def test_rerank_orders_by_score_and_keeps_ties(values):
    order = rerank("q", passages_of(values), Reranker("fake", score))
    assert list(order) == sorted(range(len(values)), key=lambda index: (-values[index], index))


@pytest.mark.parametrize("count", [0, 1])
def test_rerank_runs_no_model_when_nothing_can_move(count):
    fake = Reranker("fake", lambda query, passages: pytest.fail("the model ran"))
    assert rerank("q", passages_of([1, 2][:count]), fake) == tuple(range(count))


@pytest.mark.parametrize("scores", [(), (1.0,), (1.0, 2.0, 3.0), (1.0, float("nan")), (float("inf"), 1.0)])
def test_rerank_refuses_scores_that_order_nothing(scores):
    with pytest.raises(EngineError, match="fake returned"):
        rerank("q", passages_of([1, 2]), Reranker("fake", lambda query, passages: scores))
