"""What is asked of a repository: each kind, its answers, its marks, and the corpus it is asked on."""

import pytest

from assay.corpus import open_corpus, read_text
from assay.errors import ConfigError
from assay.gold import load_gold, resolve
from assay.gold.code_index import SampleSize
from assay.gold.synth import synthesize, write_sets
from assay.scoring import score
from assay.stats.score_table import partition
from assay.types import CorpusSpec, EngineRun, Run, Suite


def asked(sets, kind):
    gold = next(gold for gold in sets.golds if gold.provenance["synthetic"] == kind)
    return {next(iter(q.forms.values())): [t.anchor for t in q.targets] for q in gold.queries}


def test_symbols_are_defined_once_and_stand_outside_tests(corpus):
    found = asked(synthesize(corpus, name="shop", kinds=("symbol",)), "symbol")
    assert found["Pool"] == ["src/pool.py:4-19"]
    assert found["drain"] == ["src/pool.py:22-28"]
    assert found["Backoff"] == ["net/retry.go:3-7"]
    assert found["limit"] == ["net/retry.go:16-16"]
    assert "helper" not in found  # twice
    assert "check_everything" not in found  # a test


def test_impl_blocks_do_not_define_the_type_again(tmp_path):
    (tmp_path / "a.rs").write_text("pub struct Gauge {\n    n: u8,\n}\n\nimpl Gauge {\n    fn read(&self) {}\n}\n")
    found = asked(synthesize(open_corpus(CorpusSpec("path", str(tmp_path))), name="x", kinds=("symbol",)), "symbol")
    assert found["Gauge"] == ["a.rs:1-3"]


def test_doc_sentences_lead_to_what_they_document(corpus):
    found = asked(synthesize(corpus, name="shop", kinds=("doc",)), "doc")
    assert found == {
        "Hand out open connections and take them back": ["src/pool.py:4-19"],
        "Wait until a free connection turns up, at most so many seconds": ["src/pool.py:7-14"],
        "returns how long a caller waits before the next attempt": ["net/retry.go:5-7"],
        "Decides whether a failed request is worth another attempt": ["net/retry.go:12-14"],
        "Draws the given rows as an indented tree of labels": ["web/view.ts:2-5"],
    }


def test_only_the_comments_that_were_asked_leave_the_corpus(corpus, tmp_path):
    sets = synthesize(corpus, name="shop", kinds=("doc",))
    write_sets(sets, tmp_path / "out")
    copy = open_corpus(CorpusSpec("path", str(tmp_path / "out" / "corpus")))
    assert [f.path for f in copy.files] == [f.path for f in corpus.files]
    pool = read_text(copy, "src/pool.py")
    assert "Hand out" not in pool
    assert "patience" not in pool
    for kept in ("Everything about pools", "TODO: fairness", "Release gives", "Copyright"):
        assert kept in pool
    for file in corpus.files:
        before, after = (read_text(c, file.path).split("\n") for c in (corpus, copy))
        assert len(before) == len(after)
        changed = {a.strip() for b, a in zip(before, after, strict=True) if b != a}
        assert changed <= {"", '"""', '""""""'}


def test_same_sentence_over_two_definitions_is_not_asked(tmp_path):
    text = "".join(
        f'def f{n}():\n    """Find the nearest open file handle."""\n    a = {n}\n    return a\n\n' for n in (1, 2)
    )
    (tmp_path / "a.py").write_text(text)
    sets = synthesize(open_corpus(CorpusSpec("path", str(tmp_path))), name="x", kinds=("doc",))
    assert sets.golds == ()
    assert sets.notes == ("no doc set: no definition has a usable comment",)


def test_a_sentence_that_gives_the_name_away_is_not_asked(tmp_path):
    body = "    a = 1\n    return a\n\n\n"
    named = f'def open_handle():\n    """Try to open handle after handle until none is left."""\n{body}'
    other = f'def attempt():\n    """Try every door of the house until none is left."""\n{body}'
    (tmp_path / "a.py").write_text(named + other)
    found = asked(synthesize(open_corpus(CorpusSpec("path", str(tmp_path))), name="x", kinds=("doc",)), "doc")
    assert list(found) == ["Try every door of the house until none is left"]


def test_keywords_are_the_rarest_words_that_are_left(corpus):
    sets = synthesize(corpus, name="shop", kinds=("doc", "keyword"))
    sentences, words = asked(sets, "doc"), asked(sets, "keyword")
    assert words
    for text, anchors in words.items():
        source = next(sentence for sentence, there in sentences.items() if there == anchors)
        assert len(text.split()) == 3
        assert set(text.split()) <= set(source.lower().replace(",", "").split())
    left = b" ".join(sets.stripped.values()).decode().lower()
    assert all(word in left for text in words for word in text.split())


def test_every_set_and_every_query_is_marked(corpus):
    for gold in synthesize(corpus, name="shop", kinds=("symbol", "doc", "keyword")).golds:
        kind = gold.provenance["synthetic"]
        assert gold.synthetic
        assert gold.name == f"shop-synthetic-{kind}"
        assert {q.tags["synthetic"] for q in gold.queries} == {kind}


def test_a_kind_is_drawn_the_same_whatever_else_is_made(corpus):
    wanted = SampleSize(count=2, max_per_file=1, seed=3)
    every = synthesize(corpus, name="shop", wanted=wanted)
    for gold in every.golds:
        alone = synthesize(corpus, name="shop", wanted=wanted, kinds=(gold.provenance["synthetic"],))
        assert alone.golds == (gold,)
        paths = [t.span.path for q in gold.queries for t in q.targets]
        assert len(gold.queries) <= 2
        assert len(set(paths)) == len(paths)


def test_what_is_written_is_read_back_and_holds(corpus, tmp_path):
    sets = synthesize(corpus, name="shop")
    files = write_sets(sets, tmp_path / "out")
    suite = load_gold(tmp_path / "out")  # the copy of the corpus is not read as gold
    assert len(suite.golds) == len(files) == len(sets.golds) == 3
    for gold, file in zip(
        sorted(sets.golds, key=lambda g: g.name), sorted(suite.golds, key=lambda g: g.name), strict=True
    ):
        assert [q.forms for q in gold.queries] == [q.forms for q in file.queries]
        assert file.provenance == gold.provenance
        resolve(file, open_corpus(file.corpus, base=tmp_path / "out"))


@pytest.mark.parametrize(
    ("kinds", "wanted", "said"),
    [
        (("docs",), SampleSize(), "did you mean 'doc'"),
        (("doc",), SampleSize(count=0), "--count"),
        (("doc",), SampleSize(seed=-1), "--seed"),
    ],
)
def test_bad_wishes_are_refused(corpus, kinds, wanted, said):
    with pytest.raises(ConfigError) as error:
        synthesize(corpus, name="x", kinds=kinds, wanted=wanted)
    assert said in str(error.value)


def test_sentences_and_keywords_about_the_same_code_count_as_one_unit(corpus):
    def units_of(*kinds):
        golds = synthesize(corpus, name="shop", kinds=kinds).golds
        return score(Run(Suite(golds), 10, (EngineRun("mine", ()),)), ["RR@10"]).units

    units = units_of("doc", "keyword")
    assert {unit.gold for unit in units} == {"shop-synthetic-doc", "shop-synthetic-keyword"}
    found = partition(units)
    assert (len(units), found.count) == (6, 5)
    assert found.shared == "6 queries form 5 units: queries that share targets count as one"
    every = units_of("symbol", "doc", "keyword")
    assert {unit.repository for unit in every} == {corpus.spec.repository}  # the copy is no other repository
    assert partition(every).label == "on this repository"
    shared = {unit.query: unit.shared for unit in every if unit.shared}
    assert len({name.partition("-")[0] for name in shared}) == 3
