"""Rank unjudged results by the effect of a label on the gap between the two best engines.

Every change is exact: the query is rescored with the label added. If a query has more than `PoolConfig.enumerated`
unjudged results, only some combinations of labels are tried, so a reversal may exist even if none was found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple, cast

import numpy as np

from assay.errors import ConfigError
from assay.scoring.grid import FloatArray, Grid
from assay.scoring.match import Level, hit_span
from assay.scoring.measures import Measure
from assay.scoring.score import Scorer
from assay.types import PRIMARY, SECONDARY, GoldSet, Hit, Run, Scores, Span, Suite, Target

#: Returns, for a gold set name, a query id and a span, whether the span was already judged irrelevant.
Judged = Callable[[str, str, Span], bool]
_Key = tuple[str, str]  # gold name, query id


@dataclass(frozen=True, slots=True)
class PoolConfig:
    depth: int = 10  # ranks whose unjudged results are listed
    grades: tuple[int, ...] = (PRIMARY, SECONDARY)
    enumerated: int = 4  # every combination of labels is scored for up to this many unjudged results of a query: 2^4

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise ConfigError(f"--depth must be at least 1, got {self.depth}")


@dataclass(frozen=True, slots=True)
class Returned:
    engine: str
    rank: int


@dataclass(frozen=True, slots=True)
class Effect:
    grade: int
    changes: Mapping[str, float]
    gap: float


@dataclass(frozen=True, slots=True)
class PoolCandidate:
    gold: str
    query: str
    span: Span
    returned: tuple[Returned, ...]
    effects: tuple[Effect, ...] = ()

    @property
    def weight(self) -> float:
        """The largest change, in absolute value, that a label would make to the gap between the two best engines."""
        return max((abs(effect.gap) for effect in self.effects), default=0.0)


@dataclass(frozen=True, slots=True)
class ScoreBounds:
    """An engine's mean if all unjudged results are irrelevant (`now`), and if all are primary targets (`all_right`)."""

    engine: str
    now: float
    all_right: float
    unjudged: int  # of the engine's results inside the depth


@dataclass(frozen=True, slots=True)
class TopTwoGap:
    """The gap between the means of the two best engines now, and the smallest and largest gap found with new labels."""

    first: str
    second: str
    gap: float
    least: float
    most: float
    labels: int | None  # labels that reverse the order, if any were found
    scenes: Mapping[str, Scores]  # now, least and most: values of both engines by query


@dataclass(frozen=True, slots=True)
class LabelPool:
    measure: str
    level: Level
    depth: int
    queries: int
    candidates: tuple[PoolCandidate, ...]
    bounds: tuple[ScoreBounds, ...]
    contest: TopTwoGap | None


def pool(run: Run, measure: Measure, judged: Judged | None = None, config: PoolConfig | None = None) -> LabelPool:
    """Rank the unjudged results of the headline phrasings by the effect of a label."""
    if measure.kind.phrasings:
        hint = "use a measure of single phrasings, such as nDCG@10"
        raise ConfigError(f"cannot pool by {measure!r}: it combines several phrasings", hint=hint)
    config = config or PoolConfig()
    has_level = any(param.name == "level" for param in measure.kind.params)
    level = cast(Level, measure["level"]) if has_level else "lines"
    real = replace(run, engines=tuple(e for e in run.engines if e.role in ("candidate", "reference")))
    if not real.engines:
        raise ConfigError("the runs have no engine under test", hint="add a run with an engine under test")
    rescorer = _Rescorer(_select_headlines(real), measure)
    candidates = list(_collect(rescorer.run, level, config.depth, judged or (lambda *_: False)))
    means = rescorer.means if measure.higher_is_better else -rescorer.means
    order = sorted(range(len(means)), key=lambda at: (-means[at], rescorer.run.engines[at].name))
    pair = (order[0], order[1]) if len(order) > 1 else None
    weighed = _weigh(rescorer, candidates, pair, config)
    groups: dict[_Key, list[PoolCandidate]] = {}
    for candidate in weighed:
        groups.setdefault((candidate.gold, candidate.query), []).append(candidate)
    return LabelPool(
        measure=repr(measure),
        level=level,
        depth=config.depth,
        queries=len(rescorer.queries),
        candidates=tuple(sorted(weighed, key=_rank_key)),
        bounds=tuple(_compute_bounds(rescorer, groups)),
        contest=_compute_gap(rescorer, groups, pair, config) if pair else None,
    )


def _rank_key(candidate: PoolCandidate) -> tuple[object, ...]:
    largest = max((abs(change) for e in candidate.effects for change in e.changes.values()), default=0.0)
    best = min(returned.rank for returned in candidate.returned)
    span = candidate.span
    location = (span.path, span.start or 0, span.end or 0)
    return (-round(candidate.weight, 12), -round(largest, 12), best, candidate.gold, candidate.query, location)


def _select_headlines(run: Run) -> Run:
    heads = {(unit.gold, unit.query): unit.form for unit in Grid(run).units if unit.headline}
    golds = []
    for gold in run.suite.golds:
        forms = [(query, heads[gold.name, query.id]) for query in gold.queries]
        queries = tuple(replace(query, forms={form: query.forms[form]}) for query, form in forms)
        golds.append(replace(gold, queries=queries))
    engines = tuple(
        replace(e, rankings=tuple(r for r in e.rankings if heads.get((r.gold, r.query)) == r.form)) for e in run.engines
    )
    return replace(run, suite=Suite(tuple(golds)), engines=engines)


class _Rescorer:
    def __init__(self, run: Run, measure: Measure) -> None:
        self.run = run
        self.measure = measure
        self.queries = {(gold.name, query.id): query for gold in run.suite.golds for query in gold.queries}
        self.scores = Scorer(Grid(run)).tabulate([measure])
        self.values: FloatArray = self.scores.values[:, 0, :]
        self.column = {(unit.gold, unit.query): at for at, unit in enumerate(self.scores.units)}
        self._rankings = [{(r.gold, r.query): r for r in engine.rankings} for engine in run.engines]
        self.applies = max(1, int((~np.isnan(self.values[0])).sum()))
        self.means: FloatArray = np.nansum(self.values, axis=1) / self.applies

    def rescore(self, variants: Sequence[tuple[_Key, Sequence[Target]]]) -> FloatArray:
        """Return the scores of queries with added targets: engines × entries of `variants`."""
        if not variants:
            return np.empty((len(self.run.engines), 0))
        names = {f"v{number}": key for number, (key, _) in enumerate(variants)}
        golds = []
        for gold in self.run.suite.golds:
            queries = tuple(
                replace(self.queries[key], id=name, targets=(*self.queries[key].targets, *added))
                for (name, key), (_, added) in zip(names.items(), variants, strict=True)
                if key[0] == gold.name
            )
            golds += [GoldSet(gold.name, gold.corpus, queries)] if queries else []
        engines = tuple(
            replace(engine, rankings=tuple(replace(known[key], query=n) for n, key in names.items() if key in known))
            for engine, known in zip(self.run.engines, self._rankings, strict=True)
        )
        scores = Scorer(Grid(replace(self.run, suite=Suite(tuple(golds)), engines=engines))).tabulate([self.measure])
        column = {unit.query: at for at, unit in enumerate(scores.units)}
        return np.asarray(scores.values[:, 0, [column[name] for name in names]])


def _collect(run: Run, level: Level, depth: int, judged: Judged) -> Iterator[PoolCandidate]:
    grid = Grid(run)
    marks = grid.marks(level)
    unjudged: dict[_Key, list[tuple[int, int, Hit]]] = {}
    for cell, match in zip(grid.cells(), grid.matches(level), strict=True):
        unit = grid.units[cell.unit]
        for rank, position in enumerate(match.positions[:depth], 1):
            hit = cell.hits[position]
            if not marks.judged[cell.engine, cell.unit, rank - 1] and not judged(unit.gold, unit.query, hit.span):
                unjudged.setdefault((unit.gold, unit.query), []).append((rank, cell.engine, hit))
    for unit in grid.units:
        groups: dict[Span, dict[str, int]] = {}
        for rank, engine, hit in sorted(unjudged.get((unit.gold, unit.query), ()), key=lambda entry: entry[:2]):
            own = hit_span(hit, level)
            common = (span for span in groups if own.common_lines(Span(span.path) if level == "file" else span) > 0)
            groups.setdefault(next(common, hit.span), {}).setdefault(run.engines[engine].name, rank)
        for span, ranks in groups.items():
            returned = [Returned(name, rank) for name, rank in sorted(ranks.items(), key=lambda entry: entry[::-1])]
            yield PoolCandidate(unit.gold, unit.query, span, tuple(returned))


def _weigh(
    rescorer: _Rescorer, candidates: Sequence[PoolCandidate], pair: tuple[int, int] | None, config: PoolConfig
) -> list[PoolCandidate]:
    labels = [(candidate, grade) for candidate in candidates for grade in config.grades]
    values = iter(rescorer.rescore([((c.gold, c.query), (Target(c.span, grade),)) for c, grade in labels]).T)
    names = [engine.name for engine in rescorer.run.engines]
    weighed = []
    for candidate in candidates:
        before = rescorer.values[:, rescorer.column[candidate.gold, candidate.query]]
        effects = []
        for grade in config.grades:
            change = np.nan_to_num(next(values) - before) / rescorer.applies
            gap = float(change[pair[0]] - change[pair[1]]) if pair else 0.0
            effects.append(Effect(grade, dict(zip(names, change.tolist(), strict=True)), gap))
        weighed.append(replace(candidate, effects=tuple(effects)))
    return weighed


def _compute_bounds(rescorer: _Rescorer, groups: Mapping[_Key, Sequence[PoolCandidate]]) -> Iterator[ScoreBounds]:
    values = rescorer.rescore([(key, [Target(c.span) for c in group]) for key, group in groups.items()])
    before = rescorer.values[:, [rescorer.column[key] for key in groups]]
    gain = np.nan_to_num(values - before).sum(axis=1) / rescorer.applies
    for at, (engine, mean) in enumerate(zip(rescorer.run.engines, rescorer.means, strict=True)):
        own = sum(_is_returned_by(candidate, engine.name) for group in groups.values() for candidate in group)
        yield ScoreBounds(engine.name, float(mean), float(mean + gain[at]), own)


def _is_returned_by(candidate: PoolCandidate, engine: str) -> bool:
    return any(returned.engine == engine for returned in candidate.returned)


class _Swing(NamedTuple):
    key: _Key
    gap: float
    values: tuple[float, float]
    labels: int


def _compute_gap(
    rescorer: _Rescorer, groups: Mapping[_Key, Sequence[PoolCandidate]], pair: tuple[int, int], config: PoolConfig
) -> TopTwoGap:
    first, second = pair
    names = rescorer.run.engines[first].name, rescorer.run.engines[second].name
    combinations = [
        (key, labeled) for key, group in groups.items() for labeled in _list_label_sets(group, names, config)
    ]
    values = rescorer.rescore([(key, [Target(span) for span in labeled]) for key, labeled in combinations])
    swings: dict[_Key, list[_Swing]] = {}
    for at, (key, labeled) in enumerate(combinations):
        both = (float(values[first, at]), float(values[second, at]))
        before = rescorer.values[list(pair), rescorer.column[key]]
        gap = float(np.nan_to_num((both[0] - both[1]) - (before[0] - before[1])))
        swings.setdefault(key, []).append(_Swing(key, gap, both, len(labeled)))
    down = [min(group, key=lambda swing: (swing.gap, swing.labels)) for group in swings.values()]
    up = [max(group, key=lambda swing: (swing.gap, -swing.labels)) for group in swings.values()]
    gap = float(rescorer.means[first] - rescorer.means[second])
    least = gap + sum(min(0.0, swing.gap) for swing in down) / rescorer.applies
    most = gap + sum(max(0.0, swing.gap) for swing in up) / rescorer.applies
    toward = down if rescorer.measure.higher_is_better else up
    left, spent, labels = gap, 0, None  # labels: how many reverse the order, if any were found
    for swing in sorted(toward, key=lambda swing: (-abs(swing.gap) / max(1, swing.labels), swing.key)):
        if swing.gap * gap > 0 or not swing.gap:
            continue
        left += swing.gap / rescorer.applies
        spent += swing.labels
        if left * gap < 0 or not gap:
            labels = spent
            break
    scenes = {}
    for name, scene in (("now", []), ("least", down), ("most", up)):
        changed = rescorer.scores.values[list(pair)].copy()
        for swing in scene:
            if swing.labels:
                changed[:, 0, rescorer.column[swing.key]] = swing.values
        scenes[name] = Scores(names, rescorer.scores.measures, rescorer.scores.units, changed)
    return TopTwoGap(*names, gap, least, most, labels, scenes)


def _list_label_sets(
    group: Sequence[PoolCandidate], engines: tuple[str, str], config: PoolConfig
) -> Iterator[tuple[Span, ...]]:
    """Yield sets of spans to score as relevant: every subset of a small group, some subsets of a large group."""
    spans = [candidate.span for candidate in group]
    if len(spans) <= config.enumerated:
        for chosen in product((False, True), repeat=len(spans)):
            yield tuple(span for span, right in zip(spans, chosen, strict=True) if right)
        return
    first, second = ({c.span for c in group if _is_returned_by(c, engine)} for engine in engines)
    for chosen_set in (set(), set(spans), first, second, first - second, second - first):
        yield tuple(span for span in spans if span in chosen_set)
    yield from ((span,) for span in spans)
