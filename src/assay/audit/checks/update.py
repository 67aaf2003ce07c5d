"""Check that an updated index returns the same results as a rebuilt one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from assay.audit.checks.base import AuditCheck
from assay.audit.records import AuditFinding, Severity, share_of
from assay.audit.sessions import AuditRanking, AuditSessions, EngineClient, differ, first_difference, score_gap
from assay.corpus import read_bytes
from assay.corpus.languages import detect_type
from assay.corpus.opening import corpus_digest
from assay.engines.runner import summarize
from assay.errors import AssayError
from assay.types import Corpus, SourceFile

#: A word that no corpus has, in what is added, so that new text is asked for too.
_NEW_WORD = "quartzlantern"
_UNSEEN = "the engine does not see the edits"
#: Engines whose settings say how they are updated.
_ADAPTED = ("command", "http", "mcp")


@dataclass(frozen=True, slots=True)
class _Edit:
    """A change of some files: their new content, None where a file goes."""

    name: str
    words: str
    files: Mapping[str, bytes | None]


def check(bench: AuditSessions) -> Iterator[AuditFinding]:
    """Edit a copy step by step; after each step update one session and build another anew."""
    corpus = bench.ground(own=True)
    with bench.session(corpus) as session:
        if session.update(corpus) is None:
            said = "the engine does not update, or its adapter declares no way to"
            yield bench.finding(CHECK.name, "update", Severity.NOT_APPLICABLE, said)
            return
        edits = _edits(bench, corpus)
        for edit in edits:
            asked = _asked(bench, session, corpus, edit)
            corpus = _apply(corpus, edit)
            finding = _compared(bench, session, corpus, edit, asked)
            yield finding
            if finding.severity in (Severity.BROKEN, Severity.NOT_TRIED) and _UNSEEN not in finding.sentence:
                rest = edits[edits.index(edit) + 1 :]
                yield from (_untried(bench, later) for later in rest)
                return


def _asked(bench: AuditSessions, session: EngineClient, corpus: Corpus, edit: _Edit) -> dict[str, AuditRanking]:
    names = [" ".join(PurePosixPath(path).stem.split("_")) for path in edit.files]
    gone = [read_bytes(corpus, path).decode("utf-8", "replace") for path, data in edit.files.items() if data is None]
    passages = [" ".join(text.split())[: bench.config.passage] for text in gone]
    texts = dict.fromkeys((*bench.texts, _NEW_WORD, *names, *filter(None, passages)))
    return {text: session.ask(text, bench.config.k) for text in texts}


def _compared(
    bench: AuditSessions, session: EngineClient, corpus: Corpus, edit: _Edit, before: Mapping[str, AuditRanking]
) -> AuditFinding:
    texts = list(before)
    updated = session.update(corpus)
    if updated is not None and not updated.ok:
        said = f"after {edit.words} the update failed: {updated.error}"
        return bench.finding(CHECK.name, edit.name, Severity.BROKEN, said)
    ours = [session.ask(text, bench.config.k) for text in texts]
    try:
        with bench.session(_moved(bench, corpus)) as anew:
            theirs = [anew.ask(text, bench.config.k) for text in texts]
    except AssayError as problem:
        said = f"after {edit.words} a new session cannot be opened: {summarize(problem)}"
        return bench.finding(CHECK.name, edit.name, Severity.BROKEN, said)
    pairs = list(zip(ours, theirs, strict=True))
    moved = [at for at, (a, b) in enumerate(pairs) if differ(a, b)]
    if moved and _is_fickle(bench, session, corpus, [(texts[at], *pairs[at]) for at in moved]):
        said = f"not tried: after {edit.words} the same files and queries get other answers without any update too"
        return bench.finding(CHECK.name, edit.name, Severity.NOT_TRIED, said)
    if not moved and all(b.outcome == before[text].outcome for text, (_, b) in zip(texts, pairs, strict=True)):
        return _unseen(bench, edit, len(texts))
    return _told(bench, edit, texts, pairs)


def _unseen(bench: AuditSessions, edit: _Edit, asked: int) -> AuditFinding:
    why = (
        "its settings do not name {root}, so the server reads files of its own"
        if bench.is_remote
        else ("it may read other files than those it is given, or the edited file is never among its results")
    )
    said = f"not tried: {_UNSEEN}: after {edit.words} it gives all {asked} queries the old answers, rebuilt too; {why}"
    return bench.finding(CHECK.name, edit.name, Severity.NOT_TRIED, said)


def _is_fickle(
    bench: AuditSessions, session: EngineClient, corpus: Corpus, moved: Sequence[tuple[str, AuditRanking, AuditRanking]]
) -> bool:
    if any(differ(session.ask(text, bench.config.k), updated) for text, updated, _ in moved):
        return True
    with bench.session(_moved(bench, corpus)) as third:
        return any(differ(third.ask(text, bench.config.k), anew) for text, _, anew in moved)


def _told(
    bench: AuditSessions, edit: _Edit, texts: Sequence[str], pairs: Sequence[tuple[AuditRanking, AuditRanking]]
) -> AuditFinding:
    moved = [at for at, (a, b) in enumerate(pairs) if a.outcome != b.outcome]
    rescored = [at for at, (a, b) in enumerate(pairs) if score_gap(a, b)]
    total = len(texts)
    if not moved and not rescored:
        said = f"after {edit.words}, update equals rebuild on all {total} queries"
        return bench.finding(CHECK.name, edit.name, Severity.FINE, said, share=share_of(0, total))
    which, remedy = moved or rescored, ""
    updated, anew = pairs[which[0]]
    rank = max(first_difference(updated.places, anew.places), bench.config.shown)
    example = [f"query: {texts[which[0]]}", f"updated: {updated.show(rank)}", f"rebuilt: {anew.show(rank)}"]
    if moved:
        severity, said = Severity.BROKEN, "the updated index ranks otherwise than a rebuilt one"
        remedy = f"; {_remedy(bench)}"
    else:
        severity, said = Severity.WEAKNESS, "the updated index scores otherwise than a rebuilt one"
        example += [f"scores: {list(updated.scores)}", f"rebuilt: {list(anew.scores)}"]
    said = f"after {edit.words}, {said} on {len(which)} of {total} queries{remedy}"
    return bench.finding(CHECK.name, edit.name, severity, said, share=share_of(len(which), total), example=example)


def _remedy(bench: AuditSessions) -> str:
    if bench.subject.engine.config.get("kind") not in _ADAPTED:
        return "its update leaves something of the old files behind"
    return "declare in its settings as `update` what takes changed files in; if that is there, the tool itself is stale"


def _untried(bench: AuditSessions, edit: _Edit) -> AuditFinding:
    """Say that an edit was not made, because an earlier one already broke the law."""
    said = f"not tried: {edit.words} comes after an edit that could not be compared or went wrong"
    return bench.finding(CHECK.name, edit.name, Severity.NOT_TRIED, said)


def _edits(bench: AuditSessions, corpus: Corpus) -> list[_Edit]:
    import numpy as np

    fit = [f.path for f in corpus.files if f.kind == "code" and 0 < f.size <= bench.config.largest_edited]
    paths = [fit[at] for at in np.random.default_rng(bench.config.seed).permutation(len(fit)).tolist()]
    makers: tuple[Callable[[Corpus, str], _Edit], ...] = (_changed, _added, _renamed, _deleted)
    # A file is renamed or deleted only while another one is left.
    return [make(corpus, path) for make, path in zip(makers, paths, strict=False)]


def _changed(corpus: Corpus, path: str) -> _Edit:
    lines = read_bytes(corpus, path).split(b"\n")
    middle = len(lines) // 2
    new = [*lines[:middle], f"{_NEW_WORD} = {_NEW_WORD}".encode(), *lines[middle + middle // 2 :]]
    return _Edit("change", f"a change of {path}", {path: b"\n".join(new)})


def _added(corpus: Corpus, path: str) -> _Edit:
    new = _beside(path, "added")
    data = read_bytes(corpus, path) + f"\n{_NEW_WORD} = 1\n".encode()
    return _Edit("add", f"the addition of {new}", {new: data})


def _renamed(corpus: Corpus, path: str) -> _Edit:
    new = _beside(path, "renamed")
    return _Edit("rename", f"the renaming of {path}", {path: None, new: read_bytes(corpus, path)})


def _deleted(_corpus: Corpus, path: str) -> _Edit:
    return _Edit("delete", f"the deletion of {path}", {path: None})


def _beside(path: str, word: str) -> str:
    place = PurePosixPath(path)
    return place.with_name(f"{word}_{place.name}").as_posix()


def _apply(corpus: Corpus, edit: _Edit) -> Corpus:
    files = {file.path: file for file in corpus.files}
    hashes = dict(corpus.hashes)
    for path, data in edit.files.items():
        place = corpus.root / path
        if data is None:
            place.unlink()
            del files[path]
            hashes.pop(path, None)
        else:
            place.write_bytes(data)
            kind = detect_type(path, data)
            files[path] = SourceFile(path, len(data), kind.kind, kind.language)
            hashes[path] = hashlib.sha256(data).hexdigest()
    ordered = tuple(files[path] for path in sorted(files))
    return replace(corpus, files=ordered, hashes=hashes, digest=corpus_digest(hashes))


def _moved(bench: AuditSessions, corpus: Corpus) -> Corpus:
    """Copy an edited corpus, so that no index of the old place is found again."""
    return bench.ground(corpus, own=True)


CHECK = AuditCheck("update", "after edits, does an update equal a rebuild?", check)
