"""Hits grow into neighbours that match too, within limits; no two share a line."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.search.analysis import analyze
from assay.search.chunking import ChunkConfig, SourceText
from assay.search.config import IndexConfig
from assay.search.results import SpanGrowth, SpanHit, rank_rows, select_spans
from assay.search.view import CorpusView, GraphConfig
from tests.properties import examples


def view_of(lines: list[int], size: int, overlap: int = 0) -> CorpusView:
    """Files of so many lines, cut into windows."""
    chunks = ChunkConfig(kind="lines", size=size, overlap=overlap)
    documents = (SourceText(f"{n:02}.txt", "x\n" * count, "other", None) for n, count in enumerate(lines))
    return CorpusView(analyze(documents, IndexConfig(chunks=chunks)), GraphConfig())


def select(scores: list[float], view: CorpusView, growth: SpanGrowth) -> list[SpanHit]:
    return list(select_spans(np.array(scores), view, growth))


def test_hit_takes_in_neighbours_that_score_enough_the_better_side_first() -> None:
    view = view_of([50], 10)
    growth = SpanGrowth(neighbour=0.5, lines=30, times=9)
    assert select([0.1, 0.6, 1.0, 0.7, 0.6], view, growth)[0] == SpanHit(2, 1, 3)
    assert select([0.1, 0.4, 1.0, 0.4, 0.1], view, growth)[0] == SpanHit(2, 2, 2)


def test_hit_grows_neither_beyond_its_lines_nor_beyond_its_multiple() -> None:
    view, scores = view_of([100], 10), [1.0 - n / 100 for n in range(10)]
    assert select(scores, view, SpanGrowth(0.1, lines=40, times=99))[0] == SpanHit(0, 0, 3)
    assert select(scores, view, SpanGrowth(0.1, lines=999, times=2))[0] == SpanHit(0, 0, 1)
    assert select(scores, view, SpanGrowth(0, lines=999, times=99))[0] == SpanHit(0, 0, 0)
    assert select(scores, view, SpanGrowth(0.1, lines=5, times=99))[0] == SpanHit(0, 0, 0), "longer than it may grow to"


def test_hit_never_grows_into_another_file_or_into_what_is_taken() -> None:
    view = view_of([10, 20], 10)
    assert select([1.0, 1.0, 1.0], view, SpanGrowth(0.1, 99, 99)) == [SpanHit(0, 0, 0), SpanHit(1, 1, 2)]
    view = view_of([30], 10)
    assert select([0.9, 0.8, 1.0], view, SpanGrowth(0.9, 99, 99)) == [
        SpanHit(2, 2, 2),
        SpanHit(0, 0, 0),
        SpanHit(1, 1, 1),
    ]


def test_overlapping_windows_are_not_found_twice() -> None:
    view = view_of([40], 20, overlap=10)  # lines 1-20, 11-30, 21-40
    assert [hit.chunk for hit in select([0.5, 1.0, 0.7], view, SpanGrowth())] == [1]
    assert [hit.chunk for hit in select([1.0, 0.9, 0.7], view, SpanGrowth())] == [0, 2]


@examples(60)
@given(
    lines=st.lists(st.integers(0, 60), min_size=1, max_size=4),
    overlap=st.integers(0, 3),
    growth=st.builds(SpanGrowth, st.sampled_from([0.0, 0.3, 0.9]), st.integers(1, 40), st.sampled_from([1.0, 2.5])),
    seed=st.integers(0, 9),
)
def test_spans_never_share_a_line_and_come_in_order(
    lines: list[int], overlap: int, growth: SpanGrowth, seed: int
) -> None:
    view = view_of(lines, 4, overlap)
    scores = np.round(np.random.default_rng(seed).random(view.chunk_count), 1)
    hits = list(select_spans(scores, view, growth))
    chunks = view.table.chunks
    seen: set[tuple[int, int]] = set()
    for hit in hits:
        mine = {(int(chunks.file[hit.chunk]), n) for n in range(chunks.start[hit.first], chunks.end[hit.last] + 1)}
        assert not mine & seen
        seen |= mine
        assert hit.first <= hit.chunk <= hit.last
        assert hit.first == hit.last or len(mine) <= min(growth.lines, growth.times * 4)
    found = [(-scores[hit.chunk], hit.chunk) for hit in hits]
    assert found == sorted(found)
    if not overlap:
        taken = [chunk for hit in hits for chunk in range(hit.first, hit.last + 1)]
        assert sorted(set(taken)) == [chunk for chunk in range(view.chunk_count) if scores[chunk] > 0 or chunk in taken]


def test_order_is_total_however_many_tie() -> None:
    scores = np.random.default_rng(1).integers(0, 3, 5000).astype(float)
    view = view_of([5000], 1)
    expected = sorted(np.flatnonzero(scores > 0).tolist(), key=lambda chunk: (-scores[chunk], chunk))
    assert rank_rows(scores).tolist() == expected
    assert [hit.chunk for hit in select_spans(scores, view, SpanGrowth(0))] == expected
