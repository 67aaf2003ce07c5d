"""Where an engine works: a corpus that it may litter when it writes, the original when it only reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from assay.corpus.copying import copy_corpus
from assay.engines.base import FullEngine
from assay.store import scratch
from assay.types import Corpus


@contextmanager
def workplace(engine: FullEngine, corpus: Corpus, *, own: bool = False) -> Iterator[Corpus]:
    """Give a private engine a fresh copy of the corpus, where no cache has been; `own` gives one to any engine."""
    if not (engine.private or own):
        yield corpus
        return
    with scratch() as folder:
        yield copy_corpus(corpus, folder, commit=engine.git)
