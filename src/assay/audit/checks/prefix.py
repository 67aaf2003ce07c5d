"""Check that the top 5 is a prefix of the top 10."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from assay.audit.checks.base import UNSTEADY, AuditCheck
from assay.audit.records import AuditFinding, Severity, share_of
from assay.audit.sessions import AuditSessions, first_difference, is_prefix


def depths(bench: AuditSessions) -> list[int]:
    """Give the depths to ask at: the usual ones, the k of the audit and twice that."""
    return sorted({*bench.config.depths, bench.config.k, 2 * bench.config.k})


def check(bench: AuditSessions) -> Iterator[AuditFinding]:
    """Compare each depth with the next, on every query that was answered at both."""
    for short, long in pairwise(depths(bench)):
        asked = [text for text in bench.texts if bench.answer(text, short).ok and bench.answer(text, long).ok]
        parted = [text for text in asked if not _begins(bench, text, short, long)]
        broken = [text for text in parted if bench.is_steady(text, long) and bench.is_steady(text, short)]
        law = f"top {short} of top {long}"
        if not asked:
            yield bench.finding(CHECK.name, law, Severity.NOT_TRIED, "not tried: no query was answered at both depths")
        elif broken:
            yield _broken(bench, broken, len(asked), short, long)
        elif parted:
            yield bench.finding(CHECK.name, law, Severity.NOT_TRIED, UNSTEADY)
        else:
            said = f"top-{short} is a prefix of top-{long} on all {len(asked)} queries"
            yield bench.finding(CHECK.name, law, Severity.FINE, said, share=share_of(0, len(asked)))


def _begins(bench: AuditSessions, text: str, short: int, long: int) -> bool:
    return is_prefix(bench.answer(text, short).places[:short], bench.answer(text, long).places)


def _broken(bench: AuditSessions, broken: Sequence[str], asked: int, short: int, long: int) -> AuditFinding:
    text = broken[0]
    one, other = bench.answer(text, short), bench.answer(text, long)
    rank = first_difference(one.places[:short], other.places[:short])
    example = [
        f"query: {text}",
        f"top {short}: {one.show(short)}",
        f"top {long}: {other.show(long)}",
        f"they part at rank {rank}",
    ]
    return bench.finding(
        CHECK.name,
        f"top {short} of top {long}",
        Severity.BROKEN,
        f"top-{short} is no prefix of top-{long} on {len(broken)} of {asked} queries",
        share=share_of(len(broken), asked),
        example=example,
        commands=[bench.ask_command(text, short), bench.ask_command(text, long)],
    )


CHECK = AuditCheck("prefix", "is a short ranking the beginning of a longer one?", check)
