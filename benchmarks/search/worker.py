"""One engine, one job, one fresh process: `python -m benchmarks.search.worker '<job as JSON>'` prints its figures.

Caches, memory and imports are its own. semble runs with two index workers, its model loaded before the clock starts
and its count of saved tokens, a file that it appends to after every query, switched off.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeAlias

#: An index of either engine; semble is not there when types are checked.
Indexed: TypeAlias = Any

#: Asked before the clock starts, in every repository, so that what is made on first use is there.
WARMING = ("where is the configuration read", "parseValue", "error handling")
EDITS = 8  # files that are edited one after the other


class Engine(Protocol):
    """What both can do."""

    def build(self, root: str) -> Indexed:
        """Index a folder, no cache read."""

    def keep(self, root: str) -> None:
        """Put an index into the cache."""

    def open(self, root: str) -> Indexed:
        """Open a folder's index from the cache, after looking for changes."""

    def ask(self, index: Indexed, query: str) -> int:
        """Search; gives the number of results."""

    def size(self, index: Indexed) -> tuple[int, int]:
        """Give files and units."""


@dataclass(frozen=True, slots=True)
class Assay:
    """Assay by its public API."""

    per: str = "file"

    def build(self, root: str) -> Indexed:
        """Index a folder, no cache read."""
        from assay.search import Index

        return Index.build(root)

    def keep(self, root: str) -> None:
        """Put an index into the cache: opening does."""
        self.open(root)

    def open(self, root: str) -> Indexed:
        """Open a folder's index from the cache, after looking for changes."""
        from assay.search import Index

        return Index.open(root)

    def ask(self, index: Indexed, query: str) -> int:
        """Search; gives the number of results."""
        return len(index.search(query, k=10, per=self.per))

    def size(self, index: Indexed) -> tuple[int, int]:
        """Give files and units."""
        return len(index.table.files), len(index.table.chunks)


@dataclass(frozen=True, slots=True)
class Semble:
    """semble over code, docs and configuration, as Assay reads them."""

    model: str

    def build(self, root: str) -> Indexed:
        """Index a folder; the cache has another path."""
        contents = _module("semble.types").ContentType
        chosen = (contents.CODE, contents.DOCS, contents.CONFIG)
        return _module("semble").SembleIndex.from_path(root, content=chosen, model_path=self.model)

    def keep(self, root: str) -> None:
        """Put an index into the cache, as its command line does."""
        _module("semble.cache").save_index_to_cache(self.build(root), root)

    def open(self, root: str) -> Indexed:
        """Open a folder's index from the cache, after looking for changes."""
        index = self.build(root)
        assert index.loaded_from_disk
        return index

    def ask(self, index: Indexed, query: str) -> int:
        """Search; gives the number of results."""
        return len(index.search(query, top_k=10))

    def size(self, index: Indexed) -> tuple[int, int]:
        """Give files and chunks."""
        return index.stats.indexed_files, index.stats.total_chunks


def _module(name: str) -> Any:  # noqa: ANN401  # semble is not there when types are checked
    """Import a module by name."""
    return import_module(name)


def make_engine(name: str, model: str) -> Engine:
    """Import an engine and make it ready."""
    if name.startswith("assay"):
        _module("assay.search")
        return Assay("span" if name.endswith("span") else "file")
    _module("semble.index.index").save_search_stats = _nothing
    _module("semble.index.dense").load_model(model)
    return Semble(model)


def _nothing(*_: object) -> None:
    """Stand in for semble's count of saved tokens."""


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Time a call."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def do_index(engine: Engine, roots: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Index every folder, from nothing."""
    timed = [seconds(partial(_built, engine, root)) for root in roots]
    yield "seconds", [spent for spent, _ in timed]
    yield "sizes", [size for _, size in timed]


def _built(engine: Engine, root: str) -> tuple[int, int]:
    """Index a folder and let go of the index."""
    return engine.size(engine.build(root))


def do_files(roots: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """List what semble would index."""
    files, contents = _module("semble.index.files"), _module("semble.types").ContentType
    wanted = files.get_extensions((contents.CODE, contents.DOCS, contents.CONFIG))
    walked = [path for root in roots for path in _module("semble.index.file_walker").walk_files(Path(root), wanted)]
    valid = files.FileStatus.VALID
    yield "files", [str(path) for path in walked if files.get_file_status(path, path.stat()) is valid]


def do_keep(engine: Engine, roots: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Fill the cache."""
    for root in roots:
        engine.keep(root)
    yield "kept", len(roots)


def do_open(engine: Engine, roots: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Open every folder's index, unchanged since it was cached."""
    yield "seconds", [seconds(partial(engine.open, root))[0] for root in roots]


def do_query(engine: Engine, roots: Sequence[str], queries: Sequence[Sequence[str]]) -> Iterator[tuple[str, Any]]:
    """Open every index and ask each query once."""
    spent: list[float] = []
    work: list[float] = []
    for root, asked in zip(roots, queries, strict=True):
        index = engine.open(root)
        for query in WARMING:
            engine.ask(index, query)
        for query in asked:
            before = time.process_time()
            spent.append(seconds(partial(engine.ask, index, query))[0])
            work.append(time.process_time() - before)
    yield "seconds", spent
    yield "work", work  # of the processor, for each query


def do_refresh(engine: Engine, root: str) -> Iterator[tuple[str, Any]]:
    """Fill the cache; then edit one file after the other, open again, and look for what only the edit holds."""
    index = engine.open(root)
    spent, work, found = [], [], []
    unedited: dict[Path, bytes] = {}
    paths = [path for path in index.table.files.paths if path.endswith(".py")]
    for number, name in enumerate(paths[:: max(1, len(paths) // EDITS)][:EDITS]):
        path = Path(root, name)
        unedited[path] = path.read_bytes()
        path.write_bytes(f"def freshly_added_{number}_zebra(): ...\n".encode() + unedited[path])
        before = time.process_time()
        took, index = seconds(partial(engine.open, root))
        spent.append(took)
        work.append(time.process_time() - before)
        found.append(f"freshly_added_{number}_zebra".encode() in index.table.files.text.tobytes())
    for path, text in unedited.items():
        path.write_bytes(text)
    yield "seconds", spent
    yield "work", work  # of the processor, for each edit
    yield "found", all(found)


def main(job: dict[str, Any]) -> None:
    """Do a job and print what was seen."""
    imported, engine = seconds(partial(make_engine, job["engine"], job["model"]))
    roots = job["roots"]
    steps = {
        "files": lambda: do_files(roots),
        "index": lambda: do_index(engine, roots),
        "keep": lambda: do_keep(engine, roots),
        "open": lambda: do_open(engine, roots),
        "query": lambda: do_query(engine, roots, job["queries"]),
        "refresh": lambda: do_refresh(engine, roots[0]),
    }
    before = _processor()
    found = dict(steps[job["task"]]())
    print(json.dumps({"imports": imported, **found, "processor": _processor() - before}))


def _processor() -> float:
    """Return the CPU seconds of this process and its finished children."""
    both = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(one.ru_utime + one.ru_stime for one in both)


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text("utf-8")))
