"""Where the right answer stood, and the queries where it stood badly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay.report.case import Case, dead_engines, level_of, rank_measure
from assay.report.pages.texts import SHOWN, clip
from assay.report.results import Failure, Ranks
from assay.scoring import parse_measure
from assay.types import Ranking, Unit

#: When more than one query in this many finds nothing, recall is the first thing to mend.
_MANY_MISSED = 3


def _rank_of(value: float) -> int | None:
    """Turn a reciprocal rank back into the rank."""
    return round(1 / value) if value > 0 else None


def rank_distribution(case: Case, engine: str) -> Ranks:
    """Count where the first right answer stood."""
    measure = rank_measure(case.primary, case.run.k)
    reciprocal = case.values(engine, measure)[list(case.headline)]
    places = Counter(_rank_of(value) for value in reciprocal)
    counts = tuple(places.get(rank, 0) for rank in range(1, case.run.k + 1))
    dead = engine in dead_engines(case.run)
    shape = "every query failed." if dead else _shape(counts, places.get(None, 0))
    return Ranks(engine, counts, places.get(None, 0), shape, level_of(case.primary), measure)


def _shape(counts: Sequence[int], missed: int) -> str:
    """Say what the distribution of ranks means."""
    total = sum(counts) + missed
    if missed == total:
        return "nothing was found: look at its paths and its index before its ranking."
    top, late = sum(counts[:2]), sum(counts[2:])
    text = f"{counts[0] / total:.0%} at rank 1, {top / total:.0%} in the first two, {missed / total:.0%} not found"
    if missed > total / _MANY_MISSED:
        return f"{text}: many answers never appear; look at what is indexed and how queries are read before the order."
    if late > top / 2:
        return f"{text}: answers are found but spread over the ranks; the order is the problem, not the recall."
    return f"{text}: answers stand on top" + ("; read the misses one by one." if missed else ".")


def failures(case: Case, engine: str) -> list[Failure]:
    """List the queries an engine did worst on: less than half of what was possible, worst first."""
    measure = parse_measure(case.primary)
    best = measure.high if measure.higher_is_better else measure.low
    values = case.values(engine, case.primary)
    reciprocal = case.values(engine, rank_measure(case.primary, case.run.k))
    rankings = {(r.gold, r.query, r.form): r for e in case.run.engines if e.name == engine for r in e.rankings}
    found = []
    for i in case.headline:
        unit = case.scores.units[i]
        if abs(values[i] - best) > (measure.high - measure.low) / 2:
            ranking = rankings[unit.gold, unit.query, unit.form]
            found.append(_failure(case, engine, unit, ranking, float(values[i]), _rank_of(float(reciprocal[i]))))
    return sorted(found, key=lambda f: (-abs(f.value - best), f.gold, f.query))


def _failure(case: Case, engine: str, unit: Unit, ranking: Ranking, value: float, rank: int | None) -> Failure:
    """Describe one failure."""
    query = case.queries[unit.gold, unit.query]
    best = max(t.grade for t in query.targets)
    return Failure(
        engine=engine,
        gold=unit.gold,
        query=unit.query,
        form=unit.form,
        text=query.forms[unit.form],
        value=value,
        rank=rank,
        expected=tuple(t.anchor for t in query.targets if t.grade == best),
        top=tuple([clip(str(h.span), SHOWN.example) for h in ranking.hits[:3]]),
        error=None if ranking.error is None else clip(ranking.error, SHOWN.message),
    )
