"""Check that repeated queries, new sessions, hash seeds and thread counts give equal rankings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.audit.checks.base import AuditCheck
from assay.audit.records import AuditFinding, Severity, share_of
from assay.audit.sessions import (
    AuditRanking,
    AuditSessions,
    NotPortableError,
    ProcessConditions,
    differ,
    first_difference,
    query_in_subprocess,
    score_gap,
)
from assay.engines.resources import available_threads
from assay.engines.runner import summarize
from assay.errors import AssayError


@dataclass(frozen=True, slots=True)
class _Trial:
    """One more answer to each query, and what was different this time."""

    law: str
    words: str  # "in a new session"
    environments: tuple[str, str] = ("", "")  # of the two commands that show a difference


def check(bench: AuditSessions) -> Iterator[AuditFinding]:
    """Ask again in one session, then in others; stop where there is nothing left to compare."""
    base = [bench.answer(text, bench.config.k) for text in bench.texts]
    again = _repeats(bench, base)
    yield again
    if again.severity == Severity.BROKEN:
        reason = "not tried: in one session the same query already gets other answers"
        yield from (_untried(bench, law, reason) for law in ("new session", "hash seed", "threads"))
        return
    fresh = _new_session(bench, base)
    yield fresh
    if fresh.severity in (Severity.BROKEN, Severity.NOT_TRIED):
        gave = "other answers" if fresh.severity == Severity.BROKEN else "nothing to compare"
        reason = f"not tried: a new session already gives {gave}"
        yield from (_untried(bench, law, reason) for law in ("hash seed", "threads"))
        return
    yield from _other_processes(bench)


def _repeats(bench: AuditSessions, base: Sequence[AuditRanking]) -> AuditFinding:
    trial = _Trial("repeats", f"when asked {bench.config.repeats + 1} times in one session")
    rounds = [[bench.main.ask(text, bench.config.k) for text in bench.texts] for _ in range(bench.config.repeats)]
    return _compared(bench, trial, base, *rounds)


def _new_session(bench: AuditSessions, base: Sequence[AuditRanking]) -> AuditFinding:
    index = "on the index that the server has" if bench.is_remote else "with a fresh index"
    trial = _Trial("new session", f"in a new session {index}")
    try:
        with bench.session() as session:
            fresh = [session.ask(text, bench.config.k) for text in bench.texts]
    except AssayError as problem:
        said = f"a second session cannot be opened: {summarize(problem)}"
        return bench.finding(CHECK.name, trial.law, Severity.BROKEN, said)
    return _compared(bench, trial, base, fresh)


def _other_processes(bench: AuditSessions) -> Iterator[AuditFinding]:
    seeds, threads = bench.config.hash_seeds, available_threads()
    usual = ProcessConditions(seeds[0], threads)
    names = ("hash seed", "threads")
    if bench.is_remote:
        reason = "not tried: Assay does not start the server, so its hash seed and threads are not ours to set"
        yield from (_untried(bench, law, reason) for law in names)
        return
    try:
        base = query_in_subprocess(bench, usual)
    except (AssayError, NotPortableError) as problem:
        reason = str(problem) if isinstance(problem, NotPortableError) else summarize(problem)
        yield from (_untried(bench, law, f"not tried: {reason}") for law in names)
        return
    words = f"with PYTHONHASHSEED = {', '.join(map(str, seeds))}"
    shown = (f"PYTHONHASHSEED={seeds[0]}", f"PYTHONHASHSEED={seeds[-1]}")
    yield _elsewhere(
        bench, _Trial(names[0], words, shown), base, [ProcessConditions(seed, threads) for seed in seeds[1:]]
    )
    if threads == 1:
        yield _untried(bench, names[1], "not tried: this process may use one processor only")
        return
    alone = ProcessConditions(seeds[0], 1)
    words = f"on 1 and on {threads} processors (affinity and thread variables)"
    shown = (f"PYTHONHASHSEED={seeds[0]}", f"PYTHONHASHSEED={seeds[0]} {_variables(alone)} taskset -c 0")
    yield _elsewhere(bench, _Trial(names[1], words, shown), base, [alone])


def _elsewhere(
    bench: AuditSessions, trial: _Trial, base: Sequence[AuditRanking], others: Sequence[ProcessConditions]
) -> AuditFinding:
    try:
        rounds = [query_in_subprocess(bench, other) for other in others]
    except AssayError as problem:
        said = f"it fails {trial.words}: {summarize(problem)}"
        return bench.finding(CHECK.name, trial.law, Severity.BROKEN, said)
    return _compared(bench, trial, base, *rounds)


def _compared(
    bench: AuditSessions, trial: _Trial, base: Sequence[AuditRanking], *rounds: Sequence[AuditRanking]
) -> AuditFinding:
    pairs = [[(own[at], first) for own in rounds] for at, first in enumerate(base)]
    moved = [at for at, own in enumerate(pairs) if any(a.outcome != b.outcome for a, b in own)]
    total = len(base)
    if moved:
        said = f"{trial.words}, {len(moved)} of {total} queries get another ranking"
        return _told(bench, trial, Severity.BROKEN, said, moved, pairs)
    rescored = [at for at, own in enumerate(pairs) if any(score_gap(a, b) for a, b in own)]
    if rescored:
        gap = max(score_gap(a, b) for own in pairs for a, b in own)
        said = f"{trial.words}, the places are the same but {len(rescored)} of {total} queries get other scores, "
        return _told(bench, trial, Severity.WEAKNESS, f"{said}by up to {gap:.2g}", rescored, pairs)
    if not any(first.ok and first.places for first in base):
        return _untried(bench, trial.law, "not tried: no query gets a result, and nothing is always the same")
    said = f"{trial.words}, all {total} queries get the same answer"
    return bench.finding(CHECK.name, trial.law, Severity.FINE, said, share=share_of(0, total))


def _told(
    bench: AuditSessions,
    trial: _Trial,
    severity: Severity,
    said: str,
    which: Sequence[int],
    pairs: Sequence[Sequence[tuple[AuditRanking, AuditRanking]]],
) -> AuditFinding:
    text, k = bench.texts[which[0]], bench.config.k
    other, first = next((a, b) for a, b in pairs[which[0]] if differ(a, b))
    rank = first_difference(first.places, other.places)
    depth = max(bench.config.shown, rank)
    example = [f"query: {text}", f"first: {first.show(depth)}", f"then:  {other.show(depth)}"]
    if not rank:
        example += [f"scores: {list(first.scores)}", f"then:   {list(other.scores)}"]
    commands = [bench.ask_command(text, k, environment=environment) for environment in trial.environments]
    return bench.finding(
        CHECK.name, trial.law, severity, said,
        share=share_of(len(which), len(bench.texts)), example=example, commands=dict.fromkeys(commands),
    )  # fmt: skip


def _untried(bench: AuditSessions, law: str, reason: str) -> AuditFinding:
    return bench.finding(CHECK.name, law, Severity.NOT_TRIED, reason)


def _variables(conditions: ProcessConditions) -> str:
    return " ".join(f"{name}={conditions.threads}" for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS"))


CHECK = AuditCheck("determinism", "does the same question get the same answer every time?", check)
