"""Queries in another process, with a given hash seed and thread count: `python -m assay.audit.worker JOB ANSWERS`."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

from assay.audit.sessions import AuditRanking, AuditSessions, RankingReader
from assay.engines.runner import close_session, open_session, query_session
from assay.errors import AssayError, EngineError
from assay.experiment.executors import THREAD_VARIABLES, pinned
from assay.files import write_atomic
from assay.processes.running import ProgramSpec, run_process


class NotPortableError(Exception):
    """The engine cannot be made in another process."""


def query_in_subprocess(sessions: AuditSessions, hash_seed: int, threads: int) -> tuple[AuditRanking, ...]:
    """Send the ordinary queries in another process; raise EngineError if the engine fails there."""
    target, config, queries = sessions.target, sessions.config, sessions.queries
    if target.factory is None:
        raise NotPortableError("the engine was passed as an object, which another process cannot create")
    corpus, directory = sessions.corpus_for_engine(), sessions.new_directory()
    job, answers_file = directory / "job", directory / "answers"
    try:
        job.write_bytes(pickle.dumps((target.factory, corpus, queries, config, threads)))
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise NotPortableError(f"cannot send its settings to another process: {error}") from error
    seconds = config.start + config.index_timeout + config.timeout * len(queries)
    argv = (sys.executable, "-P", "-m", "assay.audit.worker", str(job), str(answers_file))
    variables = {"PYTHONHASHSEED": str(hash_seed), **dict.fromkeys(THREAD_VARIABLES, str(threads))}
    finished = run_process(ProgramSpec(argv, None, {**os.environ, **variables}), seconds)
    if not answers_file.is_file():
        message = finished.last_error_line or finished.end
        if finished.end == "exit":  # errors of the engine are in the answers; this is an error of the worker
            raise NotPortableError(f"the worker process exited: {message}")
        raise EngineError(f"it failed in another process: {message}", hint="run the engine alone")
    answers = pickle.loads(answers_file.read_bytes())  # noqa: S301 - written by our process
    if isinstance(answers, AssayError):
        raise answers
    return tuple(map(RankingReader(target, corpus), answers))


def main(job_file: str, answers_file: str) -> None:
    """Run a job and write its outcomes, or the error."""
    factory, corpus, queries, config, threads = pickle.loads(Path(job_file).read_bytes())  # noqa: S301 - as above
    try:
        with pinned(threads):
            opened = open_session(factory.make(), corpus, config.index_timeout)
            try:
                answers: object = [query_session(opened.session, text, config.k, config.timeout) for text in queries]
            finally:
                close_session(opened.session)
    except AssayError as error:
        answers = error
    write_atomic(Path(answers_file), pickle.dumps(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
