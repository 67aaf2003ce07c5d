import numpy as np
import pytest

from assay.corpus.file_types import LANGUAGES
from assay.store.array_file import IndexFormatError, write_store
from assay.training.shards import KINDS, read_shard, write_shard
from tests.training.mining.samples import FILES, make, pairs, shard_of


@pytest.fixture(scope="module")
def shard(tmp_path_factory):
    return shard_of(make(tmp_path_factory.mktemp("mined") / "toy+house", FILES))


def test_shard_is_read_as_it_was_written(shard, tmp_path):
    write_shard(tmp_path / "one.assay", shard)
    back = read_shard(tmp_path / "one.assay")
    assert (back.repository, back.words, len(back)) == (shard.repository, shard.words, len(shard))
    for name in ("kind", "language", "key", "file"):
        assert np.array_equal(getattr(back, name), getattr(shard, name))
        assert getattr(back, name).dtype == getattr(shard, name).dtype
    for kind in KINDS:
        assert pairs(back, kind) == pairs(shard, kind)
    write_shard(tmp_path / "two.assay", back)
    assert (tmp_path / "two.assay").read_bytes() == (tmp_path / "one.assay").read_bytes()


def test_what_is_no_shard_is_refused(tmp_path):
    with pytest.raises(IndexFormatError):
        read_shard(tmp_path / "none.assay")
    write_store(tmp_path / "other.assay", {}, {"kind": np.zeros(1, np.uint8)})
    with pytest.raises(IndexFormatError, match="expected mined pairs in format"):
        read_shard(tmp_path / "other.assay")


def test_kinds_and_languages_fit_their_columns():
    assert KINDS == ("doc", "name", "commit", "path", "heading")
    assert list(LANGUAGES) == sorted(LANGUAGES)
    assert len(LANGUAGES) < 256
