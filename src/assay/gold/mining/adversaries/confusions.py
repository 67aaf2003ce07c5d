"""Wrong answers by what engines confuse: results that several of them rank above the first right one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assay.gold.mining.adversaries.relatives import Neighbour
from assay.gold.mining.config import NEIGHBOURS
from assay.gold.mining.ground import Ground, Spot, joined
from assay.gold.synth.survey import is_aside
from assay.types import EngineRun, Hit, Query, Ranking, Run, Target


@dataclass(slots=True)
class _Seen:
    """How high engines ranked a definition above the right answer."""

    spot: Spot
    ranks: dict[str, int] = field(default_factory=dict)  # engine -> best rank


@dataclass(frozen=True, slots=True)
class Confusion:
    """A neighbour that engines prefer, and which."""

    neighbour: Neighbour
    engines: tuple[str, ...]


def confusions(ground: Ground, run: Run, gold: str, query: Query) -> Iterator[Confusion]:
    """Yield what engines rank above the right answer, by how many do and how high."""
    engines = _distinct(run, gold, query.id)
    needed = min(NEIGHBOURS.engines, len(engines))
    resolved = tuple(found for target in query.targets if (found := ground.resolved(target)) is not None)
    seen: dict[tuple[str, int], _Seen] = {}
    for engine in engines:
        for ranking in _rankings(engine, gold, query.id):
            _note(ground, engine.name, ranking, resolved, seen)
    often = [one for one in seen.values() if len(one.ranks) >= needed and min(one.ranks.values()) <= NEIGHBOURS.rank]
    for one in sorted(often, key=lambda one: (-len(one.ranks), min(one.ranks.values()), one.spot.key)):
        yield Confusion(_neighbour(ground, one, resolved, len(engines)), tuple(sorted(one.ranks)))


def _distinct(run: Run, gold: str, query: str) -> list[EngineRun]:
    """Give the engines that compete; of those that answer the same, hit for hit, one speaks."""
    kept: dict[tuple[tuple[Hit, ...], ...], EngineRun] = {}
    for engine in run.engines:
        if engine.role in ("contestant", "yardstick"):
            answers = tuple(tuple(_bare(hit) for hit in one.hits) for one in _rankings(engine, gold, query))
            kept.setdefault(answers, engine)
    return list(kept.values())


def _bare(hit: Hit) -> Hit:
    """Leave of a result where it points."""
    return Hit(hit.path, hit.start, hit.end)


def _rankings(engine: EngineRun, gold: str, query: str) -> list[Ranking]:
    """Give what an engine answered to any form of a query."""
    return [ranking for ranking in engine.rankings if ranking.gold == gold and ranking.query == query]


def _note(
    ground: Ground, engine: str, ranking: Ranking, targets: Sequence[Target], seen: dict[tuple[str, int], _Seen]
) -> None:
    """Note what stands above the first right answer; where there is none in the list, all of it is above."""
    for rank, hit in enumerate(ranking.hits, 1):
        if any(hit.span.common_lines(target.span) for target in targets):
            return
        spot = _spot(ground, hit)
        if spot is not None:
            one = seen.setdefault(spot.key, _Seen(spot))
            one.ranks[engine] = min(rank, one.ranks.get(engine, rank))


def _spot(ground: Ground, hit: Hit) -> Spot | None:
    """Find the definition that a result is: the one that holds it, or the largest one in it."""
    if hit.path not in ground.files or hit.start is None or hit.end is None:
        return None
    inside = [s for s in ground.in_file(hit.path) if hit.start <= s.definition.name_line <= hit.end]
    around = ground.at_line(hit.path, hit.start)
    small = [s for s in (*inside, *([around] if around else [])) if s.lines <= NEIGHBOURS.longest]
    return max(small, key=lambda s: (_common(s, hit), -s.lines, s.key), default=None)


def _common(spot: Spot, hit: Hit) -> int:
    """Count the lines that a definition and a result share."""
    return min(spot.definition.end, hit.end or 0) - max(spot.definition.start, hit.start or 0)


def _neighbour(ground: Ground, seen: _Seen, targets: Sequence[Target], engines: int) -> Neighbour:
    """Say how strong a confusion is, and what it rests on; whether it is one, is for reviewers to say."""
    count, best = len(seen.ranks), min(seen.ranks.values())
    strength = "strong" if count >= NEIGHBOURS.strong else "medium" if count > 1 else "weak"
    said = f"{count} of {engines} engines rank it above the right answer, at best on rank {best}"
    return Neighbour(seen.spot, _relationship(ground, seen.spot, targets), strength, said)


def _relationship(ground: Ground, spot: Spot, targets: Sequence[Target]) -> str:
    """Name how a definition is related to the right answers, as far as that shows."""
    answers = [right for target in targets for right in ground.spots_of(target)]
    if is_aside(spot.path) or not ground.answers(spot):
        return "test"
    if any(joined(spot.name) == joined(right.name) for right in answers):
        return "namesake"
    return "caller" if any(f"{right.name}(" in ground.text(spot) for right in answers) else "sibling"
