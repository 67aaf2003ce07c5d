"""Check that repeated queries, new sessions, hash seeds and thread counts give equal rankings.

`python -m assay.audit.checks.determinism JOB ANSWERS` runs the queries of a job in a separate process.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.audit.engine_client import (
    AuditRanking,
    AuditSessions,
    RankingReader,
    changed_queries,
    differ,
    first_difference,
    score_gap,
)
from assay.audit.findings import AuditFinding, Severity, fine, make_finding, not_tried
from assay.engines.calls import close_session, open_session, query_session, summarize
from assay.errors import AssayError, EngineError
from assay.experiment.executors import THREAD_VARIABLES, available_threads, pinned
from assay.files import write_atomic
from assay.processes.running import ProgramSpec, run_process

Rankings = Sequence[AuditRanking]  # one per ordinary query


def check_determinism(sessions: AuditSessions) -> Iterator[AuditFinding]:
    """Compare the rankings of repeated queries in one session, in a new session and in other processes."""
    k, queries, repeats = sessions.config.k, sessions.queries, sessions.config.repeats
    base = [sessions.ranking(query, k) for query in queries]
    rounds = [[sessions.main.query(query, k) for query in queries] for _ in range(repeats)]
    repeated = _compare(sessions, "repeats", f"when repeated {repeats + 1} times in one session", base, rounds)
    yield repeated
    if repeated.severity == Severity.BROKEN:
        for law in ("new session", "hash seed", "threads"):
            yield not_tried(law, "repeated queries in one session already give different rankings")
        return
    fresh = _new_session(sessions, base)
    yield fresh
    if fresh.severity in (Severity.BROKEN, Severity.NOT_TRIED):
        gave = "different rankings" if fresh.severity == Severity.BROKEN else "nothing to compare"
        for law in ("hash seed", "threads"):
            yield not_tried(law, f"a new session already gives {gave}")
        return
    yield from _other_processes(sessions)


def _new_session(sessions: AuditSessions, base: Rankings) -> AuditFinding:
    law, index = "new session", "on the index that the server has" if sessions.is_remote else "with a fresh index"
    try:
        with sessions.session() as session:
            fresh = [session.query(query, sessions.config.k) for query in sessions.queries]
    except AssayError as error:
        return make_finding(law, Severity.BROKEN, f"cannot open a second session: {summarize(error)}")
    return _compare(sessions, law, f"in a new session {index}", base, [fresh])


def _other_processes(sessions: AuditSessions) -> Iterator[AuditFinding]:
    seeds, threads = sessions.config.hash_seeds, available_threads()
    reason = ""
    if sessions.is_remote:
        reason = "Assay does not start the server and cannot set its hash seed and threads"
    else:
        try:
            base = query_in_subprocess(sessions, seeds[0], threads)
        except NotPortableError as error:
            reason = str(error)
        except AssayError as error:
            reason = summarize(error)
    if reason:
        yield from (not_tried(law, reason) for law in ("hash seed", "threads"))
        return

    def compare(law: str, condition: str, others: Sequence[tuple[int, int]], *environments: str) -> AuditFinding:
        try:
            rounds = [query_in_subprocess(sessions, *other) for other in others]
        except AssayError as error:
            return make_finding(law, Severity.BROKEN, f"the engine fails {condition}: {summarize(error)}")
        return _compare(sessions, law, condition, base, rounds, environments)

    first, last = f"PYTHONHASHSEED={seeds[0]}", f"PYTHONHASHSEED={seeds[-1]}"
    condition = f"with PYTHONHASHSEED = {', '.join(map(str, seeds))}"
    yield compare("hash seed", condition, [(seed, threads) for seed in seeds[1:]], first, last)
    if threads == 1:
        yield not_tried("threads", "only one processor is available")
        return
    condition = f"on 1 and on {threads} processors (affinity and thread variables)"
    single = f"{first} OMP_NUM_THREADS=1 RAYON_NUM_THREADS=1 taskset -c 0"
    yield compare("threads", condition, [(seeds[0], 1)], first, single)


def _compare(
    sessions: AuditSessions,
    law: str,
    condition: str,
    base: Rankings,
    rounds: Sequence[Rankings],
    environments: Sequence[str] = ("",),
) -> AuditFinding:
    """Compare repetitions of all queries under a condition, such as "in a new session", with the first rankings."""
    total = len(base)
    pairs = [[(repeated[index], first) for repeated in rounds] for index, first in enumerate(base)]
    severity, changed = changed_queries(pairs)
    if severity == Severity.FINE and not any(first.ok and first.locations for first in base):
        return not_tried(law, "no query returns a result")
    if severity == Severity.FINE:
        return fine(law, f"{condition}, all {total} queries get the same ranking", total)
    sentence = f"{condition}, {len(changed)} of {total} queries get a different ranking"
    if severity == Severity.WEAKNESS:
        gap = max(score_gap(a, b) for own in pairs for a, b in own)
        sentence = f"{condition}, the results are the same, but {len(changed)} of {total} queries get different scores"
        sentence += f", by up to {gap:.2g}"
    query = sessions.queries[changed[0]]
    other, first = next((a, b) for a, b in pairs[changed[0]] if differ(a, b))
    rank = first_difference(first.locations, other.locations)
    limit = max(sessions.config.shown, rank)
    example = [f"first: {first.text(limit)}", f"then:  {other.text(limit)}"]
    if not rank:
        example += [f"scores: {list(first.scores)}", f"then:   {list(other.scores)}"]
    share = (len(changed), total)
    return sessions.problem(law, severity, sentence, query, *example, share=share, environments=environments)


class NotPortableError(Exception):
    """The engine cannot run in another process."""


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
        raise NotPortableError(f"cannot send the settings of the engine to another process: {error}") from error
    seconds = config.start + config.index_timeout + config.timeout * len(queries)
    argv = (sys.executable, "-P", "-m", "assay.audit.checks.determinism", str(job), str(answers_file))
    variables = {"PYTHONHASHSEED": str(hash_seed), **dict.fromkeys(THREAD_VARIABLES, str(threads))}
    finished = run_process(ProgramSpec(argv, None, {**os.environ, **variables}), seconds)
    if not answers_file.is_file():
        message = finished.last_error_line or finished.end
        if finished.end == "exit":  # errors of the engine are in the answers; this is an error of the worker
            raise NotPortableError(f"the worker process exited: {message}")
        raise EngineError(f"the engine failed in another process: {message}", hint="run `assay engines check ENGINE`")
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
