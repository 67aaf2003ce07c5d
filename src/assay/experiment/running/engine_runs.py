"""Combine the results of an engine over several gold sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar, cast

from assay.engines.base import FullEngine
from assay.experiment.cells.keys import deciding_code
from assay.experiment.running.asking import EngineOutcome
from assay.experiment.spec.model import BASELINE
from assay.redaction import make_redactor
from assay.types import EngineRole, EngineRun, VariantInfo

T = TypeVar("T")

_DIGITS = 16  # of a digest: enough to tell any two versions of a program apart
_MIXED = "mixed"


def engine_run(name: str, engine: FullEngine, gold: str, stay: EngineOutcome) -> EngineRun:
    """Tell what an engine did on one gold set."""
    asked = [f"asked for {engine.oversample} × k results (oversample)"] if engine.oversample > 1 else []
    at_once = [f"{stay.parallel} questions were in flight at once"] if stay.parallel > 1 else []
    hide = make_redactor(engine.secrets)
    return EngineRun(
        name=name,
        rankings=stay.rankings,
        role=role_of(name, engine),
        oversample=engine.oversample,
        config=cast(dict[str, object], hide.value(engine.config)),
        index_seconds={} if stay.index_seconds is None else {gold: stay.index_seconds},
        notes=tuple(dict.fromkeys((*map(hide.text, engine.notes), *asked, *at_once, *stay.notes))),
        resources={gold: stay.resources},
        version=stay.version,
        stderr={gold: stay.stderr} if stay.stderr else {},
        parallel=stay.parallel,
        fingerprint=engine.fingerprint,
        code=deciding_code()[:_DIGITS],
    )


def role_of(name: str, engine: FullEngine) -> EngineRole:
    """Return the role of an engine; a `keywords` engine under another name was declared by the user and is tested."""
    return "contestant" if engine.role == "yardstick" and name != BASELINE else engine.role


def joined(name: str, parts: Sequence[EngineRun], variation: VariantInfo | None = None) -> EngineRun:
    """Put together what one engine did on one gold set after the other."""
    first = parts[0]
    return EngineRun(
        name=name,
        rankings=tuple(ranking for part in parts for ranking in part.rankings),
        role=first.role,
        oversample=first.oversample,
        config=first.config,
        index_seconds=_by_gold(parts, lambda part: part.index_seconds),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        resources=_by_gold(parts, lambda part: part.resources),
        version=next((part.version for part in parts if part.version), ""),
        stderr=_by_gold(parts, lambda part: part.stderr),
        parallel=max(part.parallel for part in parts),
        variation=variation,
        date=max(part.date for part in parts),
        fingerprint=_agreed(part.fingerprint for part in parts),
        code=_agreed(part.code for part in parts),
    )


def _agreed(values: Iterable[str]) -> str:
    said = dict.fromkeys(values)
    return next(iter(said)) if len(said) == 1 else _MIXED


def _by_gold(parts: Sequence[EngineRun], of: Callable[[EngineRun], Mapping[str, T]]) -> dict[str, T]:
    return {gold: value for part in parts for gold, value in of(part).items()}
