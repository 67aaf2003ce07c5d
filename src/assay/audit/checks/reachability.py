"""Check that the engine can return the targets of a gold set at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.audit.records import AuditFinding, Severity, fine, make_finding, not_applicable
from assay.audit.sessions import AuditSessions, shuffle
from assay.corpus import read_text
from assay.gold.lint.reachability import Ceiling, compute_ceiling
from assay.gold.lint.rules import EngineReach
from assay.types import Query, Span, Target

_LAW = "targets"


_QueryTarget = tuple[Query, Target]


def check_reachability(sessions: AuditSessions) -> Iterator[AuditFinding]:
    """Look up the targets in the chunks of the engine; if those are unknown, search for a sample of the targets."""
    gold, reach, config = sessions.target.gold, sessions.target.reach, sessions.config
    if not gold:
        yield not_applicable(_LAW, "there is no gold set; pass one with --gold")
        return
    queries = list(gold) if reach is not None else _draw(sessions, gold)
    targets = [(query, target) for query in queries for target in query.targets]
    if reach is not None:
        method, verb, limit = "all chunks of the engine are known", "can never be returned", "are at most"
        lost = [(query, target) for query, target in targets if not _in_chunks(reach, target.span)]
    else:
        verb, limit = "were not returned", "would be at most, if they never are,"
        method = f"each was searched at k = {config.deep} by its query, name, path and text"
        lost = [one for one in targets if not _is_found(sessions, *one)]
    if not lost:
        sentence = f"all {len(targets)} targets of {len(queries)} queries can be returned: {method}"
        yield fine(_LAW, sentence, len(targets))
        return
    ceiling = _ceiling(queries, lost, config.k)
    sentence = f"{len(lost)} of {len(targets)} targets of {len(queries)} queries {verb}: R@{config.k} and "
    sentence += f"nDCG@{config.k} {limit} {ceiling.recall:.3f} and {ceiling.ndcg:.3f}; {method}"
    sentence += "" if reach else ", which does not prove that they are never returned"
    example = [f"query {query.id}: {target.anchor}" for query, target in lost[: config.shown]]
    commands = [sessions.target.repro.query(probe, config.deep) for probe in _probes(sessions, *lost[0])]
    share = (len(lost), len(targets))
    yield make_finding(_LAW, Severity.WEAKNESS, sentence, *share, example=example, commands=commands)


def _draw(sessions: AuditSessions, gold: Sequence[Query]) -> list[Query]:
    drawn: list[Query] = []
    for query in shuffle(gold, sessions.config.seed):
        if sum(len(one.targets) for one in drawn) < sessions.config.targets:
            drawn.append(query)
    return drawn


def _in_chunks(reach: EngineReach, span: Span) -> bool:
    chunks = reach.chunks(span.path)
    return chunks is None or any(chunk.common_lines(span) for chunk in chunks)


def _is_found(sessions: AuditSessions, query: Query, target: Target) -> bool:
    for probe in _probes(sessions, query, target):
        ranking = sessions.ranking(probe, sessions.config.deep)
        for hit, location in zip(ranking.hits, ranking.locations, strict=True):
            lines = (hit.start, hit.start if hit.end is None else hit.end)
            known = all(isinstance(line, int) for line in lines)
            if Span(location.path, *(lines if known else (None, None))).common_lines(target.span) > 0:
                return True
    return False


def _probes(sessions: AuditSessions, query: Query, target: Target) -> list[str]:
    span = target.span
    name = (target.symbol or "").rpartition(".")[2].partition("~")[0]
    lines = read_text(sessions.target.corpus, span.path).split("\n")
    own = lines if span.start is None else lines[span.start - 1 : span.end]
    text = " ".join(" ".join(own).split())[: sessions.config.passage]
    return [probe for probe in dict.fromkeys((query.headline, name, span.path, text)) if probe.strip()]


def _ceiling(queries: Sequence[Query], lost: Sequence[_QueryTarget], k: int) -> Ceiling:
    unreachable = {(query.id, target.anchor) for query, target in lost}
    ceilings = []
    for query in queries:
        reachable = [target for target in query.targets if (query.id, target.anchor) not in unreachable]
        ceilings.append(compute_ceiling(query.targets, reachable, k))
    count = len(ceilings)
    return Ceiling(sum(one.recall for one in ceilings) / count, sum(one.ndcg for one in ceilings) / count)
