"""Checks of ordinary rankings: queries succeed, the top 5 is a prefix of the top 10, k results are k distinct ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from assay.audit.records import AuditFinding, Severity, fine, make_finding, not_tried
from assay.audit.sessions import UNSTEADY, AuditRanking, AuditSessions, first_difference, is_prefix


def check_answers(sessions: AuditSessions) -> Iterator[AuditFinding]:
    """Count the ordinary queries that failed or returned nothing."""
    k = sessions.config.k
    rankings = {query: sessions.ranking(query, k) for query in sessions.queries}
    failed = [query for query, ranking in rankings.items() if not ranking.ok]
    empty = [query for query, ranking in rankings.items() if ranking.ok and not ranking.locations]
    total = len(rankings)
    if failed:
        yield make_finding(
            "answers",
            Severity.BROKEN,
            f"{len(failed)} of {total} ordinary queries failed",
            len(failed),
            total,
            example=[f"{failed[0]!r}: {rankings[failed[0]].text(sessions.config.shown)}"],
            commands=[sessions.repro(failed[0], k)],
        )
        return
    sentence = f"all {total} ordinary queries were answered"
    sentence += f"; {len(empty)} found nothing, such as {empty[0]!r}" if empty else ""
    yield fine("answers", sentence, total)


def depths(sessions: AuditSessions) -> list[int]:
    """Return the values of k to compare: the usual ones, the k of the audit and twice that."""
    config = sessions.config
    return sorted({*config.depths, config.k, 2 * config.k})


def check_prefix(sessions: AuditSessions) -> Iterator[AuditFinding]:
    """Compare the rankings at each depth with those at the next."""
    for short, long in pairwise(depths(sessions)):
        law = f"top {short} of top {long}"
        pairs = {query: (sessions.ranking(query, short), sessions.ranking(query, long)) for query in sessions.queries}
        pairs = {query: pair for query, pair in pairs.items() if all(ranking.ok for ranking in pair)}
        differing = [q for q, (one, other) in pairs.items() if not is_prefix(one.locations[:short], other.locations)]
        broken = [query for query in differing if sessions.is_steady(query, long) and sessions.is_steady(query, short)]
        if not pairs:
            yield not_tried(law, "no query was answered at both depths")
        elif broken:
            query = broken[0]
            one, other = pairs[query]
            rank = first_difference(one.locations[:short], other.locations[:short])
            yield make_finding(
                law,
                Severity.BROKEN,
                f"top-{short} is not a prefix of top-{long} on {len(broken)} of {len(pairs)} queries",
                len(broken),
                len(pairs),
                example=[
                    f"query: {query}",
                    f"top {short}: {one.text(short)}",
                    f"top {long}: {other.text(long)}",
                    f"first difference at rank {rank}",
                ],
                commands=[sessions.repro(query, short), sessions.repro(query, long)],
            )
        elif differing:
            yield not_tried(law, UNSTEADY)
        else:
            yield fine(law, f"top-{short} is a prefix of top-{long} on all {len(pairs)} queries", len(pairs))


def check_depth(sessions: AuditSessions) -> Iterator[AuditFinding]:
    """Check the number and the distinctness of results at every depth."""

    def is_over(ranking: AuditRanking, k: int) -> bool:
        return len(ranking.locations) > k

    def repeats(ranking: AuditRanking, k: int) -> bool:  # noqa: ARG001 - as `is_over`
        return _has_repeats(ranking)

    yield _count_rankings(sessions, "at most k", Severity.BROKEN, is_over, "more than k results")
    yield _count_rankings(sessions, "no repeats", Severity.WEAKNESS, repeats, "the same result twice")
    yield _check_short(sessions)


def _has_repeats(ranking: AuditRanking) -> bool:
    return len(set(ranking.locations)) < len(ranking.locations)


def _count_rankings(
    sessions: AuditSessions, law: str, severity: Severity, breaks: Callable[[AuditRanking, int], bool], problem: str
) -> AuditFinding:
    levels = depths(sessions)
    cases = [(query, k) for query in sessions.queries for k in levels if sessions.ranking(query, k).ok]
    broken = [(query, k) for query, k in cases if breaks(sessions.ranking(query, k), k)]
    if not broken:
        return fine(law, f"none of {len(cases)} answers contains {problem}", len(cases))
    query, k = broken[0]
    ranking = sessions.ranking(query, k)
    names = [str(location) for location in ranking.locations]
    twice = next((name for name in names if names.count(name) > 1), "")
    example = [f"query: {query}", f"asked for {k}, got {len(names)}: {ranking.text(2 * k)}"]
    return make_finding(
        law,
        severity,
        f"{len(broken)} of {len(cases)} answers contain {problem}",
        len(broken),
        len(cases),
        example=[*example, f"twice: {twice}"] if twice else example,
        commands=[sessions.repro(query, k)],
    )


def _check_short(sessions: AuditSessions) -> AuditFinding:
    law, total, broken = "k where there are k", 0, []
    for query in sessions.queries:
        for k, deeper in pairwise(depths(sessions)):
            one, other = sessions.ranking(query, k), sessions.ranking(query, deeper)
            if one.ok and other.ok and not _has_repeats(one):
                total += 1
                if len(one.locations) < min(k, len(set(other.locations))):
                    broken.append((query, k, deeper))
    if not broken:
        return fine(law, f"none of {total} answers stops short of k while a deeper one has more", total)
    query, k, deeper = broken[0]
    return make_finding(
        law,
        Severity.BROKEN,
        f"{len(broken)} of {total} answers have fewer than k results though a deeper one has more",
        len(broken),
        total,
        example=[
            f"query: {query}",
            f"asked for {k}, got {len(sessions.ranking(query, k).locations)}",
            f"asked for {deeper}, got {len(set(sessions.ranking(query, deeper).locations))} distinct",
        ],
        commands=[sessions.repro(query, k), sessions.repro(query, deeper)],
    )
