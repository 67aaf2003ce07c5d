"""Assay's own files in a corpus: a gold set there would be the best answer to every question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from assay.errors import AssayError
from assay.experiment.ledger.files import ledgers_above
from assay.experiment.places.experiments import experiments_near
from assay.experiment.spec import Spec
from assay.gold.loading import SHIPPED, load_gold
from assay.gold.looks import looks_file
from assay.types import CorpusSpec


def files_of(spec: Spec) -> tuple[Path, ...]:
    """List assay.toml, what it extends, its gold files and what lies beside them; nothing when it names none."""
    gold = [file for source in spec.gold if source not in SHIPPED for file in _gold_files(Path(source))]
    if not gold:
        return ()
    beside = [looks_file(file) for file in gold]
    others = experiments_near(dict.fromkeys((spec.folder, *(file.parent for file in gold))))
    return tuple(dict.fromkeys((*gold, *beside, *map(Path, spec.files), *others, *ledgers_above(spec.folder))))


def _gold_files(source: Path) -> list[Path]:
    """List the files of a gold source; a folder that cannot be read hides nothing, and no engine fails for it."""
    if not source.is_dir():
        return [source]
    with suppress(AssayError):
        return sorted({Path(gold.source) for gold in load_gold(source).golds if gold.source})
    return []


def changing_files(corpus: CorpusSpec, base: Path | None, source: str) -> list[str]:
    """List what of ours comes and goes in a corpus: ledgers and experiments, from its root down to the gold file.

    Which of them is in use makes no difference: the corpus is the same for all.
    """
    root, folder = _root(corpus, base), Path(source).parent.resolve()
    if root is None:
        return []
    way = [root, *(place for place in (folder, *folder.parents) if place != root and place.is_relative_to(root))]
    return inside(corpus, base, dict.fromkeys((*ledgers_above(folder), *experiments_near(way))))


def inside(corpus: CorpusSpec, base: Path | None, files: Iterable[Path]) -> list[str]:
    """List the files that lie inside a corpus, as its paths."""
    root = _root(corpus, base)
    if root is None:
        return []
    return [file.resolve().relative_to(root).as_posix() for file in files if file.resolve().is_relative_to(root)]


def _root(corpus: CorpusSpec, base: Path | None) -> Path | None:
    """Find the folder of a corpus; None where it is no folder here."""
    root = ((base or Path()) / corpus.value / (corpus.root or "")).resolve()
    return root if corpus.kind in ("path", "git") and root.is_dir() else None


def hidden(corpus: CorpusSpec, paths: Sequence[str]) -> CorpusSpec:
    """Leave paths out of a corpus."""
    return replace(corpus, exclude=(*corpus.exclude, *("/" + _escaped(path) for path in paths)))


def _escaped(path: str) -> str:
    """Write a path as a git-ignore pattern that means only itself."""
    return re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)
