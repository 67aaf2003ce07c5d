from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.search.dense import embed_parts
from assay.search.embedders import TextRole
from assay.search.vectors import Matrix, unit_rows
from assay.store.kinds import StoreLimits
from assay.store.store import Store
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


def cached(
    folder: Path, embedder: Counting, parts: Sequence[Sequence[str]], role: TextRole = "code", batch: int = 9
) -> Matrix:
    return embed_parts(embedder, parts, role, Store(folder), batch)


def test_only_what_is_new_is_embedded(tmp_path):
    embedder = Counting()
    first = cached(tmp_path, embedder, [["a", "b"], ["c"], ["a", "b"], [""]])
    assert (first == vectors(["a", "b", "c", "a", "b", ""])).all()
    assert embedder.asked == [("a", "code"), ("b", "code"), ("c", "code"), ("", "code")]
    again = cached(tmp_path, embedder, [["d"], ["c"], ["a", "b"]])
    assert (again == vectors(["d", "c", "a", "b"])).all()
    assert embedder.asked[4:] == [("d", "code")]


def test_roles_embedders_and_dimensions_are_kept_apart(tmp_path):
    for embedder in (Counting(), Counting("other/1"), Counting(dimension=6)):
        for role in ("query", "code", "docs"):
            assert cached(tmp_path, embedder, [["a"]], role).shape == (1, embedder.dimension)
        assert len(embedder.asked) == 3


def test_no_texts_write_nothing(tmp_path):
    assert cached(tmp_path / "cache", Counting(), []).shape == (0, 4)
    assert not (tmp_path / "cache").exists()


@examples(20)
@given(st.lists(st.lists(st.lists(st.text(max_size=3), min_size=1, max_size=6), max_size=6), max_size=6))
def test_answers_are_what_the_embedder_says_whatever_was_asked_before(tmp_path_factory, requests):
    folder, embedder = tmp_path_factory.mktemp("cache"), Counting()
    for parts in requests:
        assert (cached(folder, embedder, parts, "docs") == vectors(sum(parts, []))).all()
    known = {tuple(texts) for parts in requests for texts in parts}
    assert len(embedder.asked) == sum(map(len, known))


def test_texts_that_no_file_could_hold_are_keyed(tmp_path):
    embedder = Counting()
    cached(tmp_path, embedder, [["\udc80", "\0"]])
    cached(tmp_path, embedder, [["\udc80", "\0"]])
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
    embedder, texts = Breaking(bad="t7"), [f"t{number}" for number in range(12)]
    with pytest.raises(RuntimeError):
        cached(tmp_path, embedder, [[text] for text in texts], batch=3)
    assert [text for text, _ in embedder.asked] == texts[:6]
    mended = Counting()
    assert (cached(tmp_path, mended, [[text] for text in texts], batch=3) == vectors(texts)).all()
    assert [text for text, _ in mended.asked] == texts[6:]


@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_damaged_values_are_embedded_again(tmp_path, damage):
    embedder = Counting()
    cached(tmp_path, embedder, [["a", "b"]])
    (path,) = tmp_path.glob("embeddings/*/*")
    raw = bytearray(path.read_bytes())
    raw[-20] ^= 255
    path.write_bytes(bytes(raw) if damage is None else damage)
    assert (cached(tmp_path, embedder, [["a", "b"]]) == vectors(["a", "b"])).all()
    assert len(embedder.asked) == 4


def test_full_store_keeps_nothing_and_still_answers(tmp_path):
    store = Store(tmp_path, StoreLimits(bytes=0))
    assert (embed_parts(Counting(), [["a"]], "code", store) == vectors(["a"])).all()
    assert not list(tmp_path.glob("embeddings/*/*"))


def work(folder: Path, seed: int) -> bool:
    """Ask for overlapping texts, with a limit that removes values all the time."""
    store, rng = Store(folder, StoreLimits(bytes=4000)), np.random.default_rng(seed)
    for _ in range(25):
        texts = [f"text {number}" for number in rng.integers(0, 40, 10)]
        found = embed_parts(Counting(), [[text] for text in texts], "code", store)
        if not (found == vectors(texts)).all():
            return False
    return True


def test_processes_share_a_cache(tmp_path):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert all(pool.map(work, [tmp_path] * 2, range(2)))
