"""The whole standard library: fast enough to be a demo."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest

from assay.corpus import open_corpus
from assay.search import Index
from assay.types import CorpusSpec

QUERIES = (
    "how does the json module decide how a float is written out?",
    "where are retries decided",
    "parse command line arguments into a namespace",
    "asyncio event loop run until complete self assert",
    "JSONEncoder float repr",
)


@pytest.mark.soak  # `make test` sees it indexed by tests/test_stdlib_run.py
def test_standard_library_is_indexed_and_searched_fast_enough_for_a_demo(tmp_path: Path) -> None:
    corpus = open_corpus(CorpusSpec("stdlib"), cache=tmp_path)
    begin = time.process_time()
    index = Index.build(corpus)
    assert time.process_time() - begin < 20  # of one core's time; 4 to 6 s on a machine of 2026
    times = []
    for query in QUERIES * 3:
        begin = time.perf_counter()
        hits = index.search(query, 10)
        times.append(time.perf_counter() - begin)
        assert hits
        assert len({hit.path for hit in hits}) == len(hits)
    assert statistics.median(times) < 0.010
    assert "argparse.py" in {hit.path for hit in index.search(QUERIES[2], 10)}
