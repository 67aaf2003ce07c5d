"""Worker tasks: survey a corpus, or run engines on it."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from assay.clock import today
from assay.digests import package_digest
from assay.engines.base import FullEngine, SharedCache, TimedEngine
from assay.errors import CorpusError, SetupError
from assay.experiment.cells.keeping import CellStore
from assay.experiment.cells.keys import CellKey
from assay.experiment.cells.records import CellCost, CellResult, CorpusSnapshot
from assay.experiment.cells.surveying import hit_lines, survey
from assay.experiment.corpora import Missing, PreparedGold, prepare, reopen
from assay.experiment.running.asking import EngineLimits, EngineOutcome, Tell, run_interleaved
from assay.experiment.running.engine_runs import engine_run
from assay.experiment.spec.model import EngineFactory
from assay.redaction import register_secret_values
from assay.store import Store
from assay.types import EngineRun, GoldSet, Suite


@dataclass(frozen=True, slots=True)
class CorpusAccess:
    """How to get to a gold set and its corpus."""

    gold: GoldSet  # as it was loaded; for a visit with its anchors resolved
    forms: tuple[str, ...] = ()
    missing: Missing | None = None
    folder: Path | None = None  # where relative paths begin: a worker of a cluster stands elsewhere
    code: str = ""  # the Assay that planned this; another one must not answer

    def __str__(self) -> str:
        return f"reading {self.gold.name}"


@dataclass(frozen=True, slots=True)
class CellSink:
    """Where the cells of a visit are kept as they come, so that a kill costs no more than the one at hand."""

    folder: Path
    keys: Mapping[str, CellKey]  # by engine


@dataclass(frozen=True, slots=True)
class CellTask:
    """Which engines to ask at one gold set; those that share an index are sent together."""

    way: CorpusAccess
    corpus: str  # digest of the corpus that was seen when this was planned
    recipes: tuple[EngineFactory, ...]
    k: int
    limits: EngineLimits
    reuse_index: bool = False
    keeping: CellSink | None = None  # where cells are put at once; none: whoever sent this is too far away

    def __str__(self) -> str:
        names = [recipe.name for recipe in self.recipes]
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return f"{names[0]}{others} on {self.way.gold.name}"


def open_corpus_snapshot(way: CorpusAccess) -> CorpusSnapshot:
    """Open a corpus, resolve the anchors, and say what is there."""
    _check_code(way)
    return survey(_named(prepare(_from_here(way), way.forms or None, None, way.missing), way))


def run_task(task: CellTask) -> dict[str, CellResult]:
    """Ask engines at one gold set."""
    return run_engines(task, lambda _: None)


def run_engines(task: CellTask, tell: Tell) -> dict[str, CellResult]:
    """Ask engines at one gold set, telling how far it is."""
    _check_code(task.way)
    # each time anew: somebody may have changed it since it was last seen
    place = _named(reopen(_from_here(task.way), task.way.forms), task.way)
    if place.corpus.digest != task.corpus:
        raise _changed(place)
    suite = Suite((place.gold,))
    engines = {one.name: replace(_recipe_here(one, task.way), suite=suite).make() for one in task.recipes}
    register_secret_values(secret for engine in engines.values() for secret in engine.secrets)
    with Store() as artefacts:
        shelf = SharedCache(place.corpus, artefacts, reuse_index=task.reuse_index)
        try:
            cells = _asked(engines, place, task, shelf, tell)
        finally:
            shelf.close()
    if shelf.moved:
        raise _changed(place)
    return cells


def _changed(place: PreparedGold) -> CorpusError:
    return CorpusError(
        f"the corpus of {place.gold.name} is not what it was when the run began",
        file=place.corpus.root,
        hint="is a log written into it? put that elsewhere, or name it in .assayignore; what is done is kept",
    )


def _asked(
    engines: Mapping[str, FullEngine], place: PreparedGold, task: CellTask, shelf: SharedCache, tell: Tell
) -> dict[str, CellResult]:
    """Ask engines of our own together, so that what they look up for a question is there for all; others in turn."""
    house = {name: engine for name, engine in engines.items() if not isinstance(engine, TimedEngine)}
    groups = [house] if house else []
    groups += [{name: engine} for name, engine in engines.items() if name not in house]
    cells = {}
    for group in groups:
        before = shelf.made.copy()
        for name, stay in run_interleaved(group, place, task.k, task.limits, tell, shelf=shelf).items():
            made = tuple(sorted((shelf.made - before).elements()))
            cells[name] = _cell(engine_run(name, group[name], place.gold.name, stay), place, stay, made)
        if task.keeping and not shelf.moved:
            _keep(task.keeping, {name: cells[name] for name in group})
    return {name: cells[name] for name in engines}


def _keep(keeping: CellSink, cells: Mapping[str, CellResult]) -> None:
    keeper = CellStore(keeping.folder)
    with suppress(SetupError):
        for name, cell in cells.items():
            keeper.write(keeping.keys[name], cell)


def _cell(said: EngineRun, place: PreparedGold, stay: EngineOutcome, made: tuple[str, ...]) -> CellResult:
    """Make the record of one engine; what it took stands apart, because others ran beside it."""
    rankings = tuple(replace(ranking, seconds=0.0) for ranking in said.rankings)
    spent = CellCost(stay.index_seconds, round(sum(r.seconds for r in said.rankings), 6), _worker(), made)
    untimed = replace(said, rankings=rankings, index_seconds={}, resources={}, date=today())
    return CellResult(untimed, hit_lines(place, rankings), spent)


def _worker() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def _named(place: PreparedGold, way: CorpusAccess) -> PreparedGold:
    return replace(place, gold=replace(place.gold, source=way.gold.source))


def _check_code(way: CorpusAccess) -> None:
    if way.code and way.code != package_digest():
        raise SetupError(
            f"{socket.gethostname()} has another Assay than the one that planned this",
            hint="install the same version on every worker, and restart them",
        )


def _from_here(way: CorpusAccess) -> GoldSet:
    source = way.gold.source
    if source is None or way.folder is None or way.folder == Path.cwd():
        return way.gold
    return replace(way.gold, source=str(way.folder / source))


def _recipe_here(recipe: EngineFactory, way: CorpusAccess) -> EngineFactory:
    if way.folder is None or way.folder == Path.cwd():
        return recipe
    file = None if recipe.file is None else str(way.folder / recipe.file)
    return replace(recipe, directory=way.folder / recipe.directory, file=file)
