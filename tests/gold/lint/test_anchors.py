from dataclasses import replace

import pytest

from assay.gold.anchors import content_digest
from assay.gold.lint.registry import lint
from assay.types import CorpusSpec
from tests.gold.lint.world import codes, corpus_of, gold_of, lint_all, messages, query

FILES = {
    "src/a.py": "def one():\n    return 1\n\n\ndef two():\n    return 2\n",
    "src/b.py": "def three():\n    return 3\n",
    "notes.xyz": "a\nb\n",
    "src/broken.py": "def (:\n",
}


@pytest.fixture
def corpus(tmp_path):
    return corpus_of(tmp_path, FILES)


@pytest.mark.parametrize(
    ("anchor", "code"),
    [
        ("src/gone.py", "G101"),
        ("src", "G103"),
        ("src/A.py", "G104"),
        ("src/a.py:5-60", "G105"),
        ("src/a.py::nine", "G106"),
        ("notes.xyz::one", "G107"),
        ("src/broken.py::one", "G108"),
        ("src/a.py:1-2#0123456789ab", "G109"),
    ],
)
def test_anchor_that_does_not_hold_has_its_code(corpus, anchor, code):
    report = lint_all(corpus, query("q", "what is done first", "src/b.py", anchor))
    assert codes(report, "G10") == [code]
    assert report.count("error") == 1


@pytest.mark.parametrize("anchor", ["src/a.py", "src/a.py:1-2", "src/a.py:1-6", "src/a.py::two", "notes.xyz:1-2"])
def test_anchor_that_holds_is_no_finding(corpus, anchor):
    assert not lint_all(corpus, query("q", "what is done first", anchor)).count("error")


def test_content_hash_that_holds_is_no_finding(corpus):
    digest = content_digest(FILES["src/a.py"].split("\n")[:2])
    assert not lint_all(corpus, query("q", "what is done first", f"src/a.py:1-2#{digest}")).count("error")


def test_link_is_the_file_that_it_leads_to(tmp_path):
    corpus_of(tmp_path, FILES)
    (tmp_path / "link.py").symlink_to("src/a.py")
    corpus = corpus_of(tmp_path, {})
    for anchor in ("link.py", "link.py:1-2", "link.py::two"):
        assert not lint_all(corpus, query("q", "what is done first", anchor)).count("error")
    assert codes(lint_all(corpus, query("q", "what is done first", "src/a.py", "link.py")), "G1") == ["G112"]


def test_adversary_that_is_missing_is_found(corpus):
    report = lint_all(corpus, query("q", "what is done first", "src/a.py", adversaries=["src/gone.py"]))
    assert codes(report, "G10") == ["G101"]


def test_query_without_a_primary_is_found(corpus):
    assert codes(lint_all(corpus, query("q", "what is done first", "src/gone.py")), "G1") == ["G101", "G111"]


def test_file_that_the_globs_leave_out_is_not_called_missing(tmp_path):
    corpus = corpus_of(tmp_path, FILES, include=["src/a.py"])
    report = lint_all(corpus, query("q", "what is done first", "src/a.py", secondary=["src/b.py"]))
    assert codes(report, "G10") == ["G102"]


def test_file_that_the_walk_leaves_out_is_not_called_missing(tmp_path):
    corpus = corpus_of(tmp_path, FILES | {".assayignore": "src/b.py\n"})
    report = lint_all(corpus, query("q", "what is done first", "src/a.py", secondary=["src/b.py"]))
    assert codes(report, "G10") == ["G102"]


def test_set_for_other_code_is_found(corpus):
    queries = [query(f"q{n}", f"what is done {n}", f"lib/{n}.go") for n in range(4)]
    assert "G110" in codes(lint_all(corpus, *queries))


def test_path_in_two_cases_has_no_repair(tmp_path):
    corpus = corpus_of(tmp_path, {"a/One.py": "x = 1\n", "a/ONE.py": "x = 2\n"})
    report = lint_all(corpus, query("q", "what is done first", "a/one.py"))
    assert [finding.fixable for finding in report.findings if finding.code == "G104"] == [False]


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        (CorpusSpec("git", "https://x/y.git"), True),
        (CorpusSpec("git", "https://x/y.git", rev="main"), True),
        (CorpusSpec("git", "https://x/y.git", rev="feature/fast"), True),
        (CorpusSpec("git", "https://x/y.git", rev="v1.2.3"), False),
        (CorpusSpec("git", "https://x/y.git", rev="4.0.0"), False),
        (CorpusSpec("git", "https://x/y.git", rev="a" * 40), False),
        (CorpusSpec("pypi", "flask"), True),
        (CorpusSpec("pypi", "flask==3.1.0"), False),
        (CorpusSpec("npm", "@scope/name"), True),
        (CorpusSpec("npm", "@scope/name@1.0.0"), False),
        (CorpusSpec("path", "."), False),
        (CorpusSpec("stdlib"), False),
    ],
)
def test_corpus_that_may_become_another_is_found(corpus, spec, found):
    gold = replace(gold_of(corpus, query("q", "what is done first", "src/a.py")), corpus=spec)
    opened = replace(corpus, revision=spec.rev if spec.rev and len(spec.rev) == 40 else None)
    assert ("G121" in codes(lint(gold, opened))) is found


def test_other_revision_than_named_is_found(corpus):
    spec = CorpusSpec("git", "https://x/y.git", rev="a" * 40)
    gold = replace(gold_of(corpus, query("q", "what is done first", "src/a.py")), corpus=spec)
    assert "G122" in codes(lint(gold, replace(corpus, revision="b" * 40)))
    assert "G122" not in codes(lint(gold, replace(corpus, revision="a" * 40)))


def test_ranges_in_a_directory_are_reported_once_unless_hashed(corpus):
    digest = content_digest(FILES["src/a.py"].split("\n")[:2])
    ranges = lint_all(corpus, query("q", "first thing", "src/a.py:1-2"), query("p", "second thing", "src/a.py:5-6"))
    assert len(messages(ranges, "G123")) == 1
    hashed = query("q", "first thing", f"src/a.py:1-2#{digest}")
    assert not messages(lint_all(corpus, hashed, query("p", "second thing", "src/a.py::two")), "G123")
