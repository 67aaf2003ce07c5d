from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.search.dense import CacheConfig, EmbeddingCache
from assay.search.vectors import Matrix, unit_rows
from assay.store import Store
from tests.properties import examples


@dataclass
class Counting:
    """An embedder that remembers what it was asked."""

    identity: str = "counting/1"
    dimension: int = 4
    asked: list[tuple[str, str]] = field(default_factory=list)

    def embed(self, texts: Sequence[str], role: str) -> Matrix:
        self.asked += [(text, role) for text in texts]
        return vectors(texts, self.dimension)


def vectors(texts: Sequence[str], dimension: int = 4) -> Matrix:
    rows = [[len(text) + 1, *np.resize([hash_of(text) % 7, 2.0], dimension - 1)] for text in texts]
    return unit_rows(np.array(rows, dtype=np.float32).reshape(len(texts), dimension))


def hash_of(text: str) -> int:
    return sum(text.encode("utf-8", "surrogatepass"))


def segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("embeddings/*/*.assay"))


def test_only_what_is_new_is_embedded(tmp_path):
    embedder, cache = Counting(), EmbeddingCache(Store(tmp_path))
    first = cache.embed(embedder, ["a", "b", "a", ""], "code")
    assert (first == vectors(["a", "b", "a", ""])).all()
    assert embedder.asked == [("a", "code"), ("b", "code"), ("", "code")]
    again = cache.embed(embedder, ["c", "b", "a"], "code")
    assert (again == vectors(["c", "b", "a"])).all()
    assert embedder.asked[3:] == [("c", "code")]


def test_roles_and_embedders_are_kept_apart(tmp_path):
    cache = EmbeddingCache(Store(tmp_path))
    for embedder in (Counting(), Counting("other/1")):
        for role in ("query", "code", "docs"):
            cache.embed(embedder, ["a"], role)
        assert len(embedder.asked) == 3


def test_same_identity_with_another_dimension_is_embedded_again(tmp_path):
    cache = EmbeddingCache(Store(tmp_path))
    cache.embed(Counting(), ["a"], "code")
    assert cache.embed(Counting(dimension=6), ["a"], "code").shape == (1, 6)


def test_no_texts_write_nothing(tmp_path):
    assert EmbeddingCache(Store(tmp_path / "cache")).embed(Counting(), [], "code").shape == (0, 4)
    assert not (tmp_path / "cache").exists()


@examples(20)
@given(st.lists(st.lists(st.text(max_size=3), max_size=6), max_size=12), st.integers(1, 4))
def test_answers_are_what_the_embedder_says_whatever_was_asked_before(tmp_path_factory, requests, most):
    cache = EmbeddingCache(Store(tmp_path_factory.mktemp("cache")), CacheConfig(max_segments=most))
    embedder = Counting()
    for texts in requests:
        assert (cache.embed(embedder, texts, "docs") == vectors(texts)).all()
    assert len(embedder.asked) == len(set(embedder.asked))
    assert len(segments(cache.store.root)) <= most


def test_texts_that_no_file_could_hold_are_keyed(tmp_path):
    cache, embedder = EmbeddingCache(Store(tmp_path)), Counting()
    cache.embed(embedder, ["\udc80", "\0"], "code")
    cache.embed(embedder, ["\udc80", "\0"], "code")
    assert len(embedder.asked) == 2


@dataclass
class Breaking(Counting):
    """An embedder that breaks when it is asked for a text it does not like."""

    bad: str = ""

    def embed(self, texts: Sequence[str], role: str) -> Matrix:
        if self.bad in texts:
            raise RuntimeError(self.bad)
        return super().embed(texts, role)


def test_what_was_made_before_the_embedder_broke_is_kept(tmp_path):
    cache, embedder = EmbeddingCache(Store(tmp_path), CacheConfig(batch=3)), Breaking(bad="t7")
    texts = [f"t{number}" for number in range(12)]
    with pytest.raises(RuntimeError):
        cache.embed(embedder, texts, "code")
    assert [text for text, _ in embedder.asked] == texts[:6]
    mended = Counting()
    assert (cache.embed(mended, texts, "code") == vectors(texts)).all()
    assert [text for text, _ in mended.asked] == texts[6:]


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_damaged_segments_are_embedded_again(tmp_path, damage):
    cache, embedder = EmbeddingCache(Store(tmp_path)), Counting()
    cache.embed(embedder, ["a", "b"], "code")
    (path,) = segments(tmp_path)
    raw = bytearray(path.read_bytes())
    raw[-20] ^= 255
    path.write_bytes(bytes(raw) if damage is None else damage)
    assert (cache.embed(embedder, ["a", "b"], "code") == vectors(["a", "b"])).all()
    assert len(embedder.asked) == 4


def test_bound_removes_what_was_of_no_use_for_longest(tmp_path):
    cache, embedder = EmbeddingCache(Store(tmp_path)), Counting()
    for text in ("old", "used", "new"):
        cache.embed(embedder, [text], "code")
    held = {path: path.stat().st_size for path in segments(tmp_path)}
    for path in held:
        os.utime(path, (1, 1))
    cache.embed(embedder, ["used", "new"], "code")  # marks two of them as used now
    bound = EmbeddingCache(Store(tmp_path), CacheConfig(max_bytes=3 * max(held.values())))
    bound.embed(embedder, ["newest"], "code")
    assert sum(path.stat().st_size for path in segments(tmp_path)) <= bound.config.max_bytes
    before = len(embedder.asked)
    bound.embed(embedder, ["used", "new", "newest"], "code")
    assert len(embedder.asked) == before
    bound.embed(embedder, ["old"], "code")
    assert len(embedder.asked) == before + 1


def test_bound_of_nothing_keeps_nothing_and_still_answers(tmp_path):
    cache = EmbeddingCache(Store(tmp_path), CacheConfig(max_bytes=0))
    assert (cache.embed(Counting(), ["a"], "code") == vectors(["a"])).all()
    assert segments(tmp_path) == []


def test_leftovers_of_killed_writers_are_removed(tmp_path):
    cache, embedder = EmbeddingCache(Store(tmp_path)), Counting()
    cache.embed(embedder, ["a"], "code")
    leftover = segments(tmp_path)[0].parent / ".0123.assay.x1y2z3"
    leftover.write_bytes(b"half")
    cache.embed(embedder, ["b"], "code")
    assert not leftover.exists()


def work(folder: Path, seed: int) -> bool:
    """Ask for overlapping texts, with a bound that removes segments all the time."""
    cache, rng = EmbeddingCache(Store(folder), CacheConfig(max_segments=3, max_bytes=4000)), np.random.default_rng(seed)
    for _ in range(25):
        texts = [f"text {number}" for number in rng.integers(0, 40, 10)]
        if not (cache.embed(Counting(), texts, "code") == vectors(texts)).all():
            return False
    return True


def test_processes_share_a_cache(tmp_path):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert all(pool.map(work, [tmp_path] * 2, range(2)))
    assert sum(path.stat().st_size for path in segments(tmp_path)) <= 4000
