"""TrainingPairs in the terms of one vocabulary."""

from dataclasses import fields, replace

import numpy as np
import pytest

from assay.errors import InputError
from assay.training.config import HeldOutConfig, VocabularyConfig
from assay.training.dataset import (
    choose_vocabulary,
    encode,
    hold_out,
    make_vocabulary,
    read_pairs,
    row_keys,
    shared_entries,
    take_rows,
    write_pairs,
)
from assay.training.shards import Bags
from tests.training.toy import bags, make_shard, synonyms

KEEP_ALL = HeldOutConfig(share=0.0)


def encoded(*shards):
    return encode(shards, choose_vocabulary(shards, VocabularyConfig(repositories=1)), KEEP_ALL)


def test_terms_are_those_of_the_shard():
    vocabulary = make_vocabulary(["ask", "say", "source"])
    found = encode([make_shard("o/a", [({"ask": 1.0}, {"say": 4.0, "rare": 1.0})])], vocabulary, KEEP_ALL)
    assert [vocabulary.terms[term] for term in found.query.term] == ["ask"]
    assert [vocabulary.terms[term] for term in found.code.term] == ["say"]
    assert found.code.count.tolist() == [2.0]  # the root of 4
    assert [vocabulary.terms[term] for term in found.path.term] == ["source"]


def test_equal_pairs_stay_once_whatever_the_repository():
    one = make_shard("o/a", [({"x": 1.0}, {"y": 1.0}), ({"z": 1.0}, {"y": 1.0})])
    other = replace(make_shard("o/b", [({"x": 1.0}, {"y": 1.0})]), key=one.key[:1])
    found = encoded(other, one)
    assert len(found) == 2
    assert found.repositories == ("o/a",)


def test_pairs_without_a_known_word_go():
    shard = make_shard("o/a", [({"x": 1.0}, {"y": 1.0}), ({"rare": 1.0}, {"y": 1.0})])
    assert len(encode([shard], make_vocabulary(["x", "y"]), KEEP_ALL)) == 1
    with pytest.raises(InputError, match="no pair has a known query term"):
        encode([shard], make_vocabulary(["other"]), KEEP_ALL)


def test_a_path_is_left_out_where_it_is_the_question():
    assert len(encoded(make_shard("o/a", [({"x": 1.0}, {"y": 1.0})], kind="path")).path.term) == 0
    assert len(encoded(make_shard("o/a", [({"x": 1.0}, {"y": 1.0})], kind="doc")).path.term) == 1


def test_shared_terms_are_marked():
    words = ["a", "b", "c"]
    query = bags([{"a": 1.0}, {"b": 1.0, "c": 1.0}], words)
    code = bags([{"a": 1.0, "b": 1.0}, {"a": 1.0, "c": 1.0}], words)
    assert shared_entries(code, query, 3).tolist() == [True, False, False, True]
    assert not shared_entries(code, bags([{}, {}], words), 3).any()


def test_keys_name_what_a_row_holds():
    words = ["a", "b"]
    rows = bags([{"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 1.0}, {"a": 1.0, "b": 2.0}], words)
    keys = row_keys(rows)
    assert keys[0] == keys[2] != keys[1]
    turned = Bags(rows.offset, rows.term[::-1].copy(), rows.count[::-1].copy())
    assert row_keys(turned)[1] == keys[1]


def test_taking_rows_keeps_their_order():
    rows = bags([{"a": 1.0}, {}, {"a": 2.0, "b": 3.0}], ["a", "b"])
    taken = take_rows(rows, np.array([2, 1, 0, 2]))
    assert taken.offset.tolist() == [0, 2, 2, 3, 5]
    assert taken.count.tolist() == [2.0, 3.0, 1.0, 2.0, 3.0]


def test_whole_repositories_are_held_out():
    names = [f"o/{number}" for number in range(100)]
    repository = np.repeat(np.arange(100, dtype=np.int32), 5)
    held = hold_out(names, repository, np.arange(500, dtype=np.int32), HeldOutConfig(share=0.03))
    assert held.reshape(100, 5).all(axis=1).sum() == 3 == held.sum() / 5


def test_few_repositories_give_one_and_single_ones_some_files():
    file = np.arange(12, dtype=np.int32) // 3
    three = hold_out(["a", "b", "c"], np.repeat(np.arange(3, dtype=np.int32), 4), file, HeldOutConfig())
    assert three.sum() == 4
    one = hold_out(["a"], np.zeros(12, np.int32), file, HeldOutConfig())
    assert one.sum() == 3
    assert len(np.unique(file[one])) == 1


def test_pairs_come_back_from_their_file(tmp_path):
    pairs = encoded(synonyms("o/a", 20, 0), synonyms("o/b", 20, 1))
    write_pairs(tmp_path / "pairs.assay", pairs)
    back = read_pairs(tmp_path / "pairs.assay")
    assert back.repositories == pairs.repositories
    for column in fields(pairs)[1:]:
        one, other = getattr(pairs, column.name), getattr(back, column.name)
        if isinstance(one, Bags):
            assert all(np.array_equal(getattr(one, part.name), getattr(other, part.name)) for part in fields(Bags))
        else:
            assert np.array_equal(one, other)
