"""The native format: what it reads, and every way to get it wrong, with the line."""

import contextlib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import GoldError
from assay.gold import load_gold
from assay.gold.build import GoldSource, read_source
from assay.gold.formats.native import read_native
from assay.gold.yaml_nodes import NodeLimits, compose
from assay.types import PRIMARY, SECONDARY, CorpusSpec, Rationale, Span
from tests.gold.conftest import NATIVE
from tests.properties import examples


def test_native_reads_all_five_layers_as_text(native):
    gold = load_gold(native()).golds[0]
    query = gold.queries[0]
    assert (gold.name, gold.corpus) == ("small", CorpusSpec("path", "."))
    assert query.forms == {"human": "how is a float written out?", "keyword": "no"}
    assert query.tags == {"category": "semantic", "version": "1.10"}
    assert [(t.anchor, t.grade) for t in query.targets] == [
        ("json/encoder.py::JSONEncoder.iterencode", PRIMARY),
        ("json/encoder.py:1-2", SECONDARY),
    ]
    assert query.targets[1].span == Span("json/encoder.py", 1, 2)
    assert (query.adversaries[0].relationship, query.adversaries[0].strength) == ("sibling", "strong")
    assert query.rationale == Rationale("JSONEncoder", "it writes", "the decoder only reads")
    assert query.measures == ("RR@10", "nDCG(level=lines)@10")
    assert [q.line for q in gold.queries] == [5, 17]


GRADES = "retrieval: {grades: {3: [a.py], 1: [b.py], 0: [c.py, d.py]}}"


def test_native_reads_other_grades_and_what_was_judged_irrelevant(native):
    query = load_gold(native(("retrieval: {primary: [json/decoder.py]}", GRADES))).golds[0].queries[1]
    assert [(t.anchor, t.grade) for t in query.targets] == [("a.py", 3), ("b.py", 1)]
    assert [(t.anchor, t.grade) for t in query.irrelevant] == [("c.py", 0), ("d.py", 0)]
    assert [t.anchor for t in query.primaries] == ["a.py"]


def test_native_reads_a_query_whose_best_grade_is_1(native):
    graded = "retrieval: {grades: {1: [a.py, b.py]}}"
    query = load_gold(native(("retrieval: {primary: [json/decoder.py]}", graded))).golds[0].queries[1]
    assert [t.grade for t in query.targets] == [1, 1]
    assert query.primaries == query.targets


CORPORA = {
    "{stdlib: true}": CorpusSpec("stdlib"),
    "{stdlib: true, exclude: [test/**]}": CorpusSpec("stdlib", exclude=("test/**",)),
    "{stdlib: true, root: json}": CorpusSpec("stdlib", root="json"),
    "{git: ../repo}": CorpusSpec("git", "../repo"),
    "{git: https://x/y.git, rev: abc, root: src}": CorpusSpec("git", "https://x/y.git", rev="abc", root="src"),
    "{pypi: flask==3.1.0}": CorpusSpec("pypi", "flask==3.1.0"),
    '{npm: "@scope/x@1.10"}': CorpusSpec("npm", "@scope/x@1.10"),
    "{path: ../code, include: ['*.py'], exclude: [build]}": CorpusSpec(
        "path", "../code", include=("*.py",), exclude=("build",)
    ),
}


@pytest.mark.parametrize(("written", "spec"), CORPORA.items())
def test_native_reads_every_kind_of_corpus(native, written, spec):
    assert load_gold(native(("{path: .}", written))).golds[0].corpus == spec


def test_native_corpus_can_be_overridden(native):
    spec = CorpusSpec("stdlib")
    assert load_gold(native(), corpus=spec).golds[0].corpus == spec


BROKEN = {
    "broken yaml": (
        "retrieval: {primary: [json/decoder.py]}",
        "retrieval: {primary: [json/decoder.py}",
        18,
        "invalid YAML",
    ),
    "tab": ("    tags:", "\ttags:", 16, "invalid YAML"),
    "unknown key": ("tags:", "tgas:", 16, "unknown key 'tgas' in entry 1 of 'queries'"),
    "unknown form": ("keyword: no", "keywords: no", 11, "unknown key 'keywords'"),
    "missing key": ("    retrieval: {primary: [json/decoder.py]}\n", "", 17, "missing key 'retrieval'"),
    "missing name": ("name: small\n", "", 1, "missing key 'name'"),
    "missing version": ("assay: 1\n", "", 1, "missing key 'assay'"),
    "other version": ("assay: 1", "assay: 2", 1, "version '2'"),
    "list for mapping": ("corpus: {path: .}", "corpus: [path]", 3, "got a list"),
    "text for list": ("primary: [json/decoder.py]", "primary: json/decoder.py", 18, "expected a list, got a string"),
    "mapping for text": ("human: where is text read", "human: {a: b}", 19, "expected a string, got a mapping"),
    "duplicate id": ("id: whole-file", "id: float-text", 17, "first used on line 5"),
    "duplicate key": ("keyword: no", "human: again", 11, "first on line 10"),
    "duplicate target": ("json/encoder.py:1-2", "json/encoder.py::JSONEncoder.iterencode", 5, "duplicate"),
    "empty form": ("keyword: no", "keyword: ''", 11, "is empty"),
    "absent form": ("keyword: no", "keyword:", 11, "is empty"),
    "blank form": ("keyword: no", "keyword: '  '", 11, "is empty"),
    "no form": ("{human: where is text read}", "{}", 19, "no phrasing"),
    "no primary": ("[json/decoder.py]", "[]", 18, "is empty"),
    "secondary alone": ("primary: [json/decoder.py]", "secondary: [json/decoder.py]", 18, "missing key 'primary'"),
    "bad grade": ("primary: [json/decoder.py]", "grades: {high: [a.py]}", 18, "invalid grade 'high'"),
    "negative grade": ("primary: [json/decoder.py]", "grades: {-1: [a.py]}", 18, "invalid grade '-1'"),
    "nothing relevant": ("primary: [json/decoder.py]", "grades: {0: [a.py]}", 17, "no relevant target"),
    "two grades": ("primary: [json/decoder.py]", "grades: {2: [a.py], 0: [a.py]}", 17, "duplicate"),
    "bad id": ("id: whole-file", "id: whole file", 17, "whitespace or '/'"),
    "bad relationship": ("sibling", "sister", 13, "unknown value"),
    "bad strength": ("strong", "stronk", 13, "unknown value"),
    "bad measure": ("RR@10", "RR@", 15, "invalid measure 'RR@'"),
    "absolute path": ("[json/decoder.py]", "[/json/decoder.py]", 18, "absolute path"),
    "climbing path": ("[json/decoder.py]", "[json/../../x.py]", 18, "contains '..'"),
    "backslash path": ("[json/decoder.py]", r"[json\decoder.py]", 18, "backslash"),
    "backward range": ("json/encoder.py:1-2", "json/encoder.py:2-1", 8, "ends before it starts"),
    "adversary is target": ("target: json/decoder.py", "target: json/encoder.py:1-2", 5, "overlaps target"),
    "adversary holds target": ("target: json/decoder.py", "target: json/encoder.py", 5, "overlaps target"),
    "two corpora": ("{path: .}", "{path: ., npm: x@1}", 3, "more than one source: path, npm"),
    "no corpus": ("{path: .}", "{root: src}", 3, "the corpus has no source"),
    "rev without git": ("{path: .}", "{path: ., rev: abc}", 3, "unknown key 'rev'"),
    "stdlib false": ("{path: .}", "{stdlib: false}", 3, "got 'false'"),
    "tag": ("human: where is text read", "human: !!python/name:os.system x", 19, "unsupported YAML tag"),
    "two documents": ("queries:", "---\nqueries:", 4, "invalid YAML"),
    "merge key": ("    tags:", "    <<:", 16, "unknown key '<<'"),
    "unknown alias": ("keyword: no", "keyword: *no", 11, "undefined alias *no"),
    "label of nothing": ("    tags:", "    labels: [{target: x.py}]\n    tags:", 5, "is not a target or adversary"),
    "label twice": (
        "    tags:",
        "    labels: [{target: json/decoder.py}, {target: json/decoder.py}]\n    tags:",
        5,
        "duplicate entry for",
    ),
    "label without a day": (
        "    tags:",
        "    labels: [{target: json/decoder.py, on: monday}]\n    tags:",
        16,
        "invalid date",
    ),
    "label by nobody": ("    tags:", "    labels: [{target: json/decoder.py, by: []}]\n    tags:", 16, "empty list"),
    "control character": ("keyword: no", "keyword: n\x07o", 11, "invalid YAML"),
}


@pytest.mark.parametrize(("old", "new", "line", "message"), BROKEN.values(), ids=BROKEN)
def test_native_says_what_is_wrong_where_and_what_next(native, old, new, line, message):
    path = native((old, new))
    with pytest.raises(GoldError) as caught:
        load_gold(path)
    assert message in caught.value.message
    assert (caught.value.file, caught.value.line) == (str(path), line)
    assert caught.value.hint
    assert caught.value.exit_code == 2


def test_native_names_the_nearest_key(native):
    with pytest.raises(GoldError, match="did you mean 'tags'"):
        load_gold(native(("tags:", "tgas:")))


def test_native_names_the_nearest_source_of_a_corpus(native):
    with pytest.raises(GoldError, match="did you mean 'path' instead of 'paht'") as caught:
        load_gold(native(("{path: .}", "{root: src, paht: .}")))
    assert "has no source" in caught.value.message
    with pytest.raises(GoldError, match="exactly one of stdlib, path"):
        load_gold(native(("{path: .}", "{where: here}")))


@pytest.mark.parametrize("text", ["", "# nothing\n", "assay: 1\nname: x\ncorpus: {path: .}\nqueries: []\n"])
def test_native_refuses_an_empty_set(tmp_path, text):
    path = tmp_path / "empty.yaml"
    path.write_text(text)
    with pytest.raises(GoldError, match="the gold set is empty"):
        load_gold(path)


def test_native_names_the_line_of_the_first_byte_that_is_not_utf8(tmp_path):
    path = tmp_path / "latin.yaml"
    path.write_bytes("assay: 1\nname: caf\xe9\n".encode("latin-1"))
    with pytest.raises(GoldError, match="not UTF-8") as caught:
        load_gold(path)
    assert caught.value.line == 2


def test_native_drops_a_byte_order_mark(native):
    path = native()
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_gold(path).golds[0].name == "small"


def test_native_refuses_a_file_that_is_too_large(native):
    path = native()
    with pytest.raises(GoldError, match="the limit is 10") as caught:
        read_source(path, 10)
    assert (caught.value.file, caught.value.hint) == (str(path), "split the file into smaller ones")


def test_native_says_why_a_file_cannot_be_read(tmp_path):
    with pytest.raises(GoldError, match="cannot read the file: No such file") as caught:
        read_source(tmp_path / "none.yaml")
    assert caught.value.hint == "check the path"


def _bomb(width: int, levels: int) -> str:
    lines = ["a0: &a0 [" + ", ".join(["x"] * width) + "]"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * width) + "]" for n in range(1, levels)]
    return "\n".join(lines)


def test_native_refuses_aliases_that_multiply(tmp_path):
    path = tmp_path / "bomb.yaml"
    path.write_text(_bomb(10, 12))
    with pytest.raises(GoldError, match="after expanding aliases") as caught:
        load_gold(path)
    assert caught.value.line is not None


def test_native_refuses_an_alias_inside_its_own_anchor(tmp_path):
    path = tmp_path / "loop.yaml"
    path.write_text("assay: &a [*a]")
    with pytest.raises(GoldError, match="undefined alias"):
        load_gold(path)


def test_native_refuses_deep_nesting_before_it_can_hurt(tmp_path):
    path = tmp_path / "deep.yaml"
    path.write_text("assay: " + "[" * 100_000)
    with pytest.raises(GoldError, match="nested more than"):
        load_gold(path)


def test_native_counts_nodes_with_aliases_written_out(tmp_path):
    source = GoldSource(tmp_path / "x.yaml", "a: &a [x, y]\nb: [*a, *a]\n")
    compose(source, "it", NodeLimits(nodes=13))
    with pytest.raises(GoldError):
        compose(source, "it", NodeLimits(nodes=12))


def test_native_reads_an_alias(native):
    path = native(("keyword: no", "keyword: &k no"), ("human: where is text read", "human: *k"))
    assert load_gold(path).golds[0].queries[1].forms == {"human": "no"}


@examples(300)
@given(st.text(alphabet=st.sampled_from("assay:1nmecorpustdliquerief{}[]&*!-\n \"'|>%@\t#,?"), max_size=200))
def test_native_gives_gold_or_an_error_for_any_text(tmp_path_factory, text):
    source = GoldSource(tmp_path_factory.getbasetemp() / "any.yaml", text)
    with contextlib.suppress(GoldError):
        assert read_native(source).queries


@pytest.fixture(params=["libyaml", "pure Python"])
def loader(request, monkeypatch):
    """Read with libyaml, and as on a machine without it."""
    if request.param == "pure Python":
        monkeypatch.delattr(yaml, "CBaseLoader")


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize(("old", "new", "line"), [broken[:3] for broken in BROKEN.values()], ids=BROKEN)
def test_native_names_the_same_line_with_and_without_libyaml(native, old, new, line):
    with pytest.raises(GoldError) as caught:
        load_gold(native((old, new)))
    assert caught.value.line == line


@examples(300)
@given(st.data())
def test_native_gives_gold_or_an_error_for_any_damage(tmp_path_factory, data):
    raw = bytearray(NATIVE.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(raw)))
        raw[start : start + data.draw(st.integers(0, 8))] = data.draw(
            st.binary(max_size=4)
            | st.sampled_from([b"\n", b": ", b"- ", b"&a ", b"*a", b"::", b"[", b"}", b"!!x ", b"'"])
        )
    path = tmp_path_factory.getbasetemp() / "damaged.yaml"
    path.write_bytes(raw)
    with contextlib.suppress(GoldError):
        assert read_native(read_source(path)).queries
