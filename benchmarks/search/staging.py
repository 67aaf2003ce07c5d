"""The visible repositories on disk, each with exactly the files that both engines read."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from assay.corpus import open_corpus, read_bytes
from benchmarks.pages import Unavailable
from benchmarks.quality.sources import visible


@dataclass(frozen=True, slots=True)
class Staged:
    """Folders and what is asked in each."""

    names: tuple[str, ...]
    roots: tuple[str, ...]
    queries: tuple[tuple[str, ...], ...]
    files: int
    left_out: int  # files that only one of the two reads
    notes: tuple[str, ...]


def stage(folder: Path) -> Staged:
    """Write out what both read."""
    if find_spec("semble") is None:
        raise Unavailable("semble is not installed: pip install semble==0.7.0 tokenizers safetensors")
    found = visible()
    roots = [folder / gold.name for gold in found.golds]
    counts = []
    for gold, root in zip(found.golds, roots, strict=True):
        corpus = open_corpus(gold.corpus)
        for file in corpus.files:
            path = root / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(read_bytes(corpus, file.path))
        counts.append(_keep_common(root))
    queries = tuple(tuple(next(iter(query.forms.values())) for query in gold.queries) for gold in found.golds)
    kept, dropped = (sum(column) for column in zip(*counts, strict=True))
    names = tuple(gold.name for gold in found.golds)
    return Staged(names, tuple(map(str, roots)), queries, kept, dropped, found.notes)


def _keep_common(root: Path) -> tuple[int, int]:
    """Delete what semble would not index; files kept and deleted."""
    files, contents = import_module("semble.index.files"), import_module("semble.types").ContentType
    wanted = files.get_extensions((contents.CODE, contents.DOCS, contents.CONFIG))
    walked = import_module("semble.index.file_walker").walk_files(root, wanted)
    read = {path for path in walked if files.get_file_status(path, path.stat()) is files.FileStatus.VALID}
    there = {path for path in root.rglob("*") if path.is_file()}
    for path in there - read:
        path.unlink()
    return len(read), len(there - read)
