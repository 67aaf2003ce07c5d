"""The same questions in another process: with another hash seed, on other processors."""

from __future__ import annotations

import os
import pickle
import sys
from dataclasses import dataclass
from pathlib import Path

from assay.audit.bench import Bench, Reader
from assay.audit.rankings import Reading
from assay.engines.resources import THREAD_VARIABLES, pinned
from assay.engines.runner import Answer, ask, close_session, open_session
from assay.errors import AssayError, EngineError
from assay.experiment.spec.recipe import Recipe
from assay.processes import Task, run_process
from assay.types import Corpus


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the other process has of its own."""

    hash_seed: int
    threads: int

    @property
    def environment(self) -> dict[str, str]:
        """The variables that say so."""
        return {"PYTHONHASHSEED": str(self.hash_seed), **dict.fromkeys(THREAD_VARIABLES, str(self.threads))}


@dataclass(frozen=True, slots=True)
class Job:
    """What the other process is to do."""

    recipe: Recipe
    corpus: Corpus
    queries: tuple[str, ...]
    k: int
    timeout: float
    index_timeout: float
    threads: int

    def run(self) -> tuple[Answer, ...]:
        """Make the engine, open it and ask everything."""
        with pinned(self.threads):
            opened = open_session(self.recipe.make(), self.corpus, self.index_timeout)
            try:
                return tuple(ask(opened.session, query, self.k, self.timeout) for query in self.queries)
            finally:
                close_session(opened.session)


class CannotMove(Exception):
    """The engine cannot be made in another process; says why."""


def ask_elsewhere(bench: Bench, conditions: Conditions) -> tuple[Reading, ...]:
    """Ask every ordinary query in a process of its own; raise EngineError when the engine fails there."""
    recipe = bench.subject.recipe
    if recipe is None:
        raise CannotMove("the engine was handed in as an object, so no other process can make it")
    config, corpus, folder = bench.config, bench.ground(), bench.scratch()
    job = Job(recipe, corpus, bench.texts, config.k, config.timeout, config.index_timeout, conditions.threads)
    _write(job, folder / "job")
    seconds = config.start + config.index_timeout + config.timeout * len(job.queries)
    argv = (sys.executable, "-P", "-m", "assay.audit.worker", str(folder / "job"), str(folder / "answers"))
    finished = run_process(Task(argv, None, {**os.environ, **conditions.environment}), seconds)
    if not (folder / "answers").is_file():
        said = finished.last_words or finished.end
        if finished.end == "exit":  # what an engine raises is an answer; this is of our own making
            raise CannotMove(f"the process that was to ask it ended by itself: {said}")
        raise EngineError(f"in another process it failed: {said}", hint="run it by itself")
    answers = pickle.loads((folder / "answers").read_bytes())  # noqa: S301 - our own process wrote it
    if isinstance(answers, AssayError):
        raise answers
    read = Reader(bench.subject, corpus)
    return tuple(map(read, answers))


def _write(job: Job, path: Path) -> None:
    """Write down what is to be done; the folder is ours alone."""
    try:
        path.write_bytes(pickle.dumps(job))
    except (TypeError, AttributeError, pickle.PicklingError) as problem:
        raise CannotMove(f"its settings cannot be handed to another process: {problem}") from problem
