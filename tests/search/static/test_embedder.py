from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import Index
from assay.search.config import DenseSettings, SearchConfig, TranslationSettings
from assay.search.dense import open_embedder
from assay.search.embedders import Embedder
from assay.search.query import find_words, term_hash, word_terms
from assay.search.static import StaticEmbedder, chunk_vectors, open_static, path_words
from assay.search.vectors import unit_rows
from tests.properties import examples
from tests.search.static.models import MEANINGS, write_model

WORDS = [word for group in MEANINGS for word in group] + ["zebra", "quux"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return open_static(write_model(tmp_path_factory.mktemp("model")))


def by_hand(model, text):
    """Add up a text's words as the docstring says, one by one."""
    total = np.zeros(model.dimension)
    for term, count in Counter(term for run in find_words(text) for term in word_terms(run)).items():
        row = int(model.rows(np.array([term_hash(term)], dtype=np.uint64))[0])
        if row >= 0:
            total += count**0.5 * model.said[row] * model.vector[row].astype(float) * model.scale[row]
    length = np.linalg.norm(total)
    return total / length if length else total


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=30), max_size=6))
@examples(50)
def test_a_text_is_the_weighted_sum_of_its_words(model, bags):
    texts = [" ".join(bag) for bag in bags]
    found = StaticEmbedder(model).embed(texts, "code")
    assert found.shape == (len(texts), model.dimension)
    for row, text in zip(found, texts, strict=True):
        assert np.allclose(row, by_hand(model, text), atol=1e-6)


def test_rows_have_length_one_or_are_zero(model):
    found = StaticEmbedder(model).embed(["delete the file", "zebra", ""], "code")
    assert np.linalg.norm(found, axis=1) == pytest.approx([1, 0, 0], abs=1e-6)


def test_a_query_counts_each_word_once_and_leaves_stop_words_out(model):
    embedder = StaticEmbedder(model)
    once, twice = embedder.embed(["delete a socket", "how to delete, delete and delete the socket"], "query")
    assert np.allclose(once, twice)


def test_words_of_one_meaning_are_near_and_others_are_not(model):
    embedder = StaticEmbedder(model)
    query = embedder.embed(["delete"], "query")[0]
    same, other = embedder.embed(["unlink", "parse"], "code") @ query
    assert same > 0.9 > 0.2 > other


def test_a_vector_does_not_depend_on_its_neighbours(model):
    embedder = StaticEmbedder(model)
    texts = [" ".join(WORDS[i : i + 5]) for i in range(8)]
    together = embedder.embed(texts, "code")
    alone = np.concatenate([embedder.embed([text], "code") for text in texts])
    assert np.array_equal(together, alone)


def test_many_texts_are_embedded_like_few(model):
    embedder = StaticEmbedder(model)
    texts = [" ".join(WORDS[i : i + 5]) for i in range(8)]
    many = embedder.embed(texts * 300, "code")  # 12,000 rows: several blocks
    assert np.array_equal(many, np.tile(embedder.embed(texts, "code"), (300, 1)))


FILES = {
    "disk.py": "def unlink(path):\n    rm(path)\n\n\ndef read(path):\n    return token(path)\n",
    "net.py": "def connect(host):\n    return sock(host)\n",
}


def written(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def config_of(folder, **dense):
    spec = f"static:{folder}"
    return SearchConfig(dense=DenseSettings(model=spec, **dense), translation=TranslationSettings(model=spec))


def test_units_are_embedded_from_the_index_alone(model, tmp_path):
    table = Index.build(written(tmp_path / "src", FILES), config_of(write_model(tmp_path / "m"))).table
    embedder = StaticEmbedder(model)
    every = embedder.sum_chunks(table.postings, np.arange(len(table.chunks)))
    some = np.array([1])
    assert np.array_equal(embedder.sum_chunks(table.postings, some), every[some])
    made = chunk_vectors(embedder, table)
    assert np.linalg.norm(made.matrix, axis=1) == pytest.approx(np.ones(len(table.chunks)), abs=1e-6)
    assert made.matrix * made.size[:, None] == pytest.approx(every, abs=1e-5)


@pytest.mark.parametrize("weight", [0.5, 4.0])
def test_path_words_are_as_if_they_stood_in_every_unit(model, tmp_path, weight):
    files = {"net/token/sock.py": FILES["disk.py"], "read.py": FILES["net.py"], "zebra.py": "quux = 1\n"}
    table = Index.build(written(tmp_path / "src", files), config_of(write_model(tmp_path / "m"))).table
    embedder = StaticEmbedder(model)
    chunks = chunk_vectors(embedder, table)
    sums = embedder.sum_chunks(table.postings, np.arange(len(table.chunks)))
    whole = unit_rows(sums + weight * chunks.path[table.chunks.file])
    query = embedder.embed(["how do I read from a connection"], "query")[0]
    found = path_words(chunks, table.chunks.file, weight)(chunks.matrix @ query, query)
    assert found == pytest.approx(whole @ query, abs=1e-5)


def test_update_equals_rebuild_and_embeds_only_what_changed(tmp_path, monkeypatch):
    root, config = written(tmp_path / "src", FILES), config_of(write_model(tmp_path / "m"))
    Index.open(root, config)
    longer = FILES["disk.py"] + "\n\ndef parse():\n    return delete(1)\n"
    written(root, {"disk.py": longer, "a/new.py": "token = read\n"})
    (root / "net.py").rename(root / "wire.py")
    asked: list[int] = []
    plain = StaticEmbedder.sum_chunks

    def watched(self, postings, wanted):
        asked.append(len(wanted))
        return plain(self, postings, wanted)

    monkeypatch.setattr(StaticEmbedder, "sum_chunks", watched)
    updated = Index.open(root, config)
    assert asked == [len(updated.table.chunks)], "all three files are new by name or contents"
    written(root, {"a/new.py": "token = read, parse\n"})
    updated = Index.open(root, config)
    assert asked[1:] == [1], "one file of one unit changed"
    monkeypatch.undo()
    built = Index.build(root, config)
    assert updated.view.dense
    assert built.view.dense
    one, other = (dense.parts[0].vectors.columns() for dense in (updated.view.dense, built.view.dense))
    assert np.array_equal(one["float32"], other["float32"])
    assert updated.search("how are sockets removed", 9) == built.search("how are sockets removed", 9)


def test_what_words_lose_meaning_finds(tmp_path):
    root, folder = written(tmp_path / "src", FILES), write_model(tmp_path / "m")
    question = "how do I get rid of removed things"
    words = SearchConfig(dense=DenseSettings(model=""), translation=TranslationSettings(model=""))
    assert Index.build(root, words).search(question, 9, pad=False) == ()
    found = Index.build(root, config_of(folder)).search(question, 9, per="span")
    assert found[0].path == "disk.py"
    assert "unlink" in (found[0].snippet or "")


def test_a_question_of_unknown_words_finds_nothing(tmp_path):
    index = Index.build(written(tmp_path / "src", FILES), config_of(write_model(tmp_path / "m")))
    assert index.search("how does the zebra quux", 9, pad=False) == ()


def test_reach_bounds_what_is_found_by_meaning_alone(tmp_path):
    root, folder = written(tmp_path / "src", FILES), write_model(tmp_path / "m")
    question = "how do I get rid of removed things"
    found = Index.build(root, config_of(folder, reach=1)).search(question, 9, per="span", pad=False)
    assert len(found) == 1


def test_translations_lend_words_their_weight(tmp_path):
    root, folder = written(tmp_path / "src", FILES), write_model(tmp_path / "m")
    spec = f"static:{folder}"
    without = SearchConfig(dense=DenseSettings(model=""), translation=TranslationSettings(model=""))
    translated = SearchConfig(dense=DenseSettings(model=""), translation=TranslationSettings(model=spec))
    question = "where is it that I delete it?"
    assert Index.build(root, without).search(question, 9, pad=False) == ()
    index = Index.build(root, translated)
    assert [hit.path for hit in index.search(question, 9, pad=False)] == ["disk.py"]
    off = TranslationSettings(model=spec, language=0.0)
    assert (
        Index.build(root, SearchConfig(dense=DenseSettings(model=""), translation=off)).search(question, 9, pad=False)
        == ()
    )


def test_a_translation_is_worth_no_more_than_the_word(tmp_path):
    folder = write_model(tmp_path / "m", translations={"delet": (("unlink", 1.0),)})
    files = {"own.py": "def f():\n    delete(a)\n", "other.py": "def f():\n    unlink(a)\n"}
    spec = f"static:{folder}"
    config = SearchConfig(
        dense=DenseSettings(model=""), translation=TranslationSettings(model=spec, language=1.0, keywords=1.0)
    )
    index = Index.build(written(tmp_path / "src", files), config)
    scores = {hit.path: hit.score or 0.0 for hit in index.search("where do I delete it", 9, per="span")}
    assert scores.keys() == {"own.py", "other.py"}
    assert scores["own.py"] >= scores["other.py"]


def test_the_registry_opens_it(tmp_path):
    folder = write_model(tmp_path / "m")
    embedder: Embedder = open_embedder(DenseSettings(), f"static:{folder}")
    assert isinstance(embedder, StaticEmbedder)
    assert embedder.dimension == 8
    assert "by hand" in embedder.identity
