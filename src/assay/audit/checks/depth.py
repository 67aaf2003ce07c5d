"""Check that an engine returns k distinct results when it has that many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from assay.audit.checks.base import AuditCheck
from assay.audit.checks.prefix import depths
from assay.audit.records import AuditFinding, Severity, share_of
from assay.audit.sessions import AuditRanking, AuditSessions


def check(bench: AuditSessions) -> Iterator[AuditFinding]:
    """Look at every answer at every depth."""
    levels = depths(bench)
    yield _counted(bench, "at most k", Severity.BROKEN, levels, _is_over, "more than k results")
    yield _counted(bench, "no repeats", Severity.WEAKNESS, levels, lambda one, _: _repeats(one), "the same place twice")
    yield _short(bench, levels)


def _counted(
    bench: AuditSessions,
    law: str,
    severity: Severity,
    levels: list[int],
    breaks: Callable[[AuditRanking, int], bool],
    what: str,
) -> AuditFinding:
    asked = [(text, k) for text in bench.texts for k in levels if bench.answer(text, k).ok]
    broken = [(text, k) for text, k in asked if breaks(bench.answer(text, k), k)]
    if not broken:
        said = f"none of {len(asked)} answers holds {what}"
        return bench.finding(CHECK.name, law, Severity.FINE, said, share=share_of(0, len(asked)))
    text, k = broken[0]
    answer = bench.answer(text, k)
    places = [str(place) for place in answer.places]
    twice = next((place for place in places if places.count(place) > 1), "")
    example = [f"query: {text}", f"asked for {k}, got {len(places)}: {answer.show(2 * k)}"]
    example += [f"twice: {twice}"] if twice else []
    return bench.finding(
        CHECK.name, law, severity, f"{len(broken)} of {len(asked)} answers hold {what}",
        share=share_of(len(broken), len(asked)), example=example, commands=[bench.ask_command(text, k)],
    )  # fmt: skip


def _short(bench: AuditSessions, levels: list[int]) -> AuditFinding:
    law, asked, broken = "k where there are k", 0, []
    for text in bench.texts:
        for k, deeper in pairwise(levels):
            one, other = bench.answer(text, k), bench.answer(text, deeper)
            if one.ok and other.ok and not _repeats(one):
                asked += 1
                broken += [(text, k, deeper)] if len(one.places) < min(k, len(set(other.places))) else []
    if not broken:
        said = f"none of {asked} answers stops short of k while a deeper one has more"
        return bench.finding(CHECK.name, law, Severity.FINE, said, share=share_of(0, asked))
    text, k, deeper = broken[0]
    example = [
        f"query: {text}",
        f"asked for {k}, got {len(bench.answer(text, k).places)}",
        f"asked for {deeper}, got {len(set(bench.answer(text, deeper).places))} distinct",
    ]
    return bench.finding(
        CHECK.name, law, Severity.BROKEN,
        f"{len(broken)} of {asked} answers have fewer than k results though a deeper one has more",
        share=share_of(len(broken), asked), example=example,
        commands=[bench.ask_command(text, k), bench.ask_command(text, deeper)],
    )  # fmt: skip


def _is_over(one: AuditRanking, k: int) -> bool:
    return len(one.places) > k


def _repeats(one: AuditRanking) -> bool:
    return len(set(one.places)) < len(one.places)


CHECK = AuditCheck("depth", "are k results given where k are asked for?", check)
