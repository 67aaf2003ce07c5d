"""Karta's gold queries: v0.1, the five layers of v2.1, and the corpus beside them."""

import pytest

from assay.errors import GoldError
from assay.gold import load_gold
from assay.types import Adversary, CorpusSpec, Rationale, Span, Target
from tests.gold.formats.files import HERE, caught, load_one, write
from tests.gold.formats.samples import KARTA, KARTA_CORPUS, KARTA_LAYERS


def test_karta_reads_targets_adversaries_and_prose(tmp_path):
    gold = load_one(tmp_path, "gold.yaml", KARTA)
    first, second = gold.queries
    assert (first.id, first.line, dict(first.forms)) == ("Q01", 5, {"human": "How is a basket priced?"})
    assert first.targets == (Target(Span("shop/price.py")),)
    assert first.adversaries == (Adversary(Target(Span("shop/tax.py")), "sibling", "medium", "not said"),)
    assert first.rationale == Rationale(reason="price.py sums the basket.\ntax.py only knows the rates.")
    assert (first.tags, second.tags) == ({"category": "direct_concept"}, {"category": "behavioural"})
    assert [target.span.path for target in second.targets] == ["shop/tax.py", "shop/rates.py"]
    assert gold.name == "gold"
    assert {key: gold.provenance[key] for key in ("corpus_id", "version", "author")} == {
        "corpus_id": "shop-core",
        "version": "0.1.0",
        "author": "a person",
    }
    assert "strength" in gold.provenance["assumed"]
    assert "confusion" in gold.provenance["assumed"]
    assert "not read" not in gold.provenance


def test_karta_reads_five_layers_and_tells_what_it_does_not_know(tmp_path):
    gold = load_one(tmp_path, "gold.yaml", KARTA_LAYERS)
    (query,) = gold.queries
    assert [(target.anchor, target.grade) for target in query.targets] == [("shop/price.py", 2), ("shop/rates.py", 1)]
    assert list(query.ordered_forms) == ["human", "ai_optimized", "keyword", "wrong_terminology"]
    adversary = Adversary(Target(Span("shop/tax.py")), "sibling", "strong", "it knows the rates and sums nothing")
    assert query.adversaries == (adversary,)
    assert query.rationale == Rationale("price.py", "it sums", "tax.py only knows the rates")
    assert query.measures == ("Hit@5", "RR@10", "RankGap@10", "Displacement@10")
    assert query.tags == {"category": "pricing"}
    told = gold.provenance["not read"]
    for word in ("reviewed", "origin of queries", "passive of cognitive", "seen of adversaries", "note of rationale"):
        assert word in told
    assert "metric 'robustness'" in told
    assert "assumed" not in gold.provenance


def test_karta_takes_globs_and_tag_from_the_file_beside_it(tmp_path):
    path = write(tmp_path, "gold.yaml", KARTA)
    write(tmp_path, "corpus.yaml", KARTA_CORPUS)
    spec = load_gold(path, corpus=CorpusSpec("git", "https://x/shop.git")).golds[0].corpus
    include, exclude = ("shop/**/*.py",), ("**/test/**",)
    assert spec == CorpusSpec("git", "https://x/shop.git", rev="4.2", include=include, exclude=exclude)
    assert load_gold(path, corpus=HERE).golds[0].corpus == CorpusSpec("path", ".", include=include, exclude=exclude)
    own = CorpusSpec("git", "https://x/shop.git", rev="main", include=("lib/**",))
    spec = load_gold(path, corpus=own).golds[0].corpus
    assert (spec.rev, spec.include, spec.exclude) == ("main", ("lib/**",), ("**/test/**",))


def test_karta_never_expands_an_environment_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP", "/secret")
    path = write(tmp_path, "gold.yaml", KARTA)
    write(tmp_path, "corpus.yaml", KARTA_CORPUS)
    with pytest.raises(GoldError) as error:
        load_gold(path)
    assert (error.value.file, error.value.line) == (str(path), 1)
    assert "git:URL@4.2" in (error.value.hint or "")
    assert "/secret" not in str(error.value)


def test_karta_takes_a_plain_base_path(tmp_path):
    path = write(tmp_path, "gold.yaml", KARTA)
    write(tmp_path, "corpus.yaml", KARTA_CORPUS.replace("${env:SHOP}", "../code"))
    assert load_gold(path).golds[0].corpus.value == "../code"


def test_karta_refuses_the_description_of_another_corpus(tmp_path):
    path = write(tmp_path, "gold.yaml", KARTA)
    beside = write(tmp_path, "corpus.yaml", KARTA_CORPUS.replace("shop-core", "bank"))
    with pytest.raises(GoldError, match="is 'bank', but the gold set names 'shop-core'") as error:
        load_gold(path, corpus=HERE)
    assert (error.value.file, error.value.line) == (str(beside), 1)


def test_karta_folder_is_read_without_its_corpus_file(tmp_path):
    write(tmp_path, "a.yaml", KARTA)
    write(tmp_path, "b.yaml", KARTA_LAYERS)
    write(tmp_path, "corpus.yaml", KARTA_CORPUS)
    assert [gold.name for gold in load_gold(tmp_path, corpus=HERE).golds] == ["a", "b"]
    assert [gold.name for gold in load_gold(tmp_path, format="karta", corpus=HERE).golds] == ["a", "b"]


BAD = {
    "no expected": (KARTA, "    expected:\n      - shop/price.py\n", "", 5, "missing key 'expected'"),
    "empty expected": (KARTA, "[shop/tax.py, shop/rates.py]", "[]", 17, "no primary"),
    "null expected": (KARTA, "[shop/tax.py, shop/rates.py]", "", 17, "is empty"),
    "unknown key": (KARTA, "type: behavioural", "typ: behavioural", 19, "unknown key 'typ'"),
    "unknown type": (KARTA, "type: sibling", "type: cousin", 16, "'cousin'"),
    "flag without files": (KARTA, "has_adversarial: false", "has_adversarial: true", 21, "no adversarial file"),
    "files without flag": (KARTA, "has_adversarial: true", "has_adversarial: false", 13, "1 adversarial files"),
    "flag of no truth": (KARTA, "has_adversarial: true", "has_adversarial: maybe", 13, "'maybe'"),
    "target and adversary": (KARTA, "file: shop/tax.py", "file: shop/price.py", 5, "overlaps target"),
    "absolute": (KARTA, "- shop/price.py", "- /shop/price.py", 9, "absolute"),
    "id twice": (KARTA, "id: Q02", "id: Q01", 17, "duplicate query id"),
    "no id": (KARTA, "  - id: Q02\n    query", "  - query", 17, "missing key 'id'"),
    "no queries": (KARTA.partition("queries:")[0] + "queries: []\n", "", "", 4, "empty"),
    "not yaml": (KARTA, "[shop/tax.py", "[[shop/tax.py", 21, "invalid YAML"),
    "another grade": (KARTA_LAYERS, "secondary:", "acceptable:", 10, "unknown key 'acceptable'"),
    "strength": (KARTA_LAYERS, "strength: high", "strength: huge", 21, "'huge'"),
    "two files": (KARTA_LAYERS, "strength: high", "target: a.py", 19, "either 'file' or 'target'"),
    "no phrasing": (KARTA_LAYERS.replace("    cognitive:", "    unknown:"), "", "", 5, "no phrasing"),
    "null retrieval": (
        KARTA_LAYERS,
        "retrieval:\n      primary: [shop/price.py]\n      secondary: [shop/rates.py]",
        "retrieval: ~",
        5,
        "no retrieval layer",
    ),
}


@pytest.mark.parametrize(("text", "old", "new", "line", "message"), BAD.values(), ids=BAD)
def test_karta_says_what_is_wrong_and_where(tmp_path, text, old, new, line, message):
    assert old in text
    error = caught(tmp_path, "gold.yaml", text.replace(old, new, 1))
    assert (error.line, message in error.message) == (line, True), str(error)


def test_karta_gives_ids_with_blanks_sound_ones(tmp_path):
    gold = load_one(tmp_path, "gold.yaml", KARTA.replace("id: Q01", "id: the first/one"))
    assert [query.id for query in gold.queries] == ["the-first-one", "Q02"]
    assert "'the first/one' → the-first-one" in gold.provenance["ids"]
