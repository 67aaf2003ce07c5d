"""Wrong answers: near by name and structure, and by what engines confuse."""

from dataclasses import replace

import pytest

from assay.gold.anchors import parse_target
from assay.gold.build import GoldLocation, build_query
from assay.gold.formats.native import RELATIONSHIPS, STRENGTHS
from assay.gold.mining.adversaries import AdversaryRules, base_names, mine_adversaries
from assay.types import CorpusSpec, EngineRun, GoldSet, Hit, Ranking, Run, Suite

HERE = GoldLocation("gold.yaml")
ASKED = "how long to wait for another process before a failed download is tried"


def gold_of(text, *anchors):
    query = build_query("q", {"human": text}, [parse_target(anchor, HERE) for anchor in anchors], HERE)
    return GoldSet("small", CorpusSpec("path", "."), (query,))


def proposed(intake, gold, run=None):
    items = mine_adversaries(intake, gold, run).items
    return {item.adversary.target.anchor: item.adversary for item in items}


def test_namesakes_relatives_tests_and_callers_are_proposed(intake):
    found = proposed(intake, gold_of(ASKED, "pkg/net.py::Backoff.next_wait"))
    assert found["pkg/store.py::next_wait"].relationship == "namesake"
    assert found["tests/test_net.py::test_next_wait_grows_with_failures"].relationship == "test"


def test_methods_of_bases_subclasses_and_mocks_are_proposed(intake):
    question = "which code writes the body to the socket and waits for a reply?"
    found = proposed(intake, gold_of(question, "pkg/net.py::Transport.send_request"))
    assert {anchor: one.relationship for anchor, one in found.items()} == {
        "pkg/net.py::FakeTransport.send_request": "mock",
        "pkg/net.py::TlsTransport.send_request": "namesake",
    }
    assert "same name" in found["pkg/net.py::TlsTransport.send_request"].confusion
    found = proposed(intake, gold_of(question, "pkg/net.py::TlsTransport.send_request"))
    assert found["pkg/net.py::Transport.send_request"].strength == "strong"


def test_callers_are_proposed_where_they_are_few(intake):
    found = proposed(intake, gold_of("unpack archive members into the folder", "pkg/net.py::unpack_members"))
    assert found["pkg/net.py::fetch_archive"].relationship == "caller"
    assert found["pkg/net.py::fetch_archive"].strength == "weak"


def test_what_shares_no_words_with_the_question_is_no_trap(intake):
    assert "pkg/store.py::next_wait" not in proposed(
        intake, gold_of("exponential growth of sleeping durations", "pkg/net.py::Backoff.next_wait")
    )


def run_of(gold, **hits):
    engines = tuple(
        EngineRun(name, (Ranking("small", "q", "human", tuple(own)),), "floor" if name == "floor" else "candidate")
        for name, own in hits.items()
    )
    return Run(Suite((gold,)), 10, engines)


RIGHT = Hit("pkg/net.py", 11, 14)
WRONG = Hit("pkg/store.py", 1, 4)
OTHER = Hit("pkg/net.py", 44, 47)


def test_what_engines_rank_above_the_right_answer_is_proposed_with_their_names(intake):
    gold = gold_of(ASKED, "pkg/net.py::Backoff.next_wait")
    run = run_of(gold, a=[WRONG, RIGHT, OTHER], b=[WRONG, OTHER, RIGHT], floor=[OTHER])
    items = mine_adversaries(intake, gold, run).items
    confusing = [item for item in items if item.origin.how == "confusion"]
    assert [item.adversary.target.anchor for item in confusing] == ["pkg/store.py::read_entry"]
    assert confusing[0].origin.shown_by == ("a", "b")
    assert "2 of 2 engines rank this code above the target, at best at rank 1" in confusing[0].adversary.confusion
    assert confusing[0].notes


def test_engines_that_answer_the_same_are_one(intake):
    gold = gold_of(ASKED, "pkg/net.py::Backoff.next_wait")
    run = run_of(gold, a=[WRONG, RIGHT], b=[WRONG, RIGHT], c=[RIGHT])
    assert not [item for item in mine_adversaries(intake, gold, run).items if item.origin.how == "confusion"]


def test_no_adversary_meets_a_target_or_an_adversary_there_is(intake):
    question = "which code writes the body to the socket and waits for a reply?"
    anchors = ("pkg/net.py::Transport.send_request", "pkg/net.py::TlsTransport.send_request")
    gold = gold_of(question, *anchors)
    run = run_of(gold, a=[WRONG], b=[WRONG, OTHER])
    items = mine_adversaries(intake, gold, run).items
    assert {item.adversary.target.anchor for item in items}.isdisjoint(anchors)
    for item in items:
        assert intake.code.resolve(item.adversary.target)
        assert item.adversary.relationship in RELATIONSHIPS
        assert item.adversary.strength in STRENGTHS
        assert item.query.targets == gold.queries[0].targets


def test_what_was_accepted_leaves_no_room_for_ever_weaker_ones(intake):
    question = "which code writes the body to the socket and waits for a reply?"
    gold = gold_of(question, "pkg/net.py::Transport.send_request")
    items = mine_adversaries(intake, gold).items
    full = tuple(replace(item.adversary, relationship="sibling") for item in items) * 3
    crowded = replace(gold, queries=(replace(gold.queries[0], adversaries=full[: AdversaryRules.total]),))
    assert mine_adversaries(intake, crowded).items == ()


@pytest.mark.parametrize(
    ("signature", "bases"),
    [
        ("class A(B, c.D, metaclass=M):", ["B", "D"]),
        ("class A extends B implements C, D", ["B", "C", "D"]),
        ("class A : public B, private ns::C", ["B", "C"]),
        ("struct A: Codable, Sendable", ["Codable", "Sendable"]),
        ("class A(Generic[T], B[int])", ["B"]),
        ("class A:", []),
    ],
)
def test_bases_are_read_from_signatures(signature, bases):
    assert base_names(signature) == bases
