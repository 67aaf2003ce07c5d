"""Evaluate code search engines: gold set → engine → verdict.

    gold = assay.load_gold("gold/")
    run = assay.run({"mine": search_function}, gold, k=10)
    scores = assay.score(run, [nDCG @ 10, RR @ 10])
    verdict = assay.compare(scores, baseline="mine", primary=nDCG @ 10, margin=0.02)

`assay.run_experiment("assay.toml", executor=...)` runs the engines, variants and sweeps of an assay.toml.
Measures such as `nDCG` and `RR` are in `assay.measures`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay._version import __version__

if TYPE_CHECKING:
    from assay import measures
    from assay.engines.base import Engine, Session
    from assay.errors import AssayError
    from assay.experiment.execution import run, run_experiment
    from assay.gold import load_gold
    from assay.scoring import score
    from assay.search import Index
    from assay.stats import compare
    from assay.types import CorpusSpec, GoldSet, Hit, Query, Run, Scores, Span, Suite, Target

#: Public names by module, imported on first use so that `assay --help` does not import numpy.
_NAMES = {
    "assay.engines.base": ("Engine", "Session"),
    "assay.errors": ("AssayError",),
    "assay.experiment.execution": ("run", "run_experiment"),
    "assay.gold": ("load_gold",),
    "assay.scoring": ("score",),
    "assay.search": ("Index",),
    "assay.stats": ("compare",),
    "assay.types": ("CorpusSpec", "GoldSet", "Hit", "Query", "Run", "Scores", "Span", "Suite", "Target"),
}

__all__ = [
    "AssayError", "CorpusSpec", "Engine", "GoldSet", "Hit", "Index", "Query", "Run", "Scores", "Session", "Span",
    "Suite", "Target", "__version__", "compare", "load_gold", "measures", "run", "run_experiment", "score",
]  # fmt: skip


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "measures":
        return import_module("assay.measures")
    for module, names in _NAMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(module), name)
            return value
    raise AttributeError(f"module 'assay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
