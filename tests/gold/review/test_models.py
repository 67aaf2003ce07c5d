"""A model votes like anybody else: one of the values, with a reason, and nothing else counts."""

import pytest

from assay.chat import Endpoint, load_prompt
from assay.corpus import open_corpus
from assay.gold.review.reviewers import ask_model, read_answer, review_prompt_version
from assay.gold.review.views import ItemViewer
from assay.types import CorpusSpec
from tests.gold.review.conftest import target_item
from tests.serving import Reply, in_turn, serving

GRADES = ("2", "1", "0", "unsure")


@pytest.mark.parametrize(
    "text",
    [
        '{"vote": "2", "reason": "it is decided here"}',
        '{"vote": 2, "reason": " it is decided here "}',
        '```json\n{"vote": "2", "reason": "it is decided here"}\n```',
        '\n{"vote": "2", "reason": "it is decided here", "sure": true}\n',
    ],
)
def test_a_vote_with_a_reason_is_taken(text):
    assert read_answer(text, GRADES).value == "2"
    assert read_answer(text, GRADES).reason == "it is decided here"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2",
        "I vote 2 because it is right",
        '{"vote": "3", "reason": "x"}',
        '{"vote": true, "reason": "x"}',
        '{"vote": "2"}',
        '{"vote": "2", "reason": "  "}',
        '[{"vote": "2", "reason": "x"}]',
        '{"vote": "2", "reason": "x"} and more',
        "[" * 100_000,
        '{"vote": "accept", "reason": "x"}',
    ],
)
def test_anything_else_is_told_and_is_no_vote(text):
    answer = read_answer(text, GRADES)
    assert answer.value == ""
    assert answer.problem


def test_a_reason_is_cut_and_cannot_act_on_a_terminal():
    answer = read_answer('{"vote": "1", "reason": "\\u001b[2Ja' + "x" * 2000 + '"}', GRADES)
    assert len(answer.reason) == 600
    assert "\033" not in answer.reason


def test_the_item_is_fenced_by_a_mark_that_stands_nowhere_in_it(queue):
    viewer = ItemViewer(open_corpus(CorpusSpec("path", "."), base=queue.gold_file.parent))
    with serving(in_turn(Reply({"choices": [{"message": {"content": "no vote"}}]}))) as server:
        ask_model(Endpoint(server.url, "m"), viewer.view(target_item(queue, engines=("secret-engine",))))
    task, text = (message["content"] for message in server.asked[0].payload["messages"])
    first = next(line for line in text.splitlines() if line.startswith("<item "))
    mark = first.removeprefix("<item ").removesuffix(">")
    inside = text.split(first + "\n")[1].split(f"\n</item {mark}>")[0]
    assert mark not in inside
    assert "def with_tax" in inside
    assert "secret-engine" not in text
    assert task == load_prompt("review")
    assert len(review_prompt_version()) == 16


def test_a_model_behind_an_endpoint_votes(queue):
    viewer = ItemViewer(open_corpus(CorpusSpec("path", "."), base=queue.gold_file.parent))
    said = '{"vote": "0", "reason": "it adds, it does not look up"}'
    with serving(in_turn(Reply({"choices": [{"message": {"content": said}}]}))) as server:
        answer = ask_model(Endpoint(server.url, "m"), viewer.view(target_item(queue)))
    assert (answer.value, answer.problem) == ("0", "")
