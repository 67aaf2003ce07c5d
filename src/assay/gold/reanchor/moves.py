"""Decide where a target moved: lines, symbols and whole files, each with a confidence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePosixPath

from assay.gold.anchors import content_digest, places
from assay.gold.reanchor.matching import (
    Counterpart,
    MoveCandidate,
    find_candidates,
    find_elsewhere,
    find_in_file,
    find_scattered,
)
from assay.gold.reanchor.records import Confidence, Move, MoveSuggestion, OldRange, Reanchoring
from assay.gold.reanchor.sheets import Section
from assay.gold.reanchor.trees import CommitPair
from assay.types import Span, Target


def relocate(pair: CommitPair, target: Target) -> Move:
    """Return where a target of the old commit is in the new one."""
    if target.span.path not in pair.old:
        return _lost(target, f"{target.span.path} is not in the old revision")
    if target.symbol is not None:
        return _move_symbol(pair, target, target.symbol)
    if target.span.start is None or target.span.end is None:
        return _move_file(pair, target)
    return _move_lines(pair, target, target.span.start, target.span.end)


def digest_of(pair: CommitPair, span: Span) -> str:
    """Return the content hash of lines of the new commit."""
    return content_digest(pair.after(span.path).text(span.start or 1, span.end or 1))


def judge(old: OldRange, found: MoveCandidate, config: Reanchoring) -> Confidence:
    """Return the confidence that a range moved to a candidate."""
    if found.exact:
        return "unchanged" if found.span == old.span else "exact"
    if found.by == "scattered":
        if found.likeness >= config.scattered_sure:
            return "sure"
        return "low" if found.likeness >= config.scattered else "lost"
    if found.by == "around":
        return "lost"
    if found.by == "words":
        return "low" if found.likeness >= config.scattered_sure else "lost"
    if found.by == "new name":
        return "sure" if found.likeness >= config.renamed_sure else "low"
    if found.contained < config.named:
        return "lost"
    length = (found.span.end or 0) - (found.span.start or 0) + 1
    grown = length > config.grown * old.length + config.grown_lines  # it must include something else
    shrunk = length < config.shrunk * old.length  # most of the old range must be elsewhere, or gone
    return "sure" if found.likeness >= config.sure and not grown and not shrunk else "low"


def _lost(target: Target, reason: str, candidates: Iterable[MoveSuggestion] = (), likeness: float = 0.0) -> Move:
    return Move(target, None, "lost", likeness, reason, tuple(candidates))


def _move_lines(pair: CommitPair, target: Target, start: int, end: int) -> Move:
    path = target.span.path
    lines = pair.before(path).lines
    if target.digest is not None and content_digest(lines[start - 1 : end]) != target.digest:
        at = list(places(lines, target.digest, end - start + 1))
        old = OldRange(path, at[0], at[0] + end - start) if len(at) == 1 else None
    else:
        old = OldRange(path, start, end) if end <= len(lines) else None
    if old is None:
        return _lost(target, "the range is not valid in the old revision")
    found = find_candidates(pair, old)
    if not found:
        return _lost(target, "no trace in the new revision")
    best, others = found[0], _suggest(pair, found[1:])
    confidence = judge(old, best, pair.config)
    if confidence == "lost":
        return _lost(target, "no sufficiently similar code", (*_suggest(pair, found[:1]), *others), best.likeness)
    new = replace(target, span=best.span, unit=None, digest=target.digest and digest_of(pair, best.span))
    return Move(target, new, confidence, best.likeness, best.reason, others if confidence == "low" else ())


def _suggest(pair: CommitPair, found: Iterable[MoveCandidate]) -> tuple[MoveSuggestion, ...]:
    worth = [one for one in found if one.likeness >= pair.config.candidate or one.by in ("name", "around")]
    return tuple(MoveSuggestion(one.span, one.likeness, one.reason) for one in worth[: pair.config.listed])


def _move_symbol(pair: CommitPair, target: Target, symbol: str) -> Move:
    path = target.span.path
    part = next((part for part in pair.before(path).parts if part.name == symbol), None)
    if part is None or pair.before(path).is_document:
        return _lost(target, f"symbol '{symbol}' is not in the old revision")
    here = [mate for other in pair.successors(path) if (mate := find_in_file(pair, path, part, other)) is not None]
    best = max(here, key=lambda mate: (mate.named, mate.likeness, mate.path), default=None)
    if best is None or (best.likeness < pair.config.moved and (best.path, best.part.name) != (path, symbol)):
        best = find_elsewhere(pair, path, part) or best
    if best is None:
        nearest = _suggest(pair, find_candidates(pair, OldRange(path, part.start, part.end)))
        return _lost(target, "the definition was removed", nearest)
    new = Target(Span(best.path), target.grade, best.part.name)
    return Move(target, new, _judge_symbol(pair, path, part, best), best.likeness, best.reason)


def _judge_symbol(pair: CommitPair, path: str, part: Section, mate: Counterpart) -> Confidence:
    if pair.before(path).text(part.start, part.end) == pair.after(mate.path).text(mate.part.start, mate.part.end):
        return "unchanged" if (mate.path, mate.part.name) == (path, part.name) else "exact"
    if not mate.named:
        return "sure" if mate.likeness >= pair.config.renamed_sure else "low"
    old, new = Span(path, part.start, part.end), Span(mate.path, mate.part.start, mate.part.end)
    return "sure" if max(mate.likeness, pair.contained(old, new)) >= pair.config.sure else "low"


def _move_file(pair: CommitPair, target: Target) -> Move:
    path = target.span.path
    old = Span(path)
    confidence: Confidence
    if path in pair.new:
        changed: Confidence = "sure" if pair.contained(old, old) >= pair.config.named else "low"
        confidence = "unchanged" if pair.old.blobs[path] == pair.new.blobs[path] else changed
        return Move(target, target, confidence, pair.alike(old, old), "same path")
    found = [(pair.alike(old, Span(other)), other) for other in pair.successors(path)]
    if found:
        alike, other = max(found)
        exact = pair.before(path).lines == pair.after(other).lines
        confidence = "exact" if exact else "sure" if alike >= pair.config.sure else "low"
        return Move(target, replace(target, span=Span(other)), confidence, alike, f"renamed to {other}")
    return _lost(target, "the file was removed", _suggest_files(pair, path))


def _suggest_files(pair: CommitPair, path: str) -> list[MoveSuggestion]:
    name = PurePosixPath(path).name
    named = {other for other in pair.new.blobs if PurePosixPath(other).name == name}
    lines = OldRange(path, 1, len(pair.before(path).lines))
    holding = {span.path for span in find_scattered(pair, lines, whole=False)}
    scored = [(-pair.alike(Span(path), Span(other)), other) for other in named | holding]
    return [
        MoveSuggestion(Span(other), -alike, "same file name" if other in named else "some of its lines")
        for alike, other in sorted(scored)[: pair.config.listed]
        if -alike >= pair.config.candidate
    ]
