"""Queries in another process, with a given hash seed and thread count: `python -m assay.audit.worker JOB ANSWERS`."""

from __future__ import annotations

import os
import pickle
import sys
from dataclasses import dataclass
from pathlib import Path

from assay.audit.sessions import AuditRanking, AuditSessions, RankingReader
from assay.engines.resources import THREAD_VARIABLES, pinned
from assay.engines.runner import QueryOutcome, close_session, open_session, query_session
from assay.errors import AssayError, EngineError
from assay.experiment.spec.model import EngineFactory
from assay.processes.running import ProgramSpec, run_process
from assay.types import Corpus


@dataclass(frozen=True, slots=True)
class ProcessConditions:
    """The hash seed and thread count of a process."""

    hash_seed: int
    threads: int

    @property
    def environment(self) -> dict[str, str]:
        return {"PYTHONHASHSEED": str(self.hash_seed), **dict.fromkeys(THREAD_VARIABLES, str(self.threads))}


@dataclass(frozen=True, slots=True)
class SubprocessJob:
    """The engine and queries of a process."""

    factory: EngineFactory
    corpus: Corpus
    queries: tuple[str, ...]
    k: int
    timeout: float
    index_timeout: float
    threads: int

    def run(self) -> tuple[QueryOutcome, ...]:
        with pinned(self.threads):
            opened = open_session(self.factory.make(), self.corpus, self.index_timeout)
            try:
                return tuple(query_session(opened.session, query, self.k, self.timeout) for query in self.queries)
            finally:
                close_session(opened.session)


class NotPortableError(Exception):
    """The engine cannot be made in another process."""


def query_in_subprocess(sessions: AuditSessions, conditions: ProcessConditions) -> tuple[AuditRanking, ...]:
    """Send the ordinary queries in another process; raise EngineError if the engine fails there."""
    target, config = sessions.target, sessions.config
    if target.factory is None:
        raise NotPortableError("the engine was handed in as an object, so no other process can make it")
    corpus, directory = sessions.corpus_for_engine(), sessions.new_directory()
    limits = (config.k, config.timeout, config.index_timeout, conditions.threads)
    job = SubprocessJob(target.factory, corpus, sessions.queries, *limits)
    try:
        (directory / "job").write_bytes(pickle.dumps(job))
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise NotPortableError(f"its settings cannot be handed to another process: {error}") from error
    seconds = config.start + config.index_timeout + config.timeout * len(job.queries)
    argv = (sys.executable, "-P", "-m", "assay.audit.worker", str(directory / "job"), str(directory / "answers"))
    finished = run_process(ProgramSpec(argv, None, {**os.environ, **conditions.environment}), seconds)
    if not (directory / "answers").is_file():
        message = finished.last_error_line or finished.end
        if finished.end == "exit":  # errors of the engine are in the answers; this is an error of the worker
            raise NotPortableError(f"the process that was to ask it ended by itself: {message}")
        raise EngineError(f"in another process it failed: {message}", hint="run it by itself")
    answers = pickle.loads((directory / "answers").read_bytes())  # noqa: S301 - written by our process
    if isinstance(answers, AssayError):
        raise answers
    return tuple(map(RankingReader(target, corpus), answers))


def main(job_file: str, answers_file: str) -> None:
    """Run a job and write its outcomes, or the error."""
    # When run as a script, this module is `__main__`, but the job was pickled with the imported one.
    job = pickle.loads(Path(job_file).read_bytes())  # noqa: S301 - written by our process
    try:
        answers: object = job.run()
    except AssayError as error:
        answers = error
    part = Path(answers_file + ".part")
    part.write_bytes(pickle.dumps(answers))
    part.replace(answers_file)


if __name__ == "__main__":
    main(*sys.argv[1:])
