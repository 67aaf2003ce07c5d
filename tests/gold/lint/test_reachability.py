import pytest

from assay.errors import GoldError
from assay.gold.lint.reachability import compute_ceiling, read_chunks
from assay.gold.lint.rules import EngineReach, LintDependencies
from assay.scoring import score
from assay.types import EngineRun, GoldSet, Hit, Ranking, Run, Span, Suite, Target
from tests.gold.lint.world import codes, corpus_of, lint_all, messages, query

RUST = """\
//! How vectors are packed: four bytes
//! become one bit.

use std::fmt;

/// Packs.
fn pack() -> u8 {
    // one
    1
}

"""


@pytest.fixture
def corpus(tmp_path):
    made = "define! {\n    pub struct Made;\n}\n"
    return corpus_of(tmp_path, {"a.rs": RUST, "README.md": "# Title\n\nText.\n", "made.rs": made})


def test_range_outside_every_definition_is_unreachable_for_engines_of_definitions(corpus):
    report = lint_all(corpus, query("q", "how are they packed", "a.rs:1-2", secondary=["a.rs:7-10"]))
    assert codes(report, "G5") == ["G504", "G502", "G503"]
    assert "at best R@10 is 0.500 and nDCG@10 0.380 on this query" in messages(report, "G503")[0]


@pytest.mark.parametrize(
    "anchor", ["a.rs:6-10", "a.rs:10-10", "a.rs", "a.rs::pack", "README.md:3-3", "README.md", "made.rs"]
)
def test_range_that_meets_a_definition_or_a_document_is_reachable(corpus, anchor):
    assert not codes(lint_all(corpus, query("q", "how are they packed", anchor)), "G50")


def test_range_of_comment_with_code_on_a_line_is_no_comment(corpus):
    assert codes(lint_all(corpus, query("q", "how are they packed", "a.rs:8-8")), "G502") == ["G502"]
    assert not codes(lint_all(corpus, query("q", "how are they packed", "a.rs:8-9")), "G502")


def test_blank_range_is_found(corpus):
    assert codes(lint_all(corpus, query("q", "how are they packed", "a.rs:3-3")), "G501") == ["G501"]


def test_chunks_of_an_engine_decide_what_it_can_return(corpus):
    tools = LintDependencies(
        reaches=(EngineReach("mine", lambda path: [Span("a.rs", 7, 10)] if path == "a.rs" else []),)
    )
    report = lint_all(corpus, query("q", "how are they packed", "a.rs:4-4", secondary=["README.md"]), tools=tools)
    mine = [text for text in messages(report, "G503") if "mine" in text]
    assert [text.partition(" ")[0] for text in mine] == ["README.md", "a.rs:4-4"]


def test_ceiling_is_the_score_of_a_perfect_order():
    targets = [Target(Span("a", 1, 2), 2), Target(Span("b", 1, 2), 1), Target(Span("c", 1, 2), 1)]
    top = compute_ceiling(targets, targets[1:], 10)
    hits = tuple(Hit(target.span.path, 1, 2) for target in targets[1:])
    asked = query("q", "x", "a:1-2", secondary=["b:1-2", "c:1-2"])
    suite = Suite((GoldSet("g", corpus_spec(), (asked,)),))
    ranking = Ranking("g", "q", "human", hits, (1, 1))
    run = Run(suite, 10, (EngineRun("e", (ranking,)),), lines={"g": dict.fromkeys("abc", (1, 1))})
    values = score(run, ["R@10", "nDCG@10"]).values[0, :, 0]
    assert values == pytest.approx([top.recall, top.ndcg])


def corpus_spec():
    from assay.types import CorpusSpec

    return CorpusSpec("path", ".")


def test_chunk_file_is_read(tmp_path):
    file = tmp_path / "chunks.jsonl"
    file.write_text('{"path": "a.rs", "start": 1, "end": 3}\n\n{"path": "b.rs"}\n', "utf-8")
    chunks = read_chunks(file).chunks
    assert [list(chunks(path) or ()) for path in ("a.rs", "b.rs")] == [[Span("a.rs", 1, 3)], [Span("b.rs")]]
    assert chunks("c.rs") == (), "a file without chunks cannot be returned"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "invalid JSON"),
        ("[]", "an object with a path"),
        ('{"start": 1}', "an object with a path"),
        ('{"path": "a", "start": 0, "end": 1}', "a range of lines"),
        ('{"path": "a", "start": 3, "end": 1}', "a range of lines"),
        ('{"path": "a", "start": true, "end": 1}', "a range of lines"),
        ('{"path": "a", "start": 1}', "a range of lines"),
    ],
)
def test_broken_chunk_file_is_refused_with_its_line(tmp_path, line, says):
    file = tmp_path / "chunks.jsonl"
    file.write_text('{"path": "a"}\n' + line + "\n", "utf-8")
    with pytest.raises(GoldError, match=says) as caught:
        read_chunks(file)
    assert caught.value.line == 2


def test_chunk_file_without_chunks_is_refused(tmp_path):
    (tmp_path / "c.jsonl").write_text("\n", "utf-8")
    with pytest.raises(GoldError, match="contains no chunks"):
        read_chunks(tmp_path / "c.jsonl")
