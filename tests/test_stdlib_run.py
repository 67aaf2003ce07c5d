"""The shipped gold sets against the shipped engines: neither trivial nor hopeless, and their traps are real."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from assay import load_gold, run, score
from assay.corpus import open_corpus
from assay.engines import make_engine
from assay.scoring import nDCG
from assay.types import GoldSet, Run, Suite
from tests.library import copy_library, short_gold, use_library


class Asked(NamedTuple):
    """Which queries of a set are asked, and by how much its engines differ."""

    name: str
    every: int  # of so many queries, one is asked
    gap: float


class Outcome(NamedTuple):
    gold: GoldSet
    run: Run
    gap: float


@pytest.fixture(scope="module")
def engines() -> Iterator[Mapping[str, Any]]:
    """Open the built-in engine on the whole library, once for all sets."""
    session = make_engine("builtin").open(open_corpus(load_gold("stdlib").golds[0].corpus))
    yield {"builtin": session.search, "keywords": make_engine("keywords")}
    session.close()


@pytest.fixture(scope="module")
def short_outcome(tmp_path_factory) -> Outcome:
    """Ask 12 queries of the few files that they name."""
    gold = short_gold("stdlib", 12)
    with pytest.MonkeyPatch.context() as patch:
        use_library(copy_library(gold, tmp_path_factory.mktemp("library")), patch)
        patch.setenv("ASSAY_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        engines = {name: make_engine(name) for name in ("builtin", "keywords")}
        return Outcome(gold, run(engines, Suite((gold,)), k=20, forms=("human", "keyword")), 0.05)


@pytest.fixture(
    scope="module",
    params=[
        None,
        pytest.param(Asked("stdlib", 5, 0.15), marks=pytest.mark.nightly),
        pytest.param(Asked("stdlib-docs", 5, 0.15), marks=pytest.mark.nightly),
        pytest.param(Asked("stdlib", 1, 0.15), marks=pytest.mark.soak),
        pytest.param(Asked("stdlib-docs", 1, 0.15), marks=pytest.mark.soak),
    ],
    ids=lambda asked: f"{asked.name}-{asked.every}" if asked else "short",
)
def outcome(request: pytest.FixtureRequest) -> Outcome:
    if request.param is None:
        found: Outcome = request.getfixturevalue("short_outcome")
        return found
    name, every, gap = request.param
    (gold,) = load_gold(name).golds
    gold = replace(gold, queries=gold.queries[::every])
    made = run(request.getfixturevalue("engines"), Suite((gold,)), k=20, forms=("human", "keyword"))
    return Outcome(gold, made, gap)


def test_most_adversaries_appear_in_some_engine_s_top_twenty(outcome):
    found: set[tuple[str, str]] = set()
    for engine in outcome.run.engines:
        found |= {(r.query, hit.path) for r in engine.rankings for hit in r.hits}
    queries = outcome.run.suite.golds[0].queries
    traps = [(q.id, a.target.span.path) for q in queries for a in q.adversaries]
    assert len([t for t in traps if t in found]) / len(traps) >= 0.70


def test_no_engine_is_near_perfect_and_the_set_tells_them_apart(outcome):
    scores = score(outcome.run, [nDCG @ 10])
    human = [i for i, unit in enumerate(scores.units) if unit.form == "human"]
    means = dict(zip(scores.engines, np.mean(scores.values[:, 0, human], axis=1), strict=True))
    assert max(means.values()) <= 0.95
    assert max(means.values()) - min(means.values()) >= outcome.gap


def test_set_holds_on_the_running_interpreter(outcome):
    # a distribution may leave a module out, as Debian does; a version renames a few
    assert len(outcome.run.suite.golds[0].queries) >= 0.97 * len(outcome.gold.queries)
