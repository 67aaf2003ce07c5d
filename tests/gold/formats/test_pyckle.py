"""Pyckle-style eval sets: JSON, and Python literals that are never run."""

import pytest

from tests.gold.formats.files import caught, load_one
from tests.gold.formats.samples import PYCKLE_JSON, PYCKLE_PYTHON, PYCKLE_RESULTS


def pairs(gold):
    return [(query.forms["human"], [target.anchor for target in query.targets]) for query in gold.queries]


WANTED = [
    ("where is the basket priced", ["shop/price.py"]),
    ("how are rates read", ["shop/tax.py::read", "shop/rates.py"]),
]


def test_pyckle_reads_json_and_tells_what_it_does_not_know(tmp_path):
    gold = load_one(tmp_path, "eval.json", PYCKLE_JSON)
    assert pairs(gold) == WANTED
    assert [(query.id, query.line) for query in gold.queries] == [("row-001", 2), ("row-002", 3)]
    assert gold.provenance == {"not read": "note"}


def test_pyckle_reads_a_python_literal_with_its_lines(tmp_path):
    gold = load_one(tmp_path, "eval_set.py", PYCKLE_PYTHON)
    assert pairs(gold) == WANTED
    assert [query.line for query in gold.queries] == [5, 10]
    assert gold.provenance == {}


def test_pyckle_reads_the_pairs_of_a_results_file(tmp_path):
    gold = load_one(tmp_path, "eval_results.json", PYCKLE_RESULTS)
    assert pairs(gold) == WANTED[:1]
    assert gold.provenance == {"not read": "mrr_at_10, ranked"}


def test_pyckle_reads_json_lines_ids_and_tags(tmp_path):
    text = '{"id": "a b", "query": "q", "expected": "x.py", "category": "c", "difficulty": "hard"}\n'
    gold = load_one(tmp_path, "eval.jsonl", text)
    assert [(query.id, query.tags) for query in gold.queries] == [("a-b", {"category": "c", "difficulty": "hard"})]
    assert gold.provenance == {"ids": "blanks and slashes became '-': 'a b' is a-b"}


def test_pyckle_takes_the_only_list_of_dicts_whatever_its_name(tmp_path):
    text = "WORDS = ['a']\nQUESTIONS: list = [{'query': 'q', 'expected': 'x.py'}]\nn = 1\n"
    assert len(load_one(tmp_path, "set.py", text).queries) == 1


def test_pyckle_never_runs_the_file(tmp_path):
    marker = tmp_path / "ran"
    text = f"open({str(marker)!r}, 'w').close()\nEVAL_SET = [{{'query': 'q', 'expected': 'x.py'}}]\n"
    assert len(load_one(tmp_path, "set.py", text).queries) == 1
    assert not marker.exists()


ENTRY = "{'query': 'q', 'expected': 'x.py'}"
PYTHON_BAD = {
    "call": ("EVAL_SET = [\n  {'query': 'q',\n   'expected': path('x')}]", 3, "not a literal"),
    "call in a list": ("EVAL_SET = [{'query': 'q', 'expected': ['x',\n  path('y')]}]", 2, "not a literal"),
    "name": ("EVAL_SET = [\n  {'query': Q, 'expected': 'x'}]", 2, "not a literal"),
    "f-string": ("EVAL_SET = [{'query': 'q', 'expected': f'{root}/x'}]", 1, "not a literal"),
    "sum of texts": ("EVAL_SET = [{'query': 'q', 'expected': 'a' + 'b'}]", 1, "not a literal"),
    "comprehension": ("EVAL_SET = [\n{'query': q, 'expected': 'x'} for q in QUERIES]", 1, "no literal list"),
    "loaded": ("import json\nEVAL_SET = json.load(open('x'))", 2, "no literal list"),
    "appended": (f"EVAL_SET = [{ENTRY}]\n\nEVAL_SET.append({ENTRY})", 3, "is changed here"),
    "added": (f"EVAL_SET = [{ENTRY}]\nEVAL_SET += [{ENTRY}]", 2, "is changed here"),
    "set again": (f"EVAL_SET = [{ENTRY}]\nif 1:\n    EVAL_SET = []", 3, "is changed here"),
    "item set": (f"EVAL_SET = [{ENTRY}]\nEVAL_SET[0] = {ENTRY}", 2, "is changed here"),
    "two lists": (f"A = [{ENTRY}]\nB = [{ENTRY}]", 2, "several lists"),
    "twice": (f"EVAL_SET = [{ENTRY}]\nEVAL_SET = [{ENTRY}]", 2, "several lists"),
    "starred": (f"EVAL_SET = [{ENTRY},\n *OTHERS]", 2, "not a dict"),
    "unpacked": ("EVAL_SET = [{**ENTRY, 'expected': 'x'}]", 1, "not a literal text"),
    "key twice": ("EVAL_SET = [{'query': 'q',\n'query': 'p', 'expected': 'x'}]", 2, "stands twice"),
    "empty": ("EVAL_SET = []", 1, "is empty"),
    "nothing": ("x = 1\n", 1, "no list of dicts"),
    "syntax": ("EVAL_SET = [\n  {'query': 'q' 'expected': 'x'}]", 2, "not Python"),
    "null": ("EVAL_SET = ['\0']", 1, "not Python"),
    "deep": ("EVAL_SET = " + "[" * 500, 1, "not Python"),
    "deep minus": ("EVAL_SET = " + "-" * 100_000 + "1", 1, "not Python"),
    "no query": ("EVAL_SET = [\n{'expected': 'x'}]", 2, "lacks the key 'query'"),
    "number": ("EVAL_SET = [{'query': 'q', 'expected': 3}]", 1, "not a text"),
    "set": ("EVAL_SET = [{'query': 'q', 'expected': {'x.py'}}]", 1, "not a text"),
    "unhashable": ("EVAL_SET = [{'query': 'q', 'expected': {[]: 1}}]", 1, "not a literal"),
    "long id": (f"EVAL_SET = [{{'id': 0x{'f' * 5000}, 'query': 'q', 'expected': 'x'}}]", 1, "not a text"),
}


@pytest.mark.parametrize(("text", "line", "message"), PYTHON_BAD.values(), ids=PYTHON_BAD)
def test_pyckle_says_which_line_is_no_literal(tmp_path, text, line, message):
    error = caught(tmp_path, "eval_set.py", text)
    assert (error.line, message in error.message) == (line, True), str(error)


JSON_BAD = {
    "no expected": ('[{"query": "q", "expected": "x"},\n{"query": "q"}]', 2, "lacks the key 'expected'"),
    "empty expected": ('[{"query": "q", "expected": []}]', 1, "no primary"),
    "number in a list": ('[{"query": "q", "expected": [1]}]', 1, "not a text"),
    "no results": ('{"results": [],\n"query": "expected", "expected": 1}', 1, "no entry"),
    "results twice": ('{"results": [{"query": "q", "expected": "x"}],\n"results": []}', 2, "stands twice"),
    "id twice": (
        '[{"id": "a b", "query": "q", "expected": "x"},\n{"id": "a b", "query": "q", "expected": "x"}]',
        2,
        "used twice",
    ),
}


@pytest.mark.parametrize(("text", "line", "message"), JSON_BAD.values(), ids=JSON_BAD)
def test_pyckle_says_which_entry_is_wrong(tmp_path, text, line, message):
    error = caught(tmp_path, "eval.json", text)
    assert (error.line, message in error.message) == (line, True), str(error)
