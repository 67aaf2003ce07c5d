import numpy as np
import pytest

from assay.errors import ConfigError
from assay.search.config import TranslationSettings
from assay.search.query import term_hash
from assay.search.static import WEIGHTS, Translator, open_static
from assay.store.array_file import read_store, write_store
from tests.search.static.models import write_model


@pytest.fixture
def folder(tmp_path):
    return write_model(tmp_path / "model")


def rewritten(folder, meta=(), **arrays):
    stored = read_store(folder / WEIGHTS)
    kept = {name: np.array(array) for name, array in stored.arrays.items()} | arrays
    left = {name: array for name, array in kept.items() if array is not None}
    write_store(folder / WEIGHTS, dict(stored.meta) | dict(meta), left)
    return folder


def test_rows_are_found_by_hash_and_unknown_words_have_none(folder):
    model = open_static(folder)
    hashes = np.array([term_hash(word) for word in ("delet", "zebra", "sock")], dtype=np.uint64)
    rows = model.rows(hashes)
    assert rows[1] == -1
    assert np.array_equal(model.term[rows[[0, 2]]], hashes[[0, 2]])


def test_a_word_beyond_the_last_hash_is_unknown_and_does_not_fail(folder):
    model = open_static(folder)
    assert model.rows(np.array([2**64 - 1], dtype=np.uint64)).tolist() == [-1]


def test_translations_are_sorted_by_strength_and_limited(folder):
    def translate(term, most):
        return Translator(TranslationSettings(language=1.0, most=most), open_static(folder))(term, "language")

    found = translate("delet", 10)
    assert [one.term for one in found] == [term_hash("unlink"), term_hash("rm")]
    assert found[0].strength == 1.0
    assert found[1].strength == pytest.approx(0.5, abs=0.01)
    assert translate("delet", 1) == found[:1]
    assert translate("zebra", 10) == ()


def test_a_model_is_read_once_a_process(folder):
    assert open_static(folder) is open_static(str(folder))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"meta": {"format": 99}}, "got 99"),
        ({"said": None}, "lacks the arrays said"),
        ({"scale": np.ones(3, dtype=np.float32)}, "inconsistent"),
        ({"strength": np.ones(1, dtype=np.uint8)}, "inconsistent"),
    ],
)
def test_a_broken_model_is_refused_with_its_file_and_the_next_step(folder, change, sentence):
    meta = change.pop("meta", {})
    rewritten(folder, meta, **change)
    with pytest.raises(ConfigError, match=sentence) as caught:
        open_static(folder)
    assert WEIGHTS in str(caught.value.file)
    assert "train" in (caught.value.hint or "")


def test_a_folder_without_a_model_says_what_to_name(tmp_path):
    with pytest.raises(ConfigError, match="no model found") as caught:
        open_static(tmp_path)
    assert "assay train" in (caught.value.hint or "")


def test_a_damaged_file_is_no_model(folder):
    path = folder / WEIGHTS
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ConfigError, match="invalid model file"):
        open_static(folder)
