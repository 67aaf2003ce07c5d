"""Gold is checked before it is used: the path, the range, the symbol (rule 5)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.corpus import open_corpus
from assay.errors import GoldError
from assay.gold import AnchorProblem, load_gold, resolve
from assay.gold.anchors import content_digest
from assay.types import Adversary, Corpus, CorpusSpec, GoldSet, Query, SkippedFile, Span, Target


def gold_of(*anchors: Target) -> GoldSet:
    """Make a gold set with one query for each target."""
    queries = tuple(Query(f"q{n}", {"human": "x"}, (target,)) for n, target in enumerate(anchors))
    return GoldSet("small", CorpusSpec("path", "."), queries)


def problem(gold: GoldSet, corpus: Corpus) -> AnchorProblem:
    """Give the first thing that is wrong."""
    return resolve(gold, corpus, missing="report").problems[0]


def test_resolve_fills_lines_and_units(native, make_corpus):
    resolution = resolve(load_gold(native()).golds[0], make_corpus())
    first, second = resolution.gold.queries
    assert resolution.problems == ()
    assert first.targets[0].span == first.targets[0].unit == Span("json/encoder.py", 5, 6)
    assert first.targets[0].symbol == "JSONEncoder.iterencode"
    assert (first.targets[1].span, first.targets[1].unit) == (Span("json/encoder.py", 1, 2), None)
    assert second.targets[0] == Target(Span("json/decoder.py"))


def test_resolve_gives_a_range_the_innermost_definition(make_corpus):
    target = resolve(gold_of(Target(Span("json/encoder.py", 6, 6))), make_corpus()).gold.queries[0].targets[0]
    assert target.unit == Span("json/encoder.py", 5, 6)
    assert target.span == Span("json/encoder.py", 6, 6)


def test_resolve_gives_a_constant_its_own_unit(make_corpus):
    corpus = make_corpus({"a.py": "class A:\n    TABLE = [\n        1,\n    ]\n"})
    target = resolve(gold_of(Target(Span("a.py"), symbol="A.TABLE")), corpus).gold.queries[0].targets[0]
    assert target.span == target.unit == Span("a.py", 2, 4)


def test_resolve_survives_edits_above_a_symbol(make_corpus):
    gold = gold_of(Target(Span("a.py"), symbol="f"))
    before = resolve(gold, make_corpus({"a.py": "def f(): ...\n"})).gold.queries[0].targets[0]
    after = resolve(gold, make_corpus({"a.py": "import x\n\n\ndef f(): ...\n"})).gold.queries[0].targets[0]
    assert (before.span.start, after.span.start) == (1, 4)


def test_resolve_leaves_out_irrelevant_targets_that_are_not_in_the_corpus_and_counts_them(make_corpus):
    irrelevant = (Target(Span("gone.md"), 0), Target(Span("README.md"), 0), Target(Span("json/decoder.py"), 0, "none"))
    query = Query("q", {"human": "x"}, (Target(Span("json/decoder.py")),), irrelevant=irrelevant)
    resolution = resolve(GoldSet("g", CorpusSpec("path", "."), (query,)), make_corpus())
    assert [target.anchor for target in resolution.gold.queries[0].irrelevant] == ["README.md"]
    assert resolution.notes == ("skipped 2 of 3 locations judged irrelevant in 'g': not found",)


def test_resolve_does_not_change_its_argument(native, make_corpus):
    gold = load_gold(native()).golds[0]
    resolve(gold, make_corpus())
    assert gold.queries[0].targets[0].span.start is None


def test_resolve_names_file_line_and_close_symbol(native, make_corpus):
    path = native(("iterencode", "iterencod"))
    with pytest.raises(GoldError) as caught:
        resolve(load_gold(path).golds[0], make_corpus())
    assert caught.value.message.startswith("symbol 'JSONEncoder.iterencod' not found in json/encoder.py")
    assert caught.value.hint == "did you mean 'JSONEncoder.iterencode'?"
    assert (caught.value.file, caught.value.line) == (str(path), 7)


SYMBOLS = {
    "misspelt": ("Encoder.encod", "did you mean 'Encoder.encode'?"),
    "in another case": ("Encoder.ENCODE", "did you mean 'Encoder.encode'?"),
    "of another class": ("Encodr.encode", "did you mean 'Encoder.encode'?"),
    "without its class": ("flush", "did you mean 'Encoder.flush'?"),
    "like its class only": ("Encoder.visit", "use the name of a definition"),
}


@pytest.mark.parametrize(("symbol", "hint"), SYMBOLS.values(), ids=SYMBOLS)
def test_resolve_says_which_symbol_was_meant(make_corpus, symbol, hint):
    text = "class Encoder:\n    def encode(self): ...\n    def flush(self): ...\n\ndef load(): ...\n"
    found = problem(gold_of(Target(Span("a.py"), symbol=symbol)), make_corpus({"a.py": text}))
    assert found.code == "symbol"
    assert hint in (found.hint or "")


def test_resolve_counts_the_other_problems(native, make_corpus):
    path = native(("iterencode", "iterencod"), ("json/encoder.py:1-2", "json/encoder.py:1-99"))
    with pytest.raises(GoldError, match=r"\(and 1 more problem\)"):
        resolve(load_gold(path).golds[0], make_corpus())


def test_resolve_says_how_long_the_file_is(make_corpus):
    found = problem(gold_of(Target(Span("README.md", 2, 3))), make_corpus())
    assert (found.code, found.query, found.anchor) == ("range", "q0", "README.md:2-3")
    assert "README.md has 2 lines" in found.message


def test_resolve_accepts_the_last_line_with_and_without_newline(make_corpus):
    corpus = make_corpus({"a.md": "1\n2", "b.md": "1\n2\n", "empty.md": ""})
    assert not resolve(gold_of(Target(Span("a.md", 2, 2)), Target(Span("b.md", 2, 2))), corpus).problems
    assert problem(gold_of(Target(Span("b.md", 3, 3))), corpus).code == "range"
    assert problem(gold_of(Target(Span("empty.md", 1, 1))), corpus).code == "range"


PATHS = {
    "moved": ("encoder.py", "did you mean 'json/encoder.py'?"),
    "misspelt": ("json/encodr.py", "did you mean 'json/encoder.py'"),
    "now a package": ("pkg.py", "did you mean 'pkg/__init__.py'?"),
    "misspelt in capitals": ("json/ENCODR.py", "did you mean 'json/encoder.py'"),
    "in a folder of others": ("json/tool.py", "check the root"),
    "unlike anything": ("nothing/like/it.rs", "check the root"),
}


@pytest.mark.parametrize(("path", "hint"), PATHS.values(), ids=PATHS)
def test_resolve_says_which_path_was_meant(make_corpus, path, hint):
    files = {"json/encoder.py": "", "json/decoder.py": "", "pkg/__init__.py": ""}
    found = problem(gold_of(Target(Span(path))), make_corpus(files))
    assert found.code == "path"
    assert f"{path} is not in the corpus" in found.message
    assert hint in (found.hint or "")


def test_resolve_tells_folders_and_files_that_were_left_out(make_corpus):
    skipped = (SkippedFile("big.py", "oversized", "9 MB"), SkippedFile("vendor", "excluded"))
    corpus = make_corpus(skipped=skipped)
    (corpus.root / "big.py").write_text("x")
    (corpus.root / "stray.py").write_text("x")
    messages = [
        problem(gold_of(Target(Span(p))), corpus).message for p in ("big.py", "vendor/a.py", "json", "stray.py")
    ]
    assert "excluded from the corpus (oversized: 9 MB)" in messages[0]
    assert "excluded from the corpus (excluded)" in messages[1]
    assert "json is a directory" in messages[2]
    assert "exists but is not part of the corpus" in messages[3]


def in_language(corpus: Corpus, language: str) -> Corpus:
    """Say what language the files of a corpus are in."""
    return replace(corpus, files=tuple(replace(file, language=language) for file in corpus.files))


def test_resolve_finds_symbols_of_other_languages_with_their_comments(make_corpus):
    text = "/// Counts.\nfn count() {}\n\nimpl Basket {\n    fn new() {}\n}\n"
    corpus = in_language(make_corpus({"a.rs": text}), "rust")
    found = resolve(gold_of(*(Target(Span("a.rs"), symbol=name) for name in ("count", "Basket.new"))), corpus).gold
    assert [query.targets[0].span for query in found.queries] == [Span("a.rs", 1, 2), Span("a.rs", 5, 5)]
    inner = resolve(gold_of(Target(Span("a.rs", 5, 5))), corpus).gold.queries[0].targets[0]
    assert inner.unit == Span("a.rs", 5, 5)
    missing = problem(gold_of(Target(Span("a.rs"), symbol="Basket.nev")), corpus)
    assert (missing.code, missing.hint) == ("symbol", "did you mean 'Basket.new'?")


def test_resolve_does_not_take_a_field_for_a_unit(make_corpus):
    corpus = in_language(make_corpus({"a.java": "class A {\n    int size =\n        1;\n}\n"}), "java")
    inner = resolve(gold_of(Target(Span("a.java", 2, 3))), corpus).gold.queries[0].targets[0]
    assert inner.unit == Span("a.java", 1, 4)


TEXT = "one\ntwo\nthree\nfour\n"


def hashed(start: int, end: int, said: str) -> Target:
    """Make a line anchor that carries the hash of some text."""
    return Target(Span("a.txt", start, end), digest=content_digest(said.split("\n")))


def test_resolve_accepts_a_range_whose_content_holds(make_corpus):
    resolution = resolve(gold_of(hashed(2, 3, "two\nthree")), make_corpus({"a.txt": TEXT.replace("two", "two  ")}))
    assert (resolution.problems, resolution.notes) == ((), ())
    assert resolution.gold.queries[0].targets[0].span == Span("a.txt", 2, 3)


@pytest.mark.parametrize("above", ["new\n", "new\n" * 50])
def test_resolve_finds_moved_content_and_says_so(make_corpus, above):
    target = hashed(2, 3, "two\nthree")
    resolution = resolve(gold_of(target), make_corpus({"a.txt": above + TEXT}))
    start = above.count("\n") + 2
    found = resolution.gold.queries[0].targets[0]
    assert (found.span, found.digest) == (Span("a.txt", start, start + 1), target.digest)
    assert resolution.notes[0].startswith(f"{target.anchor} was found at a.txt:{start}-{start + 1}")


def test_resolve_finds_content_in_a_file_that_got_shorter(make_corpus):
    resolution = resolve(gold_of(hashed(9, 10, "two\nthree")), make_corpus({"a.txt": TEXT}))
    assert resolution.gold.queries[0].targets[0].span == Span("a.txt", 2, 3)


@pytest.mark.parametrize(
    ("text", "message"), [("one\n2\n3\nfour\n", "no line range"), ("0\n" + TEXT + TEXT, "2 line ranges")]
)
def test_resolve_reports_content_that_is_gone_or_ambiguous(make_corpus, text, message):
    found = problem(gold_of(hashed(2, 3, "two\nthree")), make_corpus({"a.txt": text}))
    assert (found.code, message in found.message) == ("content", True)
    assert "reanchor" in (found.hint or "")


def test_resolve_prefers_the_written_place_when_several_say_the_same(make_corpus):
    resolution = resolve(gold_of(hashed(6, 7, "two\nthree")), make_corpus({"a.txt": TEXT + TEXT}))
    assert resolution.gold.queries[0].targets[0].span == Span("a.txt", 6, 7)
    assert not resolution.notes


def test_resolve_says_when_symbols_cannot_be_read(make_corpus):
    corpus = make_corpus({"a.rs": "fn f() {}\n", "b.py": "def f(:\n"})
    assert problem(gold_of(Target(Span("a.rs"), symbol="f")), corpus).code == "language"
    broken = problem(gold_of(Target(Span("b.py"), symbol="f")), corpus)
    assert (broken.code, "line 1: invalid syntax" in broken.message) == ("syntax", True)
    assert not resolve(gold_of(Target(Span("a.rs", 1, 1)), Target(Span("b.py", 1, 1))), corpus).problems


def test_resolve_suspects_a_gold_set_for_another_corpus(make_corpus):
    drawn = gold_of(*(Target(Span(f"other/{n}.py")) for n in range(4)), Target(Span("README.md")))
    gold = replace(drawn, queries=tuple(replace(query, line=n) for n, query in enumerate(drawn.queries, 3)))
    with pytest.raises(GoldError, match="4 of the 5 paths .* may be for another corpus"):
        resolve(gold, make_corpus())
    report = resolve(gold, make_corpus(), missing="report")
    assert (report.problems[0].code, report.problems[0].line) == ("other-corpus", 3)
    assert [q.id for q in report.gold.queries] == ["q4"]


def test_resolve_does_not_suspect_the_corpus_for_a_typing_error_or_half(make_corpus):
    assert problem(gold_of(Target(Span("x.py"))), make_corpus()).code == "path"
    half = [Target(Span(p)) for p in ("README.md", "json/encoder.py", "json/decoder.py", "x.py", "y.py", "z.py")]
    assert problem(gold_of(*half), make_corpus()).code == "path"


def test_resolve_reports_and_leaves_out_what_is_missing(make_corpus):
    there, gone = Target(Span("README.md")), Target(Span("json/encoder.py"), symbol="gone")
    wrong = (Adversary(gone, "sibling", "weak", "x"), Adversary(Target(Span("json/decoder.py")), "test", "weak", "x"))
    queries = (
        Query("kept", {"human": "x"}, (there, replace(gone, grade=1)), wrong, line=3),
        Query("lost", {"human": "x"}, (gone, replace(there, grade=1)), line=9),
    )
    gold = GoldSet("g", CorpusSpec("path", "."), queries, source="g.yaml")
    resolution = resolve(gold, make_corpus(), missing="report")
    (kept,) = resolution.gold.queries
    assert (kept.targets, len(kept.adversaries)) == ((there,), 1)
    assert [(p.code, p.query, p.line) for p in resolution.problems] == [
        ("symbol", "kept", 3),
        ("symbol", "kept", 3),
        ("symbol", "lost", 9),
        ("no-primary", "lost", 9),
    ]


ANCHORS = [
    Target(Span("json/encoder.py"), symbol="JSONEncoder"),
    Target(Span("json/encoder.py"), symbol="JSONEncoder.gone"),
    Target(Span("json/encoder.py", 1, 6)),
    Target(Span("json/encoder.py", 1, 7)),
    Target(Span("README.md")),
    Target(Span("gone.md")),
    Target(Span("json/decoder.py"), 1, symbol="decode"),
]
HOLD = {0, 2, 4, 6}


@given(
    st.lists(
        st.lists(st.sampled_from(range(len(ANCHORS))), min_size=1, max_size=4, unique=True), min_size=1, max_size=4
    )
)
def test_resolve_never_lets_an_anchor_through_that_does_not_hold(make_corpus, drawn):
    queries = [Query(f"q{n}", {"human": "x"}, tuple(ANCHORS[i] for i in some)) for n, some in enumerate(drawn)]
    gold = GoldSet("g", CorpusSpec("path", "."), tuple(queries))
    resolution = resolve(gold, make_corpus(), missing="report")
    kept = {query.id: query for query in resolution.gold.queries}
    for query, some in zip(queries, drawn, strict=True):
        held = [ANCHORS[i].anchor for i in some if i in HOLD]
        assert (query.id in kept) == any(ANCHORS[i] in query.primaries for i in some if i in HOLD)
        if query.id in kept:
            assert [target.anchor for target in kept[query.id].targets] == held
        reported = [p.anchor for p in resolution.problems if p.query == query.id and p.anchor]
        assert reported == [ANCHORS[i].anchor for i in some if i not in HOLD]
    if resolution.problems:
        with pytest.raises(GoldError):
            resolve(gold, make_corpus())


OVERLOADS = {
    "a.py": "@overload\ndef f(x: int): ...\n@typing.overload\ndef f(x: str): ...\n@cache\ndef f(x):\n    return x\n",
    "twice.py": "def f(x): ...\n\n\ndef f(x):\n    return x\n",
    "before.js": "// for tests\nmodule.exports.f = f // late\n\nfunction f (x) {\n  return x\n}\n",
    "after.ts": "const f = (x) => {\n  return x\n}\nexports.f = f;\n",
    "twice.js": "exports.f = f;\nif (a) {\n  function f() {}\n} else {\n  function f() {}\n}\n",
    "only.js": "exports.f = f;\n",
    "other.js": "exports.f = g;\nfunction f() {}\n",
}


@pytest.mark.parametrize(
    ("path", "symbol", "lines"),
    [
        ("a.py", "f", (5, 7)),
        ("a.py", "f~2", (3, 4)),
        ("twice.py", "f", (1, 1)),
        ("twice.py", "f~2", (4, 5)),
        ("before.js", "f", (4, 6)),
        ("before.js", "f~2", (4, 6)),
        ("after.ts", "f", (1, 3)),
        ("twice.js", "f", (3, 3)),
        ("only.js", "f", (1, 1)),
        ("other.js", "f", (1, 1)),
    ],
)
def test_a_name_with_overload_stubs_or_an_export_alias_is_its_implementation(make_corpus, path, symbol, lines):
    corpus = open_corpus(CorpusSpec("path", str(make_corpus(OVERLOADS).root)))
    resolution = resolve(gold_of(Target(Span(path), symbol=symbol)), corpus)
    assert resolution.gold.queries[0].targets[0].span == Span(path, *lines)


@pytest.mark.parametrize("symbol", ["Store.buy", "exports.buy"])
def test_exported_class_is_found_by_its_name_and_as_exports(make_corpus, symbol):
    files = {"shop.js": "module.exports = class Store {\n  buy () {\n    return 1\n  }\n}\n"}
    corpus = open_corpus(CorpusSpec("path", str(make_corpus(files).root)))
    resolution = resolve(gold_of(Target(Span("shop.js"), symbol=symbol)), corpus)
    assert resolution.gold.queries[0].targets[0].span == Span("shop.js", 2, 4)
