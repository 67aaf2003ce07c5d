"""G3: labels of one query that do not stand apart."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from assay.gold.lint.rules import LintFinding, LintRule, Repair
from assay.gold.lint.view import LintContext, written
from assay.types import Query, Target

OVERLAP = LintRule(
    "G301",
    "targets-overlap",
    "warning",
    "Two targets of a query share lines, and neither holds the other.",
    "A result on the shared lines is right twice elsewhere and once here: cut them so that they stand apart.",
)
INSIDE = LintRule(
    "G302",
    "target-inside-another",
    "warning",
    "A target of a query lies inside another of its targets.",
    "Whatever finds the inner one has found the outer one too. Keep one, or cut the outer one.",
)
SAME = LintRule(
    "G303",
    "target-twice",
    "warning",
    "Two anchors of a query are the same lines.",
    "An answer counts once. `--fix` keeps the symbol anchor when both have the same grade.",
    fixable=True,
)
ADVERSARY = LintRule(
    "G304",
    "adversary-overlaps-target",
    "error",
    "An adversary shares lines with a target of its query.",
    "A result there is right and wrong at once: anchor both more narrowly, or drop one.",
)
RULES = (OVERLAP, INSIDE, SAME, ADVERSARY)


def check(view: LintContext) -> Iterator[LintFinding]:
    """Yield labels of one query that share lines."""
    sources = {query.id: query for query in view.gold.queries}
    for query in view.resolved():
        source = sources[query.id]
        for one, other in combinations(query.targets, 2):
            yield from _pair(view, source, one, other)
        for adversary in query.adversaries:
            yield from _adversary(view, source, adversary.target, query.targets)


def _pair(view: LintContext, query: Query, one: Target, other: Target) -> Iterator[LintFinding]:
    if not one.span.common_lines(other.span) or (_is_whole(one) and _is_whole(other)):
        return
    first, second = written(query, one), written(query, other)
    if one.span == other.span:
        message = f"{first} and {second} are the same lines, {one.span}"
        yield view.finding(SAME, query, second, message, "keep one", _repair(query, one, other))
    elif _holds(one, other) or _holds(other, one):
        inner, outer = (second, first) if _holds(one, other) else (first, second)
        yield view.finding(INSIDE, query, inner, f"{inner} lies inside {outer}, a target of the same query")
    else:
        common = one.span.common_lines(other.span)
        message = f"{first} and {second} share {common} {'line' if common == 1 else 'lines'}"
        yield view.finding(OVERLAP, query, second, message)


def _adversary(view: LintContext, query: Query, wrong: Target, targets: tuple[Target, ...]) -> Iterator[LintFinding]:
    for target in targets:
        common = wrong.span.common_lines(target.span)
        if common:
            anchor = written(query, wrong)
            message = f"the adversary {anchor} shares {common} lines with the target {written(query, target)}"
            yield view.finding(ADVERSARY, query, anchor, message)


def _is_whole(target: Target) -> bool:
    return target.span.start is None


def _holds(outer: Target, inner: Target) -> bool:
    if _is_whole(outer) or _is_whole(inner):
        return _is_whole(outer)
    return outer.span.common_lines(inner.span) == inner.span.common_lines(inner.span)


def _repair(query: Query, one: Target, other: Target) -> Repair | None:
    if one.grade != other.grade or (one.symbol and other.symbol):
        return None
    return Repair(written(query, one if other.symbol else other), None)
