"""Every setting of meaning and translation does something, with the model that ships."""

import sysconfig
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay import Index
from assay.errors import ConfigError
from assay.search import SearchConfig
from assay.search.config import FeedbackSettings, TranslationSettings
from assay.search.dense import embed_table
from assay.search.query import parse_query
from assay.search.trace import translate_terms
from assay.search.view import CorpusView, make_translator

QUESTIONS = (
    "how is a letter with pictures taken apart?",
    "where is the end of a paragraph found",
    "wrong character set of an attachment",
    "fold long lines",
    "Message.walk",
)


@pytest.fixture(scope="module")
def index():
    return Index.build(Path(sysconfig.get_path("stdlib"), "email"))


def asked(index, config):
    """Ask everything of the same table under other settings."""
    view = CorpusView(
        index.table, config.graph, embed_table(index.table, config.dense, None), make_translator(config.translation)
    )
    other = replace(index, config=config, view=view)
    return {(question, per): other.search(question, 10, per=per) for question in QUESTIONS for per in ("file", "span")}


@pytest.fixture(scope="module")
def before(index):
    return asked(index, SearchConfig())


def with_dense(**settings):
    return replace(SearchConfig(), dense=replace(SearchConfig().dense, **settings))


def with_translation(**settings):
    return replace(SearchConfig(), translation=replace(TranslationSettings(), **settings))


@pytest.mark.parametrize(
    "config",
    [
        with_dense(model=""),
        with_dense(language=1.0),
        with_dense(keywords=1.0),
        with_dense(symbol=1.0),
        with_dense(files=2.0),
        with_dense(words=0.0),
        with_dense(path=6.0),
        with_dense(reach=5),
        with_dense(reach=0),
        with_dense(rise=3.0),
        with_dense(fusion="rrf"),
        with_dense(feedback=FeedbackSettings(weight=0.0)),
        with_dense(feedback=FeedbackSettings(weight=2.0)),
        with_dense(feedback=FeedbackSettings(units=1)),
        with_translation(model=""),
        with_translation(language=1.0),
        with_translation(keywords=0.0),
        with_translation(symbol=1.0),
        with_translation(most=1),
    ],
    ids=lambda config: ",".join(
        f"{name}={value!r}"
        for part, plain in ((config.dense, SearchConfig().dense), (config.translation, TranslationSettings()))
        for name in part.__slots__
        if (value := getattr(part, name)) != getattr(plain, name)
    ),
)
def test_every_setting_changes_an_answer(index, before, config):
    assert asked(index, config) != before


def test_weights_of_a_kind_change_no_other_kind(index, before):
    symbols = {key for key in before if key[0] == "Message.walk"}
    after = asked(index, with_dense(language=1.0, keywords=1.0))
    assert {key: after[key] for key in symbols} == {key: before[key] for key in symbols}
    assert (
        asked(index, with_dense(feedback=FeedbackSettings(weight=0.0))).items()
        >= {key: hits for key, hits in before.items() if key[1] == "file"}.items()
    ), "feedback is for spans"


@pytest.mark.parametrize("kind", ["int8", "binary"])
def test_smaller_vectors_find_the_same_first_results(index, before, kind):
    after = asked(index, with_dense(vectors=kind))
    same = [after[key][:3] and after[key][0].path == before[key][0].path for key in before]
    assert np.mean(same) >= 0.9


def test_a_docs_model_leaves_the_words_of_paths_in(index):
    one, other = (asked(index, with_dense(docs_model="static", path=path)) for path in (0.0, 8.0))
    assert one != other


def test_prefixes_are_for_models_that_read_them(index, before):
    assert asked(index, with_dense(query_prefix="query: ", code_prefix="passage: ")) == before


@pytest.mark.parametrize("spec", ["statik", "onnx:folder", "model2vec:folder"])
def test_a_model_without_translations_is_refused(spec):
    with pytest.raises(ConfigError, match=r"translation\.model"):
        with_translation(model=spec)


def test_what_a_word_is_also_looked_up_as_is_told(index):
    found = translate_terms(index.view, parse_query("how is an attachment deleted and the header decoded?"))
    assert "delet" in found
    assert all(index.view.term(name) >= 0 for names in found.values() for name in names)
    assert translate_terms(CorpusView(index.table, SearchConfig().graph), parse_query("delete")) == {}
