from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError, EngineError
from assay.search.rerank import RerankPassage, rerank


@dataclass
class Fake:
    """Scores a passage by its text, and remembers what it read."""

    identity: str = "fake"
    read: list[tuple[RerankPassage, ...]] = field(default_factory=list)

    def order(self, query, passages):
        self.read.append(tuple(passages))
        return tuple(float(passage.text) for passage in passages)


def passages_of(values):
    return tuple(RerankPassage(f"{place}.py", 1, 1, str(value)) for place, value in enumerate(values))


CANDIDATES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12)


@given(CANDIDATES, st.integers(0, 14))
def test_rerank_moves_only_the_head(candidates, depth):
    passages, scores = passages_of([new for _, new in candidates]), [float(old) for old, _ in candidates]
    before = sorted(range(len(candidates)), key=lambda index: (-scores[index], index))
    order = rerank("q", passages, scores, Fake(), depth)
    assert sorted(order[:depth]) == sorted(before[:depth])
    assert list(order[depth:]) == before[depth:]


@given(CANDIDATES, st.integers(0, 14))
def test_rerank_orders_the_head_and_keeps_ties(candidates, depth):
    passages, scores = passages_of([new for _, new in candidates]), [float(old) for old, _ in candidates]
    head = rerank("q", passages, scores, Fake(), depth)[:depth]
    keys = [(-candidates[index][1], -scores[index], index) for index in head]
    assert keys == sorted(keys)


@given(CANDIDATES, st.integers(0, 14), st.integers(0, 14))
def test_rerank_of_candidates_cut_behind_the_depth_is_a_prefix(candidates, depth, more):
    """What lies behind the depth, which is all that a larger k adds, changes nothing before it."""
    candidates = sorted(candidates, reverse=True)
    kept = candidates[: depth + more]
    orders = [
        rerank("q", passages_of([new for _, new in some]), [float(old) for old, _ in some], Fake(), depth)
        for some in (candidates, kept)
    ]
    assert orders[0][: len(kept)] == orders[1]


def test_rerank_reads_the_head_in_its_old_order():
    fake = Fake()
    passages = passages_of([1, 2, 3, 4])
    assert rerank("q", passages, [0.1, 0.4, 0.2, 0.4], fake, 3) == (3, 2, 1, 0)
    assert fake.read == [(passages[1], passages[3], passages[2])]


@pytest.mark.parametrize("depth", [0, 1])
def test_rerank_asks_nothing_when_nothing_can_move(depth):
    fake = Fake()
    assert rerank("q", passages_of([1, 2]), [1.0, 2.0], fake, depth) == (1, 0)
    assert not fake.read


def test_rerank_refuses_a_negative_depth():
    with pytest.raises(ConfigError, match="depth -1"):
        rerank("q", passages_of([1]), [1.0], Fake(), -1)


@pytest.mark.parametrize("scores", [(), (1.0,), (1.0, 2.0, 3.0), (1.0, float("nan")), (float("inf"), 1.0)])
def test_rerank_refuses_scores_that_order_nothing(scores):
    class Wrong(Fake):
        def order(self, query, passages):
            return scores

    with pytest.raises(EngineError, match="fake gave"):
        rerank("q", passages_of([1, 2]), [2.0, 1.0], Wrong(), 10)
