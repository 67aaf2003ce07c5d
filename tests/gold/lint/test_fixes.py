from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.gold.anchors import content_digest
from assay.gold.lint.registry import FixResult, fix, fix_all, lint
from assay.types import LabelProvenance
from tests.gold.lint.world import corpus_of, gold_of, query

FILES = {
    "src/Main.py": "def one():\n    return 1\n\n\ndef two():\n    return 2\n",
    "src/other.py": "def three():\n    return 3\n",
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return corpus_of(tmp_path_factory.mktemp("code"), FILES)


def anchors(gold):
    return [[target.anchor for target in one.targets] for one in gold.queries]


def repaired(corpus, *queries):
    gold = gold_of(corpus, *queries)
    report = lint(gold, corpus)
    return FixResult(*fix(gold, report.findings), report)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("src/main.py", "src/Main.py"),
        ("SRC/main.py:1-2", "src/Main.py:1-2"),
        ("src/main.py::two", "src/Main.py::two"),
        ("src/Main.py:5-7", "src/Main.py:5-6"),
    ],
)
def test_certain_repair_is_made(corpus, before, after):
    assert anchors(repaired(corpus, query("q", "where is it", before)).gold) == [[after]]


@pytest.mark.parametrize("anchor", ["src/gone.py", "src/Main.py:5-8", "src/Main.py:7-7", "src/Main.py::three", "src"])
def test_uncertain_repair_is_left_to_people(corpus, anchor):
    fixed = repaired(corpus, query("q", "where is it", anchor))
    assert anchors(fixed.gold) == [[anchor]]
    assert not fixed.repaired


def test_moved_file_is_followed_by_its_content(tmp_path):
    text = "def one():\n    return 1\n"
    anchor = f"old/a.py:1-2#{content_digest(text.split(chr(10))[:2])}"
    moved = corpus_of(tmp_path / "1", {"new/a.py": "# first\n" + text, "new/b.py": text})
    assert anchors(repaired(moved, query("q", "where is it", anchor)).gold) == [
        [anchor.replace("old/a.py:1-2", "new/a.py:2-3")]
    ]
    twice = corpus_of(tmp_path / "2", {"new/a.py": text, "newer/a.py": text})
    assert not repaired(twice, query("q", "where is it", anchor)).repaired
    changed = corpus_of(tmp_path / "3", {"new/a.py": text.replace("1", "2")})
    assert not repaired(changed, query("q", "where is it", anchor)).repaired


def test_repair_that_would_name_a_target_twice_is_left_alone(corpus):
    asked = query("q", "where is it", "src/main.py", "src/Main.py")
    assert not repaired(corpus, asked).repaired


def test_repair_keeps_grade_adversary_and_origin(corpus):
    asked = query("q", "where is it", "src/other.py", secondary=["src/main.py:1-2"], adversaries=["src/main.py:5-6"])
    asked = replace(
        asked, labels=(LabelProvenance("src/main.py:1-2", by=("ada",)), LabelProvenance("src/other.py", by=("bob",)))
    )
    new = repaired(corpus, asked).gold.queries[0]
    assert [(target.anchor, target.grade) for target in new.targets] == [("src/other.py", 2), ("src/Main.py:1-2", 1)]
    assert new.adversaries[0].target.anchor == "src/Main.py:5-6"
    assert [label.target for label in new.labels] == ["src/Main.py:1-2", "src/other.py"]


PATHS = st.sampled_from(["src/Main.py", "src/main.py", "src/other.py", "SRC/OTHER.py", "src/gone.py", "src"])
TAILS = st.sampled_from(["", ":1-2", ":1-6", ":1-7", ":5-7", ":2-9", "::one", "::two", "::three", "::none"])


@given(
    st.lists(
        st.lists(st.tuples(PATHS, TAILS).map("".join), min_size=1, max_size=4, unique=True), min_size=1, max_size=4
    )
)
def test_fix_is_done_once_and_brings_no_error(corpus, labels):
    gold = gold_of(corpus, *(query(f"q{n}", f"where is number {n}", *own) for n, own in enumerate(labels)))
    before, mended = lint(gold, corpus), fix_all(gold, corpus)
    assert mended.report.count("error") <= before.count("error")
    assert mended.report == lint(mended.gold, corpus)
    again = fix_all(mended.gold, corpus)
    assert (again.gold, again.repaired) == (mended.gold, ())


def test_repair_that_uncovers_another_is_followed(corpus):
    mended = fix_all(gold_of(corpus, query("q", "where is it", "src/main.py:5-7", "src/Main.py::two")), corpus)
    assert anchors(mended.gold) == [["src/Main.py::two"]]
    assert [finding.code for finding in mended.repaired] == ["G104", "G105", "G303"]


def test_repair_that_makes_a_wrong_answer_right_too_is_not_made(corpus):
    both = query("q", "where is it", "src/Main.py", adversaries=["src/main.py::two"])
    fixed = repaired(corpus, both)
    assert fixed.gold.queries == (both,)
    assert not fixed.repaired


def test_round_of_repairs_that_brings_new_errors_is_not_made(corpus, monkeypatch):
    from assay.gold.lint import registry

    gold = gold_of(corpus, query("q", "where is it", "src/main.py"))

    def worse(given, findings):
        broken = gold_of(corpus, query("q", "where is it", "gone.py"), query("r", "where was it", "gone.py"))
        return broken, fix(given, findings)[1]

    monkeypatch.setattr(registry, "fix", worse)
    assert fix_all(gold, corpus).gold == gold
