"""Where did a target go? Lines, symbols and whole files, each in its own way, with one kind of answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from assay.gold.anchors import content_digest, places
from assay.gold.reanchor.matching import Counterpart, MoveCandidate, elsewhere, find, in_file, voted
from assay.gold.reanchor.records import Confidence, Move, MoveSuggestion, OldRange, Reanchoring
from assay.gold.reanchor.sheets import Section
from assay.gold.reanchor.trees import CommitPair
from assay.types import Span, Target


def judge(old: OldRange, found: MoveCandidate, config: Reanchoring) -> Confidence:
    """Say how sure it is that a range went there."""
    if found.exact:
        return "unchanged" if found.span == old.span else "exact"
    if found.by == "scattered":
        return _graded(found.likeness, config.scattered, config.scattered_sure)
    if found.by == "around":
        return "lost"
    if found.by == "words":
        return "low" if found.likeness >= config.scattered_sure else "lost"
    if found.by == "new name":
        return "sure" if found.likeness >= config.renamed_sure else "low"
    if found.kept < config.named:
        return "lost"
    changed = _has_grown(old, found, config) or _has_shrunk(old, found, config)
    return "sure" if found.likeness >= config.sure and not changed else "low"


def _graded(likeness: float, low: float, sure: float) -> Confidence:
    return "sure" if likeness >= sure else "low" if likeness >= low else "lost"


def _has_grown(old: OldRange, found: MoveCandidate, config: Reanchoring) -> bool:
    """Tell whether a new range is so long that it must hold something else."""
    length = (found.span.end or 0) - (found.span.start or 0) + 1
    return length > config.grown * old.length + config.grown_lines


def _has_shrunk(old: OldRange, found: MoveCandidate, config: Reanchoring) -> bool:
    """Tell whether a new range is so short that most of the old one must be elsewhere, or gone."""
    length = (found.span.end or 0) - (found.span.start or 0) + 1
    return length < config.shrunk * old.length


def relocate(pair: CommitPair, target: Target) -> Move:
    """Say where a target of the old commit is in the new one."""
    if target.span.path not in pair.old:
        return _lost(target, f"{target.span.path} is not in the old revision")
    if target.symbol is not None:
        return _move_symbol(pair, target, target.symbol)
    if target.span.start is None or target.span.end is None:
        return _move_file(pair, target)
    return _move_lines(pair, target)


def _lost(target: Target, reason: str, candidates: Iterable[MoveSuggestion] = (), likeness: float = 0.0) -> Move:
    return Move(target, None, "lost", likeness, reason, tuple(candidates))


def _move_lines(pair: CommitPair, target: Target) -> Move:
    old = _held(pair, target)
    if old is None:
        return _lost(target, "the range does not hold in the old revision")
    found = find(pair, old)
    if not found:
        return _lost(target, "nothing of it is left")
    best = found[0]
    confidence = judge(old, best, pair.config)
    others = _candidates(pair, found[1:])
    if confidence == "lost":
        return _lost(target, "too little of it is left", (*_candidates(pair, found[:1]), *others), best.likeness)
    new = replace(target, span=best.span, unit=None, digest=target.digest and digest_of(pair, best.span))
    return Move(target, new, confidence, best.likeness, best.reason, others if confidence == "low" else ())


def digest_of(pair: CommitPair, span: Span) -> str:
    """Hash some lines of the new commit."""
    return content_digest(pair.after(span.path).text(span.start or 1, span.end or 1))


def _held(pair: CommitPair, target: Target) -> OldRange | None:
    path, start, end = target.span.path, target.span.start or 1, target.span.end or 1
    lines = pair.before(path).lines
    if target.digest is not None and content_digest(lines[start - 1 : end]) != target.digest:
        found = list(places(lines, target.digest, end - start + 1))
        return OldRange(path, found[0], found[0] + end - start) if len(found) == 1 else None
    return OldRange(path, start, end) if end <= len(lines) else None


def _candidates(pair: CommitPair, found: Iterable[MoveCandidate]) -> tuple[MoveSuggestion, ...]:
    worth = [one for one in found if one.likeness >= pair.config.candidate or one.by in ("name", "around")]
    return tuple(MoveSuggestion(one.span, one.likeness, one.reason) for one in worth[: pair.config.listed])


def _move_symbol(pair: CommitPair, target: Target, symbol: str) -> Move:
    path = target.span.path
    part = next((part for part in pair.before(path).parts if part.name == symbol), None)
    if part is None or pair.before(path).is_document:
        return _lost(target, f"symbol '{symbol}' is not in the old revision")
    here = [mate for other in pair.successors(path) if (mate := in_file(pair, path, part, other)) is not None]
    best = max(here, key=lambda mate: (mate.named, mate.likeness, mate.path), default=None)
    if best is None or (best.likeness < pair.config.moved and not _resolves(best, path, symbol)):
        best = elsewhere(pair, path, part) or best
    if best is None:
        return _lost(target, "there is no such definition any more", _by_lines(pair, path, part))
    new = Target(Span(best.path), target.grade, best.part.name)
    return Move(target, new, _symbol_confidence(pair, path, part, best), best.likeness, best.reason)


def _resolves(mate: Counterpart, path: str, symbol: str) -> bool:
    return mate.path == path and mate.part.name == symbol


def _symbol_confidence(pair: CommitPair, path: str, part: Section, mate: Counterpart) -> Confidence:
    old, new = Span(path, part.start, part.end), Span(mate.path, mate.part.start, mate.part.end)
    same = pair.before(path).text(part.start, part.end) == pair.after(mate.path).text(mate.part.start, mate.part.end)
    if same:
        return "unchanged" if _resolves(mate, path, part.name) else "exact"
    if not mate.named:
        return "sure" if mate.likeness >= pair.config.renamed_sure else "low"
    return "sure" if mate.likeness >= pair.config.sure or pair.kept(old, new) >= pair.config.sure else "low"


def _by_lines(pair: CommitPair, path: str, part: Section) -> list[MoveSuggestion]:
    return list(_candidates(pair, find(pair, OldRange(path, part.start, part.end))))


def _move_file(pair: CommitPair, target: Target) -> Move:
    path = target.span.path
    old = Span(path)
    if path in pair.new:
        kept = pair.kept(old, old)
        same = pair.old.blobs[path] == pair.new.blobs[path]
        confidence: Confidence = "unchanged" if same else "sure" if kept >= pair.config.named else "low"
        return Move(target, target, confidence, pair.alike(old, old), "the file is still there")
    found = [(pair.alike(old, Span(other)), other) for other in pair.successors(path)]
    if found:
        alike, other = max(found)
        exact = pair.before(path).lines == pair.after(other).lines
        confidence = "exact" if exact else "sure" if alike >= pair.config.sure else "low"
        return Move(target, replace(target, span=Span(other)), confidence, alike, f"renamed to {other}")
    return _lost(target, "the file is gone", _like_files(pair, path))


def _like_files(pair: CommitPair, path: str) -> list[MoveSuggestion]:
    old, length = Span(path), len(pair.before(path).lines)
    name = PurePosixPath(path).name
    named = {other for other in pair.new.blobs if PurePosixPath(other).name == name}
    holding = {span.path for span in voted(pair, OldRange(path, 1, length), whole=False)}
    scored = [(pair.alike(old, Span(other)), other) for other in sorted(named | holding)]
    best = sorted((one for one in scored if one[0] >= pair.config.candidate), key=lambda one: (-one[0], one[1]))
    reasons = {True: "same file name", False: "some of its lines stand there"}
    return [MoveSuggestion(Span(other), alike, reasons[other in named]) for alike, other in best[: pair.config.listed]]
