"""The visible repositories on disk, each with exactly the files that both engines read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.corpus import open_corpus, read_bytes
from benchmarks.pages import Unavailable
from benchmarks.quality.sources import visible
from benchmarks.search.running import Job, Runner, peer_python


@dataclass(frozen=True, slots=True)
class Staged:
    """Folders and what is asked in each."""

    names: tuple[str, ...]
    roots: tuple[str, ...]
    queries: tuple[tuple[str, ...], ...]
    files: int
    left_out: int  # files that only one of the two reads
    notes: tuple[str, ...]


def stage(folder: Path, runner: Runner) -> Staged:
    """Write out what both read."""
    if peer_python() is None:
        raise Unavailable("semble is not installed: make .venv/.peers")
    found = visible()
    roots = [folder / gold.name for gold in found.golds]
    for gold, root in zip(found.golds, roots, strict=True):
        corpus = open_corpus(gold.corpus)
        for file in corpus.files:
            path = root / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(read_bytes(corpus, file.path))
    queries = tuple(tuple(next(iter(query.forms.values())) for query in gold.queries) for gold in found.golds)
    kept, dropped = _keep_common(folder, runner.run(Job("semble", "files", tuple(map(str, roots))))["files"])
    names = tuple(gold.name for gold in found.golds)
    return Staged(names, tuple(map(str, roots)), queries, kept, dropped, found.notes)


def _keep_common(folder: Path, read: Sequence[str]) -> tuple[int, int]:
    """Delete what semble would not index; files kept and deleted."""
    there = {str(path) for path in folder.rglob("*") if path.is_file()}
    for path in there - set(read):
        Path(path).unlink()
    return len(read), len(there - set(read))
