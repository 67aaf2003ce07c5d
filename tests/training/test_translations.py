"""The table of translations."""

from dataclasses import replace

import numpy as np
import pytest

from assay.training.config import HeldOutConfig, TranslationConfig, VocabularyConfig
from assay.training.dataset import choose_vocabulary, encode
from assay.training.translations import (
    Translations,
    _explain,
    _keep_top,
    _reduce,
    learn_translations,
    read_translations,
    write_translations,
)
from tests.training.toy import bags, make_shard, synonyms

CONFIG = TranslationConfig(query_pairs=5, code_pairs=5, repositories=2, support=2, smoothing=5.0)


def encoded(*shards):
    vocabulary = choose_vocabulary(shards, VocabularyConfig(repositories=1))
    return encode(shards, vocabulary, HeldOutConfig(share=0.0)), vocabulary


def targets(table: Translations, vocabulary, source: str) -> list[str]:
    place = table.source.tolist().index(vocabulary.terms.index(source))
    begin, end = table.offset[place : place + 2]
    return [vocabulary.terms[target] for target in table.target[begin:end]]


@pytest.fixture(scope="module")
def learned():
    pairs, vocabulary = encoded(*(synonyms(f"o/{number}", 150, number) for number in range(5)))
    return learn_translations(pairs, len(vocabulary), CONFIG), vocabulary


def test_planted_translations_are_found(learned):
    table, vocabulary = learned
    found = [targets(table, vocabulary, f"ask{number}")[0] for number in range(40)]
    assert found == [f"say{number}" for number in range(40)]


def test_no_term_is_its_own_translation(learned):
    table, _ = learned
    for place, source in enumerate(table.source):
        assert source not in table.target[table.offset[place] : table.offset[place + 1]]


def test_strengths_fall_and_ties_are_by_term(learned):
    table, _ = learned
    for begin, end in zip(table.offset[:-1], table.offset[1:], strict=True):
        rows = list(
            zip((-table.strength[begin:end].astype(int)).tolist(), table.target[begin:end].tolist(), strict=True)
        )
        assert rows == sorted(rows)
        assert end - begin <= CONFIG.most
    assert (np.diff(table.source) > 0).all()


def test_a_translation_needs_several_repositories():
    always = [({"ask": 1.0}, {"say": 1.0, f"filler{n % 3}": 1.0}) for n in range(30)]
    other = [({"else": 1.0}, {"more": 1.0, f"filler{n % 3}": 1.0}) for n in range(30)]
    shards = [make_shard("o/a", [*always, *other]), make_shard("o/b", [*other, *always[:5]], seed=1)]
    pairs, vocabulary = encoded(*shards)
    met = learn_translations(pairs, len(vocabulary), CONFIG)
    assert targets(met, vocabulary, "ask") == ["say"]
    alone = learn_translations(pairs, len(vocabulary), replace(CONFIG, support=3))
    assert len(alone.source) == 0


def test_kinds_without_weight_say_nothing():
    pairs, vocabulary = encoded(*(synonyms(f"o/{number}", 60, number) for number in range(3)))
    none = replace(CONFIG, doc=0.0)
    assert len(learn_translations(pairs, len(vocabulary), none).source) == 0


# The two numeric kernels of the learner, each against a plain computation.


def test_explanations_add_up_over_the_code_terms():
    pairs, vocabulary = encoded(*(synonyms(f"o/{number}", 40, number) for number in range(3)))
    sides = _reduce(pairs, len(vocabulary), CONFIG)
    table = np.random.default_rng(0).random((len(sides.query_terms), len(sides.code_terms)), dtype=np.float32)
    nowhere = np.full(len(sides.query_terms), 0.5, np.float32)
    found = _explain(sides, table, nowhere)
    expected = [
        table[term, sides.code.term[sides.code.offset[row] : sides.code.offset[row + 1]]].sum() + 0.5
        for row in range(len(sides.query))
        for term in sides.query.term[sides.query.offset[row] : sides.query.offset[row + 1]]
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_most_telling_terms_stay():
    rows = bags([{"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 1.0}, {}, {"b": 1.0, "c": 1.0}], ["a", "b", "c"])
    kept = _keep_top(rows, np.array([0.5, 2.0, 1.0, 3.0, 1.0, 4.0], np.float32), 2)
    assert kept.offset.tolist() == [0, 2, 3, 3, 5]
    assert kept.term.tolist() == [1, 2, 0, 1, 2]


def test_translations_come_back_from_their_file(learned, tmp_path):
    table, _ = learned
    write_translations(tmp_path / "table.assay", table)
    back = read_translations(tmp_path / "table.assay")
    for name in ("source", "offset", "target", "strength"):
        assert np.array_equal(getattr(table, name), getattr(back, name))
