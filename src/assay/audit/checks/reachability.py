"""Check that the engine can return the targets of a gold set at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.audit.checks.base import AuditCheck
from assay.audit.records import AuditFinding, Severity, share_of
from assay.audit.sessions import AuditSessions
from assay.corpus import read_text
from assay.gold.lint.reachability import Ceiling, compute_ceiling
from assay.types import Query, Span, Target

_LAW = "targets"


@dataclass(frozen=True, slots=True)
class _Sought:
    """A target, and the query it belongs to."""

    query: Query
    target: Target


def check(bench: AuditSessions) -> Iterator[AuditFinding]:
    """Look for every target, or for as many as are drawn."""
    gold = bench.subject.gold
    if not gold:
        yield bench.finding(CHECK.name, _LAW, Severity.NOT_APPLICABLE, "there is no gold set; --gold gives one")
        return
    queries = _drawn(bench, gold)
    sought = [_Sought(query, target) for query in queries for target in query.targets]
    known = bench.subject.reach is not None
    lost = [one for one in sought if not (_in_chunks(bench, one.target) if known else _is_found(bench, one))]
    how = "all chunks of the engine are known" if known else _method(bench)
    if not lost:
        said = f"all {len(sought)} targets of {len(queries)} queries can be returned: {how.partition(',')[0]}"
        yield bench.finding(CHECK.name, _LAW, Severity.FINE, said, share=share_of(0, len(sought)))
        return
    yield _told(bench, queries, sought, lost, how)


def _told(
    bench: AuditSessions, queries: Sequence[Query], sought: Sequence[_Sought], lost: Sequence[_Sought], how: str
) -> AuditFinding:
    k, known = bench.config.k, bench.subject.reach is not None
    top = _ceiling(queries, lost, k)
    verb = "can never be returned" if known else "were not returned"
    limit = "are at most" if known else "would be at most, if they never are,"
    said = f"{len(lost)} of {len(sought)} targets of {len(queries)} queries {verb}: "
    said += f"R@{k} and nDCG@{k} {limit} {top.recall:.3f} and {top.ndcg:.3f}; {how}"
    first = lost[0]
    example = [f"query {one.query.id}: {one.target.anchor}" for one in lost[: bench.config.shown]]
    commands = [bench.ask_command(probe, bench.config.deep) for probe in _probes(bench, first)]
    return bench.finding(
        CHECK.name,
        _LAW,
        Severity.WEAKNESS,
        said,
        share=share_of(len(lost), len(sought)),
        example=example,
        commands=commands,
    )


def _method(bench: AuditSessions) -> str:
    return (
        f"each was asked for at k = {bench.config.deep} by its query and by its name and path and text, which shows "
        "what can be returned but does not prove that the rest never is"
    )


def _drawn(bench: AuditSessions, gold: Sequence[Query]) -> list[Query]:
    import numpy as np

    if bench.subject.reach is not None:
        return list(gold)
    drawn, targets = [], 0
    for at in np.random.default_rng(bench.config.seed).permutation(len(gold)).tolist():
        if targets < bench.config.targets:
            drawn.append(gold[at])
            targets += len(gold[at].targets)
    return drawn


def _in_chunks(bench: AuditSessions, target: Target) -> bool:
    reach = bench.subject.reach
    chunks = None if reach is None else reach.chunks(target.span.path)
    return chunks is None or any(chunk.common_lines(target.span) for chunk in chunks)


def _is_found(bench: AuditSessions, sought: _Sought) -> bool:
    return any(_holds(bench, probe, sought.target.span) for probe in _probes(bench, sought))


def _holds(bench: AuditSessions, probe: str, span: Span) -> bool:
    reading = bench.answer(probe, bench.config.deep)
    for hit, place in zip(reading.hits, reading.places, strict=True):
        lines = (hit.start, hit.start if hit.end is None else hit.end)
        whole = not all(isinstance(at, int) for at in lines)
        if Span(place.path, *((None, None) if whole else lines)).common_lines(span) > 0:
            return True
    return False


def _probes(bench: AuditSessions, sought: _Sought) -> list[str]:
    target = sought.target
    name = (target.symbol or "").rpartition(".")[2].partition("~")[0]
    probes = [sought.query.headline, name, target.span.path, _text_of(bench, target.span)]
    return [probe for probe in dict.fromkeys(probes) if probe.strip()]


def _text_of(bench: AuditSessions, span: Span) -> str:
    lines = read_text(bench.subject.corpus, span.path).split("\n")
    own = lines if span.start is None else lines[span.start - 1 : span.end]
    return " ".join(" ".join(own).split())[: bench.config.passage]


def _ceiling(queries: Sequence[Query], lost: Sequence[_Sought], k: int) -> Ceiling:
    gone = {(one.query.id, one.target.anchor) for one in lost}
    tops = []
    for query in queries:
        reachable = [target for target in query.targets if (query.id, target.anchor) not in gone]
        tops.append(compute_ceiling(query.targets, reachable, k))
    return Ceiling(sum(top.recall for top in tops) / len(tops), sum(top.ndcg for top in tops) / len(tops))


CHECK = AuditCheck("reachability", "can the targets of the gold set be returned at all?", check)
