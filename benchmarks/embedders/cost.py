"""How fast are texts embedded, and how much of a query is it? Speeds, and the target of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from assay.corpus import open_corpus
from assay.search import Index, Per
from assay.search.config import DenseSettings
from assay.search.dense import open_embedder, passage_text
from assay.search.embedders import Embedder, make_embedder
from assay.search.static import StaticEmbedder
from assay.search.vectors import unit_rows
from assay.types import Corpus, GoldSet
from benchmarks.embedders.library import SMALL
from benchmarks.embedders.models import minilm, model2vec
from benchmarks.embedders.timing import Middle, Rounds, Work, in_turns, one_core
from benchmarks.pages import table
from benchmarks.quality.model import DEFAULT, WORDS, engine, spec

FROM_WORDS: Final = "static, from the words of the index"
FROM_TEXTS: Final = "static, from texts"
OURS: Final = (FROM_WORDS, FROM_TEXTS)
READER: Final = "a model2vec folder, read by Assay"
NETWORK: Final = "MiniLM, int8, six layers"
#: Texts that the network gets in each round; it takes some 50 ms for one.
SAMPLE: Final = 60
#: What is wanted: at least so many times model2vec's texts a second, and at most this share of a query.
LEAST: Final = 1.0
SHARE: Final = 0.05
#: Times that a query is asked; the quickest counts, for a stranger's work is no part of it.
ASKED: Final = 5


@dataclass(frozen=True, slots=True)
class Speed:
    """Texts a second of each way, and of the peer."""

    texts: int
    peer: str
    rounds: Mapping[str, Rounds]

    def beside(self, name: str) -> Middle:
        """Compare one with the peer."""
        return self.rounds[name].beside(self.rounds[self.peer])

    @property
    def met(self) -> bool:
        """Whether the static model is as fast as wanted, both ways."""
        return all(self.beside(name).median >= LEAST for name in OURS)

    def rows(self) -> tuple[str, ...]:
        """Write the table."""
        rows = [(name, each.text(), *self._compared(name)) for name, each in self.rounds.items()]
        return table(("embedder", "texts a second", f"times {self.peer}'s", "at least"), rows)

    def _compared(self, name: str) -> tuple[str, str]:
        """Write how one compares with the peer, and what was wanted of it."""
        if name == self.peer:
            return "", ""
        beside = self.beside(name)
        wanted = f"{LEAST:g}, {'met' if beside.median >= LEAST else 'missed'}" if name in OURS else ""
        return beside.text(3), wanted


def speed(gold: GoldSet) -> Speed:
    """Embed the units of a corpus in every way, in turns."""
    units = Index.build(open_corpus(gold.corpus), engine("", WORDS).search, workers=1).table
    rows = np.arange(len(units.chunks))
    texts = [passage_text(units, row) for row in rows.tolist()]
    static = open_embedder(DenseSettings(), spec())
    assert isinstance(static, StaticEmbedder)
    peer = model2vec(static.dimension)
    with TemporaryDirectory(prefix="assay-bench-") as folder, one_core():
        reader, network = make_embedder(f"model2vec:{peer.save(Path(folder))}"), make_embedder(f"onnx:{minilm()}")
        sample = texts[:: max(1, len(texts) // SAMPLE)][:SAMPLE]
        works = {
            FROM_WORDS: Work(len(texts), lambda: unit_rows(static.sum_chunks(units.postings, rows))),
            FROM_TEXTS: Work(len(texts), lambda: static.embed(texts, "code")),
            peer.name: Work(len(texts), lambda: peer.encode(texts)),
            READER: Work(len(texts), lambda: reader.embed(texts, "code")),
            NETWORK: Work(len(sample), lambda: network.embed(sample, "code")),
        }
        return Speed(len(texts), peer.name, in_turns(works))


@dataclass(frozen=True, slots=True)
class Share:
    """What part of a query is its embedding."""

    corpus: str
    units: int
    per: Per
    query: float  # seconds, median
    share: Middle

    @property
    def met(self) -> bool:
        """Whether it is as small as wanted."""
        return self.share.median < SHARE

    def cells(self) -> tuple[object, ...]:
        """Write the row."""
        wanted = f"{SHARE:g}, {'met' if self.met else 'missed'}"
        return (self.corpus, self.units, self.per, f"{1e3 * self.query:.2f}", self.share.text(3), wanted)


def shares(gold: GoldSet) -> tuple[Share, ...]:
    """Ask all questions, of the modules and of a corpus of a usual size."""
    corpora = {"the modules": gold.corpus, SMALL.removesuffix("/**"): replace(gold.corpus, include=(SMALL,))}
    questions = [query.forms["human"] for query in gold.queries]
    with one_core():
        return tuple(
            share(name, open_corpus(where), questions, per)
            for name, where in corpora.items()
            for per in ("file", "span")
        )


def share(name: str, corpus: Corpus, questions: Sequence[str], per: Per) -> Share:
    """Ask each question, then embed it alone."""
    index = Index.build(corpus, engine(DEFAULT, {}).search, workers=1)
    embedder = open_embedder(DenseSettings(), spec())
    index.search(questions[0], per=per)
    whole, part = [], []
    for question in questions:
        whole.append(quickest(partial(index.search, question, per=per)))
        part.append(quickest(partial(_embed, embedder, question)))
    each = [b / a for a, b in zip(whole, part, strict=True)]
    return Share(name, len(index.table.chunks), per, float(np.median(whole)), _quartiles(each))


def _embed(embedder: Embedder, question: str) -> object:
    """Embed a question as a query does."""
    return embedder.embed([question], "query")


def quickest(do: Callable[[], object]) -> float:
    """Give the seconds of the quickest of some times."""
    seconds = []
    for _ in range(ASKED):
        begin = time.perf_counter()
        do()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def _quartiles(values: Sequence[float]) -> Middle:
    """Give the median with the middle half of the values."""
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
    return Middle(median, low, high)


def share_rows(found: Sequence[Share]) -> tuple[str, ...]:
    """Write the table."""
    header = ("corpus", "units", "per", "query, median ms", "share of its embedding [middle half]", "below")
    return table(header, [one.cells() for one in found])
