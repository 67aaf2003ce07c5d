"""Checks of the index: an updated one equals a rebuilt one, and the targets of a gold set can be returned."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from assay.audit.engine_client import (
    AuditRanking,
    AuditSessions,
    EngineClient,
    changed_queries,
    differ,
    first_difference,
    shuffle,
)
from assay.audit.findings import AuditFinding, Severity, fine, make_finding, not_applicable, not_tried
from assay.corpus import read_bytes, read_text
from assay.corpus.file_types import detect_type
from assay.corpus.opening import corpus_digest
from assay.engines.calls import summarize
from assay.errors import AssayError
from assay.gold.lint.reachability import Ceiling, compute_ceiling
from assay.gold.lint.rules import EngineReach
from assay.types import Corpus, Query, SourceFile, Span, Target

#: A word that no corpus has, added by the edits and queried.
_NEW_WORD = "quartzlantern"
_UNSEEN = "the engine does not see the edits"
#: Kinds of engines whose settings declare an update.
_ADAPTED = ("command", "http", "mcp")


@dataclass(frozen=True, slots=True)
class _Edit:
    name: str
    description: str
    files: Mapping[str, bytes | None]  # path -> new content; None: deleted


def check_update(sessions: AuditSessions) -> Iterator[AuditFinding]:
    """Edit a copy of the corpus step by step; after each step, compare an updated session with a new one."""
    corpus = sessions.corpus_for_engine(copy=True)
    with sessions.session(corpus) as session:
        if session.update(corpus) is None:
            yield not_applicable("update", "the engine has no update, or its adapter declares none")
            return
        edits = _make_edits(sessions, corpus)
        for number, edit in enumerate(edits, start=1):
            before = {query: session.query(query, sessions.config.k) for query in _queries(sessions, corpus, edit)}
            corpus = _apply(corpus, edit)
            finding = _compare(sessions, session, corpus, edit, before)
            yield finding
            if finding.severity in (Severity.BROKEN, Severity.NOT_TRIED) and _UNSEEN not in finding.sentence:
                for later in edits[number:]:
                    reason = f"{later.description} follows an edit that failed or could not be compared"
                    yield not_tried(later.name, reason)
                return


def _queries(sessions: AuditSessions, corpus: Corpus, edit: _Edit) -> list[str]:
    names = [" ".join(PurePosixPath(path).stem.split("_")) for path in edit.files]
    deleted = [read_bytes(corpus, path).decode("utf-8", "replace") for path, data in edit.files.items() if data is None]
    passages = [" ".join(text.split())[: sessions.config.passage] for text in deleted]
    return list(dict.fromkeys((*sessions.queries, _NEW_WORD, *names, *filter(None, passages))))


def _compare(
    sessions: AuditSessions, session: EngineClient, corpus: Corpus, edit: _Edit, before: Mapping[str, AuditRanking]
) -> AuditFinding:
    k, queries = sessions.config.k, list(before)
    result = session.update(corpus)
    if result is not None and not result.ok:
        sentence = f"after {edit.description}, the update failed: {result.error}"
        return make_finding(edit.name, Severity.BROKEN, sentence)
    updated = [session.query(query, k) for query in queries]
    try:
        rebuilt = _rebuild(sessions, corpus, queries)
    except AssayError as error:
        sentence = f"after {edit.description}, a new session cannot be opened: {summarize(error)}"
        return make_finding(edit.name, Severity.BROKEN, sentence)
    changed = [n for n, (a, b) in enumerate(zip(updated, rebuilt, strict=True)) if differ(a, b)]
    if changed:
        # do the updated session and a third one repeat their rankings without an update?
        unsteady = any(differ(session.query(queries[n], k), updated[n]) for n in changed)
        if not unsteady:
            again = _rebuild(sessions, corpus, [queries[n] for n in changed])
            unsteady = any(differ(ranking, rebuilt[n]) for n, ranking in zip(changed, again, strict=True))
        if unsteady:
            reason = "the same files and queries get different rankings without any update too"
            return not_tried(edit.name, f"after {edit.description} {reason}")
    elif all(ranking.outcome == before[query].outcome for query, ranking in zip(queries, rebuilt, strict=True)):
        why = "it may read other files, or never return the edited file"
        if sessions.is_remote:
            why = "its settings do not name {root}, so the server reads other files"
        reason = f"{_UNSEEN}: after {edit.description} all {len(queries)} queries give the old rankings, after a "
        return not_tried(edit.name, f"{reason}rebuild too; {why}")
    return _report(sessions, edit, queries, updated, rebuilt)


def _rebuild(sessions: AuditSessions, corpus: Corpus, queries: list[str]) -> list[AuditRanking]:
    """Query a new session on a copy of the corpus, where no index exists."""
    with sessions.session(sessions.corpus_for_engine(corpus, copy=True)) as session:
        return [session.query(query, sessions.config.k) for query in queries]


def _report(
    sessions: AuditSessions, edit: _Edit, queries: list[str], updated: list[AuditRanking], rebuilt: list[AuditRanking]
) -> AuditFinding:
    pairs, total = list(zip(updated, rebuilt, strict=True)), len(queries)
    severity, changed = changed_queries([[pair] for pair in pairs])
    if severity == Severity.FINE:
        return fine(edit.name, f"after {edit.description}, update equals rebuild on all {total} queries", total)
    new, anew = pairs[changed[0]]
    limit = max(first_difference(new.locations, anew.locations), sessions.config.shown)
    example = [f"query: {queries[changed[0]]}", f"updated: {new.text(limit)}", f"rebuilt: {anew.text(limit)}"]
    verb, remedy = "ranks", "; the update keeps parts of the old files"
    if severity == Severity.WEAKNESS:
        verb, remedy = "scores", ""
        example += [f"scores: {list(new.scores)}", f"rebuilt: {list(anew.scores)}"]
    elif sessions.target.engine.config.get("kind") in _ADAPTED:
        remedy = "; declare a command for changed files as `update` in the settings; if `update` is declared, it does "
        remedy += "not update all files"
    sentence = f"after {edit.description}, the updated index {verb} differently from a rebuilt one "
    sentence += f"on {len(changed)} of {total} queries{remedy}"
    return make_finding(edit.name, severity, sentence, len(changed), total, example=example)


def _make_edits(sessions: AuditSessions, corpus: Corpus) -> list[_Edit]:
    """Return up to four edits of different files; a corpus of one or two files keeps them."""
    fit = [f.path for f in corpus.files if f.kind == "code" and 0 < f.size <= sessions.config.largest_edited]
    edits = []
    for name, path in zip(("change", "add", "rename", "delete"), shuffle(fit, sessions.config.seed), strict=False):
        data, file = read_bytes(corpus, path), PurePosixPath(path)
        if name == "change":
            lines = data.split(b"\n")
            middle = len(lines) // 2
            new = [*lines[:middle], f"{_NEW_WORD} = {_NEW_WORD}".encode(), *lines[middle + middle // 2 :]]
            edits.append(_Edit(name, f"a change of {path}", {path: b"\n".join(new)}))
        elif name == "add":
            added = str(file.with_name(f"added_{file.name}"))
            edits.append(_Edit(name, f"the addition of {added}", {added: data + f"\n{_NEW_WORD} = 1\n".encode()}))
        elif name == "rename":
            renamed = str(file.with_name(f"renamed_{file.name}"))
            edits.append(_Edit(name, f"the renaming of {path}", {path: None, renamed: data}))
        else:
            edits.append(_Edit(name, f"the deletion of {path}", {path: None}))
    return edits


def _apply(corpus: Corpus, edit: _Edit) -> Corpus:
    files = {file.path: file for file in corpus.files}
    hashes = dict(corpus.hashes)
    for path, data in edit.files.items():
        if data is None:
            (corpus.root / path).unlink()
            del files[path]
            hashes.pop(path, None)
        else:
            (corpus.root / path).write_bytes(data)
            kind = detect_type(path, data)
            files[path] = SourceFile(path, len(data), kind.kind, kind.language)
            hashes[path] = hashlib.sha256(data).hexdigest()
    ordered = tuple(files[path] for path in sorted(files))
    return replace(corpus, files=ordered, hashes=hashes, digest=corpus_digest(hashes))


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
        verb, limit = "were not returned", "would be at most"
        method = f"each was searched at k = {config.deep} by its query, name, path and text"
        lost = [one for one in targets if not _is_found(sessions, *one)]
    if not lost:
        sentence = f"all {len(targets)} targets of {len(queries)} queries can be returned: {method}"
        yield fine(_LAW, sentence, len(targets))
        return
    ceiling = _ceiling(queries, lost, config.k)
    sentence = f"{len(lost)} of {len(targets)} targets of {len(queries)} queries {verb}: R@{config.k} and "
    sentence += f"nDCG@{config.k} {limit} {ceiling.recall:.3f} and {ceiling.ndcg:.3f}; {method}"
    sentence += "" if reach else ", which does not prove that the engine never returns them"
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
