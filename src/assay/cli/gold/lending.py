"""What the rules of lint may use of other rooms, the same wherever a set or a proposal is linted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.common.output import warn

if TYPE_CHECKING:
    from assay.gold.lint import Reach, Tools
    from assay.search.chunking import ChunkConfig
    from assay.types import Corpus, CorpusSpec, Gold


def folder_of(gold: Gold) -> Path | None:
    """Give the folder from which the paths of a set are meant."""
    return Path(gold.source).parent if gold.source else None


def lend(name: str, spec: CorpusSpec, base: Path | None, reaches: Sequence[Reach] = ()) -> Tools:
    """Lend the rules what other rooms know: the whole checkout, what is beside the code, what engines can return."""
    from assay.corpus import open_corpus
    from assay.errors import AssayError
    from assay.gold.lint import Tools
    from assay.search.noise import NOISE, file_noise

    @cache
    def whole() -> Corpus | None:
        try:
            return open_corpus(replace(spec, include=(), exclude=()), base=base)
        except AssayError as error:
            warn(f"{name}: what the globs leave out cannot be read: {error.message}")
            return None

    def aside(path: str) -> bool:
        return NOISE[file_noise(path, "", "code", None)] != "none"

    return Tools(whole, aside, tuple(reaches))


def builtin_reach(corpus: Corpus, config: ChunkConfig | None = None) -> Reach:
    """Give what our own engine can return, cut as it cuts or as a configuration says."""
    from assay.corpus import read_text
    from assay.gold.lint import Reach
    from assay.search.chunking import ChunkConfig, Source, cut
    from assay.types import Span

    files = {file.path: file for file in corpus.files}

    @cache
    def chunks(path: str) -> list[Span]:
        file = files[path]
        units = cut(Source(path, read_text(corpus, path), file.kind, file.language), config or ChunkConfig()).units
        return [Span(path, unit.start, unit.end) for unit in units]

    return Reach("the builtin engine", chunks)
