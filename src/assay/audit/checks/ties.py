"""Check scores: finite, ordered by rank, and how ties are broken."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from assay.audit.checks.base import AuditCheck
from assay.audit.checks.prefix import depths
from assay.audit.records import AuditFinding, Severity, share_of
from assay.audit.sessions import AuditRanking, AuditSessions, ResultLocation


def check(bench: AuditSessions) -> Iterator[AuditFinding]:
    """Look at the scores of every answer at k."""
    read = [(text, bench.answer(text, bench.config.k)) for text in bench.texts]
    scored = [(text, one) for text, one in read if one.ok and any(score is not None for score in one.scores)]
    if not scored:
        yield bench.finding(CHECK.name, "scores", Severity.NOT_APPLICABLE, "the engine gives no scores")
        return
    yield _numbers(bench, scored)
    clean = [(text, one) for text, one in scored if all(map(_is_number, one.scores))]
    yield _falling(bench, clean)
    yield _equal(bench, clean)
    yield _stable(bench, clean)


def _numbers(bench: AuditSessions, scored: Sequence[tuple[str, AuditRanking]]) -> AuditFinding:
    bad = [(text, one) for text, one in scored if not all(map(_is_number, one.scores))]
    if not bad:
        said = f"the scores of all {len(scored)} answers are numbers"
        return bench.finding(CHECK.name, "numbers", Severity.FINE, said, share=share_of(0, len(scored)))
    text, one = bad[0]
    rank = next(at for at, score in enumerate(one.scores, start=1) if not _is_number(score))
    example = [f"query: {text}", f"rank {rank}, {one.places[rank - 1]}: {one.scores[rank - 1]!r}"]
    return bench.finding(
        CHECK.name, "numbers", Severity.BROKEN,
        f"{len(bad)} of {len(scored)} answers hold a score that is no finite number",
        share=share_of(len(bad), len(scored)), example=example, commands=[bench.ask_command(text, bench.config.k)],
    )  # fmt: skip


def _falling(bench: AuditSessions, clean: Sequence[tuple[str, AuditRanking]]) -> AuditFinding:
    rising = [(text, one) for text, one in clean if any(b > a for a, b in pairwise(_floats(one)))]
    falling = [(text, one) for text, one in clean if any(b < a for a, b in pairwise(_floats(one)))]
    worse = rising if len(rising) <= len(falling) else falling
    if not worse:
        said = f"scores go with the rank in all {len(clean)} answers"
        said += "; they rise, as distances do" if rising else ""
        return bench.finding(CHECK.name, "order", Severity.FINE, said, share=share_of(0, len(clean)))
    text, one = worse[0]
    return bench.finding(
        CHECK.name, "order", Severity.WEAKNESS,
        f"scores do not go with the rank in {len(worse)} of {len(clean)} answers: something else orders the results",
        share=share_of(len(worse), len(clean)), example=[f"query: {text}", f"scores: {list(one.scores)}"],
        commands=[bench.ask_command(text, bench.config.k)],
    )  # fmt: skip


def _equal(bench: AuditSessions, clean: Sequence[tuple[str, AuditRanking]]) -> AuditFinding:
    pairs = [(text, a == b) for text, one in clean for a, b in pairwise(_floats(one))]
    tied = sum(equal for _, equal in pairs)
    said = f"{tied} of {len(pairs)} neighbouring results have equal scores"
    if not pairs or tied / len(pairs) < bench.config.many_ties:
        return bench.finding(CHECK.name, "equal scores", Severity.FINE, said, share=share_of(tied, len(pairs)))
    text = next(text for text, equal in pairs if equal)
    example = [f"query: {text}", f"scores: {list(bench.answer(text, bench.config.k).scores)}"]
    return bench.finding(
        CHECK.name, "equal scores", Severity.WEAKNESS, f"{said}: they say little about the order",
        share=share_of(tied, len(pairs)), example=example, commands=[bench.ask_command(text, bench.config.k)],
    )  # fmt: skip


def _stable(bench: AuditSessions, clean: Sequence[tuple[str, AuditRanking]]) -> AuditFinding:
    tied = [text for text, one in clean if _groups(one)]
    if not tied:
        return bench.finding(CHECK.name, "stable", Severity.NOT_APPLICABLE, "no answer has equal scores")
    swapped = [(text, k) for text in tied for k in depths(bench) if _swaps(bench, text, k)]
    queries = len({text for text, _ in swapped})
    if not swapped:
        said = f"equal scores keep their order in {len(tied)} of {len(tied)} queries that have them"
        return bench.finding(CHECK.name, "stable", Severity.FINE, said, share=share_of(0, len(tied)))
    text, k = swapped[0]
    shown = bench.config.k
    return bench.finding(
        CHECK.name, "stable", Severity.BROKEN,
        f"results of equal score change places in {queries} of {len(tied)} queries that have them",
        share=share_of(queries, len(tied)),
        example=[f"query: {text}", f"top {shown}: {bench.answer(text, shown).show(shown)}"],
        commands=[bench.ask_command(text, shown), bench.ask_command(text, k)],
    )  # fmt: skip


def _swaps(bench: AuditSessions, text: str, k: int) -> bool:
    own, other = bench.answer(text, bench.config.k), bench.main.ask(text, k)
    at = {place: rank for rank, place in enumerate(other.places)}
    for group in _groups(own):
        ranks = [at[place] for place in group if place in at]
        if ranks != sorted(ranks):
            return True
    return False


def _groups(one: AuditRanking) -> list[list[ResultLocation]]:
    pairs = zip(_floats(one), one.places, strict=True)
    groups = [[place for _, place in group] for _, group in groupby(pairs, key=lambda pair: pair[0])]
    return [group for group in groups if len(group) > 1]


def _floats(one: AuditRanking) -> list[float]:
    return [float(score) for score in one.scores if isinstance(score, int | float)]


def _is_number(score: object) -> bool:
    return isinstance(score, int | float) and not isinstance(score, bool) and math.isfinite(score)


CHECK = AuditCheck("ties", "do scores go with the rank, and are equal ones in a stable order?", check)
