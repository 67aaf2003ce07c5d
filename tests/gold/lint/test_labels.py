import pytest

from assay.gold.lint.registry import fix, lint
from tests.gold.lint.world import codes, corpus_of, gold_of, lint_all, messages, query

LINES = {
    "a.py": "\n".join(f"x{n} = {n}" for n in range(1, 41)) + "\n",
    "b.py": "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n",
}


@pytest.mark.parametrize(
    ("one", "other", "code"),
    [
        ("a.py:1-10", "a.py:10-20", ["G301"]),
        ("a.py:5-8", "a.py:1-20", ["G302"]),
        ("a.py:1-20", "a.py:5-8", ["G302"]),
        ("b.py::A", "b.py::A.f", ["G302"]),
        ("a.py", "a.py:5-8", ["G302"]),
        ("b.py::A.f", "b.py:2-3", ["G303"]),
        ("a.py:1-10", "a.py:11-20", []),
        ("b.py::A.f", "b.py::A.g", []),
        ("a.py:1-10", "b.py:1-6", []),
        ("a.py", "b.py", []),
    ],
)
def test_targets_that_share_lines_are_found(tmp_path, one, other, code):
    assert codes(lint_all(corpus_of(tmp_path, LINES), query("q", "where is it", one, secondary=[other])), "G3") == code


@pytest.mark.parametrize("outer", ["a.py:1-20", "a.py"])
@pytest.mark.parametrize("first", ["inner", "outer"])
def test_inner_target_is_named_whichever_stands_first(tmp_path, outer, first):
    one, other = ("a.py:5-8", outer) if first == "inner" else (outer, "a.py:5-8")
    report = lint_all(corpus_of(tmp_path, LINES), query("q", "where is it", one, secondary=[other]))
    assert messages(report, "G302") == [f"a.py:5-8 is inside {outer}, a target of the same query"]


def test_adversary_on_lines_of_a_target_is_an_error(tmp_path):
    corpus = corpus_of(tmp_path, LINES)
    report = lint_all(corpus, query("q", "where is it", "b.py::A.f", adversaries=["b.py:3-6"]))
    assert codes(report, "G3") == ["G304"]
    assert not codes(lint_all(corpus, query("q", "where is it", "b.py::A.f", adversaries=["b.py:5-6"])), "G3")


def test_same_lines_twice_are_repaired_to_the_symbol(tmp_path):
    corpus = corpus_of(tmp_path, LINES)
    gold = gold_of(corpus, query("q", "where is it", "b.py:2-3", "b.py::A.f"))
    fixed, _ = fix(gold, lint(gold, corpus).findings)
    assert [target.anchor for target in fixed.queries[0].targets] == ["b.py::A.f"]


def test_same_lines_in_two_grades_are_left_to_people(tmp_path):
    corpus = corpus_of(tmp_path, LINES)
    gold = gold_of(corpus, query("q", "where is it", "b.py:2-3", secondary=["b.py::A.f"]))
    assert fix(gold, lint(gold, corpus).findings)[1] == ()
