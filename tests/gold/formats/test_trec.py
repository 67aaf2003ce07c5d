"""TREC judgments and topics: read as they come, written so that they come back."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import GoldError
from assay.gold import load_gold
from assay.gold.build import read_source
from assay.gold.formats.beir_trec import read_trec, write_trec
from assay.types import GoldSet, Query, Rationale, Span, Suite, Target
from tests.gold.formats.files import HERE, write
from tests.gold.formats.test_beir import LOST, heads
from tests.gold.formats.test_native_write import golds, unplaced
from tests.properties import examples

QRELS = "1 0 shop/price.py::total 2\n1\tQ0\tshop/tax.py:1-9   1\n\n1 0 shop/no.py 0\n2 0 shop/tax.py 1\r\n3 0 x.py -2\n"
TOPICS = "1\thow is a basket priced?\n2\t rates  of tax\r\n3\twhere is nothing?\n4\twho asks?\n"
CLASSIC = """\

<top>
<num> Number: 001
<title> Topic: basket price
<desc> Description:
How is a basket of vector<int>
priced?

<narr> Narrative:
The sum counts, the rates
do not.
</top>
<top>
<head> Tipster
<num> Number: 2 </num>
<title> rates </title>
</top>
"""


def make(folder, *, qrels: str = QRELS, topics: str = TOPICS):
    write(folder, "shop.topics", topics)
    return write(folder, "shop.qrels", qrels)


def test_judgments_are_grades_and_documents_are_targets(tmp_path):
    [gold] = load_gold(make(tmp_path), corpus=HERE).golds
    first, second = gold.queries
    assert (gold.name, first.id, first.line, second.line) == ("shop", "1", 1, 5)
    assert [(t.anchor, t.grade) for t in first.targets] == [("shop/price.py::total", 2), ("shop/tax.py:1-9", 1)]
    assert (second.forms, [t.grade for t in second.targets]) == ({"human": "rates of tax"}, [1])
    assert [(t.anchor, t.grade) for t in first.irrelevant] == [("shop/no.py", 0)]
    assert gold.provenance["left out"] == (
        "queries without a judgment: 1 (4); queries without a relevant document: 1 (3)"
    )


def test_classic_topics_have_a_description_a_title_and_a_narrative(tmp_path):
    [gold] = load_gold(make(tmp_path, topics=CLASSIC, qrels=QRELS.replace("3 0 x.py -2\n", "")), corpus=HERE).golds
    first, second = gold.queries
    assert first.forms == {"human": "How is a basket of vector<int> priced?", "keyword": "basket price"}
    assert first.rationale == Rationale(reason="The sum counts, the rates do not.")
    assert (second.id, second.forms, second.rationale) == ("2", {"human": "rates"}, None)
    assert gold.provenance["not read"] == "head"


def test_topics_are_found_beside_the_judgments_and_a_folder_is_a_set(tmp_path):
    write(tmp_path, "till/qrels.txt", QRELS)
    write(tmp_path, "till/topics.tsv", TOPICS)
    assert [gold.name for gold in load_gold(tmp_path / "till", corpus=HERE).golds] == ["till"]
    write(tmp_path, "till/qrels.dev.txt", "1 0 a.py 1\n")
    make(tmp_path)
    assert [gold.name for gold in load_gold(tmp_path, corpus=HERE).golds] == ["shop", "till-qrels.dev", "till-qrels"]
    assert load_gold(tmp_path / "till" / "qrels.txt", corpus=HERE).golds[0].name == "qrels"


BAD = {
    "score": ({"qrels": "1 0 a.py 1\n1 0 b.py x\n"}, "shop.qrels", 2, "invalid score 'x'"),
    "digits of another script": ({"qrels": "1 0 b.py ٣\n"}, "shop.qrels", 1, "invalid score"),
    "words": ({"qrels": "1 0 a.py 1\n\n1 0 my file.py 1\n"}, "shop.qrels", 3, "expected 4 columns, got 5"),
    "judged twice": ({"qrels": "1 0 a 1\n1 1 a 1\n"}, "shop.qrels", 2, "for '1', first on line 1"),
    "no target": ({"qrels": "1 0 ../a.py 1\n"}, "shop.qrels", 1, "contains '..'"),
    "nothing": ({"qrels": "\n"}, "shop.qrels", 1, "no judgments in the file"),
    "no answer": ({"qrels": "1 0 a.py 0\n"}, "shop.qrels", 1, "no topic has a relevant document"),
    "no tab": ({"topics": "1\tx\n2 y\n"}, "shop.topics", 2, "no tab"),
    "no text": ({"topics": "1\t \n"}, "shop.topics", 1, "the text of the topic is empty"),
    "no id": ({"topics": "1\tx\n\ty\n"}, "shop.topics", 2, "the id of the topic is empty"),
    "topic twice": ({"topics": "1\tx\n2\tx\n1\ty\n"}, "shop.topics", 3, "duplicate topic '1', first on line 1"),
    "open topic": ({"topics": CLASSIC.replace("</top>", "", 1)}, "shop.topics", 2, "the topic has no </top>"),
    "topic in a topic": (
        {"topics": CLASSIC.replace("<title> Topic", "<top>\n<title> Topic")},
        "shop.topics",
        2,
        "the topic has no </top>",
    ),
    "field twice": ({"topics": CLASSIC.replace("<narr>", "<title>")}, "shop.topics", 2, "duplicate field 'title'"),
    "open last topic": ({"topics": CLASSIC.rstrip()[:-2]}, "shop.topics", 13, "outside of any topic"),
    "broken topic": ({"topics": CLASSIC.replace("<top>\n<head>", "<head>")}, "shop.topics", 13, "outside of any topic"),
    "text of no field": ({"topics": CLASSIC.replace("<head>", "")}, "shop.topics", 13, "text outside of any field"),
    "no number": ({"topics": CLASSIC.replace("001", "")}, "shop.topics", 2, "the number of the topic is empty"),
    "no title": ({"topics": CLASSIC.replace("rates <", "<")}, "shop.topics", 13, "the text of the topic is empty"),
}


@pytest.mark.parametrize(("change", "file", "line", "message"), BAD.values(), ids=BAD)
def test_a_broken_file_is_named_with_its_line(tmp_path, change, file, line, message):
    path = make(tmp_path, **change)
    with pytest.raises(GoldError) as error:
        load_gold(path, corpus=HERE)
    assert (error.value.file, error.value.line) == (str(tmp_path / file), line)
    assert message in error.value.message
    assert error.value.hint


def test_judgments_need_topics_and_a_corpus(tmp_path):
    path = write(tmp_path, "alone.qrels", QRELS)
    with pytest.raises(GoldError, match="no topics file beside") as error:
        load_gold(path, corpus=HERE)
    assert "alone.topics" in str(error.value.hint)
    with pytest.raises(GoldError, match="does not name a corpus"):
        load_gold(make(tmp_path))


def blank(*targets: Target) -> Suite:
    return Suite((GoldSet("g", HERE, (Query("q", {"human": "x"}, targets),)),))


def test_a_target_with_a_blank_is_left_out_and_told_or_refused():
    written = write_trec(blank(Target(Span("a.py")), Target(Span("my file.py"), 1)))
    assert written.files["g.qrels"] == "q 0 a.py 2\n"
    assert any(sentence.startswith("1 target") for sentence in written.lost)
    with pytest.raises(GoldError, match="allows no whitespace"):
        write_trec(blank(Target(Span("a\xa0b.py"))))


def held(gold: GoldSet) -> GoldSet:
    """Give the part of a set that the format has a place for."""
    queries = (
        Query(q.id, {"human": " ".join(q.headline.split())}, q.targets, irrelevant=q.irrelevant) for q in gold.queries
    )
    return replace(gold, queries=tuple(queries), provenance={})


@examples(40)
@given(st.lists(golds(), min_size=1, max_size=2, unique_by=lambda gold: gold.name.casefold()))
def test_what_is_written_comes_back_and_the_rest_is_named(tmp_path_factory, sets):
    written = write_trec(Suite(tuple(sets)))
    root = tmp_path_factory.mktemp("trec")
    for name, text in written.files.items():
        write(root, name, str(text))
    back = [read_trec(read_source(root / f"{gold.name}.qrels"), gold.name, gold.corpus) for gold in sets]
    assert [unplaced(gold) for gold in back] == [held(gold) for gold in sets]
    told = heads(written.lost)
    queries = [query for gold in sets for query in gold.queries]
    changed = [query for query in queries if any(" ".join(t.split()) != t for t in query.forms.values())]
    for word, lacks in LOST.items():
        expected = any(map(lacks, queries)) or (word == "phrasing" and bool(changed))
        assert (word in told) == expected, word
