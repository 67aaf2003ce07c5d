"""Plain CSV and JSON lines: rows become intents, and none is lost in silence."""

import pytest

from tests.gold.formats.files import caught, load_one
from tests.gold.formats.samples import PLAIN_JSON

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


def test_plain_reads_json_lines_with_one_target_or_several(tmp_path):
    gold = load_one(tmp_path, "set.jsonl", PLAIN_JSON)
    first, second = gold.queries
    assert (first.id, first.forms) == ("a", {"human": "how is a basket priced?", "keyword": "basket price"})
    assert [target.anchor for target in first.targets] == ["shop/price.py::total", "shop/tax.py:3-9"]
    assert (second.id, second.line, second.tags) == ("7", 3, {"cluster": "tax"})


def test_plain_reads_a_json_list_without_ids(tmp_path):
    gold = load_one(
        tmp_path, "set.json", '[{"query": "q", "path": "a.py"},\n{"query": "q", "path": "b.py", "grade": 1}]'
    )
    assert [(query.id, [t.grade for t in query.targets]) for query in gold.queries] == [("row-001", [2, 1])]


def test_plain_gives_ids_with_blanks_sound_ones(tmp_path):
    gold = load_one(tmp_path, "set.csv", "id,query,path\na b,q,x.py\na b,q,y.py\na/b,p,x.py\n")
    assert [(query.id, len(query.targets)) for query in gold.queries] == [("a-b", 2), ("a-b-2", 1)]
    assert gold.provenance == {"ids": "whitespace and slashes replaced by '-': 'a b' → a-b, 'a/b' → a-b-2"}


JSON_BAD = {
    "unknown key": ('{"query": "q", "pth": "a.py", "path": "a.py"}', 1, "unknown key 'pth'"),
    "neither": ('{"query": "q", "path": "a.py"}\n{"query": "q"}', 2, "either 'path' or 'targets'"),
    "both": ('{"query": "q", "path": "a.py", "targets": ["b.py"]}', 1, "either 'path' or 'targets'"),
    "no targets": ('{"query": "q", "targets": []}', 1, "is empty"),
    "a number": ('{"query": "q", "targets": ["a.py", 1]}', 1, "expected a string"),
    "grade": ('{"query": "q", "path": "a.py", "grade": -3}', 1, "invalid grade"),
    "grade true": ('{"query": "q", "path": "a.py", "grade": true}', 1, "expected a string"),
    "some ids": ('{"id": "a", "query": "q", "path": "a.py"}\n\n{"query": "p", "path": "a.py"}', 3, "is empty"),
    "not json": ('{"query": "q", "path": "a.py"}\n{"query": ', 2, "invalid JSON"),
}


@pytest.mark.parametrize(("text", "line", "message"), JSON_BAD.values(), ids=JSON_BAD)
def test_plain_says_which_line_is_wrong(tmp_path, text, line, message):
    error = caught(tmp_path, "set.jsonl", text)
    assert (error.line, message in error.message) == (line, True), str(error)


PLAIN_BAD = {
    "unknown column": ("query,path,garde\nq,a.py,2\n", 1, "unknown column 'garde'"),
    "column twice": ("query,path,path\nq,a.py,b.py\n", 1, "duplicate"),
    "row twice": ("query,path\nq,a.py\nq,a.py\n", 3, "duplicate"),
    "grades differ": (PLAIN + "a,q,x.py,human,2\na,k,x.py,keyword,1\n", 3, "grade of x.py"),
    "forms differ": (PLAIN + "a,q,x.py\na,p,y.py\n", 3, "human phrasing of 'a'"),
    "clusters differ": (PLAIN + "a,q,x.py,,,c\na,q,y.py,,,d\n", 3, "cluster of 'a'"),
    "unknown form": (PLAIN + "a,q,x.py,humn\n", 2, "unknown phrasing 'humn'"),
    "bad grade": (PLAIN + "a,q,x.py,,3.5\n", 2, "invalid grade"),
    "no id": (PLAIN + ",q,x.py\n", 2, "is empty"),
    "no path": (PLAIN + "a,q,\n", 2, "is empty"),
    "bad target": ("query,path\nq,a.py:3\n", 2, "contains ':'"),
    "after a carriage return": ('query,path\n"a\rb",a.py\nq,/x\n', 3, "absolute"),
    "after a long cell": ('query,path\n"a\nb\nc",a.py\nq,/x\n', 5, "absolute"),
}


@pytest.mark.parametrize(("text", "line", "message"), PLAIN_BAD.values(), ids=PLAIN_BAD)
def test_plain_says_which_row_is_wrong(tmp_path, text, line, message):
    error = caught(tmp_path, "set.csv", text)
    assert error.line == line
    assert message in error.message
