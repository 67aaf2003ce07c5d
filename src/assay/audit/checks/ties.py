"""Check scores: finite, ordered by rank, and how ties are broken."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from assay.audit.checks.rankings import depths
from assay.audit.records import AuditFinding, Severity, fine, make_finding, not_applicable
from assay.audit.sessions import AuditRanking, AuditSessions, ResultLocation

Scored = Sequence[tuple[str, AuditRanking]]  # queries with their scored rankings


def check_ties(sessions: AuditSessions) -> Iterator[AuditFinding]:
    """Check the scores of every ordinary ranking."""
    rankings = [(query, sessions.ranking(query, sessions.config.k)) for query in sessions.queries]
    scored = [(query, one) for query, one in rankings if one.ok and any(score is not None for score in one.scores)]
    if not scored:
        yield not_applicable("scores", "the engine gives no scores")
        return
    yield _check_numbers(sessions, scored)
    clean = [(query, ranking) for query, ranking in scored if all(map(_is_number, ranking.scores))]
    yield _check_order(sessions, clean)
    yield _count_equal(sessions, clean)
    yield _check_stability(sessions, clean)


def _check_numbers(sessions: AuditSessions, scored: Scored) -> AuditFinding:
    bad = [(query, ranking) for query, ranking in scored if not all(map(_is_number, ranking.scores))]
    if not bad:
        return fine("numbers", f"the scores of all {len(scored)} answers are numbers", len(scored))
    query, ranking = bad[0]
    rank = next(rank for rank, score in enumerate(ranking.scores, start=1) if not _is_number(score))
    return make_finding(
        "numbers",
        Severity.BROKEN,
        f"{len(bad)} of {len(scored)} answers contain a score that is not a finite number",
        len(bad),
        len(scored),
        example=[f"query: {query}", f"rank {rank}, {ranking.locations[rank - 1]}: {ranking.scores[rank - 1]!r}"],
        commands=[sessions.repro(query, sessions.config.k)],
    )


def _check_order(sessions: AuditSessions, clean: Scored) -> AuditFinding:
    rising = [(query, ranking) for query, ranking in clean if any(b > a for a, b in pairwise(_floats(ranking)))]
    falling = [(query, ranking) for query, ranking in clean if any(b < a for a, b in pairwise(_floats(ranking)))]
    fewer = rising if len(rising) <= len(falling) else falling
    if not fewer:
        sentence = f"scores follow the rank in all {len(clean)} answers"
        return fine("order", sentence + ("; they rise, as distances do" if rising else ""), len(clean))
    query, ranking = fewer[0]
    return make_finding(
        "order",
        Severity.WEAKNESS,
        f"scores do not follow the rank in {len(fewer)} of {len(clean)} answers: something else orders them",
        len(fewer),
        len(clean),
        example=[f"query: {query}", f"scores: {list(ranking.scores)}"],
        commands=[sessions.repro(query, sessions.config.k)],
    )


def _count_equal(sessions: AuditSessions, clean: Scored) -> AuditFinding:
    law, k = "equal scores", sessions.config.k
    pairs = [(query, a == b) for query, ranking in clean for a, b in pairwise(_floats(ranking))]
    tied = sum(equal for _, equal in pairs)
    sentence = f"{tied} of {len(pairs)} adjacent results have equal scores"
    if not pairs or tied / len(pairs) < sessions.config.many_ties:
        return make_finding(law, Severity.FINE, sentence, tied, len(pairs))
    query = next(query for query, equal in pairs if equal)
    return make_finding(
        law,
        Severity.WEAKNESS,
        f"{sentence}: scores hardly determine the order",
        tied,
        len(pairs),
        example=[f"query: {query}", f"scores: {list(sessions.ranking(query, k).scores)}"],
        commands=[sessions.repro(query, k)],
    )


def _check_stability(sessions: AuditSessions, clean: Scored) -> AuditFinding:
    law, k = "stable", sessions.config.k
    tied = [query for query, ranking in clean if _tied_groups(ranking)]
    if not tied:
        return not_applicable(law, "no answer has equal scores")
    swapped = [(query, depth) for query in tied for depth in depths(sessions) if _swaps(sessions, query, depth)]
    if not swapped:
        sentence = f"equal scores keep their order in {len(tied)} of {len(tied)} queries that have them"
        return fine(law, sentence, len(tied))
    queries = len({query for query, _ in swapped})
    query, depth = swapped[0]
    return make_finding(
        law,
        Severity.BROKEN,
        f"results of equal score change their order in {queries} of {len(tied)} queries that have them",
        queries,
        len(tied),
        example=[f"query: {query}", f"top {k}: {sessions.ranking(query, k).text(k)}"],
        commands=[sessions.repro(query, k), sessions.repro(query, depth)],
    )


def _swaps(sessions: AuditSessions, query: str, depth: int) -> bool:
    """Return whether a new ranking at another depth orders tied results differently."""
    ranks = {location: rank for rank, location in enumerate(sessions.main.query(query, depth).locations)}
    for group in _tied_groups(sessions.ranking(query, sessions.config.k)):
        found = [ranks[location] for location in group if location in ranks]
        if found != sorted(found):
            return True
    return False


def _tied_groups(ranking: AuditRanking) -> list[list[ResultLocation]]:
    pairs = zip(_floats(ranking), ranking.locations, strict=True)
    groups = [[location for _, location in group] for _, group in groupby(pairs, key=lambda pair: pair[0])]
    return [group for group in groups if len(group) > 1]


def _floats(ranking: AuditRanking) -> list[float]:
    return [float(score) for score in ranking.scores if isinstance(score, int | float)]


def _is_number(score: object) -> bool:
    return isinstance(score, int | float) and not isinstance(score, bool) and math.isfinite(score)
