"""Batches: who is in them, what is left out, who is no wrong answer."""

from dataclasses import replace

import numpy as np
import pytest

from assay.training.config import HardConfig, HeldOutConfig, KindWeights, VectorTrainConfig, VocabularyConfig
from assay.training.dataset import HardNegatives, choose_vocabulary, encode, find_hard
from assay.training.vectors import draw_rows, make_batch, make_plan, masks
from tests.training.toy import make_shard, synonyms

CONFIG = VectorTrainConfig(batch=24, group=8, query_dropout=0.0, code_dropout=0.0, overlap_dropout=0.0, path_most=0.0)


def encoded(*shards, share=0.0):
    vocabulary = choose_vocabulary(shards, VocabularyConfig(repositories=1))
    return encode(shards, vocabulary, HeldOutConfig(share=share)), vocabulary


@pytest.fixture
def pairs():
    return encoded(*(synonyms(f"o/{number}", 30 + number, number) for number in range(6)), share=0.2)[0]


def test_a_batch_is_portions_of_repositories(pairs):
    plan = make_plan(pairs, KindWeights(), CONFIG.group)
    rows = draw_rows(plan, CONFIG.batch, CONFIG.group, np.random.default_rng(0))
    assert len(rows) == len(set(rows.tolist())) == CONFIG.batch
    assert not pairs.held_out[rows].any()
    assert set(np.bincount(pairs.repository[rows]).tolist()) <= {0, 8, 16, 24}


def test_a_small_set_gives_a_small_batch():
    pairs, _ = encoded(synonyms("o/a", 5, 0))
    plan = make_plan(pairs, KindWeights(), CONFIG.group)
    assert sorted(draw_rows(plan, CONFIG.batch, CONFIG.group, np.random.default_rng(0)).tolist()) == list(range(5))


def test_kinds_are_drawn_by_their_weight():
    shards = [make_shard("o/a", [({f"q{n}": 1.0}, {"c": n + 1.0}) for n in range(400)], kind="doc")]
    shards.append(make_shard("o/b", [({f"r{n}": 1.0}, {"d": n + 1.0}) for n in range(400)], kind="name", seed=1))
    pairs, _ = encoded(*shards)
    plan = make_plan(pairs, KindWeights(doc=3.0, name=1.0), 4)
    drawn = [draw_rows(plan, CONFIG.batch, 4, np.random.default_rng(seed)) for seed in range(200)]
    assert (pairs.kind[np.concatenate(drawn)] == 0).mean() == pytest.approx(0.75, abs=0.04)
    assert set(pairs.kind[make_plan(pairs, KindWeights(name=0.0), 4).rows].tolist()) == {0}


def test_without_dropout_a_batch_holds_the_pairs(pairs):
    batch = make_batch(pairs, make_plan(pairs, KindWeights(), 8), None, CONFIG, np.random.default_rng(3))
    rows = draw_rows(make_plan(pairs, KindWeights(), 8), CONFIG.batch, CONFIG.group, np.random.default_rng(3))
    for place, row in enumerate(rows.tolist()):
        own = slice(*pairs.query.offset[row : row + 2].tolist())
        assert set(batch.terms[batch.query[place].indices].tolist()) == set(pairs.query.term[own].tolist())


def test_dropout_leaves_out_its_share_and_never_all(pairs):
    config = replace(CONFIG, query_dropout=0.9, code_dropout=0.5)
    plan = make_plan(pairs, KindWeights(), 8)
    whole = make_batch(pairs, plan, None, CONFIG, np.random.default_rng(0))
    batches = [make_batch(pairs, plan, None, config, np.random.default_rng(seed)) for seed in range(20)]
    assert all((np.diff(batch.query.indptr) > 0).all() for batch in batches)
    assert np.mean([batch.code.nnz for batch in batches]) == pytest.approx(whole.code.nnz / 2, rel=0.2)


def test_overlap_dropout_takes_the_shared_terms_from_the_code(pairs):
    config = replace(CONFIG, overlap_dropout=1.0)
    batch = make_batch(pairs, make_plan(pairs, KindWeights(), 8), None, config, np.random.default_rng(0))
    assert (batch.query.multiply(batch.code)).nnz == 0
    kept = make_batch(pairs, make_plan(pairs, KindWeights(), 8), None, CONFIG, np.random.default_rng(0))
    assert (kept.query.multiply(kept.code)).nnz > 0


def test_path_terms_weigh_up_to_the_most(pairs):
    config = replace(CONFIG, path_most=5.0)
    batch = make_batch(pairs, make_plan(pairs, KindWeights(), 8), None, config, np.random.default_rng(0))
    source = np.bincount(pairs.path.term).argmax()
    weights = batch.code[:, np.searchsorted(batch.terms, source)].toarray().ravel()
    assert 0 < weights.min() < 2 < weights.max() <= 5


def test_possible_answers_are_masked():
    rows = [({"a": 1.0}, {"x": 1.0}), ({"a": 1.0}, {"y": 1.0}), ({"b": 1.0}, {"y": 1.0}), ({"c": 1.0}, {"z": 1.0})]
    pairs, _ = encoded(make_shard("o/a", rows))
    every = np.arange(4)
    plain = masks(pairs, every, every, "none")
    assert set(zip(*np.nonzero(plain), strict=True)) == {(0, 1), (1, 0), (1, 2), (2, 1)}
    assert (masks(pairs, every, every, "kinds") == plain).all()
    near = masks(pairs, every, every, "all")
    assert near[0, 2]  # the first three rows lie in one file
    assert not near[0, 3]
    assert not near.diagonal().any()


def test_pairs_of_other_kinds_in_one_file_are_masked():
    shard = make_shard("o/a", [({"a": 1.0}, {"x": 1.0}), ({"b": 1.0}, {"y": 1.0})])
    pairs, _ = encoded(replace(shard, kind=np.array([0, 1], np.uint8)))
    every = np.arange(2)
    assert masks(pairs, every, every, "kinds").sum() == 2
    assert masks(pairs, every, every, "none").sum() == 0


def test_hard_negatives_are_codes_that_share_the_words():
    rows = [({"cache": 1.0, "size": 1.0}, {"limit": 1.0}), ({"other": 1.0}, {"cache": 2.0, "size": 1.0})]
    rows += [({f"q{n}": 1.0}, {f"c{n}": 1.0}) for n in range(8)]
    pairs, _ = encoded(make_shard("o/a", rows))
    found = find_hard(pairs, "none", HardConfig(share=1.0, depth=2, common=0.5), 0)
    assert found.wrong[found.rows == 0].tolist() == [[1, -1]]
    assert 5 not in found.rows.tolist()


def test_right_answers_are_no_hard_negatives():
    rows = [({"cache": 1.0}, {"cache": 1.0}), ({"cache": 1.0}, {"cache": 2.0}), ({"hit": 1.0}, {"cache": 1.0})]
    rows += [({f"q{n}": 1.0}, {f"c{n}": 1.0}) for n in range(8)]
    pairs, _ = encoded(make_shard("o/a", rows))
    found = find_hard(pairs, "none", HardConfig(share=1.0, common=0.5), 0)
    assert 0 not in found.rows.tolist()


def test_hard_negatives_are_drawn_for_rows_that_have_some():
    hard = HardNegatives(np.array([3, 7]), np.array([[1, 2], [9, -1]]))
    draws = [hard.draw(np.array([2, 3, 7, 8]), 5, np.random.default_rng(seed)).tolist() for seed in range(20)]
    assert {tuple(sorted(drawn)) for drawn in draws} == {(1, 9), (2, 9)}
    assert len(hard.draw(np.array([3, 7]), 1, np.random.default_rng(0))) == 1


def test_hard_negatives_are_further_columns(pairs):
    config = replace(CONFIG, hard=HardConfig(share=0.5, common=1.0))
    hard = find_hard(pairs, "kinds", config.hard, 0)
    batch = make_batch(pairs, make_plan(pairs, KindWeights(), 8), hard, config, np.random.default_rng(0))
    assert batch.query.shape[0] == 24
    assert 24 < batch.code.shape[0] <= 36
    assert batch.masked.shape == (24, batch.code.shape[0])
