"""Evaluate code search engines: gold set → engine → verdict.

    gold = assay.load_gold("gold/")
    run = assay.run({"mine": search_function}, gold, k=10)
    scores = assay.score(run, [nDCG @ 10, RR @ 10])
    verdict = assay.compare(scores, baseline="mine", primary=nDCG @ 10, margin=0.02)

`assay.run_experiment("assay.toml", executor=...)` runs an assay.toml with variants and sweeps.
Measures such as `nDCG` and `RR` are in `assay.measures`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay._version import __version__

if TYPE_CHECKING:
    from assay import measures
    from assay.engines.base import Engine, Session
    from assay.errors import AssayError
    from assay.experiment.running.experiments import run_experiment
    from assay.experiment.running.turns import run
    from assay.gold import load_gold
    from assay.scoring import score
    from assay.search import Index
    from assay.stats import compare
    from assay.types import CorpusSpec, GoldSet, Hit, Query, Run, Scores, Span, Suite, Target

#: Module of each public name, imported on first use: `assay --help` must not wait for numpy.
_HOMES = {
    "AssayError": "assay.errors",
    "CorpusSpec": "assay.types",
    "Engine": "assay.engines.base",
    "GoldSet": "assay.types",
    "Hit": "assay.types",
    "Index": "assay.search",
    "Query": "assay.types",
    "Run": "assay.types",
    "Scores": "assay.types",
    "Session": "assay.engines.base",
    "Span": "assay.types",
    "Suite": "assay.types",
    "Target": "assay.types",
    "compare": "assay.stats",
    "load_gold": "assay.gold",
    "run": "assay.experiment.running.turns",
    "run_experiment": "assay.experiment.running.experiments",
    "score": "assay.scoring",
}

__all__ = [
    "AssayError",
    "CorpusSpec",
    "Engine",
    "GoldSet",
    "Hit",
    "Index",
    "Query",
    "Run",
    "Scores",
    "Session",
    "Span",
    "Suite",
    "Target",
    "__version__",
    "compare",
    "load_gold",
    "measures",
    "run",
    "run_experiment",
    "score",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "measures":
        return import_module("assay.measures")
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
