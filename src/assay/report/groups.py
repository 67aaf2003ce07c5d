"""Scores by phrasing, directory, leakage and tag; adversaries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from assay.gold import overlaps
from assay.gold.query_properties import language_of
from assay.report.render.text import SHOWN, clip, repository_names
from assay.report.results import AdversaryStats, Breakdown, GroupMean, LayerMean, LowScore, Phrasing, Ranks
from assay.report.scored_run import ScoredRun, failed_engines, forms_of, level_of, pick, rank_measure
from assay.scoring import breakdown, evaluation_means, evaluation_measures, parse_measure, score
from assay.stats import means
from assay.stats.records import MeanRow
from assay.types import Ranking, Scores, Target, Unit

_KINDS: tuple[Literal["relationship", "strength"], ...] = ("relationship", "strength")
#: A breakdown by a tag with more groups than this is an index, not a table.
_MOST_GROUPS = 8
#: Languages and repositories are looked for by name, so a long list of them is read; this many fill a page.
_MOST_PLACES = 50
#: The cuts that only the page shows: in a document of lines they would push what decides out of sight.
PAGE_CUTS = ("language of the answer", "repository")


def breakdowns(case: ScoredRun) -> Iterator[Breakdown]:
    """Cut the queries by form, language, repository, leak, and by each tag that has few values."""
    units = case.scores.units
    forms = {f: [i for i, u in enumerate(units) if u.form == f] for f in forms_of(units)}
    if len(forms) > 1:
        yield _breakdown(case, "form", forms)
    yield from _by_place(case)
    leaky = {
        i: overlaps(case.queries[units[i].gold, units[i].query].forms[units[i].form], _targets(case, units[i]))
        for i in case.headline
    }
    groups = {
        "names the answer": [i for i in case.headline if leaky[i]],
        "no word in common": [i for i in case.headline if not leaky[i]],
    }
    yield _breakdown(case, "words shared with the answer's path or symbol", groups)
    for tag in sorted({tag for i in case.headline for tag in units[i].tags}):
        parts = by_tag(case, tag)
        if 1 < len(parts) <= _MOST_GROUPS:
            yield _breakdown(case, tag, parts)


def _by_place(case: ScoredRun) -> Iterator[Breakdown]:
    units, called = case.scores.units, repository_names(unit.repository for unit in case.scores.units)
    languages = [language_of(case.queries[units[i].gold, units[i].query]) for i in case.headline]
    repositories = [called[units[i].repository] for i in case.headline]
    for by, values in zip(PAGE_CUTS, (languages, repositories), strict=True):
        names = sorted(set(values))
        if 1 < len(names) <= _MOST_PLACES:
            parts = {name: [i for i, v in zip(case.headline, values, strict=True) if v == name] for name in names}
            yield _breakdown(case, by, parts)


def by_tag(case: ScoredRun, tag: str) -> dict[str, list[int]]:
    """Put the headline queries together that have the same value of a tag."""
    rest = "standard" if tag == "difficulty" else "untagged"
    values = {i: case.scores.units[i].tags.get(tag, rest) for i in case.headline}
    names = sorted(set(values.values()), key=_difficulty_first)
    return {name: [i for i in case.headline if values[i] == name] for name in names}


def _difficulty_first(value: str) -> tuple[int, str]:
    return ({"easy": -2, "standard": -1, "hard": 1}.get(value, 0), value)


def _targets(case: ScoredRun, unit: Unit) -> tuple[Target, ...]:
    return case.queries[unit.gold, unit.query].targets


def _breakdown(case: ScoredRun, by: str, groups: dict[str, list[int]]) -> Breakdown:
    found = [
        GroupMean(m.engine, name, m.queries, m.mean, m.interval.low, m.interval.high)
        for name, columns in groups.items()
        if columns
        for m in group_means(case, columns, (case.primary,))
    ]
    return Breakdown(by, case.primary, tuple(found))


def group_means(case: ScoredRun, columns: Sequence[int], measures: Sequence[str]) -> list[MeanRow]:
    """Compute means over some units, as if they were all there is."""
    part = pick(case.scores, measures=measures, columns=columns)
    heads = replace(part, units=tuple(replace(u, headline=True) for u in part.units))
    return list(means(heads, alpha=case.claim.alpha, cluster=case.claim.cluster))


def phrasings(case: ScoredRun) -> Iterator[Phrasing]:
    """Compute the measures over phrasings."""
    names = [m for m in case.scores.measures if parse_measure(m).of is not None]
    for row in group_means(case, case.headline, names) if names else []:
        yield Phrasing(row.engine, row.measure, row.mean, row.interval.low, row.interval.high, row.queries)


def hard_negative_stats(case: ScoredRun) -> Iterator[AdversaryStats]:
    """Compute displacement and rank gap, over all adversaries and by kind."""
    k = case.run.k
    displacement, gap = parse_measure(f"Displacement@{k}"), parse_measure(f"RankGap@{k}")
    found = score(case.scorer, [f"Hit(grade=2)@{k}"])
    yield from _trap_rows("all", "all", found, score(case.scorer, [displacement, gap]))
    for by in _KINDS:
        for part in breakdown(case.scorer, [displacement, gap], by):
            yield from _trap_rows(by, part.label, found, part.scores)


def _trap_rows(by: str, value: str, found: Scores, trapped: Scores) -> Iterator[AdversaryStats]:
    heads = [i for i, unit in enumerate(trapped.units) if unit.headline]
    for e, engine in enumerate(trapped.engines):
        hits, first, second = found.values[e, 0, heads], trapped.values[e, 0, heads], trapped.values[e, 1, heads]
        there = ~np.isnan(first)
        if there.any():
            means_of = (float(values[there].mean()) for values in (hits, first, second))
            yield AdversaryStats(engine, by, value, int(there.sum()), *means_of)


def layers(case: ScoredRun) -> Iterator[LayerMean]:
    """Compute each measure over the queries whose evaluation layer names it."""
    named = [m for m in evaluation_measures(case.run.suite) if m.depth <= case.run.k]
    for row in evaluation_means(case.run, score(case.scorer, named)) if named else ():
        yield LayerMean(row.engine, row.measure, row.n, row.mean)


#: When more than one query in this many finds nothing, recall is the first thing to mend.
_MANY_MISSED = 3


def _rank_of(value: float) -> int | None:
    return round(1 / value) if value > 0 else None


def rank_distribution(case: ScoredRun, engine: str) -> Ranks:
    """Count where the first right answer stood."""
    measure = rank_measure(case.primary, case.run.k)
    reciprocal = case.values(engine, measure)[list(case.headline)]
    places = Counter(_rank_of(value) for value in reciprocal)
    counts = tuple(places.get(rank, 0) for rank in range(1, case.run.k + 1))
    dead = engine in failed_engines(case.run)
    shape = "every query failed." if dead else _shape(counts, places.get(None, 0))
    return Ranks(engine, counts, places.get(None, 0), shape, level_of(case.primary), measure)


def _shape(counts: Sequence[int], missed: int) -> str:
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


def failures(case: ScoredRun, engine: str) -> list[LowScore]:
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


def _failure(case: ScoredRun, engine: str, unit: Unit, ranking: Ranking, value: float, rank: int | None) -> LowScore:
    query = case.queries[unit.gold, unit.query]
    best = max(t.grade for t in query.targets)
    return LowScore(
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
