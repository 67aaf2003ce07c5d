import pytest

from tests.gold.lint.world import codes, corpus_of, lint_all, messages, query

OVERLOADS = """\
@overload
def f(x: int): ...
@overload
def f(x: str): ...
def f(x):
    return x


def g():
    return 1
"""
PROPERTY = """\
class A:
    @property
    def x(self):
        return 1

    @x.setter
    def x(self, to):
        pass
"""
FILES = {
    "a.py": OVERLOADS,
    "b.py": PROPERTY,
    "c.ts": "function f(x: number): void;\nfunction f(x: any) {\n  return x;\n}\n",
    "before.js": "exports.f = f\n\nfunction f (x) {\n  return x\n}\n",
    "after.js": "function f (x) {\n  return x\n}\n\nmodule.exports.f = f\n",
    "twice.py": "def f(x):\n    return 1\n\n\ndef f(x):\n    return 2\n\n\ndef f(x):\n    return 3\n",
    "twice.ts": "function f(x: any) {\n  return 1;\n}\nfunction f(x: any) {\n  return x;\n}\n",
}


def test_name_that_is_defined_several_times_is_found(tmp_path):
    report = lint_all(corpus_of(tmp_path, FILES), query("q", "what is given back", "twice.py::f"))
    assert messages(report, "G205") == ["twice.py defines 'f' on line 1 (the target) and again on lines 5 and 9"]


@pytest.mark.parametrize("anchor", ["a.py::f~3", "a.py::f", "c.ts::f", "b.py::A.x", "before.js::f", "after.js::f"])
def test_name_that_is_clear_is_no_finding(tmp_path, anchor):
    assert not codes(lint_all(corpus_of(tmp_path, FILES), query("q", "what is given back", anchor)), "G205")


def test_name_is_looked_for_in_every_language(tmp_path):
    report = lint_all(corpus_of(tmp_path, FILES), query("q", "what is given back", "twice.ts::f"))
    assert codes(report, "G205") == ["G205"]
