"""Assay's own files in a corpus: a gold set there would be the best answer to every question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from assay.errors import AssayError
from assay.experiment.ledger.chain import head_file, is_ledger
from assay.experiment.ledger.entry import FILE as LEDGER
from assay.experiment.spec import Spec
from assay.gold.loading import SHIPPED, load_gold
from assay.gold.split.looks import looks_file
from assay.types import CorpusSpec


def files_of(spec: Spec) -> tuple[Path, ...]:
    """List assay.toml, what it extends, its gold files and what lies beside them; nothing when it names none."""
    gold = [file for source in spec.gold if source not in SHIPPED for file in _gold_files(Path(source))]
    beside = [looks_file(file) for file in gold]
    return (*gold, *beside, *map(Path, spec.files), *ledgers_above(spec.folder)) if gold else ()


def ledgers_above(folder: Path) -> list[Path]:
    """List the ledgers in a folder and above it: they grow, and a corpus that holds one would be another each time."""
    found = []
    for place in (folder.resolve(), *folder.resolve().parents):
        for file in sorted(place.glob(f"*{LEDGER}")):
            found += [file, head_file(file)] if is_ledger(file) else []
    return found


def _gold_files(source: Path) -> list[Path]:
    """List the files of a gold source; a folder that cannot be read hides nothing, and no engine fails for it."""
    if not source.is_dir():
        return [source]
    with suppress(AssayError):
        return sorted({Path(gold.source) for gold in load_gold(source).golds if gold.source})
    return []


def inside(corpus: CorpusSpec, base: Path | None, files: Iterable[Path]) -> list[str]:
    """List the files that lie inside a corpus, as its paths."""
    root = ((base or Path()) / corpus.value / (corpus.root or "")).resolve()
    if corpus.kind not in ("path", "git") or not root.is_dir():
        return []
    return [file.resolve().relative_to(root).as_posix() for file in files if file.resolve().is_relative_to(root)]


def hidden(corpus: CorpusSpec, paths: Sequence[str]) -> CorpusSpec:
    """Leave paths out of a corpus."""
    return replace(corpus, exclude=(*corpus.exclude, *("/" + _escaped(path) for path in paths)))


def _escaped(path: str) -> str:
    """Write a path as a git-ignore pattern that means only itself."""
    return re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)
