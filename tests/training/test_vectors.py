"""Training: it learns, it is the same every time, and it goes on where it was stopped."""

from dataclasses import replace

import numpy as np
import pytest

from assay.training.config import HeldOutConfig, TrainConfig, VectorTrainConfig, VocabularyConfig
from assay.training.dataset import choose_vocabulary, encode, find_hard
from assay.training.vectors import EmbeddingTable, Moments, TrainProgress, random_table, train_vectors
from tests.training.toy import synonyms

VECTORS = VectorTrainConfig(dimension=16, steps=60, batch=64, group=16, rate=0.02, warmup=5, report=20, checkpoint=10)
CONFIG = TrainConfig(vectors=VECTORS, threads=1)


@pytest.fixture(scope="module")
def pairs():
    shards = [synonyms(f"o/{number}", 60, number) for number in range(8)]
    return encode(shards, choose_vocabulary(shards, VocabularyConfig(repositories=1)), HeldOutConfig(share=0.25))


@pytest.fixture(scope="module")
def start(pairs):
    return random_table(pairs, int(max(pairs.query.term.max(), pairs.code.term.max())) + 1, VECTORS, 0)


def equal(one: EmbeddingTable, other: EmbeddingTable) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("vectors", "asked", "said"))


def test_training_learns_which_words_mean_the_same(pairs, start):
    trained = train_vectors(pairs, start, CONFIG)
    untrained = train_vectors(pairs, start, replace(CONFIG, vectors=replace(VECTORS, steps=1, rate=0.0)))
    before, after = untrained.reports[-1].grade, trained.reports[-1].grade
    assert before.questions == after.questions > 50
    assert after.bare_reciprocal > 0.6 > 0.3 > before.bare_reciprocal
    assert after.first > before.first
    assert trained.reports[-1].loss < trained.reports[0].loss


def test_the_start_stays_as_it_is(pairs, start):
    copy = EmbeddingTable(start.vectors.copy(), start.asked.copy(), start.said.copy())
    train_vectors(pairs, start, replace(CONFIG, vectors=replace(VECTORS, steps=3)))
    assert equal(copy, start)


def test_same_seed_same_table_and_another_seed_another(pairs, start):
    short = replace(CONFIG, vectors=replace(VECTORS, steps=7))
    one, other = train_vectors(pairs, start, short), train_vectors(pairs, start, short)
    assert equal(one.table, other.table)
    assert one.reports == other.reports
    assert not equal(one.table, train_vectors(pairs, start, replace(short, seed=1)).table)


@pytest.mark.parametrize("stop", [40, *(pytest.param(step, marks=pytest.mark.nightly) for step in (20, 60))])
def test_interrupted_training_ends_in_the_same_table(pairs, start, tmp_path, stop):
    hard = find_hard(pairs, "kinds", replace(VECTORS.hard, common=1.0), 0)
    config = replace(CONFIG, vectors=replace(VECTORS, checkpoint=15, hard=replace(VECTORS.hard, share=0.2)))

    def break_off(report: TrainProgress) -> None:
        if report.step == stop:
            raise KeyboardInterrupt

    keep = tmp_path / "vectors.assay"
    with pytest.raises(KeyboardInterrupt):
        train_vectors(pairs, start, config, hard, keep=keep, tell=break_off)
    steps: list[int] = []
    resumed = train_vectors(pairs, start, config, hard, keep=keep, tell=lambda report: steps.append(report.step))
    whole = train_vectors(pairs, start, config, hard)
    assert equal(resumed.table, whole.table)
    assert resumed.reports == whole.reports
    assert resumed.temperature == whole.temperature
    assert steps[0] == stop


def test_finished_training_is_not_done_again(pairs, start, tmp_path):
    keep = tmp_path / "vectors.assay"
    one = train_vectors(pairs, start, CONFIG, keep=keep)
    told: list[TrainProgress] = []
    other = train_vectors(pairs, start, CONFIG, keep=keep, tell=told.append)
    assert equal(one.table, other.table)
    assert not told


def test_a_given_start_is_gone_on_from(pairs, start):
    first = train_vectors(pairs, start, CONFIG)
    gentle = replace(CONFIG, vectors=replace(VECTORS, steps=4, report=4, rate=1e-4))
    further = train_vectors(pairs, first.table, gentle)
    assert further.reports[-1].grade.bare_reciprocal > 0.6
    assert np.abs(further.table.vectors - first.table.vectors).max() < 1e-2


def test_terms_that_no_batch_used_stay(pairs, start):
    wider = EmbeddingTable(
        np.vstack((start.vectors, np.ones((1, 16), np.float32))),
        np.append(start.asked, np.float32(1)),
        np.append(start.said, np.float32(1)),
    )
    trained = train_vectors(pairs, wider, replace(CONFIG, vectors=replace(VECTORS, steps=3))).table
    assert (trained.vectors[-1] == 1).all()
    assert trained.asked[-1] == trained.said[-1] == 1


def test_adam_steps_as_the_paper_says():
    draw = np.random.default_rng(0)
    moments = Moments(np.zeros(3), np.zeros(3))
    mean, square, rows = np.zeros(3), np.zeros(3), np.array([0, 2])
    for number in range(1, 6):
        slope = draw.normal(size=2)
        change = moments.step(rows, slope, 0.1, number)
        mean[rows] = 0.9 * mean[rows] + 0.1 * slope
        square[rows] = 0.999 * square[rows] + 0.001 * slope**2
        expected = -0.1 * (mean[rows] / (1 - 0.9**number)) / (np.sqrt(square[rows] / (1 - 0.999**number)) + 1e-8)
        np.testing.assert_allclose(change, expected, rtol=1e-12)
    assert moments.mean[1] == moments.square[1] == 0
