"""One engine, one job, one fresh process: `python -m benchmarks.search.worker '<job as JSON>'` prints its figures.

Caches, memory and imports are its own. semble runs with two index workers, its model loaded before the clock starts
and its count of saved tokens, a file that it appends to after every query, switched off. "semble-bm25" is semble with
its dense part patched out: no embedding, no model, and no semantic candidates.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

#: Asked before the clock starts, in every repository, so that what is made on first use is there.
WARMING = ("where is the configuration read", "parseValue", "error handling")


class Engine(Protocol):
    """What both can do."""

    def build(self, root: str) -> Any:
        """Index a folder, no cache read."""

    def keep(self, index: Any, root: str) -> None:
        """Put an index into the cache."""

    def open(self, root: str) -> Any:
        """Open a folder's index from the cache, after looking for changes."""

    def ask(self, index: Any, query: str) -> int:
        """Search; gives the number of results."""

    def size(self, index: Any) -> tuple[int, int]:
        """Give files and units."""


@dataclass(frozen=True, slots=True)
class Assay:
    """Assay by its public API."""

    per: str = "file"

    def build(self, root: str) -> Any:
        """Index a folder, no cache read."""
        from assay.search import Index

        return Index.build(root)

    def keep(self, index: Any, root: str) -> None:
        """Put an index into the cache: opening does."""
        self.open(root)

    def open(self, root: str) -> Any:
        """Open a folder's index from the cache, after looking for changes."""
        from assay.search import Index

        return Index.open(root)

    def ask(self, index: Any, query: str) -> int:
        """Search; gives the number of results."""
        return len(index.search(query, k=10, per=self.per))

    def size(self, index: Any) -> tuple[int, int]:
        """Give files and units."""
        return len(index.table.files), len(index.table.units)


@dataclass(frozen=True, slots=True)
class Semble:
    """semble over code, docs and configuration, as Assay reads them."""

    model: str
    alpha: float | None = None

    def build(self, root: str) -> Any:
        """Index a folder; the cache has another path."""
        from semble import SembleIndex

        return SembleIndex.from_path(root, content=_contents(), model_path=self.model)

    def keep(self, index: Any, root: str) -> None:
        """Put an index into the cache, as its command line does."""
        from semble.cache import save_index_to_cache

        save_index_to_cache(index, root)

    def open(self, root: str) -> Any:
        """Open a folder's index from the cache, after looking for changes."""
        index = self.build(root)
        assert index.loaded_from_disk
        return index

    def ask(self, index: Any, query: str) -> int:
        """Search; gives the number of results."""
        return len(index.search(query, top_k=10, alpha=self.alpha))

    def size(self, index: Any) -> tuple[int, int]:
        """Give files and chunks."""
        return index.stats.indexed_files, index.stats.total_chunks


def _contents() -> tuple[Any, ...]:
    """Name everything that semble can index."""
    from semble.types import ContentType

    return (ContentType.CODE, ContentType.DOCS, ContentType.CONFIG)


def make_engine(name: str, model: str) -> Engine:
    """Import an engine and make it ready."""
    if name.startswith("assay"):
        import assay.search

        return Assay("span" if name.endswith("span") else "file")
    import semble.index.index as indexing
    from semble.index.dense import load_model

    indexing.save_search_stats = lambda *_: None  # type: ignore[attr-defined]
    if name == "semble-bm25":
        _leave_out_dense()
        return Semble(model, alpha=0.0)
    load_model(model)
    return Semble(model)


def _leave_out_dense() -> None:
    """Patch the embedding of chunks and of queries out of semble."""
    import numpy as np
    import semble.index.create as creating
    import semble.index.index as indexing
    import semble.search as searching

    class Nothing:
        """A model that is never asked."""

        dim = 1

    creating.embed_chunks = lambda _, chunks: np.ones((len(chunks), 1), np.float32)  # type: ignore[attr-defined]
    indexing.load_model = lambda path=None: (Nothing(), path)  # type: ignore[attr-defined]
    searching._search_semantic = lambda *_: []


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Time a call."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def do_index(engine: Engine, roots: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Index every folder, from nothing."""
    timed = [seconds(lambda root=root: engine.size(engine.build(root))) for root in roots]  # type: ignore[misc]
    yield "seconds", [spent for spent, _ in timed]
    yield "sizes", [size for _, size in timed]


def do_keep(engine: Engine, roots: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Fill the cache."""
    for root in roots:
        engine.keep(engine.build(root), root)
    yield "kept", len(roots)


def do_open(engine: Engine, roots: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Open every folder's index, unchanged since it was cached."""
    yield "seconds", [seconds(lambda root=root: engine.open(root))[0] for root in roots]  # type: ignore[misc]


def do_query(engine: Engine, roots: Sequence[str], queries: Sequence[Sequence[str]]) -> Iterator[tuple[str, Any]]:
    """Open every index and ask each query once."""
    spent: list[float] = []
    for root, asked in zip(roots, queries, strict=True):
        index = engine.open(root)
        for query in WARMING:
            engine.ask(index, query)
        spent += [seconds(lambda q=query: engine.ask(index, q))[0] for query in asked]  # type: ignore[misc]  # noqa: B023
    yield "seconds", spent


def main(job: dict[str, Any]) -> None:
    """Do a job and print what was seen."""
    imported, engine = seconds(lambda: make_engine(job["engine"], job["model"]))
    work = {"index": do_index, "keep": do_keep, "open": do_open}
    started = time.perf_counter()
    steps = (
        do_query(engine, job["roots"], job["queries"])
        if job["task"] == "query"
        else work[job["task"]](engine, job["roots"])
    )
    figures = {"imports": imported, **dict(steps)}
    figures["total"] = time.perf_counter() - started
    figures["own megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures["child megabytes"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(json.dumps(figures))


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text("utf-8")))
