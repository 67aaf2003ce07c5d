"""Timed runs: engines interleaved query by query in one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from assay.clock import now, today
from assay.engines import as_engine
from assay.engines.base import Engine, FullEngine
from assay.engines.resources import available_threads, pinned
from assay.errors import EngineError, InputError
from assay.experiment.cells.assembling import assemble, make_header
from assay.experiment.cells.keys import turns_key
from assay.experiment.cells.records import CellId, CellResult
from assay.experiment.cells.surveying import hit_lines, survey
from assay.experiment.corpora import Missing, PreparedGold, prepare
from assay.experiment.environment import environment
from assay.experiment.running.asking import EngineLimits, Progress, Tell, run_interleaved
from assay.experiment.running.engine_runs import engine_run
from assay.experiment.spec.model import check_encodable
from assay.gold.access_log import log_access
from assay.gold.split import select
from assay.redaction import register_secret_values
from assay.types import TIME_LIMITS, GoldSet, Hit, Run, Suite, VariantInfo

if TYPE_CHECKING:
    from assay.experiment.cells.keeping import CellStore

Failed = Literal["error", "report"]
Searcher = Engine | Callable[[str, int], Sequence[Hit | str]] | Callable[[str], Sequence[Hit | str]]


def run(
    engines: Mapping[str, Searcher],
    gold: Suite | GoldSet,
    *,
    k: int = 10,
    forms: Sequence[str] | None = None,
    split: Sequence[str] = (),
    timeout: float = TIME_LIMITS.query,
    index_timeout: float = TIME_LIMITS.index,
    give_up: int = 10,
    threads: int | None = None,
    interleave: bool = True,
    cache: Path | None = None,
    missing: Missing | None = None,
    failed: Failed = "error",
    progress: Tell | None = None,
    keeper: CellStore | None = None,
    variations: Mapping[str, VariantInfo] | None = None,
) -> Run:
    """Run engines over gold sets and return their rankings.

    Gold is checked against its corpus before any engine starts. `missing` says what a target that is
    not there does: "error", or "report" and go on without it; by default only the standard library,
    which is whatever interpreter runs, is reported. `split` names parts of a divided set; sealed queries
    are asked only by name, and the look is written down beside the set before any engine starts.

    An engine that fails on every query has no quality to measure: with `failed="error"` that raises EngineError, whose
    `run` attribute has the rankings of all engines; with "report" the run is returned, with the worst values for it.

    Engines take turns at every question, so that what the machine does meanwhile hits all of them; with `interleave`
    off they come one after the other, and only one is open at a time. All have the same `threads` processors (all
    there are). After `give_up` time-outs in a row an engine is not asked any more on that corpus (0: it always is).
    With a `keeper`, a gold set that all engines were asked on is not asked again when a run is taken up.
    """
    suite = select(Suite((gold,)) if isinstance(gold, GoldSet) else gold, split).suite
    if k < 1:
        raise InputError(f"k is {k}", hint="ask for at least one result")
    if threads is not None and threads < 1:
        raise InputError(f"threads is {threads}", hint="an engine needs at least one")
    check_encodable(engines)
    tell = progress or (lambda _: None)
    places = []
    for part in suite.golds:
        tell(Progress("", part.name, 0, 1, "corpus"))
        places.append(prepare(part, forms, cache, missing))
    limits = EngineLimits(timeout, index_timeout, give_up)
    made = {name: as_engine(engine) for name, engine in engines.items()}
    register_secret_values(secret for engine in made.values() for secret in engine.secrets)
    log_access(suite, "run", list(engines))
    cells: dict[CellId, CellResult] = {}
    grounds = [survey(place) for place in places]
    with pinned(threads or available_threads()) as granted:
        circumstances = {**environment(), "pinned": granted, "interleaved": interleave and len(made) > 1}
        for place, ground in zip(places, grounds, strict=True):
            key = turns_key(made, ground, k, circumstances)
            found = keeper.read_turns(key, list(made)) if keeper else None
            asked = found or _ask(made, place, k, limits, tell, interleave=interleave)
            cells |= {CellId(place.gold.name, name): cell for name, cell in asked.items()}
            if keeper and not found:
                keeper.write_turns(key, asked)
    date = now().isoformat(timespec="seconds")
    header = make_header(grounds, date=date, environment=circumstances, timeout=timeout, timed=True)
    done = assemble(grounds, cells, list(made), k, header=header, variations=variations)
    return done if failed == "report" else check_answered(done)


def failed_engines(run: Run) -> dict[str, str]:
    """Return the engines that failed on every query, each with the first error."""
    return {
        engine.name: engine.rankings[0].error or engine.rankings[0].status.value
        for engine in run.engines
        if engine.failed_throughout
    }


def check_answered(run: Run) -> Run:
    """Return the run; raise EngineError if an engine of it failed on every query."""
    failed = failed_engines(run)
    if not failed:
        return run
    error = EngineError(
        "; ".join(f"{name} failed on every query: {reason}" for name, reason in failed.items()),
        hint='fix the engine, or pass failed="report" to score it with the worst values',
    )
    error.run = run
    raise error


def _ask(
    engines: Mapping[str, FullEngine],
    place: PreparedGold,
    k: int,
    limits: EngineLimits,
    tell: Tell,
    *,
    interleave: bool,
) -> dict[str, CellResult]:
    cells = {}
    for group in _groups(engines, interleave=interleave):
        for name, stay in run_interleaved(group, place, k, limits, tell).items():
            said = engine_run(name, group[name], place.gold.name, stay)
            cells[name] = CellResult(replace(said, date=today()), hit_lines(place, stay.rankings))
    return {name: cells[name] for name in engines}


def _groups(engines: Mapping[str, FullEngine], *, interleave: bool) -> list[dict[str, FullEngine]]:
    return [dict(engines)] if interleave else [{name: engine} for name, engine in engines.items()]
