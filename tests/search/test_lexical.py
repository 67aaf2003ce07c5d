"""BM25 against an implementation of its own: dictionaries and the formula."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.search import Index, SearchConfig
from assay.search.chunking import Chunk, SourceText, chunk_file
from assay.search.config import FieldConfig, IndexConfig
from assay.search.query import directory_names, find_words, parse_query, stem_name, word_terms
from assay.search.signals import Bm25
from assay.types import Corpus
from tests.properties import examples
from tests.search.samples import BY_WORDS, EDITS, SAMPLES

_FIELDS = FieldConfig(body=1.0, name=2.5, scope=0.5, signature=0.25, stem=3.0, folder=0.75)


def weighted_terms(path: str, content: str, chunk: Chunk, fields: FieldConfig) -> Counter[str]:
    """Count the terms of one unit, fields weighed."""
    lines = content.split("\n")[chunk.start - 1 : chunk.end]
    counted: Counter[str] = Counter()
    for weight, texts in (
        (fields.body, lines), (fields.name, chunk.names), (fields.scope, chunk.scopes),
        (fields.signature, [chunk.signature]), (fields.stem, [stem_name(path)]),
        (fields.folder, [directory_names(path)]),
    ):  # fmt: skip
        for term in [term for text in texts for run in find_words(text) for term in word_terms(run)]:
            counted[term] += weight  # type: ignore[assignment]  # weights are no whole numbers
    return counted


def reference_scores(corpus: Corpus, query: str, config: SearchConfig) -> list[float]:
    """Score every unit, one term at a time."""
    chunks = []
    for file in corpus.files:
        text = (corpus.root / file.path).read_bytes().decode("utf-8-sig")
        cut_ = chunk_file(SourceText(file.path, text, file.kind, file.language), config.index.chunks)
        chunks += [weighted_terms(file.path, text, chunk, config.index.fields) for chunk in cut_.chunks]
    lengths = [sum(counted.values()) for counted in chunks]
    mean = sum(lengths) / len(chunks) or 1.0
    k1, b = config.lexical.k1, config.lexical.b
    scores = [0.0] * len(chunks)
    for term in parse_query(query).terms:
        holders = sum(term in counted for counted in chunks)
        idf = math.log(1 + (len(chunks) - holders + 0.5) / (holders + 0.5))
        for n, counted in enumerate(chunks):
            tf = counted.get(term, 0)
            scores[n] += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * lengths[n] / mean)) if tf else 0.0
    return scores


_contents = {path: [SAMPLES[path]] for path in SAMPLES} | {f"d/e{n}.{end}": EDITS[end] for end in EDITS for n in (1, 2)}
_files = st.dictionaries(st.sampled_from(sorted(_contents)), st.integers(0, 6), min_size=1, max_size=8).map(
    lambda chosen: {path: _contents[path][n % len(_contents[path])] for path, n in chosen.items()}
)
_queries = st.lists(
    st.sampled_from(["cart", "addItem", "total of the items", "refund", "größe", "日本", "shop e1"])
).map(" ".join)


@examples(25)
@given(files=_files, query=_queries, k1=st.sampled_from([0.0, 1.2, 3.0]), b=st.sampled_from([0.0, 0.6, 1.0]))
def test_lexical_scores_are_those_of_the_formula(
    corpus_of: Callable[[Mapping[str, str]], Corpus], files: dict[str, str], query: str, k1: float, b: float
) -> None:
    config = replace(BY_WORDS, index=IndexConfig(fields=_FIELDS), lexical=Bm25(k1=k1, b=b))
    corpus = corpus_of(files)
    index = Index.build(corpus, config, workers=1)
    found = config.lexical(parse_query(query), index.view)
    np.testing.assert_allclose(found, reference_scores(corpus, query, config), rtol=1e-5, atol=1e-5)


def test_overlong_word_is_data_unless_it_is_written_without_spaces(
    corpus_of: Callable[[Mapping[str, str]], Corpus],
) -> None:
    index = Index.build(corpus_of({"a.py": f"{'Ab1' * 40} json\n", "b.py": "日" * 150}))
    assert [hit.path for hit in index.search("Ab1" * 40, pad=False)] == []
    assert [hit.path for hit in index.search("日日", pad=False)] == ["b.py"]


@pytest.mark.parametrize("field", ["body", "name", "scope", "signature", "stem", "folder"])
def test_every_field_counts(corpus_of: Callable[[Mapping[str, str]], Corpus], field: str) -> None:
    head = 'class Alpha:\n    """\n' + "    x\n" * 20 + '    """\n\n'
    text = head + "    def beta(self, gamma):\n" + "        delta = 1\n" * 20
    corpus = corpus_of({"epsilon/zeta.py": text, "other.py": "eta = 1\n"})
    query = "alpha beta gamma delta epsilon zeta"
    plain = Index.build(corpus).view
    without = IndexConfig(fields=FieldConfig(**{field: 0.0}))
    changed = Index.build(corpus, SearchConfig(index=without)).view
    assert Bm25()(parse_query(query), plain).tolist() != Bm25()(parse_query(query), changed).tolist()
