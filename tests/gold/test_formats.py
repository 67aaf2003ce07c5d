"""The formats of other tools: what they read, and that no row is lost in silence."""

import contextlib
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import ConfigError, GoldError
from assay.gold import TagRule, load_gold
from assay.gold.formats.detect import FORMATS, detect, named
from assay.gold.source import Source, read_source
from assay.types import CorpusSpec, Gold, Span

HERE = CorpusSpec("path", ".")
OCTOCODE = "query,result1,result2,result3\n"


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", newline="")
    return path


def load_one(folder: Path, name: str, text: str, **options: Any) -> Gold:
    return load_gold(write(folder, name, text), **{"corpus": HERE, **options}).golds[0]


def caught(folder: Path, name: str, text: str, **options: Any) -> GoldError:
    path = write(folder, name, text)
    with pytest.raises(GoldError) as error:
        load_gold(path, **{"corpus": HERE, **options})
    assert error.value.file == str(path)
    assert error.value.hint
    return error.value


def test_octocode_reads_rows_and_grades(tmp_path):
    text = OCTOCODE + '"merge, then cut",src/a.rs:41-61:2,src/a.rs:64-114:1,\n\nparse,b.rs:1-1:1,b.rs:2-3:2\n'
    gold = load_one(tmp_path, "code.csv", text)
    assert (gold.name, gold.corpus) == ("code", HERE)
    assert [(q.id, q.line, q.forms["human"]) for q in gold.queries] == [
        ("row-001", 2, "merge, then cut"),
        ("row-002", 4, "parse"),
    ]
    assert [(t.span, t.grade) for t in gold.queries[1].targets] == [(Span("b.rs", 2, 3), 2), (Span("b.rs", 1, 1), 1)]


OCTOCODE_BAD = {
    "no range": ("q,src/a.rs:2,,\n", 2, "is not a result"),
    "no grade": ("q,src/a.rs:1-2,,\n", 2, "is not a result"),
    "grade 3": ("q,a.rs:1-2:2,,\nq,a.rs:1-2:3,,\n", 3, "has the grade 3"),
    "backward": ("q,a.rs:2-1:2,,\n", 2, "ends before it begins"),
    "no result": ("q,,,\n", 2, "has no result"),
    "no query": (",a.rs:1-2:2,,\n", 2, "is empty"),
    "no primary": ("q,a.rs:1-2:1,,\n", 2, "no primary"),
    "twice": ("q,a.rs:1-2:2,a.rs:1-2:1,\n", 2, "twice"),
    "too many cells": ("q,a.rs:1-2:2,,,\n", 2, "5 cells"),
    "open quote": ('ok,a.rs:1-2:2,,\n"q,a.rs:1-2:2,,\n', 3, "not CSV"),
    "absolute": ("q,/a.rs:1-2:2,,\n", 2, "absolute"),
    "nothing": ("", 1, "empty"),
}


@pytest.mark.parametrize(("rows", "line", "message"), OCTOCODE_BAD.values(), ids=OCTOCODE_BAD)
def test_octocode_says_which_row_is_wrong(tmp_path, rows, line, message):
    error = caught(tmp_path, "code.csv", OCTOCODE + rows)
    assert error.line == line
    assert message in error.message


def test_octocode_refuses_an_unknown_column(tmp_path):
    assert caught(tmp_path, "code.csv", "query,result1,note\nq,a:1-2:2,x\n").line == 1


def test_csv_needs_a_corpus(tmp_path):
    error = caught(tmp_path, "code.csv", OCTOCODE + "q,a.rs:1-2:2\n", corpus=None)
    assert "names no corpus" in error.message
    assert "--corpus" in (error.hint or "")


def test_tag_rules_mark_rows(tmp_path):
    text = OCTOCODE + "".join(f"q{n},a.rs:{n}-{n}:2,,\n" for n in range(1, 6))
    gold = load_one(tmp_path, "code.csv", text, tags=[TagRule.parse("difficulty=hard:2-3,5")])
    assert [q.tags.get("difficulty") for q in gold.queries] == [None, "hard", "hard", None, "hard"]
    assert "goes to row 6" in caught(tmp_path, "code.csv", text, tags=[TagRule.parse("a=b:6")]).message


@pytest.mark.parametrize("text", ["", "a", "a=b", "a=b:", "a=b:0-2", "a=b:3-2", "a=b:x", "=b:1", "a=:1", "a=b:1-2-3"])
def test_tag_rules_refuse_what_they_are_not(text):
    with pytest.raises(ConfigError):
        TagRule.parse(text)


PLAIN = "id,query,path,form,grade,cluster\n"


def test_plain_groups_rows_by_id(tmp_path):
    text = (
        PLAIN + "a,how?,x.py::f,,,c1\nb,what?,y.py:1-2,human,1,\na,f how,x.py::f,keyword,2,c1\nb,what?,z.py,,primary,\n"
    )
    first, second = load_one(tmp_path, "set.csv", text).queries
    assert (first.id, first.forms, first.tags) == ("a", {"human": "how?", "keyword": "f how"}, {"cluster": "c1"})
    assert [t.anchor for t in first.targets] == ["x.py::f"]
    assert [(t.anchor, t.grade) for t in second.targets] == [("z.py", 2), ("y.py:1-2", 1)]
    assert (second.line, second.tags) == (3, {})


def test_plain_groups_rows_by_query_without_ids(tmp_path):
    gold = load_one(tmp_path, "set.csv", "query,path\nhow?,a.py\nwhat?,b.py\nhow?,c.py\n")
    assert [(q.id, len(q.targets)) for q in gold.queries] == [("row-001", 2), ("row-002", 1)]


PLAIN_BAD = {
    "unknown column": ("query,path,garde\nq,a.py,2\n", 1, "unknown column 'garde'"),
    "column twice": ("query,path,path\nq,a.py,b.py\n", 1, "stands twice"),
    "row twice": ("query,path\nq,a.py\nq,a.py\n", 3, "twice"),
    "grades differ": (PLAIN + "a,q,x.py,human,2\na,k,x.py,keyword,1\n", 3, "grade of x.py"),
    "forms differ": (PLAIN + "a,q,x.py\na,p,y.py\n", 3, "human form of 'a'"),
    "clusters differ": (PLAIN + "a,q,x.py,,,c\na,q,y.py,,,d\n", 3, "cluster of 'a'"),
    "unknown form": (PLAIN + "a,q,x.py,humn\n", 2, "unknown form 'humn'"),
    "bad grade": (PLAIN + "a,q,x.py,,3\n", 2, "is not a grade"),
    "no id": (PLAIN + ",q,x.py\n", 2, "is empty"),
    "no path": (PLAIN + "a,q,\n", 2, "is empty"),
    "bad target": ("query,path\nq,a.py:3\n", 2, "':' in its path"),
    "after a long cell": ('query,path\n"a\nb\nc",a.py\nq,/x\n', 5, "absolute"),
}


@pytest.mark.parametrize(("text", "line", "message"), PLAIN_BAD.values(), ids=PLAIN_BAD)
def test_plain_says_which_row_is_wrong(tmp_path, text, line, message):
    error = caught(tmp_path, "set.csv", text)
    assert error.line == line
    assert message in error.message


REPOS = [
    {
        "name": "flask",
        "language": "python",
        "url": "https://x/flask.git",
        "revision": "abc",
        "benchmark_root": "src/flask",
    },
    {"name": "gin", "language": "go", "url": "https://x/gin.git", "revision": "def"},
]
FLASK = """[
  {
    "query": "routing",
    "relevant": ["src/flask/app.py", {"path": "src/flask/b.py", "start_line": 3, "end_line": 9}],
    "secondary": ["src/flask/c.py"],
    "category": "architecture"
  },
  {"query": "Flask", "relevant": ["src/flask/app.py"], "seed": {"path": "x", "line": 1}, "related": []}
]
"""


def semble(folder: Path, flask: str = FLASK) -> Path:
    write(folder, "repos.json", json.dumps(REPOS))
    write(folder, "annotations/gin.json", '[{"query": "mux", "relevant": ["gin.go"], "secondary": []}]')
    return write(folder, "annotations/flask.json", flask)


def test_semble_folder_reads_every_repository(tmp_path):
    semble(tmp_path)
    flask, gin = load_gold(tmp_path).golds
    assert flask.corpus == CorpusSpec("git", "https://x/flask.git", rev="abc", include=("src/flask/**",))
    assert gin.corpus == CorpusSpec("git", "https://x/gin.git", rev="def")
    first, second = flask.queries
    assert [(t.span, t.grade) for t in first.targets] == [
        (Span("src/flask/app.py"), 2),
        (Span("src/flask/b.py", 3, 9), 2),
        (Span("src/flask/c.py"), 1),
    ]
    assert first.tags == {"category": "architecture", "language": "python"}
    assert (first.line, second.line) == (2, 8)
    assert flask.provenance == {"not read": "seed, related"}


def test_semble_file_finds_its_repository_above_it(tmp_path):
    path = semble(tmp_path)
    assert load_gold(path).golds[0].corpus.rev == "abc"
    assert load_gold(path, corpus=HERE).golds[0].corpus == HERE


SEMBLE_BAD = {
    "not json": ('[\n{"query": "a",\n5}]', 3, "not JSON"),
    "not a list": ('{"query": "a"}', 1, "JSON list"),
    "empty": ("[]", 1, "empty"),
    "no entries": ("[ 1 ]", 1, "not an object"),
    "unknown key": ('[\n\n{"query": "a", "relevnt": ["x"]}]', 3, "unknown key 'relevnt'"),
    "missing key": ('[{"query": "a"}]', 1, "lacks the key 'relevant'"),
    "key twice": ('[{"query": "a", "query": "b"}]', 1, "stands twice"),
    "query not text": ('[{"query": 1, "relevant": ["x"]}]', 1, "not a text"),
    "half a pair": ('[{"query": "\\ud800", "relevant": ["x"]}]', 1, "surrogate"),
    "no relevant": ('[{"query": "a", "relevant": []}]', 1, "no primary"),
    "relevant a text": ('[{"query": "a", "relevant": "x"}]', 1, "not a list"),
    "relevant a number": ('[{"query": "a", "relevant": [1]}]', 1, "neither"),
    "range not a number": (
        '[{"query": "a", "relevant": [{"path": "x", "start_line": "1", "end_line": 2}]}]',
        1,
        "number",
    ),
    "range half": ('[{"query": "a", "relevant": [{"path": "x", "start_line": 1}]}]', 1, "end_line"),
    "absolute": ('[{"query": "a", "relevant": ["/x"]}]', 1, "absolute"),
    "more": ('[{"query": "a", "relevant": ["x"]}]\n\n[]', 3, "more after"),
    "comma": ('[{"query": "a", "relevant": ["x"]}\n{}]', 2, "',' expected"),
    "deep": ("[" * 100_000, 1, "not JSON"),
    "long number": ('[{"query": ' + "1" * 5000 + "}]", 1, "not JSON"),
}


@pytest.mark.parametrize(("text", "line", "message"), SEMBLE_BAD.values(), ids=SEMBLE_BAD)
def test_semble_says_which_entry_is_wrong(tmp_path, text, line, message):
    path = semble(tmp_path, text)
    with pytest.raises(GoldError) as error:
        load_gold(path, format="semble")
    assert (error.value.file, error.value.line) == (str(path), line)
    assert message in error.value.message
    assert error.value.hint


def test_semble_refuses_annotations_of_an_unknown_repository(tmp_path):
    semble(tmp_path)
    write(tmp_path, "annotations/other.json", FLASK)
    with pytest.raises(GoldError, match="names the repository 'other'"):
        load_gold(tmp_path)


def test_detect_goes_by_content_not_by_name(tmp_path):
    looks = {
        "octocode": OCTOCODE,
        "plain": "path,query\n",
        "semble": ' [{"query"',
        "native": "# hello\nassay: 1\n",
    }
    assert {name: detect(Source(Path("gold.txt"), text)).name for name, text in looks.items()} == {n: n for n in looks}
    assert detect(Source(Path("x.json"), '{"assay": 1}')).name == "native"


def test_detect_lists_the_formats_when_none_fits(tmp_path):
    error = caught(tmp_path, "gold.csv", "question,file\nq,a.py\n")
    assert all(known.name in (error.hint or "") for known in FORMATS)


def test_format_overrides_and_must_be_known(tmp_path):
    path = write(tmp_path, "gold.csv", "question,file\nq,a.py\n")
    with pytest.raises(GoldError, match="unknown column 'question'"):
        load_gold(path, format="plain", corpus=HERE)
    with pytest.raises(ConfigError, match="did you mean 'octocode'"):
        load_gold(path, format="octcode")
    assert named("native").name == "native"


CELLS = st.text(st.sampled_from("ab.py:-12/ \"',\n\r\0é\\"), max_size=12) | st.sampled_from(
    ["a.py", "a.py:1-2", "a.py:1-2:2", "a.py::f", "human", "2", "query"]
)
HEADERS = st.sampled_from(
    [
        ("query", "result1"),
        ("query", "result1", "result2", "result3"),
        ("query", "path"),
        ("id", "query", "path", "form", "grade", "cluster"),
    ]
)


def attempt(path: Path, text: str) -> Gold | None:
    """Read a text in whatever format it looks like; anything but gold or a GoldError escapes."""
    source = Source(path, text)
    with contextlib.suppress(GoldError):
        return detect(source).read(source, "drawn", HERE)
    return None


@settings(max_examples=300)
@given(HEADERS, st.lists(st.lists(CELLS, max_size=6), max_size=4))
def test_csv_of_any_rows_gives_gold_with_every_row_or_an_error(header, rows):
    stream = io.StringIO()
    csv.writer(stream).writerows([header, *rows])
    gold = attempt(Path("drawn.csv"), stream.getvalue())
    if gold is not None:
        filled = [row for row in rows if row]
        if "path" not in header:
            assert len(gold.queries) == len(filled)
        else:
            assert sum(len(query.targets) * len(query.forms) for query in gold.queries) >= len(filled)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["query", "relevant", "secondary", "category", "path", "start_line"]), inner)
    ),
)
ENTRIES = st.fixed_dictionaries(
    {
        "query": st.text(max_size=5) | JSON,
        "relevant": st.lists(st.sampled_from(["a", "b/c", "/d", ""]) | JSON, max_size=3),
    },
    optional={"secondary": JSON, "category": st.text(max_size=3) | JSON, "seed": JSON},
)


@settings(max_examples=150, deadline=None)
@given(st.lists(ENTRIES, max_size=3) | JSON)
def test_json_of_any_shape_gives_gold_with_every_entry_or_an_error(value):
    gold = attempt(Path("drawn.json"), json.dumps(value))
    if gold is not None:
        assert len(gold.queries) == len(value)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([b"", b"assay: 1\n", b"query,path\n", b"query,result1\n", b"[{"]),
    st.binary(max_size=80),
    st.sampled_from([".yaml", ".csv", ".json", ".txt"]),
)
def test_any_bytes_give_gold_or_an_error(tmp_path_factory, head, tail, suffix):
    path = tmp_path_factory.getbasetemp() / f"drawn{suffix}"
    path.write_bytes(head + tail)
    try:
        text = read_source(path).text
    except GoldError:
        return
    attempt(path, text)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40))
def test_tag_rules_of_any_text_parse_or_are_refused(text):
    with contextlib.suppress(ConfigError):
        assert TagRule.parse(text).rows
