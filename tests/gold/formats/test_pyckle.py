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
    assert gold.provenance == {"ids": "whitespace and slashes replaced by '-': 'a b' → a-b"}


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
    "comprehension": ("EVAL_SET = [\n{'query': q, 'expected': 'x'} for q in QUERIES]", 1, "not a literal list"),
    "loaded": ("import json\nEVAL_SET = json.load(open('x'))", 2, "not a literal list"),
    "appended": (f"EVAL_SET = [{ENTRY}]\n\nEVAL_SET.append({ENTRY})", 3, "may change"),
    "added": (f"EVAL_SET = [{ENTRY}]\nEVAL_SET += [{ENTRY}]", 2, "may change"),
    "set again": (f"EVAL_SET = [{ENTRY}]\nif 1:\n    EVAL_SET = []", 2, "may change"),
    "item set": (f"EVAL_SET = [{ENTRY}]\nEVAL_SET[0] = {ENTRY}", 2, "may change"),
    "two lists": (f"A = [{ENTRY}]\nB = [{ENTRY}]", 2, "several lists"),
    "duplicate": (f"EVAL_SET = [{ENTRY}]\nEVAL_SET = [{ENTRY}]", 2, "several lists"),
    "starred": (f"EVAL_SET = [{ENTRY},\n *OTHERS]", 2, "not a dict"),
    "unpacked": ("EVAL_SET = [{**ENTRY, 'expected': 'x'}]", 1, "not a literal string"),
    "key twice": ("EVAL_SET = [{'query': 'q',\n'query': 'p', 'expected': 'x'}]", 2, "duplicate"),
    "empty": ("EVAL_SET = []", 1, "is empty"),
    "nothing": ("x = 1\n", 1, "no list of dicts"),
    "syntax": ("EVAL_SET = [\n  {'query': 'q' 'expected': 'x'}]", 2, "invalid Python"),
    "null": ("EVAL_SET = ['\0']", 1, "invalid Python"),
    "deep": ("EVAL_SET = " + "[" * 500, 1, "invalid Python"),
    "deep minus": ("EVAL_SET = " + "-" * 100_000 + "1", 1, "invalid Python"),
    "no query": ("EVAL_SET = [\n{'expected': 'x'}]", 2, "missing key 'query'"),
    "number": ("EVAL_SET = [{'query': 'q', 'expected': 3}]", 1, "expected a string"),
    "set": ("EVAL_SET = [{'query': 'q', 'expected': {'x.py'}}]", 1, "expected a string"),
    "unhashable": ("EVAL_SET = [{'query': 'q', 'expected': {[]: 1}}]", 1, "not a literal"),
    "long id": (f"EVAL_SET = [{{'id': 0x{'f' * 5000}, 'query': 'q', 'expected': 'x'}}]", 1, "expected a string"),
}


@pytest.mark.parametrize(("text", "line", "message"), PYTHON_BAD.values(), ids=PYTHON_BAD)
def test_pyckle_says_which_line_is_no_literal(tmp_path, text, line, message):
    error = caught(tmp_path, "eval_set.py", text)
    assert (error.line, message in error.message) == (line, True), str(error)


def test_pyckle_gives_a_reason_if_the_parser_gives_none(tmp_path, monkeypatch):
    def parse(_text):
        raise MemoryError

    monkeypatch.setattr("assay.gold.formats.pyckle.ast.parse", parse)
    assert caught(tmp_path, "eval_set.py", "EVAL_SET = []").message == "invalid Python: nested too deeply"


CHANGES = {
    "key of an item": ("EVAL_SET[0]['expected'] = 'y.py'", 2),
    "key in a loop": ("for e in EVAL_SET:\n    e['expected'] = 'y.py'", 2),
    "key in a numbered loop": ("for i, e in enumerate(EVAL_SET):\n    e['expected'] = 'y.py'", 2),
    "key behind a slice": ("for e in EVAL_SET[1:]:\n    e.update(expected='y.py')", 2),
    "key behind a bar": ("for e in tqdm(sorted(EVAL_SET)):\n    del e['expected']", 2),
    "key after a loop": ("for e in EVAL_SET:\n    pass\ne['expected'] = 'y.py'", 2),
    "key in a selection": ("some = [e for e in EVAL_SET if e]\nsome[0]['expected'] = 'y.py'", 2),
    "list inside an item": ("for e in EVAL_SET:\n    e['expected'].append('y.py')", 2),
    "list under a name": ("for e in EVAL_SET:\n    wanted = e.get('expected')\n    wanted += ['y.py']", 2),
    "taken apart": ("first, *rest = EVAL_SET\nfirst['expected'] = 'y.py'", 2),
    "unpacked": ("EVAL_SET, B = [], []", 2),
    "deleted": ("del EVAL_SET", 2),
    "item deleted": ("del EVAL_SET[0]", 2),
    "walrus": ("print(EVAL_SET := [])", 2),
    "walrus alias": ("(x := EVAL_SET).append({})", 2),
    "other name": ("X = EVAL_SET\nY = X\nY.append({})", 2),
    "other name in one step": ("X = Y = EVAL_SET\nX += [{}]", 2),
    "either": ("X = EVAL_SET if 1 else []\nX.clear()", 2),
    "globals": ("globals()['EVAL_SET'] = []", 2),
    "vars": ("vars()['EVAL_SET'] = []", 2),
    "exec": ("exec('EVAL_SET.clear()')", 2),
    "setattr": ("import sys\nsetattr(sys.modules[__name__], 'EVAL_SET', [])", 3),
    "module dict": ("import sys\nsys.modules[__name__].__dict__['EVAL_SET'] = []", 3),
    "global": ("def f():\n    global EVAL_SET\n    EVAL_SET = []\nf()", 4),
    "function": ("def EVAL_SET():\n    pass", 2),
    "class": ("class EVAL_SET:\n    pass", 2),
    "import": ("from other import EVAL_SET", 2),
    "import as": ("import other as EVAL_SET", 2),
    "import all": ("from other import *", 2),
    "loop variable": ("for EVAL_SET in ([], []):\n    pass", 2),
    "with": ("with open('x') as EVAL_SET:\n    pass", 2),
    "except": ("try:\n    pass\nexcept OSError as EVAL_SET:\n    pass", 4),
    "case": ("match 1:\n    case EVAL_SET:\n        pass", 3),
    "in a function": ("def f():\n    EVAL_SET.append({})\nf()", 3),
    "in an inner function": ("def f():\n    EVAL_SET.pop()\n    def g():\n        EVAL_SET = 1", 3),
    "handed to a function": ("def f(s, more):\n    s.extend(more)\nf(EVAL_SET, [{}])", 4),
    "handed by keyword": ("def f(*, s):\n    s.extend([{}])\nf(s=EVAL_SET)", 4),
    "handed to a method": ("class A:\n    def f(self, s):\n        s.sort()\nA().f(EVAL_SET)", 5),
    "default": ("def f(s=EVAL_SET):\n    s.clear()\nf()", 4),
    "item handed to a function": ("def f(e):\n    e['expected'] = 1\nfor e in EVAL_SET:\n    f(e)", 4),
    "given back": ("def f():\n    return EVAL_SET\nf().append({})", 4),
    "lambda": ("list(map(lambda e: e.update(expected=1), EVAL_SET))", 2),
    "comprehension": ("[e.pop('expected') for e in EVAL_SET]", 2),
    "shuffled": ("import random\nrandom.shuffle(EVAL_SET)", 3),
    "method of the type": ("list.append(EVAL_SET, {})", 2),
    "method kept": ("add = EVAL_SET.append\nadd({})", 2),
    "alias of a function": ("import random\ndef f():\n    random.shuffle(EVAL_SET)\ng = f\ng()", 6),
    "registry": ("HOOKS = []\ndef f():\n    list.append(EVAL_SET, {})\nHOOKS.append(f)\nHOOKS[0]()", 5),
    "object": ("class A:\n    def __add__(self, n):\n        list.pop(EVAL_SET)\na = A()\na + 1", 5),
    "assertion": ("import random\nassert random.shuffle(EVAL_SET) is None", 3),
    "item in an assertion": ("assert [e.pop('expected') for e in EVAL_SET]", 2),
    "walrus in an assertion": ("assert (x := EVAL_SET)\nx.append({})", 2),
    "in a default": ("import random\ndef f(s=random.shuffle(EVAL_SET)):\n    pass", 3),
    "own decorator": ("def deco(f):\n    list.pop(EVAL_SET)\n@deco\ndef g():\n    pass", 4),
    "alias of globals": ("g = globals\ng()['EVAL_' + 'SET'].clear()", 2),
    "attribute of the module": ("import sys\nlist.clear(sys.modules[__name__].EVAL_SET)", 3),
    "attribute in a function": ("import eval_set\ndef f():\n    eval_set.EVAL_SET.clear()\nx = f()", 5),
    "key of a sort": ("def f(e):\n    e.clear()\nprint(sorted(EVAL_SET, key=f))", 4),
    "put away": ("class A:\n    pass\nA.s = EVAL_SET\nA.s.append({})", 4),
}


@pytest.mark.parametrize(("code", "line"), CHANGES.values(), ids=CHANGES)
def test_pyckle_refuses_a_list_that_is_changed_later(tmp_path, code, line):
    error = caught(tmp_path, "eval_set.py", f"EVAL_SET = [{ENTRY}]\n{code}\n")
    assert (error.line, "may change EVAL_SET, which line 1 defines" in error.message) == (line, True), str(error)
    assert "JSON" in (error.hint or "")


BEFORE = {
    "lambda": ("f = lambda: list.pop(EVAL_SET)", "f()"),
    "alias": ("def f():\n    list.pop(EVAL_SET)\ng = [f]", "g[0]()"),
    "object": ("class A:\n    def f(self):\n        list.pop(EVAL_SET)\na = A()", "a.f()"),
    "registry": ("@hooks.add\ndef f():\n    list.pop(EVAL_SET)\nrun = hooks.run\nhooks = run", "hooks.run()"),
}


@pytest.mark.parametrize(("before", "after"), BEFORE.values(), ids=BEFORE)
def test_pyckle_refuses_code_from_above_the_list_that_runs_below_it(tmp_path, before, after):
    error = caught(tmp_path, "eval_set.py", f"{before}\nEVAL_SET = [{ENTRY}]\n{after}\n")
    assert (error.line, "may change" in error.message) == (before.count("\n") + 3, True), str(error)


def test_pyckle_refuses_a_second_name_that_is_changed(tmp_path):
    error = caught(tmp_path, "eval_set.py", f"EVAL_SET = COPY = [{ENTRY}]\nCOPY.append({ENTRY})\n")
    assert (error.line, "may change" in error.message) == (2, True)


MADE_OTHERWISE = {
    "unpacked": ("EVAL_SET, B = [], []", 2),
    "in a function": ("def f():\n    global EVAL_SET\n    EVAL_SET = []", 4),
    "imported": ("from other import EVAL_SET", 2),
    "walrus": ("print(EVAL_SET := [])", 2),
}


@pytest.mark.parametrize(("code", "line"), MADE_OTHERWISE.values(), ids=MADE_OTHERWISE)
def test_pyckle_takes_no_other_list_for_an_eval_set_it_cannot_read(tmp_path, code, line):
    error = caught(tmp_path, "eval_set.py", f"OTHER = [{ENTRY}]\n{code}\n")
    assert (error.line, "not assigned a plain list" in error.message) == (line, True)


EVALUATION = """\
from harness import *
from dataclasses import dataclass
import random

__all__ = ["EVAL_SET"]
EVAL_SET: list[dict] = [{'query': 'q', 'expected': 'x.py'}]
assert EVAL_SET and "query" in EVAL_SET[0]
print(len(EVAL_SET), EVAL_SET)


def pick(category, limit=None, entries=EVAL_SET):
    chosen = [entry for entry in entries if entry.get("category") == category]
    chosen.sort(key=lambda entry: entry["query"])
    random.shuffle(chosen)
    return chosen[:limit]


def evaluate(search, eval_set):
    results, ranks = [], {}
    for number, item in enumerate(eval_set, 1):
        query, expected = item["query"], item["expected"]
        if isinstance(expected, str):
            expected = [expected]
        hits = search(query.lower())
        hits.sort()
        rank = next((n for n, hit in enumerate(hits, 1) if hit in expected), None)
        ranks[query] = rank
        row = dict(item)
        row["rank"] = rank
        results.append({"query": item["query"], "expected": item["expected"], "rank": rank, **item})
        print(f"{number}/{len(eval_set)} {item['query']}: {rank}")
    results[-1]["last"] = True
    results += [item["query"] for item in EVAL_SET]
    return results


if __name__ == "__main__":
    import argparse
    args = vars(argparse.ArgumentParser().parse_args())
    found = evaluate(len, EVAL_SET)
    found.append(len(EVAL_SET) + sum(1 for item in EVAL_SET if item["query"]))
    print(found, args, EVAL_SET, pick("a", limit=2))
"""


def test_pyckle_reads_the_list_of_a_script_that_only_asks_it(tmp_path):
    assert pairs(load_one(tmp_path, "evaluate.py", EVALUATION)) == [("q", ["x.py"])]


BESIDE = {
    "deep code": "x = " + " + ".join(["1"] * 2000),
    "checks": "assert all(entry.get('query') for entry in EVAL_SET)",
    "imports": "import re\nWORD = re.compile('a')\ndef f():\n    return EVAL_SET",
    "decorators": "from dataclasses import dataclass\n@dataclass\nclass A:\n    def f(self):\n        return EVAL_SET",
}


@pytest.mark.parametrize("code", BESIDE.values(), ids=BESIDE)
def test_pyckle_reads_a_list_beside_code_that_cannot_change_it(tmp_path, code):
    assert len(load_one(tmp_path, "eval_set.py", f"EVAL_SET = [{ENTRY}]\n{code}\n").queries) == 1


JSON_BAD = {
    "no expected": ('[{"query": "q", "expected": "x"},\n{"query": "q"}]', 2, "missing key 'expected'"),
    "empty expected": ('[{"query": "q", "expected": []}]', 1, "no primary"),
    "number in a list": ('[{"query": "q", "expected": [1]}]', 1, "expected a string"),
    "no results": ('{"results": [],\n"query": "expected", "expected": 1}', 1, "no entry"),
    "results twice": ('{"results": [{"query": "q", "expected": "x"}],\n"results": []}', 2, "duplicate"),
    "id twice": (
        '[{"id": "a b", "query": "q", "expected": "x"},\n{"id": "a b", "query": "q", "expected": "x"}]',
        2,
        "duplicate query id",
    ),
}


@pytest.mark.parametrize(("text", "line", "message"), JSON_BAD.values(), ids=JSON_BAD)
def test_pyckle_says_which_entry_is_wrong(tmp_path, text, line, message):
    error = caught(tmp_path, "eval.json", text)
    assert (error.line, message in error.message) == (line, True), str(error)
