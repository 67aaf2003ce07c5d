"""The ordinary queries of an audit are drawn by a seed, from the code or from a gold set."""

import pytest

from assay.audit.run_audit import code_queries, gold_queries
from assay.corpus import open_corpus, parse_spec
from assay.errors import CorpusError
from assay.types import Query, Span, Target


def test_code_questions_are_names_and_sentences_the_same_for_a_seed(market):
    one = code_queries(market, 6, 0)
    assert one == code_queries(market, 6, 0)
    assert len(one) == len({question.text for question in one}) == 6
    assert "a name in the code" in {question.origin for question in one}
    assert [q.text for q in one] != [q.text for q in code_queries(market, 6, 1)]


def test_code_questions_fall_back_to_names_of_files(tmp_path):
    (tmp_path / "reading_notes.md").write_text("# Notes\n")
    (question,) = code_queries(open_corpus(parse_spec(str(tmp_path))), 5, 0)
    assert (question.text, question.origin) == ("reading notes", "the name of a file")


def test_code_questions_need_something_to_ask(tmp_path):
    (tmp_path / "_.md").write_text("#\n")
    with pytest.raises(CorpusError, match="cannot make queries"):
        code_queries(open_corpus(parse_spec(str(tmp_path))), 5, 0)


def test_gold_questions_are_drawn_in_their_headline_form():
    queries = [Query(f"q{at}", {"keyword": f"k{at}", "human": f"h{at}"}, (Target(Span("a")),)) for at in range(9)]
    drawn = gold_queries(queries, 4, 3)
    assert len(drawn) == 4
    assert all(question.text.startswith("h") for question in drawn)
    assert [q.text for q in gold_queries(queries, 50, 3)] == [f"h{at}" for at in range(9)]
