"""Every format that is written: what it holds comes back, what it does not hold is named, and twice is as once."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import GoldError
from assay.gold import load_gold
from assay.gold.formats.losses import KINDS
from assay.gold.load import FORMATS, GoldFormat, find_format
from assay.types import Adversary, CorpusSpec, GoldSet, LabelProvenance, Query, Rationale, Span, Suite, Target
from tests.gold.formats.test_native_write import TEXT, golds, unplaced
from tests.properties import examples

WRITTEN = [known.name for known in FORMATS if known.write is not None]
OURS = ["native", "octocode", "semble", "plain"]


GRADED = Query(
    "row-001",
    {"human": "which?"},
    (Target(Span("a.py", 1, 2), 3), Target(Span("b.py", 1, 2), 2), Target(Span("c.py", 1, 2), 1)),
    irrelevant=(Target(Span("d.py", 1, 2), 0),),
)
#: What is said of the grades of GRADED, by the formats that have two.
TWO_GRADES = ["1 grade of a target (3 becomes 2)", "1 location judged irrelevant: counted as unjudged"]


@pytest.mark.parametrize("name", WRITTEN)
def test_grades_come_back_or_are_named_one_by_one(name):
    back, lost = stored(Suite((GoldSet("shop", CorpusSpec("path", "."), (GRADED,)),)), find_format(name))
    [query] = back.golds[0].queries
    told = [sentence for sentence in lost if "grade" in sentence or "irrelevant" in sentence]
    held = name not in ("octocode", "semble")
    assert [target.grade for target in query.targets] == ([3, 2, 1] if held else [2, 2, 1])
    assert (query.irrelevant == GRADED.irrelevant, told) == ((True, []) if held else (False, TWO_GRADES))


def stored(suite: Suite, known: GoldFormat) -> tuple[Suite, tuple[str, ...]]:
    """Write a suite into a folder and read it back, each set with its own corpus where the format has none."""
    with tempfile.TemporaryDirectory() as folder:
        return _stored(suite, known, Path(folder))


def _stored(suite: Suite, known: GoldFormat, folder: Path) -> tuple[Suite, tuple[str, ...]]:
    assert known.write is not None
    written = known.write(suite)
    for name, data in written.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    holds_corpus = not any(word in sentence for sentence in written.lost for word in ("corpus", "corpora"))
    corpus = None if holds_corpus else suite.golds[0].corpus
    return load_gold(folder, format=known.name, corpus=corpus), written.lost


def with_lines(gold: GoldSet) -> GoldSet:
    """Give every target lines, as a look into the corpus would; a symbol keeps its name."""
    return replace(gold, queries=tuple(map(_with_lines, gold.queries)))


def _with_lines(query: Query) -> Query:
    targets = tuple(map(_lined, query.targets))
    anchors = {target.anchor for target in (*targets, *(adversary.target for adversary in query.adversaries))}
    return replace(query, targets=targets, labels=tuple(label for label in query.labels if label.target in anchors))


def _lined(target: Target) -> Target:
    return target if target.span.start is not None else replace(target, span=Span(target.span.path, 3, 9))


def without_lines(gold: GoldSet) -> GoldSet:
    """Forget the lines of symbols: they are no part of what is written."""
    queries = [replace(q, targets=tuple(map(_symbolic, q.targets))) for q in gold.queries]
    return replace(gold, queries=tuple(queries))


def _symbolic(target: Target) -> Target:
    return replace(target, span=Span(target.span.path)) if target.symbol else target


def matters(sentences: tuple[str, ...]) -> list[str]:
    """Leave out what is told of the corpus, which the reader was given."""
    return [sentence for sentence in sentences if " corpus" not in sentence and " corpora" not in sentence]


PINNED = st.builds(
    CorpusSpec,
    st.just("git"),
    st.sampled_from(["https://x/y.git", "git@x:y.git"]),
    rev=st.sampled_from(["main", "0123abc"]),
    include=st.sampled_from([(), ("src/**",), ("src/lib/**",), ("a", "b")]),
)


@st.composite
def sets(draw: st.DrawFn) -> GoldSet:
    """Draw a set; often one that a poor format can hold whole."""
    gold = draw(golds())
    if draw(st.booleans()):
        gold = replace(gold, corpus=draw(PINNED), provenance={})
    if draw(st.booleans()):
        gold = replace(gold, queries=tuple(_poor(q, n) for n, q in enumerate(gold.queries, 1)), provenance={})
    return with_lines(gold)


def _poor(query: Query, number: int) -> Query:
    """Keep what every format holds."""
    text = query.forms[query.ordered_forms[0]].strip()
    targets = tuple(replace(target, symbol=None, digest=None) for target in query.targets)
    return Query(f"row-{number:03d}", {"human": text}, targets)


@pytest.mark.parametrize("name", WRITTEN)
@examples(40)
@given(gold=sets())
def test_round_trip_loses_exactly_what_is_told(name, gold):
    known, suite = find_format(name), Suite((gold,))
    back, lost = stored(suite, known)
    came_back = without_lines(unplaced(back.golds[0])) == without_lines(replace(gold, corpus=back.golds[0].corpus))
    assert came_back == (matters(lost) == [])
    if not any("corp" in sentence for sentence in lost):
        assert back.golds[0].corpus == gold.corpus
    again, lost_again = stored(back, known)
    assert unplaced(again.golds[0]) == unplaced(back.golds[0])
    assert matters(lost_again) == []


@pytest.mark.parametrize("name", OURS)
@examples(40)
@given(text=TEXT)
def test_round_trip_keeps_any_text(name, text):
    gold = GoldSet(
        "set", CorpusSpec("stdlib"), (Query("row-001", {"human": text.strip()}, (Target(Span("a.py", 1, 2)),)),)
    )
    back, lost = stored(Suite((gold,)), find_format(name))
    assert back.golds[0].queries[0].forms == {"human": text.strip()}
    assert matters(lost) == []


FULL = Query(
    "how",
    {"human": "how? ", "keyword": "words"},
    (Target(Span("a.py", 3, 9), symbol="A.b"), Target(Span("b.py", 1, 2), 1, digest="0123456789ab")),
    (Adversary(Target(Span("c.py")), "sibling", "weak", "it reads"),),
    Rationale("a", "b", "c"),
    ("RR@10",),
    {"category": "x", "difficulty": "hard", "cluster": "y"},
    labels=(LabelProvenance("b.py:1-2#0123456789ab", ("me",)),),
)
SUITE = Suite((GoldSet("set", CorpusSpec("path", "../code"), (FULL,), {"author": "me"}),))
TOLD = {
    "native": set(),
    "octocode": {
        "1 corpus (../code): pass --corpus when reading the set",
        "1 provenance note of a set (author)",
        "1 id: queries get new ids",
        "1 phrasing (keyword)",
        "1 phrasing with surrounding whitespace (human): whitespace is trimmed",
        "1 symbol anchor: written as a line range",
        "1 content hash of a line range",
        "1 adversary",
        "1 rationale",
        "1 measure of an evaluation layer (RR@10)",
        "3 tags (category, cluster, difficulty)",
        "1 provenance record of a label",
    },
}
TOLD["semble"] = {*TOLD["octocode"], "2 tags (cluster, difficulty)"} - {"3 tags (category, cluster, difficulty)"}
TOLD["plain"] = {
    *(sentence for sentence in TOLD["octocode"] if "tags" not in sentence and "anchor" not in sentence),
    "2 tags (category, difficulty)",
} - {"1 id: queries get new ids", "1 phrasing (keyword)", "1 content hash of a line range"}


@pytest.mark.parametrize("name", OURS)
def test_every_kind_of_loss_is_counted_and_named(name):
    write = find_format(name).write
    assert write is not None
    assert set(write(SUITE).lost) == TOLD[name]


def test_octocode_writes_as_many_results_as_a_query_has():
    targets = tuple(Target(Span("a.py", n, n)) for n in range(1, 6))
    gold = GoldSet("set", CorpusSpec("stdlib"), (Query("row-001", {"human": 'a "b", c'}, targets),))
    (text,) = find_format("octocode").write(Suite((gold,))).files.values()  # type: ignore[misc]
    assert text == (
        "query,result1,result2,result3,result4,result5\n"
        '"a ""b"", c",a.py:1-1:2,a.py:2-2:2,a.py:3-3:2,a.py:4-4:2,a.py:5-5:2\n'
    )


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("octocode", Target(Span("a.py"))),
        ("octocode", Target(Span("a.py"), symbol="f")),
        ("semble", Target(Span("a.py"), symbol="f")),
    ],
)
def test_a_target_without_lines_is_an_error_where_lines_are_needed(name, target):
    query = Query("q", {"human": "x"}, (target,), line=7)
    write = find_format(name).write
    assert write is not None
    with pytest.raises(GoldError, match="line ranges") as error:
        write(Suite((GoldSet("set", CorpusSpec("stdlib"), (query,), source="set.yaml"),)))
    assert (error.value.file, error.value.line) == ("set.yaml", 7)
    assert "--corpus" in (error.value.hint or "")


def test_semble_writes_the_repositories_it_can_name():
    pinned = CorpusSpec("git", "https://x/y.git", rev="abc", include=("src/**",))
    query = Query("row-001", {"human": "x"}, (Target(Span("src/a.py")),), tags={"language": "go"})
    golds = (GoldSet("one", pinned, (query,)), GoldSet("two", CorpusSpec("stdlib"), (replace(query, tags={}),)))
    written = find_format("semble").write(Suite(golds))  # type: ignore[misc]
    assert sorted(written.files) == ["annotations/one.json", "annotations/two.json", "repos.json"]
    assert '"benchmark_root": "src"' in str(written.files["repos.json"])
    assert "two" not in str(written.files["repos.json"])
    assert written.lost == ("1 corpus (stdlib): pass --corpus when reading the set",)


@pytest.mark.parametrize("name", [".hidden", "..", "a\0b", "x" * 300, "a\\b"])
def test_a_name_that_no_file_can_have_is_refused(name):
    gold = GoldSet(name, CorpusSpec("stdlib"), (Query("q", {"human": "x"}, (Target(Span("a.py")),)),))
    with pytest.raises(GoldError, match="is not a valid file name"):
        find_format("native").write(Suite((gold,)))  # type: ignore[misc]


def test_a_text_longer_than_a_cell_is_an_error_not_a_broken_file():
    query = Query("row-001", {"human": "x"}, (Target(Span("a.py", 1, 2)),))
    short = GoldSet("short", CorpusSpec("stdlib"), (query,), source="short.yaml")
    long = GoldSet("long", CorpusSpec("stdlib"), (replace(query, forms={"human": "x" * 200_000}),), source="long.yaml")
    with pytest.raises(GoldError, match="cannot represent gold set 'long'") as error:
        find_format("octocode").write(Suite((short, long)))  # type: ignore[misc]
    assert error.value.file == "long.yaml"


def test_every_kind_of_loss_has_words():
    assert all(one and many for one, many, _ in KINDS.values())
