"""Two people who work on two branches: git merges all that a review wrote, and it reads as if they had sat together."""

import subprocess
from dataclasses import replace

import pytest

from assay.gold import load_gold
from assay.gold.review.acceptance import accept, read_acceptance_times, read_statuses, read_written
from assay.gold.review.items import ItemOrigin, ReviewQueue, make_item
from assay.gold.review.votes import (
    Adjudication,
    VoteLog,
    become_adjudicator,
    is_adjudicator,
    log_unblinding,
    read_all_votes,
    read_decisions,
    read_unblindings,
    record_decisions,
)
from assay.types import Span, Target
from tests.gold.review.conftest import cast, query_of, target_item


@pytest.fixture
def git(gold_file):
    def run(*arguments):
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@y", "-c", "commit.gpgsign=false", *arguments]
        return subprocess.run(command, cwd=gold_file.parent, check=True, capture_output=True, text=True).stdout

    run("init", "-q", "-b", "main")
    return run


def place(queue, number):
    """Propose a place, as one of the reviewers does."""
    about = replace(query_of(queue, "tax-lookup"), targets=(Target(Span("shop/cart.py", number, number + 1)),))
    return make_item("target", replace(about, adversaries=(), rationale=None), ItemOrigin("reviewer"))


def work(queue, name, shared, number):
    """Vote, look, vote again, decide, propose and accept; ada also votes on the other machine."""
    own, both = place(queue, number), place(queue, 5)
    queue.add([both, own] if number == 1 else [own, both])
    for item in (*shared, own, both):
        cast(queue, name, item, "2", on=f"2026-03-0{number}T01")
        cast(queue, "ada", item, str(number - 1), on=f"2026-03-0{number}T02")
    log_unblinding(VoteLog(queue, name))
    cast(queue, name, shared[0], "1", on=f"2027-03-0{number}T03")
    become_adjudicator(VoteLog(queue, f"third-{name}"))
    become_adjudicator(VoteLog(queue, "third"))
    held = shared[number]
    record_decisions(
        queue,
        [
            Adjudication(one.id, f"third-{name}", str(number - 1), "so", f"2026-03-0{number}")
            for one in (shared[0], held)
        ],
    )
    accept(queue, lambda: load_gold(queue.gold_file).golds[0], lambda _: (), on=f"2026-03-0{number}T05")


@pytest.mark.parametrize(
    ("old", "order"),
    [
        (False, ("one", "two")),
        (True, ("two", "one")),
        pytest.param(False, ("two", "one"), marks=pytest.mark.nightly),
        pytest.param(True, ("one", "two"), marks=pytest.mark.nightly),
    ],
)
def test_two_branches_of_a_review_merge_without_a_conflict_and_nothing_is_missing(queue, git, order, old):
    shared = [target_item(queue, Span("shop/tax.py", n, n + 1)) for n in (1, 3, 6)]
    queue.add(shared)
    if old:  # a folder from before git was told how to merge it
        (queue.directory / ".gitattributes").unlink()
    git("add", "-A")
    git("commit", "-qm", "base")
    for number, (branch, name) in enumerate({"one": "bob", "two": "cy"}.items(), 1):
        git("checkout", "-q", "-b", branch, "main")
        work(ReviewQueue(queue.gold_file), name, shared, number)
        git("checkout", "-q", branch, "--", "gold.yaml")  # what became gold is another file, and another merge
        git("add", "-A")
        git("commit", "-qm", branch)
    git("checkout", "-q", order[0])
    git("merge", "-q", "--no-edit", order[1])
    assert not git("status", "--porcelain")

    merged = ReviewQueue(queue.gold_file)
    assert {item.anchor for item in merged.items()} == {
        *(item.anchor for item in shared), "shop/cart.py:1-2", "shop/cart.py:2-3", "shop/cart.py:5-6",
    }  # fmt: skip
    assert len(merged.items()) == 6
    cast_by = {name: [v for v in read_all_votes(merged) if v.reviewer == name] for name in ("ada", "bob", "cy")}
    assert [len(votes) for votes in cast_by.values()] == [10, 6, 6]
    assert VoteLog(merged, "ada").votes()[shared[0].id].value == "1", "the later vote counts, wherever it stands"
    assert [vote.after for vote in cast_by["bob"]] == [vote.after for vote in cast_by["cy"]] == [""] * 5 + ["look"]
    assert [len(read_unblindings(merged, name)) for name in ("bob", "cy")] == [1, 1]
    assert all(is_adjudicator(merged, name) for name in ("third", "third-bob", "third-cy"))
    assert [(one.by, one.value) for one in read_decisions(merged)] == [("third-bob", "0")] * 2 + [("third-cy", "1")] * 2
    assert {shared[0].id: "1", shared[1].id: "0", shared[2].id: "1"}.items() <= read_written(merged).items()
    assert read_acceptance_times(merged)[shared[0].id] == "2026-03-01T05", "the first time counts, wherever it stands"
    assert len(read_statuses(merged)) == 6
