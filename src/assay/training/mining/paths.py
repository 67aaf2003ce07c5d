"""Pairs from whole files: the words of the path with the text."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Final

from assay.search.naming import stem_name
from assay.syntax.identifiers import parts
from assay.training.mining.config import MiningConfig
from assay.training.mining.drawing import Collection, draw_rank
from assay.training.mining.sources import Source

# fmt: off
#: Folders that are named after their place in a project, not after what is in them.
_PLAIN: Final = frozenset(
    {
        "app", "cmd", "core", "crates", "include", "internal", "java", "js", "kotlin", "lib", "libs", "main", "modules",
        "packages", "php", "pkg", "python", "scala", "source", "sources", "spec", "src", "test", "tests",
    }
)
# fmt: on


def mine_path(source: Source, config: MiningConfig, collection: Collection) -> None:
    """Offer the words of a file's path with the beginning of its text."""
    path = source.file.entry.path
    rank = draw_rank(config.seed, "path", path)
    words = path_words(path)
    if len(words) < 2 or not collection.wants("path", rank):
        return
    lines = range(min(source.licensing.stop + config.pairs.file_lines, len(source.lines)))
    if sum(1 for number in lines if source.runs[number]) < config.pairs.body:
        collection.dropped["little code"] += 1
        return
    collection.offer(source.candidate("path", rank, " ".join(words), source.count(lines)), source.taint(lines))


def path_words(path: str) -> tuple[str, ...]:
    """List the words of a file's name and of the nearest folder that says something, each once."""
    name = stem_name(path)
    folders = [folder for folder in PurePosixPath(path).parent.parts if folder.lower() not in _PLAIN and folder != name]
    found = parts(f"{folders[-1] if folders else ''} {name}")
    return tuple(word for word in dict.fromkeys(found) if len(word) > 1 and not word.isdigit())
