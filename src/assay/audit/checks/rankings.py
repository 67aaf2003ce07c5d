"""Checks of ordinary rankings: success, prefixes, number and distinctness of results, scores, ties, paths and lines."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from assay.audit.engine_client import (
    UNSTEADY,
    AuditRanking,
    AuditSessions,
    first_difference,
    is_prefix,
)
from assay.audit.findings import AuditFinding, Severity, fine, make_finding, not_applicable, not_tried
from assay.corpus import read_text
from assay.syntax.text import count_lines
from assay.types import Corpus, Hit, Span

Scored = Sequence[tuple[str, AuditRanking]]  # queries with their scored rankings


def check_answers(sessions: AuditSessions) -> Iterator[AuditFinding]:
    """Count the ordinary queries that failed or returned nothing."""
    k = sessions.config.k
    rankings = {query: sessions.ranking(query, k) for query in sessions.queries}
    failed = [query for query, ranking in rankings.items() if not ranking.ok]
    empty = [query for query, ranking in rankings.items() if ranking.ok and not ranking.locations]
    total = len(rankings)
    if failed:
        sentence = f"{len(failed)} of {total} ordinary queries failed"
        error = rankings[failed[0]].text(sessions.config.shown)
        yield sessions.problem("answers", Severity.BROKEN, sentence, failed[0], error, share=(len(failed), total))
        return
    sentence = f"all {total} ordinary queries succeeded"
    sentence += f"; {len(empty)} have no results, such as {empty[0]!r}" if empty else ""
    yield fine("answers", sentence, total)


def _depths(sessions: AuditSessions) -> list[int]:
    config = sessions.config
    return sorted({*config.depths, config.k, 2 * config.k})


def check_prefix(sessions: AuditSessions) -> Iterator[AuditFinding]:
    """Compare the rankings at each depth with those at the next."""
    for short, long in pairwise(_depths(sessions)):
        law = f"top {short} of top {long}"
        pairs = {query: (sessions.ranking(query, short), sessions.ranking(query, long)) for query in sessions.queries}
        pairs = {query: pair for query, pair in pairs.items() if all(ranking.ok for ranking in pair)}
        differing = [q for q, (one, other) in pairs.items() if not is_prefix(one.locations[:short], other.locations)]
        broken = [query for query in differing if sessions.is_steady(query, long) and sessions.is_steady(query, short)]
        if not pairs:
            yield not_tried(law, "no query succeeded at both depths")
        elif broken:
            one, other = pairs[broken[0]]
            rank = first_difference(one.locations[:short], other.locations[:short])
            sentence = f"top-{short} is not a prefix of top-{long} on {len(broken)} of {len(pairs)} queries"
            example = [f"top {short}: {one.text(short)}", f"top {long}: {other.text(long)}"]
            example.append(f"first difference at rank {rank}")
            share, depths = (len(broken), len(pairs)), (short, long)
            yield sessions.problem(law, Severity.BROKEN, sentence, broken[0], *example, share=share, depths=depths)
        elif differing:
            yield not_tried(law, UNSTEADY)
        else:
            yield fine(law, f"top-{short} is a prefix of top-{long} on all {len(pairs)} queries", len(pairs))


def check_depth(sessions: AuditSessions) -> Iterator[AuditFinding]:
    """Check the number and the distinctness of results at every depth."""

    def is_over(ranking: AuditRanking, k: int) -> bool:
        return len(ranking.locations) > k

    def has_repeats(ranking: AuditRanking, _k: int) -> bool:
        return len(set(ranking.locations)) < len(ranking.locations)

    yield _count_rankings(sessions, "at most k", Severity.BROKEN, is_over, "more than k results")
    yield _count_rankings(sessions, "no repeats", Severity.WEAKNESS, has_repeats, "the same result twice")
    yield _check_short(sessions)


def _count_rankings(
    sessions: AuditSessions, law: str, severity: Severity, breaks: Callable[[AuditRanking, int], bool], problem: str
) -> AuditFinding:
    levels = _depths(sessions)
    cases = [(query, k) for query in sessions.queries for k in levels if sessions.ranking(query, k).ok]
    broken = [(query, k) for query, k in cases if breaks(sessions.ranking(query, k), k)]
    if not broken:
        return fine(law, f"none of {len(cases)} rankings contains {problem}", len(cases))
    query, k = broken[0]
    ranking = sessions.ranking(query, k)
    names = [str(location) for location in ranking.locations]
    twice = [f"twice: {name}" for name in names if names.count(name) > 1][:1]
    sentence = f"{len(broken)} of {len(cases)} rankings contain {problem}"
    example = (f"requested {k}, got {len(names)}: {ranking.text(2 * k)}", *twice)
    return sessions.problem(law, severity, sentence, query, *example, share=(len(broken), len(cases)), depths=(k,))


def _check_short(sessions: AuditSessions) -> AuditFinding:
    law, total, broken = "k if available", 0, []
    for query in sessions.queries:
        for k, deeper in pairwise(_depths(sessions)):
            one, other = sessions.ranking(query, k), sessions.ranking(query, deeper)
            if one.ok and other.ok and len(set(one.locations)) == len(one.locations):
                total += 1
                if len(one.locations) < min(k, len(set(other.locations))):
                    broken.append((query, k, deeper))
    if not broken:
        return fine(law, f"none of {total} rankings has fewer than k results while a deeper one has more", total)
    query, k, deeper = broken[0]
    sentence = f"{len(broken)} of {total} rankings have fewer than k results while a deeper one has more"
    got = f"requested {k}, got {len(sessions.ranking(query, k).locations)}"
    more = f"requested {deeper}, got {len(set(sessions.ranking(query, deeper).locations))} distinct"
    share, depths = (len(broken), total), (k, deeper)
    return sessions.problem(law, Severity.BROKEN, sentence, query, got, more, share=share, depths=depths)


def check_ties(sessions: AuditSessions) -> Iterator[AuditFinding]:
    """Check the scores of every ordinary ranking: finite, ordered by rank, with stable ties."""
    rankings = [(query, sessions.ranking(query, sessions.config.k)) for query in sessions.queries]
    scored = [(query, one) for query, one in rankings if one.ok and any(score is not None for score in one.scores)]
    if not scored:
        yield not_applicable("scores", "the engine returns no scores")
        return
    yield _check_numbers(sessions, scored)
    clean = [(query, ranking) for query, ranking in scored if all(map(_is_number, ranking.scores))]
    yield _check_order(sessions, clean)
    yield _count_equal(sessions, clean)
    yield _check_stability(sessions, clean)


def _check_numbers(sessions: AuditSessions, scored: Scored) -> AuditFinding:
    law, total = "numbers", len(scored)
    bad = [(query, ranking) for query, ranking in scored if not all(map(_is_number, ranking.scores))]
    if not bad:
        return fine(law, f"the scores of all {total} rankings are numbers", total)
    query, ranking = bad[0]
    rank = next(rank for rank, score in enumerate(ranking.scores, start=1) if not _is_number(score))
    sentence = f"{len(bad)} of {total} rankings contain a score that is not a finite number"
    example = f"rank {rank}, {ranking.locations[rank - 1]}: {ranking.scores[rank - 1]!r}"
    return sessions.problem(law, Severity.BROKEN, sentence, query, example, share=(len(bad), total))


def _check_order(sessions: AuditSessions, clean: Scored) -> AuditFinding:
    law, total = "order", len(clean)
    rising = [(query, ranking) for query, ranking in clean if any(b > a for a, b in pairwise(_floats(ranking)))]
    falling = [(query, ranking) for query, ranking in clean if any(b < a for a, b in pairwise(_floats(ranking)))]
    fewer = min(rising, falling, key=len)
    if not fewer:
        sentence = f"scores follow the rank in all {total} rankings"
        return fine(law, sentence + ("; they rise, as distances do" if rising else ""), total)
    query, ranking = fewer[0]
    sentence = f"scores do not follow the rank in {len(fewer)} of {total} rankings: the results are not sorted by score"
    scores = f"scores: {list(ranking.scores)}"
    return sessions.problem(law, Severity.WEAKNESS, sentence, query, scores, share=(len(fewer), total))


def _count_equal(sessions: AuditSessions, clean: Scored) -> AuditFinding:
    law, k = "equal scores", sessions.config.k
    pairs = [(query, a == b) for query, ranking in clean for a, b in pairwise(_floats(ranking))]
    tied = sum(equal for _, equal in pairs)
    sentence = f"{tied} of {len(pairs)} adjacent results have equal scores"
    if not pairs or tied / len(pairs) < sessions.config.many_ties:
        return make_finding(law, Severity.FINE, sentence, tied, len(pairs))
    query = next(query for query, equal in pairs if equal)
    sentence += ": scores hardly determine the order"
    scores = f"scores: {list(sessions.ranking(query, k).scores)}"
    return sessions.problem(law, Severity.WEAKNESS, sentence, query, scores, share=(tied, len(pairs)))


def _check_stability(sessions: AuditSessions, clean: Scored) -> AuditFinding:
    law, k = "stable", sessions.config.k
    tied = [query for query, ranking in clean if _tied_groups(ranking)]
    total = len(tied)
    if not tied:
        return not_applicable(law, "no ranking has equal scores")
    swapped = [(query, depth) for query in tied for depth in _depths(sessions) if _swaps(sessions, query, depth)]
    if not swapped:
        return fine(law, f"equal scores keep their order in {total} of {total} queries that have them", total)
    queries = len({query for query, _ in swapped})
    query, depth = swapped[0]
    sentence = f"results of equal score change their order in {queries} of {total} queries that have them"
    top = f"top {k}: {sessions.ranking(query, k).text(k)}"
    share, depths = (queries, total), (k, depth)
    return sessions.problem(law, Severity.BROKEN, sentence, query, top, share=share, depths=depths)


def _swaps(sessions: AuditSessions, query: str, depth: int) -> bool:
    """Return whether a new ranking at another depth orders tied results differently."""
    ranks = {location: rank for rank, location in enumerate(sessions.main.query(query, depth).locations)}
    for group in _tied_groups(sessions.ranking(query, sessions.config.k)):
        found = [ranks[location] for location in group if location in ranks]
        if found != sorted(found):
            return True
    return False


def _tied_groups(ranking: AuditRanking) -> list[list[Span]]:
    pairs = zip(_floats(ranking), ranking.locations, strict=True)
    groups = [[location for _, location in group] for _, group in groupby(pairs, key=lambda pair: pair[0])]
    return [group for group in groups if len(group) > 1]


def _floats(ranking: AuditRanking) -> list[float]:
    return [float(score) for score in ranking.scores if isinstance(score, int | float)]


def _is_number(score: object) -> bool:
    return isinstance(score, int | float) and not isinstance(score, bool) and math.isfinite(score)


#: Problems of paths, with their severity and the predicate of the sentence.
_PROBLEMS: Mapping[str, tuple[Severity, str]] = {
    "outside": (Severity.BROKEN, "point outside the corpus"),
    "suffix": (Severity.BROKEN, "give only the end of a path, which can match several files"),
    "uncounted": (Severity.WEAKNESS, "name existing files that are not part of the corpus"),
    "unknown": (Severity.BROKEN, "name files that do not exist"),
    "absolute": (Severity.WEAKNESS, "are absolute paths"),
}


_BadResults = list[tuple[str, str]]  # queries, and what is wrong


def check_paths(sessions: AuditSessions) -> Iterator[AuditFinding]:
    corpus = sessions.main.corpus
    known = {file.path for file in corpus.files}
    bad_paths: dict[str, _BadResults] = {}
    bad_ranges: _BadResults = []
    lines: dict[str, int] = {}
    total = ranged = 0
    for query in sessions.queries:
        ranking = sessions.ranking(query, sessions.config.k)
        for hit, location in zip(ranking.hits, ranking.locations, strict=True):
            total += 1
            if problem := _path_problem(hit, location, corpus, known):
                bad_paths.setdefault(problem, []).append((query, str(hit.path)))
            if hit.start is None and hit.end is None:
                continue
            ranged += 1
            path = location.path
            if path in known and path not in lines:
                lines[path] = count_lines(read_text(sessions.target.corpus, path))
            if path in known and not _is_inside(hit, lines[path]):
                bad_ranges.append((query, f"{location} in a file of {lines[path]} lines"))
    if not total:
        yield not_tried("paths", "there were no results")
        return
    for name, (severity, predicate) in _PROBLEMS.items():
        if bad := bad_paths.get(name):
            sentence = f"{len(bad)} of {total} results {predicate}, such as {bad[0][1]}"
            yield sessions.problem(name, severity, sentence, *bad[0], share=(len(bad), total))
    if not bad_paths:
        yield fine("paths", f"all {total} results name files of the corpus, relative to its root", total)
    if not ranged:
        yield not_applicable("lines", "the engine returns files without lines")
    elif not bad_ranges:
        yield fine("lines", f"all {ranged} ranges are inside their files", ranged)
    else:
        sentence = f"{len(bad_ranges)} of {ranged} ranges are outside their file, such as {bad_ranges[0][1]}"
        share = (len(bad_ranges), ranged)
        yield sessions.problem("lines", Severity.BROKEN, sentence, *bad_ranges[0], share=share)


def _path_problem(hit: Hit, location: Span, corpus: Corpus, known: set[str]) -> str:
    if location.path in known:
        return "absolute" if str(hit.path).startswith("/") else ""
    path = posixpath.normpath(location.path.replace("\\", "/")) if location.path else ""
    if path.startswith(("/", "../")) or path == "..":
        return "outside"
    if path and any(other.endswith("/" + path) for other in known):
        return "suffix"
    return "uncounted" if path and (corpus.root / path).is_file() else "unknown"


def _is_inside(hit: Hit, lines: int) -> bool:
    start, end = hit.start, hit.start if hit.end is None else hit.end
    whole = all(isinstance(line, int) and not isinstance(line, bool) for line in (start, end))
    return whole and start is not None and end is not None and 1 <= start <= end <= max(lines, 1)
