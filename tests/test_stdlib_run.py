"""The shipped gold sets against the shipped engines: neither trivial nor hopeless, and its traps are real."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from assay import load_gold, run, score
from assay.corpus import open_corpus
from assay.engines import make_engine
from assay.scoring import nDCG
from assay.types import Run, Suite

#: Of so many intents one is asked: all of them take minutes.
EVERY = 5


@pytest.fixture(scope="module")
def engines() -> Iterator[Mapping[str, Any]]:
    """The built-in engine, opened once since both sets ask about one library, and the plain one."""
    session = make_engine("builtin").open(open_corpus(load_gold("stdlib").golds[0].corpus))
    yield {"builtin": session.search, "keywords": make_engine("keywords")}
    session.close()


@pytest.fixture(
    scope="module",
    params=[
        ("stdlib", EVERY),
        ("stdlib-docs", EVERY),
        pytest.param(("stdlib", 1), marks=pytest.mark.soak),
        pytest.param(("stdlib-docs", 1), marks=pytest.mark.soak),
    ],
    ids=str,
)
def asked(request: pytest.FixtureRequest) -> Suite:
    name, every = request.param
    (gold,) = load_gold(name).golds
    return Suite((replace(gold, queries=gold.queries[::every]),))


@pytest.fixture(scope="module")
def stdlib_run(asked: Suite, engines: Mapping[str, Any]) -> Run:
    return run(engines, asked, k=20, forms=("human", "keyword"))


def test_most_adversaries_appear_in_some_engine_s_top_twenty(stdlib_run):
    found: set[tuple[str, str]] = set()
    for engine in stdlib_run.engines:
        found |= {(r.query, hit.path) for r in engine.rankings for hit in r.hits}
    queries = stdlib_run.suite.golds[0].queries
    traps = [(q.id, a.target.span.path) for q in queries for a in q.adversaries]
    assert len([t for t in traps if t in found]) / len(traps) >= 0.70


def test_no_engine_is_near_perfect_and_the_set_tells_them_apart(stdlib_run):
    scores = score(stdlib_run, [nDCG @ 10])
    human = [i for i, unit in enumerate(scores.units) if unit.form == "human"]
    means = dict(zip(scores.engines, np.mean(scores.values[:, 0, human], axis=1), strict=True))
    assert max(means.values()) <= 0.95
    assert max(means.values()) - min(means.values()) >= 0.15


def test_set_holds_on_the_running_interpreter(asked, stdlib_run):
    # a distribution may leave a module out, as Debian does; a version renames a few
    assert len(stdlib_run.suite.golds[0].queries) >= 0.97 * len(asked.golds[0].queries)
