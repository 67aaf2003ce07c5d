"""Propose wrong answers for the queries of a set: near by name, by structure, and by what engines confuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from assay.gold.mining.adversaries.confusions import confusions
from assay.gold.mining.adversaries.relatives import Family, Neighbour
from assay.gold.mining.config import NEIGHBOURS
from assay.gold.mining.ground import Ground, stems
from assay.gold.mining.proposals import Intake, Passed
from assay.gold.mining.questions import ADDED
from assay.gold.review.items import Item, Origin
from assay.syntax.identifiers import parts
from assay.syntax.prose import content
from assay.types import Adversary, Gold, Query, Run, Span, Target

_JUDGE = "an engine may be right: say first whether it answers the query"


def mine_adversaries(intake: Intake, gold: Gold, run: Run | None = None) -> Passed:
    """Propose wrong answers for every query of a set."""
    family = Family(intake.ground)
    items = [item for query in gold.queries for item in _of_query(intake, family, gold, query, run)]
    return Passed(tuple(items))


def _of_query(intake: Intake, family: Family, gold: Gold, query: Query, run: Run | None) -> Iterator[Item]:
    """Propose for one query: what engines confuse first, then the nearest, a few of each relationship."""
    taken = _Taken(intake.ground, query)
    for one in confusions(intake.ground, run, gold.name, query) if run else ():
        target = taken.take(one.neighbour)
        if target is not None:
            origin = Origin("confusion", "run results", one.engines)
            yield _item(intake, query, target, one.neighbour, origin)
    for right in (spot for target in query.primaries for spot in intake.ground.spots_of(target)):
        for neighbour in family.neighbours(right):
            target = taken.take(neighbour) if _is_plausible(intake.ground, query, neighbour) else None
            if target is not None:
                yield _item(intake, query, target, neighbour, Origin("names", f"beside {right.name}"))


def _is_plausible(ground: Ground, query: Query, neighbour: Neighbour) -> bool:
    """Tell whether a neighbour holds enough of the query's words to be taken for the answer."""
    least = {
        "strong": NEIGHBOURS.strong_share,
        "medium": NEIGHBOURS.medium_share,
        "weak": NEIGHBOURS.weak_share,
    }
    headline = query.headline
    asked = stems(parts(" ".join(word for word in content(headline) if word not in ADDED)))
    shared = len(asked & ground.stems_of(neighbour.spot))
    return shared >= least[neighbour.strength] * len(asked)


def _item(intake: Intake, query: Query, target: Target, neighbour: Neighbour, origin: Origin) -> Item:
    """Make the item of one wrong answer."""
    adversary = Adversary(target, neighbour.relationship, neighbour.strength, neighbour.confusion)
    notes = (_JUDGE,) if origin.shown_by else ()
    return intake.item("adversary", replace(query, adversaries=(adversary,)), origin, notes)


class _Taken:
    """What a query has already, and how much more may be proposed for it."""

    def __init__(self, ground: Ground, query: Query) -> None:
        self._ground = ground
        there = [*query.targets, *(adversary.target for adversary in query.adversaries)]
        self._spans = [found.span for target in there if (found := ground.resolved(target)) is not None]
        self._counts = Counter(adversary.relationship for adversary in query.adversaries)
        self._names: set[tuple[str, tuple[str, ...]]] = set()  # a type and its blocks are one to a reader

    def take(self, neighbour: Neighbour) -> Target | None:
        """Give the anchor of a neighbour that can be proposed, and remember it; None when it cannot."""
        full = self._counts.total() >= NEIGHBOURS.total or self._counts[neighbour.relationship] >= NEIGHBOURS.each
        named = (neighbour.spot.path, neighbour.spot.names)
        if full or named in self._names or neighbour.spot.lines > NEIGHBOURS.longest:
            return None
        definition = neighbour.spot.definition
        span = Span(neighbour.spot.path, definition.start, definition.end)
        if any(span.common_lines(other) for other in self._spans):
            return None
        target = self._ground.anchor(neighbour.spot)
        if target is not None:
            self._counts[neighbour.relationship] += 1
            self._spans.append(span)
            self._names.add(named)
        return target
