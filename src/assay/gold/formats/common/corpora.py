"""Where the code is, for a set whose format has no place to say it."""

from __future__ import annotations

import shlex
from pathlib import Path

from assay.gold.source import Source
from assay.types import CorpusSpec

NO_CORPUS = "a gold set in this format names no corpus"


def require_corpus(source: Source, corpus: CorpusSpec | None) -> CorpusSpec:
    """Give the corpus, for formats that have no place for it."""
    if corpus is None:
        raise source.at(1).error(NO_CORPUS, corpus_hint(source.path))
    return corpus


def corpus_hint(path: Path, *, several: bool = False) -> str:
    """Say how to name the corpus, in words that are true of every command: only some have --corpus."""
    stem = path.parent / (path.stem or path.resolve().stem)
    where = "FOLDER" if several else "PATH"
    names = shlex.join([str(path), f"{stem}-native/" if several else f"{stem}.yaml"])
    return (
        f"convert it to native first: assay gold convert {names} --to native --corpus {where}; "
        f"run, gold lint and gold review take --corpus {where} themselves, Python takes corpus=..."
    )
