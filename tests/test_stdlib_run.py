"""The shipped gold sets against the shipped engines: neither trivial nor hopeless, and its traps are real."""

import numpy as np
import pytest

from assay import load_gold, run, score
from assay.engines import make_engine
from assay.scoring import nDCG
from assay.types import Run

ENGINES = ("builtin", "keywords")


@pytest.fixture(scope="module", params=["stdlib", "stdlib-docs"])
def stdlib_run(request: pytest.FixtureRequest) -> Run:
    gold = load_gold(request.param)
    return run({name: make_engine(name, suite=gold) for name in ENGINES}, gold, k=20, forms=("human", "keyword"))


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


def test_whole_set_holds_on_the_running_interpreter(stdlib_run):
    gold = stdlib_run.suite.golds[0]
    # a distribution may leave a module out, as Debian does; a version renames a few
    assert len(gold.queries) >= 0.97 * len(load_gold(gold.name).golds[0].queries)
