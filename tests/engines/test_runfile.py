from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from assay.engines import make_engine
from assay.engines.base import Session
from assay.engines.calls import query_session
from assay.engines.runfile import Docno, read_trec
from assay.errors import EngineError, InputError
from assay.trec import document_paths
from assay.types import Corpus, CorpusSpec, GoldSet, Hit, Query, Span, Status, Suite, Target
from tests.properties import examples

CorpusOf = Callable[..., Corpus]
SPEC = CorpusSpec("stdlib")
QUERIES = (
    Query("one", {"human": "first?", "keyword": "first"}, (Target(Span("a.py")),)),
    Query("two", {"human": "second?"}, (Target(Span("b.py")),)),
)
SUITE = Suite((GoldSet("g", SPEC, QUERIES), GoldSet("h", CorpusSpec("pypi", "x==1"), QUERIES)))


@pytest.fixture
def opened(corpus_of: CorpusOf, tmp_path: Path) -> Callable[..., Session]:
    """Write a run file and open it."""

    def write(text: str | bytes, **settings: object) -> Session:
        path = tmp_path / "run"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        engine = make_engine({"kind": "runfile", "path": str(path), **settings}, suite=SUITE)
        return engine.open(corpus_of({"a.py": "x\n"}, SPEC))

    return write


Opened = Callable[..., Session]


def test_runfile_reads_trec_by_score_then_docno_descending(opened: Opened) -> None:
    session = opened(
        "g/one/human Q0 c.py 1 0.5 tag\ng/one/human Q0 a.py:3-9 2 0.9 tag\n\ng/one/human Q0 b.py 3 0.9 tag\r\n"
    )
    assert session.search("first?", 9) == (Hit("b.py", score=0.9), Hit("a.py", 3, 9, 0.9), Hit("c.py", score=0.5))
    assert session.search("first?", 1) == (Hit("b.py", score=0.9),)


@examples(60)
@given(st.dictionaries(st.text("abAB01.-", min_size=1, max_size=3), st.sampled_from([0.0, 1.0, 1.5, -2.0]), min_size=1))
def test_runfile_order_is_trec_evals(scores: dict[str, float]) -> None:
    text = "".join(f"q Q0 {docno} 1 {score} t\n" for docno, score in scores.items())
    ranked = [found.text for found in read_trec(text, "run")[0]["q"] if isinstance(found, Docno)]
    for depth, docno in enumerate(ranked, 1):
        peer = pytrec_eval.RelevanceEvaluator({"q": {docno: 1}}, {"recip_rank"})
        assert peer.evaluate({"q": scores})["q"]["recip_rank"] == pytest.approx(1 / depth, abs=1e-12)


def test_runfile_notes_ties_whose_ranks_say_another_order(tmp_path: Path) -> None:
    def notes(text: str) -> tuple[str, ...]:
        (tmp_path / "run").write_text(text)
        return make_engine(f"runfile:{tmp_path / 'run'}", suite=SUITE).notes

    assert notes("one Q0 b 1 2 t\none Q0 a 2 2 t\none Q0 c 3 1 t\n") == ()
    [note] = notes("one Q0 a 1 2 t\none Q0 b 2 2 t\ntwo Q0 c 3 1 t\n")
    assert note.startswith("1 of 2 queries of the run file have results with equal scores, e.g. one")


def test_runfile_finds_documents_by_their_ids(corpus_of: CorpusOf, tmp_path: Path) -> None:
    ids = ["D0", "10.1/x", "T13:32:05Z-1", "T13:32:05Z-2", "<a b>", "Case", "case", "a.py"]
    names = document_paths(ids)
    corpus = corpus_of(dict.fromkeys(names.values(), "x\n"), SPEC)
    docnos = [name for name in ids if " " not in name]
    text = "".join(f"one Q0 {name} 1 {-at} t\n" for at, name in enumerate([*docnos, "a.py:3-9"]))
    (tmp_path / "run").write_text(text)
    found = query_session(make_engine(f"runfile:{tmp_path / 'run'}", suite=SUITE).open(corpus), "first?", 20).hits
    assert [(hit.path, hit.start) for hit in found] == [*((names[name], None) for name in docnos), ("a.py", 3)]
    (tmp_path / "run").write_text(json.dumps({"query": "one", "hits": [{"path": "<a b>"}, "D0:3-9"]}))
    found = query_session(make_engine(f"runfile:{tmp_path / 'run'}", suite=SUITE).open(corpus), "first?", 20).hits
    assert found == (Hit(names["<a b>"]), Hit("D0", 3, 9))


def test_runfile_name_without_a_form_is_the_headline_alone(opened: Opened) -> None:
    for name in ("one", "g/one"):
        session = opened(f"{name} Q0 a.py 1 1 t\n")
        assert session.search("first?", 5) == (Hit("a.py", score=1.0),)
        assert query_session(session, "first", 5).status == Status.ERROR


def test_runfile_exact_name_wins_over_the_short_one(opened: Opened) -> None:
    session = opened("one Q0 a.py 1 1 t\ng/one/human Q0 b.py 1 1 t\n")
    assert session.search("first?", 5) == (Hit("b.py", score=1.0),)


def test_runfile_reads_json_lines_by_name_or_words(opened: Opened) -> None:
    lines = [
        {"query": "g/one/keyword", "hits": ["a.py:3-9", {"path": "b.py", "start": 1, "end": 2, "score": 3}]},
        {"text": "second?", "hits": []},
    ]
    session = opened("\n".join(map(json.dumps, lines)))
    assert session.search("first", 5) == (Hit("a.py", 3, 9), Hit("b.py", 1, 2, 3))
    assert session.search("second?", 5) == ()


def test_runfile_that_names_queries_by_their_words_alone_is_read(opened: Opened) -> None:
    lines = [{"query": "first?", "hits": ["a.py"]}, {"text": "second?", "hits": ["b.py"]}]
    session = opened("\n".join(map(json.dumps, lines)))
    assert session.search("first?", 5) == (Hit("a.py"),)
    assert session.search("second?", 5) == (Hit("b.py"),)


def test_runfile_missing_query_is_an_error_of_that_query(opened: Opened) -> None:
    answer = query_session(opened("two Q0 a.py 1 1 t\n"), "first?", 5)
    assert answer.status == Status.ERROR
    assert "has no ranking for g/one/human → name each query GOLD/QUERY/PHRASING" in str(answer.error)


def test_runfile_names_that_are_no_query_are_counted(tmp_path: Path) -> None:
    def notes(*names: str) -> tuple[str, ...]:
        (tmp_path / "run").write_text("".join(json.dumps({"query": name, "hits": []}) + "\n" for name in names))
        return make_engine(f"runfile:{tmp_path / 'run'}", suite=SUITE).notes

    assert notes("one", "g/one", "g/one/keyword", "h/two/human", "second?") == ()
    assert notes("one", "bogus") == ("1 query id in the run file is not in this gold set, e.g. bogus",)
    assert notes("x", "one", "g/one/nonsense", "g/three") == (
        "3 query ids in the run file are not in this gold set, e.g. x",
    )


def test_runfile_path_starts_from_the_folder_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "mine.trec").write_text("one Q0 a.py 1 1 t\n")
    assert make_engine("runfile:mine.trec", suite=SUITE, directory=tmp_path).config["kind"] == "runfile"
    with pytest.raises(InputError) as caught:
        make_engine("runfile:none.trec", suite=SUITE, directory=tmp_path)
    assert (caught.value.file, bool(caught.value.hint)) == (str(tmp_path / "none.trec"), True)


def test_runfile_that_answers_no_query_is_told_at_once(opened: Opened) -> None:
    with pytest.raises(EngineError, match="has no query of this gold set"):
        opened("other Q0 a.py 1 1 t\n")


def test_runfile_configuration_is_its_content(opened: Opened, tmp_path: Path) -> None:
    for name, text in (("a", "one Q0 a 1 1 t\n"), ("b", "one Q0 a 1 1 t\n"), ("c", "one Q0 b 1 1 t\n")):
        (tmp_path / name).write_text(text)
    a, b, c = (make_engine(f"runfile:{tmp_path / name}", suite=SUITE).config for name in "abc")
    assert a == b != c


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("one Q0 a.py 1 1 t\none Q0 b c.py 2 1 t\n", 2, "expected 6 columns, got 7"),
        ("one Q0 a.py 1\n", 1, "expected 6 columns, got 4"),
        ("one Q0 a.py first 1 t\n", 1, "expected an integer rank and a numeric score"),
        ("one Q0 a.py 1 nan t\n", 1, "expected a finite score, got nan"),
        (
            "one Q0 a.py 1 2 t\ntwo Q0 a.py 1 2 t\none Q0 a.py 2 1 t\n",
            3,
            "duplicate result a.py for one, first on line 1",
        ),
        ('{"query": "one", "hits": []}\n{"query": "one", "hits": []}\n', 2, "duplicate query 'one'"),
        ('{"query": "one", "hits": []}\n{"query"\n', 2, "invalid ranking"),
        ('{"query": "one"}\n', 1, "invalid ranking"),
        ('{"query": "one", "hits": [3]}\n', 1, "invalid ranking"),
        ('{"query": "one", "hits": 3}\n', 1, "invalid ranking"),
        ('{"query": 3, "hits": []}\n', 1, "expected a string as query, got 3"),
        (b"one Q0 a.py 1 1 t\ntwo Q0 caf\xe9.py 1 1 t\n", 2, "not UTF-8"),
        ("\n\n", None, "empty"),
    ],
)
def test_runfile_bad_lines_are_told_with_file_and_line(
    opened: Opened, tmp_path: Path, text: str | bytes, line: int | None, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        opened(text)
    assert (caught.value.file, caught.value.line, caught.value.exit_code) == (str(tmp_path / "run"), line, 2)
    assert caught.value.hint


def test_runfile_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        make_engine(f"runfile:{tmp_path / 'none'}", suite=SUITE)


def test_runfile_with_two_answers_to_the_same_words_is_refused(corpus_of: CorpusOf, tmp_path: Path) -> None:
    twins = tuple(Query(name, {"human": "where?"}, (Target(Span("a.py")),)) for name in ("one", "two"))
    suite = Suite((GoldSet("g", SPEC, twins),))
    (tmp_path / "run").write_text("one Q0 a.py 1 1 t\ntwo Q0 b.py 1 1 t\n")
    with pytest.raises(EngineError, match="two different rankings"):
        make_engine(f"runfile:{tmp_path / 'run'}", suite=suite).open(corpus_of({"a.py": "x\n"}, SPEC))
    (tmp_path / "run").write_text("one Q0 a.py 1 1 t\ntwo Q0 a.py 1 1 t\n")
    make_engine(f"runfile:{tmp_path / 'run'}", suite=suite).open(corpus_of({"a.py": "x\n"}, SPEC))


def test_runfile_reads_the_results_of_pyckles_guide(opened: Opened) -> None:
    results = [{"query": "first?", "expected": "a.py", "ranked": ["b.py", "b.py", "a.py"]}]
    session = opened(json.dumps({"mrr_at_10": 0.3, "results": results}, indent=2))
    assert session.search("first?", 9) == (Hit("b.py"), Hit("b.py"), Hit("a.py"))


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([{"query": "first?"}], "missing key 'ranked'"),
        ([{"query": "first?", "ranked": ["a.py"]}] * 2, "duplicate query 'first\\?'"),
        ([{"query": "first?", "ranked": [7]}], "invalid Pyckle results"),
        (3, "invalid Pyckle results"),
    ],
)
def test_runfile_refuses_broken_results_of_pyckle(opened: Opened, results: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        opened(json.dumps({"results": results}))
