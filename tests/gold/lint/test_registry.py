from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.gold.lint.registry import RuleSelection, lint
from assay.gold.lint.rules import RULES
from assay.syntax.outline import parse_outline
from tests.gold.lint.world import codes, corpus_of, gold_of, query

FILES = {
    "src/a.py": "import os\n\n\nclass Box:\n    def open(self):\n        return os.name\n\n    def shut(self): ...\n",
    "src/b.rs": "//! About.\n\nuse std::fmt;\n\npub trait Lid {\n    fn lift(&self);\n}\n",
    "src/c.ts": "export * from './d';\n",
    "src/d.ts": "export class Lid {\n  lift() {\n    return 1;\n  }\n}\n",
    "doc/read.md": "# Box\n\nA box.\n",
    "odd.bin.txt": "\u2028x\r\ny\x0b",
    "empty.py": "",
}
ANCHORS = [
    "src/a.py", "src/a.py::Box", "src/a.py::Box.open", "src/a.py:1-3", "src/a.py:4-99", "src/b.rs:1-2", "src/b.rs::Lid",
    "src/c.ts", "src/d.ts", "src/D.ts", "doc/read.md:1-3", "doc", "gone.py", "gone.py::x", "odd.bin.txt", "empty.py",
    "empty.py:1-1", "odd.bin.txt:1-1", "src/a.py:2-2#0123456789ab",
]  # fmt: skip
TEXTS = st.one_of(
    st.sampled_from(
        ["Box", "Lid", "how Lid is lifted", "how is a Box opened?", "Box::open", "...", "a", "LidHolder and so on"]
    ),
    st.text(min_size=1, max_size=12).filter(lambda text: text.strip()),
)
FORMS = st.dictionaries(st.sampled_from(["human", "keyword", "wrong_terminology"]), TEXTS, min_size=1)
TAGS = st.sampled_from([{}, {"category": "symbol"}, {"category": "semantic"}])
QUERIES = st.lists(
    st.tuples(FORMS, st.lists(st.sampled_from(ANCHORS), min_size=1, max_size=4, unique=True), TAGS),
    min_size=1,
    max_size=5,
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return corpus_of(tmp_path_factory.mktemp("code"), FILES)


def made(corpus, drawn):
    return gold_of(corpus, *(query(f"q{n}", forms, *own, tags=tags) for n, (forms, own, tags) in enumerate(drawn)))


@given(QUERIES)
def test_linting_never_raises_and_is_the_same_twice(corpus, drawn):
    gold = made(corpus, drawn)
    first = lint(gold, corpus)
    assert first == lint(gold, corpus)
    known = {rule.code: rule.severity for rule in RULES}
    ids = {"", *(one.id for one in gold.queries)}
    for finding in first.findings:
        assert known[finding.code] == finding.severity
        assert finding.query in ids
        assert finding.message
        assert "\n" not in finding.message


@given(QUERIES, st.randoms(use_true_random=False))
def test_order_of_queries_and_files_does_not_matter(corpus, drawn, rng):
    gold = made(corpus, drawn)
    queries = list(gold.queries)
    rng.shuffle(queries)
    files = list(corpus.files)
    rng.shuffle(files)
    usual = lint(gold, corpus).findings
    other = lint(replace(gold, queries=tuple(queries)), replace(corpus, files=tuple(files))).findings
    # which of two equal questions is the second one is a matter of order
    apart = {"G401", "G402"}
    assert {f for f in usual if f.code not in apart} == {f for f in other if f.code not in apart}
    assert sum(f.code in apart for f in usual) == sum(f.code in apart for f in other)


def test_selection_takes_codes_by_their_beginning(corpus):
    gold = gold_of(corpus, query("q", "where is it", "gone.py", "src/c.ts"))
    assert codes(lint(gold, corpus, selection=RuleSelection(("G1",)))) == ["G101"]
    assert "G101" not in codes(lint(gold, corpus, selection=RuleSelection(ignore=("G101",))))
    assert codes(lint(gold, corpus, selection=RuleSelection(("G1", "G2"), ("G101",)))) == ["G203"]


def test_code_that_selects_nothing_is_refused():
    with pytest.raises(ConfigError, match="no lint rule code begins with 'G9'"):
        RuleSelection(("G9",))
    with pytest.raises(ConfigError, match="no lint rule code begins with 'X1'"):
        RuleSelection(ignore=("X1",))


def test_codes_are_unique_and_say_what_they_mean():
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule.about.endswith(".") and rule.advice.endswith((".", "]")) for rule in RULES)


@pytest.mark.parametrize(
    ("code", "claim"),
    [("G102", "disk"), ("G111", "scores"), ("G202", "mention"), ("G203", "passes on"), ("G311", "line ")],
)
def test_rules_claim_no_more_than_they_check(code, claim):
    (rule,) = [rule for rule in RULES if rule.code == code]
    assert claim not in f"{rule.about} {rule.advice}"


def test_every_file_is_parsed_once_for_all_rules(corpus, monkeypatch):
    parsed = []

    def counted(text, *args, **kwargs):
        parsed.append(text)
        return parse_outline(text, *args, **kwargs)

    monkeypatch.setattr("assay.gold.lint.rules.parse_outline", counted)
    lint(gold_of(corpus, query("q", "Lid", "src/c.ts", "src/d.ts", tags={"category": "symbol"})), corpus)
    assert {FILES[path] for path in ("src/b.rs", "src/c.ts", "src/d.ts")} <= set(parsed)
    assert len(parsed) == len(set(parsed))


def test_finding_points_to_the_line_of_its_anchor(tmp_path, corpus):
    from assay.gold import load_gold

    text = (
        f"assay: 1\nname: small\ncorpus: {{path: '{corpus.root}'}}\nqueries:\n"
        "  - id: q\n    retrieval:\n      primary:\n        - src/a.py\n        - gone.py\n"
        "    cognitive: {human: where}\n"
    )
    (tmp_path / "gold.yaml").write_text(text, "utf-8")
    gold = load_gold(tmp_path / "gold.yaml").golds[0]
    finding = next(f for f in lint(gold, corpus).findings if f.code == "G101")
    assert (finding.file, finding.line) == (str(tmp_path / "gold.yaml"), 9)
