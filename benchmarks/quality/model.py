"""The model that the benchmarks of meaning are about, and the engines with and without it.

ASSAY_BENCH_MODEL     the folder of another model than the one that ships with Assay
ASSAY_BENCH_TRIED     the folder with the models that were tried, one a folder      default ../models
"""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import Final

from assay.errors import ConfigError
from assay.search.config import SHIPPED, STAGES
from assay.search.static import open_static
from benchmarks.pages import Unavailable
from benchmarks.quality.sources import PROJECT
from benchmarks.quality.variants import Changes, Variant, variant

DEFAULT: Final = "default"
LEXICAL: Final = "lexical-only"
MEANING: Final = "dense-only"

#: Neither a vector nor a translation.
WORDS: Final[Changes] = MappingProxyType({"dense.model": "", "translation.model": ""})
#: Nothing but the vector: a file is as good as its nearest units, whatever is asked.
VECTOR: Final[Changes] = MappingProxyType(
    {
        "translation.model": "",
        "dense.words": 0.0,
        "dense.language": 1.0,
        "dense.keywords": 1.0,
        "dense.symbol": 1.0,
        "dense.path": 4.0,  # with nothing else to speak for it, a file's name must
        "without": tuple(stage for stage in STAGES if stage != "coherence"),
    }
)


def spec() -> str:
    """Name the model as settings do."""
    folder = os.environ.get("ASSAY_BENCH_MODEL")
    return f"{SHIPPED}:{Path(folder).absolute()}" if folder else SHIPPED


def tried(name: str) -> Changes:
    """Take vectors and translations from a model that was tried and not shipped."""
    models = Path(os.environ.get("ASSAY_BENCH_TRIED") or PROJECT.parent / "models").absolute()
    return {"dense.model": f"{SHIPPED}:{models / name}", "translation.model": f"{SHIPPED}:{models / name}"}


def identity() -> str:
    """Name what the model is, wherever it lies; without one there is nothing to measure."""
    try:
        return open_static(spec().partition(":")[2] or None).identity
    except ConfigError as error:
        raise Unavailable(f"{error.message}: {error.file}; set ASSAY_BENCH_MODEL") from error


def engine(name: str, changes: Changes) -> Variant:
    """Make a variant of the default with the model."""
    return variant(name, {"dense.model": spec(), "translation.model": spec(), **changes})


def lacking(one: Variant) -> Path | None:
    """Find a model's folder that a variant names and this machine does not have."""
    named = [str(value) for name, value in one.changes if name.endswith(".model")]
    folders = [Path(name.partition(":")[2]) for name in named if name.startswith(f"{SHIPPED}:")]
    return next((folder for folder in folders if not folder.is_dir()), None)
