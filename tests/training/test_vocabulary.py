"""Which terms a model has."""

import numpy as np
import pytest

from assay.errors import InputError
from assay.search.query import term_hash
from assay.training.config import VocabularyConfig
from assay.training.dataset import choose_vocabulary, make_vocabulary, read_vocabulary, write_vocabulary
from tests.training.toy import make_shard


def shard(name: str, *words: str):
    return make_shard(name, [({word: 1.0}, {word: 1.0, "code": 1.0}) for word in words])


def test_rows_are_in_the_order_of_hashes():
    found = make_vocabulary(["b", "a", "c"])
    assert found.hashes.tolist() == sorted(map(term_hash, "abc"))
    assert [term_hash(term) for term in found.terms] == found.hashes.tolist()


def test_any_term_comes_back_from_its_file(tmp_path):
    vocabulary = make_vocabulary(["plain", "größe", "line\u2028end", "half\ud800"])
    write_vocabulary(tmp_path / "terms.txt", vocabulary)
    assert read_vocabulary(tmp_path / "terms.txt").terms == vocabulary.terms


def test_a_term_needs_enough_repositories():
    shards = [shard("o/a", "both", "one"), shard("o/b", "both", "two")]
    found = choose_vocabulary(shards, VocabularyConfig(repositories=2))
    assert sorted(found.terms) == ["both", "code", "source"]


def test_many_repositories_count_more_than_many_uses():
    shards = [shard("o/a", *["loud"] * 50, "wide"), shard("o/b", "wide"), shard("o/c", "wide")]
    found = choose_vocabulary(shards, VocabularyConfig(size=3, repositories=1))
    assert sorted(found.terms) == ["code", "source", "wide"]


def test_order_of_shards_makes_no_difference():
    shards = [shard("o/a", "x", "y"), shard("o/b", "y", "z"), shard("o/c", "z", "x")]
    one = choose_vocabulary(shards, VocabularyConfig(size=4, repositories=1))
    other = choose_vocabulary(shards[::-1], VocabularyConfig(size=4, repositories=1))
    assert one.terms == other.terms
    assert np.array_equal(one.hashes, other.hashes)


def test_nothing_in_common_is_an_error_with_a_way_out():
    with pytest.raises(InputError, match="no term occurs in 3 repositories.*\n.*vocabulary.repositories = 1"):
        choose_vocabulary([shard("o/a", "x")], VocabularyConfig())
