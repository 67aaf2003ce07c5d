"""Phrasings by rules and by an endpoint."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.chat import Endpoint
from assay.gold.anchors import parse_target
from assay.gold.build import GoldLocation, build_query
from assay.gold.code_index import CodeIndex
from assay.gold.lint.registry import RuleSelection, lint
from assay.gold.mining.endpoint import answer_problem, ask_phrasings
from assay.gold.mining.phrasings import confusable_terms, mine_phrasings, rule_phrases, wrong_term
from assay.gold.query_properties import count_replacements
from assay.types import Corpus, CorpusSpec, GoldSet
from tests.serving import Reply, in_turn, serving

HERE = GoldLocation("gold.yaml")


def query_of(forms, anchor="pkg/net.py::Backoff.next_wait"):
    return build_query("q", forms, [parse_target(anchor, HERE)], HERE)


def gold_of(*queries):
    return GoldSet("small", CorpusSpec("path", "."), queries)


def phrases(ground, query):
    return {phrase.form: phrase.text for phrase in rule_phrases(ground, query)}


def test_names_keep_the_underscores_they_begin_with(ground):
    query = query_of({"human": "where does __getitem__ call _read_entry?"})
    assert set(phrases(ground, query)["keyword"].split()) >= {"__getitem__", "_read_entry"}


def test_keywords_are_the_rarest_words_first(ground):
    query = query_of({"human": "which code handles the cache folder before the socket is closed?"})
    assert phrases(ground, query)["keyword"] == "socket cache folder closed"


def test_a_question_is_made_of_keywords_and_orders(ground):
    assert phrases(ground, query_of({"keyword": "retry delay"}))["human"] == "where is the code for retry delay?"
    assert phrases(ground, query_of({"keyword": "compute the delay"}))["human"] == "which code computes the delay?"


def test_descriptions_hold_the_words_around_the_answer_but_not_its_name(ground):
    query = query_of({"human": "how are failed attempts spread over time?"}, "pkg/net.py::fetch_archive")
    text = phrases(ground, query)["ai_optimized"]
    assert "transport" in text.split()
    assert "url" in text.split()
    assert "fetch" not in text
    assert "archive" not in text


def test_a_comment_that_begins_with_the_name_does_not_bring_it_in(tree, make_ground):
    (tree / "pkg/go.go").write_text(
        "package p\n\n// SendAll writes frames to every peer.\nfunc SendAll(peers int) {\n}\n"
    )
    query = query_of({"human": "how are messages spread?"}, "pkg/go.go::SendAll")
    text = phrases(make_ground(tree), query)["ai_optimized"]
    assert "peers" in text.split()
    assert "sendall" not in text.lower()


def test_one_term_is_wrong_and_why_is_told(ground):
    query = query_of({"human": "how is the reply of a server parsed from the stream?"})
    (wrong,) = [phrase for phrase in rule_phrases(ground, query) if phrase.form == "wrong_terminology"]
    assert wrong.text == "how is the reply of a client parsed from the stream?"
    assert wrong.notes[0] == "'server' became 'client': the two ends of a connection"


@pytest.mark.parametrize(
    "human",
    [
        "how is a queue of a queue drained?",  # occurs twice
        "how is net traffic of the file_queue drained?",  # part of a name
        "which code lists the pending jobs?",  # a verb here, a noun in the table
        "how are waits spread over time?",  # no such term
        "how does the client answer a server?",  # both terms are there: it would say one twice
    ],
)
def test_no_term_is_replaced_where_it_would_not_be_one_error(ground, human):
    assert "wrong_terminology" not in phrases(ground, query_of({"human": human}))


def test_words_of_the_answers_name_are_not_replaced(ground):
    query = query_of({"human": "where is the request written?"}, "pkg/net.py::Transport.send_request")
    assert "wrong_terminology" not in phrases(ground, query)


def test_articles_go_with_their_words(ground):
    query = query_of({"human": "how is an option checked?"})
    assert phrases(ground, query)["wrong_terminology"] == "how is an argument checked?"
    query = query_of({"human": "how is a parameter checked?"})
    assert phrases(ground, query)["wrong_terminology"] == "how is an argument checked?"


OTHERS = ["how", "is", "a", "the", "of", "it", "Queue", "x_queue", "to", "file-queue"]
WORDS = st.lists(st.sampled_from([*sorted(confusable_terms()), *OTHERS]), min_size=1, max_size=12)
EMPTY = CodeIndex(Corpus(Path("."), CorpusSpec("path", "."), (), ""))


@given(WORDS)
def test_a_wrong_term_is_exactly_one_replacement(chosen):
    query = query_of({"human": " ".join(chosen)}, "z/y.py::x")
    phrase = wrong_term(EMPTY, query)
    if phrase is not None:
        assert count_replacements(query.forms["human"], phrase.text) == 1
        assert answer_problem(query, "wrong_terminology", phrase.text) is None


def test_slips_go_both_ways_and_to_another_word():
    for word, slip in confusable_terms().items():
        assert slip.wrong != word
        assert slip.why
    assert confusable_terms()["encoding"].wrong == "decoding"
    assert confusable_terms()["dictionaries"].wrong == "lists"


def test_forms_there_are_stay_and_nothing_is_proposed_twice(intake):
    full = query_of({"human": "a b c", "keyword": "a", "ai_optimized": "a b", "wrong_terminology": "a b d"})
    assert mine_phrasings(intake, gold_of(full)).items == ()
    lean = query_of({"human": "how is the reply of a server parsed from the stream?"})
    one, other = (mine_phrasings(intake, gold_of(lean)).items for _ in range(2))
    assert [item.id for item in one] == [item.id for item in other]
    assert {item.form for item in one} == {"keyword", "ai_optimized", "wrong_terminology"}


def said(text):
    return Reply({"choices": [{"message": {"content": text}}]})


def test_an_endpoint_is_asked_for_each_form_and_its_answers_are_checked(intake):
    query = query_of({"human": "how long do we wait for the server?", "ai_optimized": "x y"})
    with serving(in_turn(said("server wait time\n"), said("how long do we wait for the client?"))) as server:
        batches = list(ask_phrasings(intake, gold_of(query), Endpoint(server.url, "m")))
    items = [item for batch in batches for item in batch.items]
    assert [(item.form, item.query.forms[item.form]) for item in items] == [
        ("keyword", "server wait time"),
        ("wrong_terminology", "how long do we wait for the client?"),
    ]
    assert all("#m prompt phrase-" in item.origin.source for item in items)
    shown = server.asked[0].payload["messages"][1]["content"]
    assert "def next_wait(self)" in shown
    assert shown.count("<shown ") == shown.count("</shown ") == 1


@pytest.mark.parametrize(
    ("answer", "fits"),
    [
        ("does the client wait until the client answers?", True),  # one wrong term, wherever it stands
        ("does a server wait until the server answers?", False),  # no wrong term
        ("does the client wait until the queue answers?", False),
    ],
)
def test_answers_have_one_wrong_term_as_lint_counts_them(ground, answer, fits):
    human = "does the server wait until the server answers?"
    assert (answer_problem(query_of({"human": human}), "wrong_terminology", answer) is None) is fits
    both = gold_of(query_of({"human": human, "wrong_terminology": answer}))
    found = lint(both, ground.corpus, selection=RuleSelection(("G41",))).findings
    assert (not found) is fits


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "empty"),
        ("one\ntwo", "several lines"),
        ("x" * 400, "more than 300 characters"),
        ("How long do we wait for the server", "repeats another phrasing"),
        ("mail ada@example.org", "an email address"),
        ("how long did they wait for that client?", "exactly one term"),
    ],
)
def test_bad_answers_are_told_and_not_queued(intake, answer, why):
    query = query_of({"human": "how long do we wait for the server?", "ai_optimized": "x", "keyword": "y"})
    with serving(in_turn(said(answer))) as server:
        (batch,) = ask_phrasings(intake, gold_of(query), Endpoint(server.url, "m"))
    assert not batch.items
    assert why in batch.refused[0].reason
