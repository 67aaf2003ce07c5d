"""Add content hashes to the line anchors of a gold set as it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from assay.gold.anchors.digests import content_digest
from assay.gold.reanchor.sets import Applied
from assay.types import Gold, Query, Target

#: Gives the lines of a file of the corpus; None when it has no such file.
Lines = Callable[[str], Sequence[str] | None]


def with_digests(gold: Gold, lines: Lines) -> Applied:
    """Give a set whose line anchors carry hashes; one that does not hold stays as it is and is told."""
    notes: list[str] = []
    queries = tuple(_hashed(query, lines, notes) for query in gold.queries)
    return Applied(replace(gold, queries=queries), tuple(notes))


def _hashed(query: Query, lines: Lines, notes: list[str]) -> Query:
    """Hash what a query points to; its labels follow."""
    new = {old.anchor: _target(old, query, lines, notes) for old in query.targets}
    wrong = {one.target.anchor: _target(one.target, query, lines, notes) for one in query.adversaries}
    anchors = {old: target.anchor for old, target in (new | wrong).items()}
    return replace(
        query,
        targets=tuple(new[old.anchor] for old in query.targets),
        adversaries=tuple(replace(one, target=wrong[one.target.anchor]) for one in query.adversaries),
        labels=tuple(replace(label, target=anchors.get(label.target, label.target)) for label in query.labels),
    )


def _target(target: Target, query: Query, lines: Lines, notes: list[str]) -> Target:
    """Hash the lines of one target; one that has a hash, a symbol or no lines is left alone."""
    start, end = target.span.start, target.span.end
    if target.symbol is not None or start is None or end is None or target.digest is not None:
        return target
    text = lines(target.span.path)
    if text is None or end > len(text):
        notes.append(f"query '{query.id}': {target.anchor} is not in the corpus, so it gets no hash")
        return target
    return replace(target, digest=content_digest(text[start - 1 : end]))
