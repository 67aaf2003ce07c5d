"""`assay gold review`, `agreement` and `pool`: from proposals and votes to labels, and the files on disk."""

import difflib
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.contracts.calling import call
from tests.contracts.gold import SAMPLES, Called, gold, isolate, transcripts, write_tree
from tests.contracts.snapshot import check, masked, substituted
from tests.serving import Asked, Reply, serving

GOLD = """\
assay: 1
name: shop
corpus: {path: code}
queries:
  - id: total
    retrieval: {primary: ["shop/price.py::Basket.total"], secondary: ["shop/tax.py::with_tax"]}
    cognitive: {human: what does a basket cost?}
    interference:
      - {target: "shop/price.py::Basket.add", relationship: sibling, strength: strong, confusion: touches the lines}
  - id: rate
    retrieval: {primary: ["shop/tax.py::tax_rate", "shop/tax.py:3-3"]}
    cognitive: {human: which percentage is charged?}
    interference:
      - {target: "shop/price.py::discount", relationship: sibling, strength: weak, confusion: a share too}
  - id: drawer
    retrieval: {primary: ["till/drawer.py::open_drawer"]}
    cognitive: {human: how does the till open?}
"""
ENGINES = """\
def first(text, k):
    return ["shop/price.py:14-16", "shop/price.py:19-21", "till/drawer.py:4-7"][:k]


def second(text, k):
    return ["shop/tax.py:6-8", "shop/price.py:10-12"][:k]
"""
#: Votes on the labels of the set and on the phrasings proposed by rules, in queue order.
VOTES = {
    "ann": ["2", "1", "2", "1", "2", "accept", "accept", "reject", "accept", "accept", "reject"],
    "ben": ["2", "2", "2", "0", "2", "accept", "reject", "reject", "accept", "accept", "accept"],
    "cy": ["2", "1", "1", "unsure", "unsure", "reject", "accept", "unsure", "accept", "unsure", "reject"],
}


@pytest.fixture
def world(tmp_path, monkeypatch) -> Path:
    root = isolate(monkeypatch, tmp_path)
    shutil.copytree(SAMPLES / "code", root / "code")
    write_tree(root, {"gold.yaml": GOLD, "contract_review_engines.py": ENGINES})
    monkeypatch.syspath_prepend(str(root))
    return root


def queued() -> list[str]:
    """Queue the labels of the set and some phrasings, and return the item ids."""
    assert gold("review", "gold.yaml", "--queue-labels", "--quiet").code == 0
    assert gold("mine", "code", "--set", "gold.yaml", "--phrasings", "--quiet").code == 0
    items = [item["id"] for item in read_lines("gold.review/items.jsonl")]
    assert len(items) == len(VOTES["ann"]), len(items)
    return items


def read_lines(path: str) -> list[Any]:
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def voted(**votes: list[str]) -> list[str]:
    """Submit each reviewer's votes on all items as a file, and return the item ids."""
    items = queued()
    for name, values in votes.items():
        rows = [f"{item},{value},{name} read it\n" for item, value in zip(items, values, strict=True)]
        write_tree(Path(), {"votes.csv": "item,vote,reason\n" + "".join(rows)})
        called = gold("review", "gold.yaml", "--reviewer", name, "--votes", "votes.csv", "--quiet")
        assert called.code == 0, called.err
    return items


def without_times(text: str) -> str:
    return substituted(text, {r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00": "TIME", r"\d{4}-\d\d-\d\d": "DAY"})


def changes(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=0)
    return "\n".join(lines)


def as_lines(items: list[Any]) -> str:
    return "\n".join(json.dumps(masked(item, ["on"]), ensure_ascii=False) for item in items)


def test_labels_that_are_queued_for_an_audit(world):
    first = gold("review", "gold.yaml", "--queue-labels").transcript
    second = gold("review", "gold.yaml", "--queue-labels", "--json").transcript
    items = as_lines(read_lines("gold.review/items.jsonl"))
    check("gold_review/queued.txt", f"{first}\n{second}\n{items}")


def test_list_for_a_reviewer(world):
    queued()
    listed = gold("review", "gold.yaml", "--reviewer", "ann", "--list", "--limit", "2")
    check("gold_review/list.txt", without_times(listed.transcript))
    data = gold("review", "gold.yaml", "--reviewer", "ann", "--list", "--limit", "2", "--json").data
    check("gold_review/list.json", masked(data, ["on"]))


def test_votes_on_disk(world):
    voted(**VOTES)
    files = sorted(Path("gold.review").rglob("*.jsonl"))
    assert [file.relative_to("gold.review").as_posix() for file in files] == [
        "items.jsonl",
        "votes/ann.jsonl",
        "votes/ben.jsonl",
        "votes/cy.jsonl",
    ]
    check("gold_review/votes.txt", as_lines(read_lines("gold.review/votes/cy.jsonl")))


def test_status(world):
    voted(**VOTES)
    shown = [
        gold("review", "gold.yaml", "--status", *flags).transcript for flags in ([], ["--json"], ["--min-votes", "3"])
    ]
    check("gold_review/status.txt", without_times("\n".join(shown)))


def test_agreement(world):
    voted(**VOTES)
    check("gold_review/agreement.json", gold("agreement", "gold.yaml", "--json").data)


def test_agreement_of_two_reviewers_is_cohens_kappa(world):
    phrasings = ["accept"] * 6
    voted(ann=["2", "2", "0", "0", "2", *phrasings], ben=["2", "0", "0", "2", "2", *phrasings])
    check("gold_review/agreement.txt", gold("agreement", "gold.yaml").transcript)
    kinds = {kind["kind"]: kind for kind in gold("agreement", "gold.yaml", "--json").data["kinds"]}
    # Targets: 3 of 5 votes agree; chance agreement is (3/5)(3/5) + (2/5)(2/5) = 0.52.
    assert kinds["target"]["pairs"][0]["kappa"]["value"] == pytest.approx((0.6 - 0.52) / (1 - 0.52))
    # Phrasings: both accept everything, so chance agreement is 1 and kappa is undefined.
    assert kinds["phrasing"]["pairs"][0]["kappa"]["value"] is None


def test_decisions_and_acceptance(world):
    items = voted(**VOTES)
    disputed = gold(
        "review", "gold.yaml", "--reviewer", "dan", "--decide", f"{items[1]}=1", "--reason", "it only helps", "--json"
    )
    assert disputed.code == 0, disputed.err
    decided = as_lines(read_lines("gold.review/decisions.jsonl"))
    accepted = gold("review", "gold.yaml", "--accept")
    again = gold("review", "gold.yaml", "--accept", "--json")
    written = changes(GOLD, Path("gold.yaml").read_text())
    text = "\n".join([disputed.transcript, decided, accepted.transcript, again.transcript, written])
    check("gold_review/accepted.txt", without_times(text))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_dialogue_on_a_terminal(world, monkeypatch):
    queued()
    # Invalid vote, vote with an empty and then a given reason, back, another vote, skip, quit.
    answers = ["5", "1", "", "it helps", "b", "2", "no, it answers", "s", "q"]
    monkeypatch.setattr("sys.stdin", Terminal("".join(f"{line}\n" for line in answers)))
    check("gold_review/dialogue.txt", without_times(gold("review", "gold.yaml", "--reviewer", "ann").transcript))


def test_votes_of_a_model(world):
    queued()

    def answer(asked: Asked) -> Reply:
        wrong = "Basket.add" in asked.payload["messages"][1]["content"]
        content = "I cannot say" if wrong else json.dumps({"vote": "2", "reason": "it computes the sum"})
        return Reply({"choices": [{"message": {"content": content}}]})

    with serving(answer) as server:
        called = gold(
            "review", "gold.yaml", "--reviewer", "model", "--endpoint", server.url, "--model", "m", "--limit", "3"
        )
    text = "\n".join(
        [
            called.transcript,
            as_lines(read_lines("gold.review/votes/model.jsonl")),
            server.asked[0].payload["messages"][1]["content"],
        ]
    )
    check("gold_review/model.txt", without_times(substituted(text, {r"127\.0\.0\.1:\d+": "127.0.0.1:PORT"})))


def test_refused_votes(world):
    items = voted(ann=VOTES["ann"])
    write_tree(world, {"half.csv": f"item,vote,reason\n{items[0]},2,yes\n{items[1]},7,no\n", "wide.csv": "a,b,c,d\n"})
    review = ("review", "gold.yaml")
    calls = [
        (*review, "--reviewer", "a/b", "--vote", f"{items[0]}=2", "--reason", "x"),
        (*review, "--reviewer", "ben", "--vote", f"{items[0]}=2"),
        (*review, "--reviewer", "ben", "--vote", f"{items[0]}=accept", "--reason", "x"),
        (*review, "--reviewer", "ben", "--vote", "000000000000=2", "--reason", "x"),
        (*review, "--reviewer", "ben", "--votes", "half.csv"),
        (*review, "--reviewer", "ben", "--votes", "wide.csv"),
        (*review, "--reviewer", "ben", "--accept", "--status"),
        (*review, "--status", "--reason", "x"),
        (*review, "--accept", "--min-votes", "0"),
        (*review, "--reviewer", "ann", "--decide", f"{items[0]}=2", "--reason", "x"),
        ("agreement", "none.yaml"),
        ("review", "none.yaml", "--status"),
    ]
    check("gold_review/refused.txt", transcripts(calls).replace(str(world), "."))
    assert not Path("gold.review/votes/ben.jsonl").exists()


def run(out: str) -> None:
    engines = [f"--engine={name}=python:contract_review_engines:{name}" for name in ("first", "second")]
    arguments = [
        "run",
        "--gold",
        "gold.yaml",
        "--no-references",
        "--quiet",
        "--baseline=second",
        "--out",
        out,
        *engines,
    ]
    called = Called(*call(arguments, Path.cwd(), home=Path.cwd().parent))
    assert called.code == 0, called.err


def test_pool(world):
    run("results")
    check("gold_review/pool.json", gold("pool", "gold.yaml", "results", "--json").data)
    check(
        "gold_review/pool.txt", gold("pool", "gold.yaml", "results", "--measure", "nDCG@2", "--limit", "2").transcript
    )
    queue = ("pool", "gold.yaml", "results", "--queue", "--json")
    assert [gold(*queue).data["queued"] for _ in range(2)] == [{"new": 4, "known": 0}, {"new": 0, "known": 4}]
    items = read_lines("gold.review/items.jsonl")
    check("gold_review/pool-queue.txt", as_lines(items))
    for name in ("ann", "ben"):
        vote = ("--vote", f"{items[0]['id']}=1", "--vote", f"{items[1]['id']}=0", "--reason", "x")
        assert gold("review", "gold.yaml", "--reviewer", name, *vote, "--quiet").code == 0
    assert gold("review", "gold.yaml", "--accept", "--quiet").code == 0
    # The label keeps the engines that returned the location, and judged locations leave the pool.
    check("gold_review/pool-accepted.txt", without_times(changes(GOLD, Path("gold.yaml").read_text())))
    assert gold("pool", "gold.yaml", "results", "--json", "--quiet").data["unjudged"] == 2
