"""Check that repeated queries, new sessions, hash seeds and thread counts give equal rankings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.audit.records import AuditFinding, Severity, fine, make_finding, not_tried
from assay.audit.sessions import AuditRanking, AuditSessions, differ, first_difference, score_gap
from assay.audit.worker import NotPortableError, ProcessConditions, query_in_subprocess
from assay.engines.resources import available_threads
from assay.engines.runner import summarize
from assay.errors import AssayError

Rankings = Sequence[AuditRanking]  # one per ordinary query


@dataclass(frozen=True, slots=True)
class _Trial:
    """A repetition of all queries under a changed condition."""

    law: str
    condition: str  # such as "in a new session"
    environments: tuple[str, ...] = ("",)  # of the commands that show a difference


def check_determinism(sessions: AuditSessions) -> Iterator[AuditFinding]:
    """Repeat the queries in one session, then in others; stop where nothing is left to compare."""
    k, queries = sessions.config.k, sessions.queries
    base = [sessions.ranking(query, k) for query in queries]
    repeats = sessions.config.repeats
    rounds = [[sessions.main.query(query, k) for query in queries] for _ in range(repeats)]
    repeated = _compare(sessions, _Trial("repeats", f"when repeated {repeats + 1} times in one session"), base, *rounds)
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
    index = "on the index that the server has" if sessions.is_remote else "with a fresh index"
    trial = _Trial("new session", f"in a new session {index}")
    try:
        with sessions.session() as session:
            fresh = [session.query(query, sessions.config.k) for query in sessions.queries]
    except AssayError as error:
        return make_finding(trial.law, Severity.BROKEN, f"a second session cannot be opened: {summarize(error)}")
    return _compare(sessions, trial, base, fresh)


def _other_processes(sessions: AuditSessions) -> Iterator[AuditFinding]:
    seeds, threads = sessions.config.hash_seeds, available_threads()
    reason = ""
    if sessions.is_remote:
        reason = "Assay does not start the server, so its hash seed and threads are not ours to set"
    else:
        try:
            base = query_in_subprocess(sessions, ProcessConditions(seeds[0], threads))
        except NotPortableError as error:
            reason = str(error)
        except AssayError as error:
            reason = summarize(error)
    if reason:
        yield from (not_tried(law, reason) for law in ("hash seed", "threads"))
        return
    condition = f"with PYTHONHASHSEED = {', '.join(map(str, seeds))}"
    trial = _Trial("hash seed", condition, (f"PYTHONHASHSEED={seeds[0]}", f"PYTHONHASHSEED={seeds[-1]}"))
    yield _try_processes(sessions, trial, base, [ProcessConditions(seed, threads) for seed in seeds[1:]])
    if threads == 1:
        yield not_tried("threads", "this process may use one processor only")
        return
    condition = f"on 1 and on {threads} processors (affinity and thread variables)"
    variables = f"PYTHONHASHSEED={seeds[0]}"
    trial = _Trial("threads", condition, (variables, f"{variables} OMP_NUM_THREADS=1 RAYON_NUM_THREADS=1 taskset -c 0"))
    yield _try_processes(sessions, trial, base, [ProcessConditions(seeds[0], 1)])


def _try_processes(
    sessions: AuditSessions, trial: _Trial, base: Rankings, others: Sequence[ProcessConditions]
) -> AuditFinding:
    try:
        rounds = [query_in_subprocess(sessions, other) for other in others]
    except AssayError as error:
        return make_finding(trial.law, Severity.BROKEN, f"it fails {trial.condition}: {summarize(error)}")
    return _compare(sessions, trial, base, *rounds)


def _compare(sessions: AuditSessions, trial: _Trial, base: Rankings, *rounds: Rankings) -> AuditFinding:
    total = len(base)
    pairs = [[(repeated[index], first) for repeated in rounds] for index, first in enumerate(base)]
    moved = [index for index, own in enumerate(pairs) if any(a.outcome != b.outcome for a, b in own)]
    rescored = [index for index, own in enumerate(pairs) if any(score_gap(a, b) for a, b in own)]
    if moved:
        severity, indexes = Severity.BROKEN, moved
        sentence = f"{trial.condition}, {len(moved)} of {total} queries get a different ranking"
    elif rescored:
        severity, indexes = Severity.WEAKNESS, rescored
        gap = max(score_gap(a, b) for own in pairs for a, b in own)
        sentence = (
            f"{trial.condition}, the results are the same, but {len(rescored)} of {total} queries get different scores"
        )
        sentence += f", by up to {gap:.2g}"
    elif not any(first.ok and first.locations for first in base):
        return not_tried(trial.law, "no query returns a result")
    else:
        return fine(trial.law, f"{trial.condition}, all {total} queries get the same ranking", total)
    query = sessions.queries[indexes[0]]
    other, first = next((a, b) for a, b in pairs[indexes[0]] if differ(a, b))
    rank = first_difference(first.locations, other.locations)
    limit = max(sessions.config.shown, rank)
    example = [f"query: {query}", f"first: {first.text(limit)}", f"then:  {other.text(limit)}"]
    if not rank:
        example += [f"scores: {list(first.scores)}", f"then:   {list(other.scores)}"]
    commands = [sessions.repro(query, sessions.config.k, environment=variables) for variables in trial.environments]
    return make_finding(trial.law, severity, sentence, len(indexes), total, example=example, commands=commands)
