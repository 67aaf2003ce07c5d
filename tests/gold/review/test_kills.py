"""Killed at any instant, a review has lost nothing that it said was done, and done nothing twice."""

import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from assay.gold import load_gold
from assay.gold.review.acceptance import accept, read_statuses
from assay.gold.review.items import ReviewQueue
from assay.gold.review.votes import VoteLog

PROJECT = Path(__file__).parents[3]
START = """\
assay: 1
name: few
corpus: {path: .}
queries:
- id: q
  retrieval: {primary: [a.py]}
  cognitive: {human: a?}
"""


def killed(path, first, *, lines=1, seconds=0.0):
    """Run a reviewer until it has said so many lines, and some time more; return what it said was done."""
    command = [sys.executable, "-m", "tests.gold.review.killing", str(path), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT) as child:
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(lines)]
        time.sleep(seconds)
        child.kill()
        said += child.stdout.readlines()
    return [line.split() for line in said if line.endswith("\n")]


def kill_often(path, *moments):
    path.write_text(START)
    queue = ReviewQueue(path)
    done = []
    for round_, moment in enumerate(moments):
        done += killed(path, 1000 * round_, **moment)
        gold = load_gold(path).golds[0]  # the old set or the new one, never half of one
        counts = Counter(query.id for query in gold.queries)
        assert set(counts.values()) == {1}
        assert {name for what, name, *_ in done if what == "gold"} <= set(counts)
        assert {item for what, item, *_ in done if what == "item"} <= {item.id for item in queue.items()}
        for name in ("ada", "bob"):
            history = [vote.item for vote in VoteLog(queue, name).history()]
            assert len(history) == len(set(history))
            assert {rest[0] for what, *rest in done if what == "vote" and rest[1] == name} <= set(history)
    return done


def finish(path):
    queue = ReviewQueue(path)
    settled = {s.item.query.id for s in read_statuses(queue) if s.state in ("agreed", "accepted")}
    accept(queue, lambda: load_gold(path).golds[0], lambda gold: (), on="2026")
    before = path.read_bytes()
    assert accept(queue, lambda: load_gold(path).golds[0], lambda gold: (), on="2026").taken == ()
    assert path.read_bytes() == before
    assert settled | {"q"} == {query.id for query in load_gold(path).golds[0].queries}


def test_kills_lose_nothing_and_double_nothing(tmp_path):
    # after a proposal, after either vote and after the acceptance of the second item
    assert kill_often(tmp_path / "gold.yaml", *({"lines": lines} for lines in (1, 2, 3, 8)))
    finish(tmp_path / "gold.yaml")


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_many_kills_lose_nothing_and_double_nothing(tmp_path, seed):
    draw = random.Random(seed)
    assert kill_often(tmp_path / "gold.yaml", *({"seconds": draw.uniform(0.0, 0.25)} for _ in range(50)))
    finish(tmp_path / "gold.yaml")


def test_reviewers_who_work_at_once_do_not_get_into_each_others_way(tmp_path):
    path = tmp_path / "gold.yaml"
    path.write_text(START)
    command = [sys.executable, "-m", "tests.gold.review.killing", str(path)]
    children = [subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, text=True, cwd=PROJECT) for n in (0, 5000)]
    said = []
    for child in children:
        assert child.stdout is not None
        said += [child.stdout.readline().split() for _ in range(8)]  # two whole rounds
    for child in children:
        child.kill()
        out, _ = child.communicate()
        said += [line.split() for line in out.splitlines(keepends=True) if line.endswith("\n")]
    ids = [query.id for query in load_gold(path).golds[0].queries]
    assert len(ids) == len(set(ids))
    assert {name for what, name, *_ in said if what == "gold"} <= set(ids)
    finish(path)
