"""Every signal changes something, and left out it changes nothing; the trace shows each of them."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from assay.search import Index, Per, SearchConfig
from assay.search.config import DenseSettings
from assay.search.index import enabled_signals, rank, rank_inside, retrieve
from assay.search.query import parse_query
from assay.search.signals import Bm25, References
from assay.search.trace import StageTrace, find_lost_stage
from tests.search.conftest import CorpusOf
from tests.search.samples import BY_WORDS

_NAMES = list(enabled_signals(SearchConfig()))
_BODY = "    x = 1\n" * 9

#: One corpus in which each signal has something to say.
_FILES = {
    "cart.py": f'class Cart:\n    """Holds things."""\n{_BODY}    def add(self, item):\n{_BODY}        return price\n'
    f"    def total(self):\n{_BODY}        return price\n",
    "price.py": f"def compute_price(item):\n{_BODY}    return tax(item)\n\n\ndef tax(item):\n{_BODY}    return item\n",
    "report.py": "from price import compute_price\nimport cart\n\n# price of the item in the cart\nitem = cart.price\n"
    + "item = 2\n" * 30 + f"def printed(cart):\n{_BODY}    return compute_price(cart)\n",
    "tests/test_cart.py": f"def test_total():\n{_BODY}    assert cart.total() == price\n",
    "README.md": "# Cart\n\nHolds an item at a price.\n",
}  # fmt: skip
_QUERIES = ("cart price item", "price", "Cart.total", "how does compute_price work on the cart?")


@pytest.fixture(scope="module")
def index(corpus_of: CorpusOf) -> Index:
    return Index.build(corpus_of(_FILES))


def scores(index: Index, config: SearchConfig) -> dict[tuple[str, Per], np.ndarray]:
    """Score every query, files and spans."""
    pers: tuple[Per, Per] = ("file", "span")
    return {(q, per): rank(retrieve(parse_query(q), index.view, config, per), config) for q in _QUERIES for per in pers}


@pytest.mark.parametrize("name", _NAMES)
def test_signal_changes_something_and_left_out_nothing(index: Index, name: str) -> None:
    config = SearchConfig()
    left_out = replace(config, without=(name,))
    assert list(enabled_signals(left_out)) == [other for other in _NAMES if other != name]
    whole, without = scores(index, config), scores(index, left_out)
    assert any(not np.array_equal(whole[key], without[key]) for key in whole), "it speaks"


@pytest.mark.parametrize("name", _NAMES)
def test_signal_that_is_left_out_has_numbers_without_effect(index: Index, name: str) -> None:
    config = SearchConfig(without=(name,))
    signal = getattr(config, name)
    numbers = {
        key: getattr(signal, key)
        for key in ("files", "spans", "headings")
        if isinstance(getattr(signal, key, None), float)
    }
    louder = replace(config, **{name: replace(signal, **dict.fromkeys(numbers, 0.123))})
    before, after = scores(index, config), scores(index, louder)
    for key in before:
        np.testing.assert_array_equal(before[key], after[key])


def test_ranking_inside_files_leaves_the_features_of_a_query_alone(index: Index) -> None:
    features = retrieve(parse_query("cart price"), index.view, index.config, "file")
    first = rank(features, index.config)
    rank_inside(features, index.config)
    assert features.per == "file"
    np.testing.assert_array_equal(first, rank(features, index.config))
    with pytest.raises(FrozenInstanceError):
        features.per = "span"  # type: ignore[misc]


@pytest.mark.parametrize("per", ["file", "span"])
def test_trace_follows_the_answer_through_every_stage(index: Index, per: Per) -> None:
    trace = index.explain("cart price item", per=per, k=3, expect="README.md")
    assert [stage.name for stage in trace.stages] == ["lexical", "dense", "fused", *_NAMES]
    assert trace.hits == index.search("cart price item", 3, per=per)
    candidates = trace.candidates()
    assert "README.md" in {candidate.path for candidate in candidates}
    for candidate in candidates:
        assert candidate.steps[0].before == 0
        total = sum(step.change for step in candidate.steps)
        assert total == pytest.approx(candidate.steps[-1].score)
        assert [step.before for step in candidate.steps[1:]] == [step.rank for step in candidate.steps[:-1]]
    assert candidates[0].steps[-1].rank == 1
    head, *rows = [json.loads(line) for line in trace.json_lines()]
    assert head["query"] == "cart price item"
    tops = [row for row in rows if "top" in row]
    assert [row["stage"] for row in tops] == [*(stage.name for stage in trace.stages), "results"]
    assert len(rows) - len(tops) == len(candidates) * len(trace.stages)


def test_lost_says_where_a_file_went(index: Index) -> None:
    assert index.lost("cart", "absent.py").stage == "corpus"
    words = Index.build(index.root, BY_WORDS)
    assert words.lost("zebra", "cart.py").stage == "lexical"
    assert words.lost("zebra", "cart.py").reason == "it shares no word with the query"
    found = index.lost("cart total", "cart.py")
    assert (found.stage, found.final) == (None, 1)
    last = index.lost("cart total", "report.py", k=1)
    assert last.stage == "too weak"
    assert last.reason.startswith("never among the first 1")


def test_lost_names_the_stage_that_pushed_it_out(index: Index) -> None:
    trace = index.explain("cart price item", k=1)
    moved = replace(trace, stages=(StageTrace("lexical", np.array([0.1, 0.9, 0.5, 0, 0])),
                                   StageTrace("stem", np.array([0.1, 0.9, 0.95, 0, 0])),
                                   StageTrace("noise", np.array([0.1, 0.9, 0.8, 0, 0]))))  # fmt: skip
    lost = find_lost_stage(moved, [2], "x", 1)
    assert (lost.stage, lost.final) == ("noise", 2)
    assert lost.ranks == (("lexical", 2), ("stem", 1), ("noise", 2))
    assert find_lost_stage(moved, [1], "x", 1).stage is None


def test_references_speak_for_spans_only_where_they_are_given_a_weight(index: Index) -> None:
    silent, loud = SearchConfig(), SearchConfig(references=References(spans=0.5))
    question = "how does compute_price work on the cart?"
    seen = retrieve(parse_query(question), index.view, silent, "span")
    plain, voted = rank(seen, silent), rank(seen, loud)
    files = [index.table.files.paths[file] for file in index.table.chunks.file]
    gained = {path for path, before, after in zip(files, plain, voted, strict=True) if after > before}
    assert "price.py" in gained, "report.py matches and uses what it defines"
    assert "README.md" not in gained, "nobody uses it"
    assert np.array_equal(plain, rank(seen, replace(silent, without=("references",)))), "silent by itself"


def test_words_spread_over_a_file_count_where_no_chunk_has_them_all(corpus_of: CorpusOf) -> None:
    spread = "".join(f"def {name}():\n{_BODY}    return {name}\n\n\n" for name in ("lunar", "orbit", "thrust"))
    twice = f"def first():\n{_BODY}    return lunar, orbit, lunar, orbit\n"
    index = Index.build(corpus_of({"a.py": spread, "b.py": twice}))

    def gain(query: str) -> np.ndarray:
        features = retrieve(parse_query(query), index.view, SearchConfig(), "file")
        return SearchConfig().whole(np.zeros(2), features)

    uncovered = gain("lunar orbit thrust")
    assert uncovered[0] > uncovered[1] > 0
    assert not gain("lunar orbit").any()  # one chunk of b.py has both


def test_a_whole_file_does_not_match_where_no_chunk_does(corpus_of: CorpusOf) -> None:
    files = {"a.py": f"def lunar():\n{_BODY}\n\ndef orbit():\n{_BODY}", "b.py": f"def both(lunar, orbit):\n{_BODY}"}
    config = SearchConfig(lexical=Bm25(match="all"), dense=DenseSettings(model=""))
    index = Index.build(corpus_of(files), config)
    features = retrieve(parse_query("lunar orbit thrust"), index.view, config, "file")
    assert not features.matched.any()
    assert not config.whole(np.zeros(2), features).any()
