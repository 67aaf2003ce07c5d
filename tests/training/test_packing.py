"""The model folder."""

import json

import numpy as np
import pytest

from assay.errors import SetupError
from assay.search.static import open_static
from assay.training.dataset import make_vocabulary
from assay.training.pipeline import pack, quantize, write_model
from assay.training.translations import Translations
from assay.training.vectors import EmbeddingTable

VOCABULARY = make_vocabulary([f"term{number}" for number in range(50)])


@pytest.fixture
def packed():
    draw = np.random.default_rng(0)
    weights = draw.normal(size=(2, 50)).astype(np.float32)
    table = EmbeddingTable(draw.normal(size=(50, 16)).astype(np.float32), *weights)
    targets = Translations(np.array([2, 7]), np.array([0, 2, 3]), np.array([9, 1, 4]), np.array([255, 9, 80], np.uint8))
    return pack(table, VOCABULARY, targets)


def test_eight_bits_lose_little():
    vectors = np.random.default_rng(0).normal(size=(1000, 256)).astype(np.float32)
    small, scale = quantize(vectors)
    back = small * scale[:, None]
    assert small.dtype == np.int8
    assert np.abs(back - vectors).max() <= scale.max() / 2 * 1.001
    cosine = (back * vectors).sum(axis=1) / np.linalg.norm(back, axis=1) / np.linalg.norm(vectors, axis=1)
    assert cosine.min() > 0.9998


def test_a_row_of_zeros_stays_zeros():
    small, scale = quantize(np.zeros((2, 4), np.float32))
    assert not (small * scale[:, None]).any()


def test_a_search_reads_what_training_wrote(packed, tmp_path):
    write_model(tmp_path / "model", packed, VOCABULARY, {"seed": 0}, {"repositories": []})
    model = open_static(str(tmp_path / "model"))
    assert packed.identity in model.identity
    assert model.dimension == 16
    assert np.array_equal(model.term, VOCABULARY.hashes)
    assert model.target[model.offset[0]] == VOCABULARY.hashes[9]
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "LICENCE.md", "manifest.json", "model.json", "vocabulary.txt", "weights.assay",
    ]  # fmt: skip
    assert (tmp_path / "model/vocabulary.txt").read_text().split() == list(VOCABULARY.terms)
    assert json.loads((tmp_path / "model/model.json").read_text())["identity"] == packed.identity


def test_a_model_is_replaced_whole(packed, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model/old").touch()
    write_model(tmp_path / "model", packed, VOCABULARY, {}, {})
    assert not (tmp_path / "model/old").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_an_error_on_the_way_leaves_the_old_model(packed, tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model/old").touch()
    with pytest.raises(TypeError):
        write_model(tmp_path / "model", packed, VOCABULARY, {"not": object()}, {})
    assert [path.name for path in tmp_path.rglob("*")] == ["model", "old"]


def test_a_place_that_cannot_be_written_is_an_error_with_a_way_out(packed, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="--out"):
        write_model(tmp_path / "file" / "model", packed, VOCABULARY, {}, {})


def test_identity_changes_with_any_bit(packed):
    table = EmbeddingTable(np.zeros((50, 16), np.float32), np.zeros(50, np.float32), np.zeros(50, np.float32))
    none = Translations(*(np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int64)), np.zeros(0, np.uint8))
    other = pack(table, VOCABULARY, none)
    assert other.identity != packed.identity
    assert pack(table, VOCABULARY, none).identity == other.identity
