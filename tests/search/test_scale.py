"""Indexing and searching the standard library, compared with parsing and scanning it."""

from __future__ import annotations

import ast
import contextlib
import time
import warnings
from functools import partial
from pathlib import Path

import pytest

from assay.corpus import open_corpus
from assay.search import Index
from assay.types import CorpusSpec
from tests.timing import fastest

QUERIES = (
    "how does the json module decide how a float is written out?",
    "where are retries decided",
    "parse command line arguments into a namespace",
    "asyncio event loop run until complete self assert",
    "JSONEncoder float repr",
)


@pytest.mark.soak  # in `make test`, tests/test_stdlib_run.py indexes it
def test_standard_library_is_indexed_as_fast_as_it_is_parsed_and_searched_as_fast_as_it_is_scanned(
    tmp_path: Path,
) -> None:
    corpus = open_corpus(CorpusSpec("stdlib"), cache=tmp_path)
    texts = [(Path(corpus.root) / file.path).read_text("utf-8", "replace") for file in corpus.files]
    begin = time.process_time()
    with warnings.catch_warnings(action="ignore"):
        for text in texts:
            with contextlib.suppress(SyntaxError):
                ast.parse(text)
    parsing = time.process_time() - begin

    begin = time.process_time()
    index = Index.build(corpus, workers=1)
    assert time.process_time() - begin < 6 * parsing

    scanning = fastest(lambda: [text.lower().count("namespace") for text in texts])
    for query in QUERIES:
        hits = index.search(query, 10)
        assert hits
        assert len({hit.path for hit in hits}) == len(hits)
        assert fastest(partial(index.search, query, 10)) < scanning
    assert "argparse.py" in {hit.path for hit in index.search(QUERIES[2], 10)}
