"""BEIR folders: scores are grades, splits become sets, documents become files, and what goes out comes back."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.corpus import open_corpus
from assay.errors import GoldError
from assay.gold import load_gold, resolve
from assay.gold.formats.beir_trec import DOCUMENTS_DIRECTORY, read_beir_directory, render_documents, write_beir
from assay.types import CorpusSpec, GoldSet, Query, Span, Suite, Target
from tests.gold.formats.files import HERE, write
from tests.gold.formats.test_native_write import golds, unplaced
from tests.properties import examples

QUERIES = """\
{"_id": "q1", "text": "how is a basket priced?", "metadata": {}}
{"_id": "q 2", "text": " rates "}
{"_id": "q3", "text": "where is nothing?"}
{"_id": "q4", "text": "who asks?"}
"""
QRELS = (
    "query-id\tcorpus-id\tscore\n"
    "q1\tshop/price.py::total\t3\nq1\tshop/tax.py:1-9\t1\nq1\tshop/no.py\t0\n"
    "q 2\tshop/tax.py\t1\nq 2\tshop/rates.py\t1\nq3\tshop/no.py\t-1\nq9\tshop/no.py\t1\n"
)
CORPUS = """\
{"_id": "shop/price.py", "title": "Prices", "text": "def total(): ..."}
{"_id": "D 1/ä", "title": "", "text": "one"}
{"_id": "d 1/ä", "text": "two"}
"""


def make(folder: Path, *, qrels: str = QRELS, queries: str = QUERIES, corpus: str | None = None) -> Path:
    write(folder, "shop/queries.jsonl", queries)
    write(folder, "shop/qrels/test.tsv", qrels)
    if corpus is not None:
        write(folder, "shop/corpus.jsonl", corpus)
    return folder / "shop"


def test_scores_are_grades_and_documents_are_targets(tmp_path):
    [gold] = load_gold(make(tmp_path), corpus=HERE).golds
    assert (gold.name, gold.corpus) == ("shop", HERE)
    first, second = gold.queries
    assert (first.id, first.line, first.forms) == ("q1", 1, {"human": "how is a basket priced?"})
    assert [(t.anchor, t.grade) for t in first.targets] == [("shop/price.py::total", 3), ("shop/tax.py:1-9", 1)]
    assert [(t.anchor, t.grade) for t in first.irrelevant] == [("shop/no.py", 0)]
    assert (second.id, second.forms) == ("q-2", {"human": " rates "})
    assert [(t.anchor, t.grade) for t in second.targets] == [("shop/tax.py", 1), ("shop/rates.py", 1)]


def test_what_is_not_gold_is_told(tmp_path):
    provenance = load_gold(make(tmp_path), corpus=HERE).golds[0].provenance
    assert provenance["not read"] == "metadata"
    assert provenance["ids"].endswith("'q 2' → q-2")
    assert provenance["assumed"] == "negative scores read as 0: 1"
    assert provenance["left out"] == (
        "queries without a judgment: 1 (q4); judged queries without a text: 1 (q9); "
        "queries without a relevant document: 1 (q3)"
    )


def test_each_split_is_a_set(tmp_path):
    folder = make(tmp_path)
    write(folder, "qrels/dev.tsv", "q3\ta.py\t1\n")
    suite = load_gold(folder, corpus=HERE)
    assert [(gold.name, len(gold.queries)) for gold in suite.golds] == [("shop-dev", 1), ("shop-test", 2)]
    assert len(load_gold(tmp_path, format="beir", corpus=HERE).golds) == 2


def test_without_a_corpus_the_documents_are_one(tmp_path):
    folder = make(tmp_path, qrels="q1\tshop/price.py\t1\nq 2\tD 1/ä\t1\nq 2\td 1/ä\t1\n", corpus=CORPUS)
    [gold] = load_gold(folder).golds
    assert gold.corpus == CorpusSpec("path", DOCUMENTS_DIRECTORY)
    for path, text in render_documents(folder).items():
        write(folder / DOCUMENTS_DIRECTORY, path, text)
    base = Path(str(gold.source)).parent
    corpus = open_corpus(gold.corpus, base=base)
    assert {file.path for file in corpus.files} == {t.span.path for q in gold.queries for t in q.targets}
    assert not resolve(gold, corpus).problems
    texts = {(corpus.root / target.span.path).read_text() for target in gold.queries[1].targets}
    assert texts == {"one", "two"}
    assert (corpus.root / "shop/price.py").read_text() == "Prices\n\ndef total(): ..."


def test_no_document_is_hidden_by_its_name(tmp_path):
    ids = ["node_modules/a.js", "build/b.py", "c.min.js", "package-lock.json", "d.log", "target/e.rs", ".git/f.py"]
    corpus = "".join(json.dumps({"_id": name, "text": "x = 1"}) + "\n" for name in ids)
    folder = make(tmp_path, qrels="".join(f"q1\t{name}\t1\n" for name in ids), corpus=corpus)
    for path, text in render_documents(folder).items():
        write(folder / DOCUMENTS_DIRECTORY, path, text)
    [gold] = load_gold(folder).golds
    files = open_corpus(gold.corpus, base=folder).files
    assert {file.path for file in files} == {target.span.path for target in gold.queries[0].targets}
    assert len(files) == len(ids)


BAD = {
    "score": ({"qrels": "q1\ta.py\t1\nq1\tb.py\t0.5\n"}, "qrels/test.tsv", 2, "invalid score '0.5'"),
    "cells": ({"qrels": "q1 0 a.py 1\n"}, "qrels/test.tsv", 1, "expected 3 columns, got 1"),
    "a quote": ({"qrels": 'q1\ta.py\t1\nq1\t"a.py\t1\n'}, "qrels/test.tsv", 2, "invalid TSV"),
    "judged twice": ({"qrels": "q1\ta\t1\nq1\ta\t2\n"}, "qrels/test.tsv", 2, "for 'q1', first on line 1"),
    "no target": ({"qrels": "q1\t/a.py\t1\n"}, "qrels/test.tsv", 1, "absolute"),
    "no judgment": ({"qrels": "query-id\tcorpus-id\tscore\n"}, "qrels/test.tsv", 1, "no judgment"),
    "no answer": ({"qrels": "q1\ta.py\t0\n"}, "queries.jsonl", 1, "no query has a relevant document in test.tsv"),
    "query twice": ({"queries": QUERIES.replace("q3", "q1")}, "queries.jsonl", 3, "duplicate query 'q1'"),
    "no text": ({"queries": '{"_id": "q1"}\n'}, "queries.jsonl", 1, "'text' of row 1: expected a string"),
    "no id": ({"queries": '{"_id": 1, "text": "x"}\n'}, "queries.jsonl", 1, "'_id' of row 1: expected a string"),
    "torn": ({"queries": QUERIES[:-9]}, "queries.jsonl", 4, "invalid JSON"),
}


@pytest.mark.parametrize(("change", "file", "line", "message"), BAD.values(), ids=BAD)
def test_a_broken_file_is_named_with_its_line(tmp_path, change, file, line, message):
    folder = make(tmp_path, **change)
    with pytest.raises(GoldError) as error:
        load_gold(folder, corpus=HERE)
    assert (error.value.file, error.value.line) == (str(folder / file), line)
    assert message in error.value.message
    assert error.value.hint


NO_CORPUS = {
    "none": (None, "corpus.jsonl not found"),
    "not in it": (CORPUS, "document 'shop/price.py::total' not found in corpus.jsonl"),
    "duplicate": (CORPUS.replace("d 1", "D 1"), "duplicate document 'D 1/ä'"),
}


@pytest.mark.parametrize(("corpus", "message"), NO_CORPUS.values(), ids=NO_CORPUS)
def test_documents_that_cannot_be_the_corpus_are_refused(tmp_path, corpus, message):
    with pytest.raises(GoldError, match=message):
        load_gold(make(tmp_path, corpus=corpus))


def test_a_set_in_this_folder_without_documents_is_told_how_to_name_its_code(tmp_path, monkeypatch):
    monkeypatch.chdir(make(tmp_path))
    with pytest.raises(GoldError) as error:
        load_gold(".")
    assert "assay gold convert . shop.yaml --to native --corpus PATH" in (error.value.hint or "")


def test_no_judgments_and_a_single_file_are_refused(tmp_path):
    write(tmp_path, "shop/queries.jsonl", QUERIES)
    (tmp_path / "shop" / "qrels").mkdir()
    with pytest.raises(GoldError, match="no judgments in qrels/"):
        load_gold(tmp_path / "shop", corpus=HERE)
    with pytest.raises(GoldError, match="expected a BEIR directory, got a file"):
        load_gold(tmp_path / "shop" / "queries.jsonl", format="beir", corpus=HERE)


def test_what_is_written_is_what_beirs_own_tools_read():
    queries = (Query("q1", {"human": "a\nb"}, (Target(Span("\"odd\" 'name'.py")), Target(Span("b.py", 1, 2), 1))),)
    files = write_beir(Suite((GoldSet("shop", HERE, queries),))).files
    corpus = [json.loads(line) for line in str(files["shop/corpus.jsonl"]).splitlines()]
    assert [sorted(one) for one in corpus] == [["_id", "text", "title"]] * 2
    assert json.loads(str(files["shop/queries.jsonl"])) == {"_id": "q1", "text": "a\nb"}
    assert files["shop/qrels/test.tsv"] == (
        'query-id\tcorpus-id\tscore\nq1\t"""odd"" \'name\'.py"\t2\nq1\tb.py:1-2\t1\n'
    )


def held(gold: GoldSet) -> GoldSet:
    """Give the part of a set that the format has a place for."""
    queries = (Query(q.id, {"human": q.headline}, q.targets, irrelevant=q.irrelevant) for q in gold.queries)
    return replace(gold, queries=tuple(queries), provenance={})


def heads(lost: Sequence[str]) -> str:
    """Give what sentences say is lost, without the names in brackets, which may be any words."""
    return " ".join(re.split(r" \(|: ", sentence)[0] for sentence in lost)


#: What is said of each part of a query that has no place.
LOST = {
    "phrasing": lambda query: set(query.forms) != {"human"},
    "adversar": lambda query: bool(query.adversaries),
    "rationale": lambda query: query.rationale is not None,
    "measure": lambda query: bool(query.measures),
    "tag": lambda query: bool(query.tags),
    "label": lambda query: bool(query.labels),
}


@examples(40)
@given(st.lists(golds(), min_size=1, max_size=2, unique_by=lambda gold: gold.name.casefold()))
def test_what_is_written_comes_back_and_the_rest_is_named(tmp_path_factory, sets):
    written = write_beir(Suite(tuple(sets)))
    root = tmp_path_factory.mktemp("beir")
    for name, text in written.files.items():
        write(root, name, str(text))
    back = [read_beir_directory(root / gold.name, gold.corpus)[0] for gold in sets]
    assert [unplaced(gold) for gold in back] == [held(gold) for gold in sets]
    told = heads(written.lost)
    assert "corp" in told
    assert "the text of" in told
    assert ("provenance note of a set" in told or "provenance notes of sets" in told) == any(
        gold.provenance for gold in sets
    )
    queries = [query for gold in sets for query in gold.queries]
    for word, lacks in LOST.items():
        assert (word in told) == any(map(lacks, queries)), word
