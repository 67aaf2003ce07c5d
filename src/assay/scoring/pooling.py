"""Which unjudged results are worth judging first, and what a label of each could change.

Every change is exact: the query is scored again with the label added. What many labels together could do is searched
for, not enumerated: an order that was found to turn can turn; one that was not found to turn is not proven safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, cast

import numpy as np

from assay.errors import ConfigError
from assay.scoring.grid import Grid
from assay.scoring.match import Level, hit_span
from assay.scoring.measure import Measure
from assay.scoring.score import tabulate
from assay.types import PRIMARY, SECONDARY, EngineRun, GoldSet, Hit, Query, Run, Scores, Span, Suite, Target

if TYPE_CHECKING:
    from assay.types import FloatArray


#: Tells whether somebody said already that a place is no answer: gold name, query id, span.
Judged = Callable[[str, str, Span], bool]


@dataclass(frozen=True, slots=True)
class PoolConfig:
    """How far is looked."""

    depth: int = 10  # ranks that a person reads; deeper results hardly move a measure
    grades: tuple[int, ...] = (PRIMARY, SECONDARY)
    enumerated: int = 4  # unjudged results of a query up to which every way to label them is tried: 2^4 scorings

    def __post_init__(self) -> None:
        """Refuse a pool of nothing."""
        if self.depth < 1:
            raise ConfigError(f"--depth {self.depth}", hint="look at one rank at least")


@dataclass(frozen=True, slots=True)
class Returned:
    """An engine that returned a place, and the rank it has there."""

    engine: str
    rank: int


@dataclass(frozen=True, slots=True)
class Effect:
    """What one grade would change: each engine's mean, and the gap between the two best."""

    grade: int
    changes: Mapping[str, float]
    gap: float


@dataclass(frozen=True, slots=True)
class PoolCandidate:
    """A place that nobody judged."""

    gold: str
    query: str
    span: Span
    returned: tuple[Returned, ...]
    effects: tuple[Effect, ...] = ()

    @property
    def weight(self) -> float:
        """The largest change of the gap that a label of it could make."""
        return max((abs(effect.gap) for effect in self.effects), default=0.0)


@dataclass(frozen=True, slots=True)
class ScoreBounds:
    """An engine's mean as it is, with every unjudged result wrong, and with all of the pool right."""

    engine: str
    now: float
    all_right: float
    unjudged: int  # of its own results inside the depth


@dataclass(frozen=True, slots=True)
class TopTwoGap:
    """The two best engines: the gap as it is, and the furthest that labels were found to move it."""

    first: str
    second: str
    gap: float
    least: float
    most: float
    labels: int | None  # labels that turn the order, when a way was found
    scenes: Mapping[str, Scores]  # now, least and most: values of the two, query by query

    @property
    def can_turn(self) -> bool:
        """Whether a way to label was found that makes the second engine the better one."""
        return self.labels is not None


@dataclass(frozen=True, slots=True)
class Pool:
    """Unjudged results, most worth judging first, and what they hold in the balance."""

    measure: str
    level: Level
    depth: int
    queries: int
    candidates: tuple[PoolCandidate, ...]
    bounds: tuple[ScoreBounds, ...]
    contest: TopTwoGap | None


def pool(run: Run, measure: Measure, judged: Judged | None = None, config: PoolConfig | None = None) -> Pool:
    """Gather what nobody judged from the answers to the headline phrasings, and weigh it."""
    if measure.kind.phrasings:
        raise ConfigError(f"{measure!r} looks at several phrasings", hint="pool by a measure of one, such as nDCG@10")
    config = config or PoolConfig()
    level = _level(measure)
    real = replace(run, engines=tuple(e for e in run.engines if e.role in ("contestant", "yardstick")))
    if not real.engines:
        raise ConfigError("the runs have no engine under test", hint="name a run with an engine of yours")
    board = _Board(_headlines(real), measure)
    found = list(_gather(board.run, level, config.depth, judged or (lambda *_: False)))
    pair = board.best_two()
    weighed = _weighed(board, found, pair, config)
    return Pool(
        measure=repr(measure),
        level=level,
        depth=config.depth,
        queries=len(board.queries),
        candidates=tuple(sorted(weighed, key=_rank_key)),
        bounds=tuple(_bounds(board, found)),
        contest=_contest(board, weighed, pair, config) if pair else None,
    )


def _level(measure: Measure) -> Level:
    known = any(param.name == "level" for param in measure.kind.params)
    return cast(Level, measure["level"]) if known else "lines"


def _rank_key(candidate: PoolCandidate) -> tuple[object, ...]:
    largest = max((abs(change) for e in candidate.effects for change in e.changes.values()), default=0.0)
    best = min(returned.rank for returned in candidate.returned)
    span = candidate.span
    place = (span.path, span.start or 0, span.end or 0)
    return (-round(candidate.weight, 12), -round(largest, 12), best, candidate.gold, candidate.query, place)


def _headlines(run: Run) -> Run:
    heads = {(unit.gold, unit.query): unit.form for unit in Grid(run).units if unit.headline}
    golds = tuple(
        replace(gold, queries=tuple(_one_form(query, heads[gold.name, query.id]) for query in gold.queries))
        for gold in run.suite.golds
    )
    engines = tuple(
        replace(e, rankings=tuple(r for r in e.rankings if heads.get((r.gold, r.query)) == r.form)) for e in run.engines
    )
    return replace(run, suite=Suite(golds), engines=engines)


def _one_form(query: Query, form: str) -> Query:
    return replace(query, forms={form: query.forms[form]})


@dataclass(frozen=True, slots=True)
class _Key:
    """One query of a run."""

    gold: str
    query: str


class _Board:
    """A run of headlines that can be scored again with targets added."""

    def __init__(self, run: Run, measure: Measure) -> None:
        self.run = run
        self.measure = measure
        self.queries = {_Key(g.name, q.id): q for g in run.suite.golds for q in g.queries}
        self.golds = {gold.name: gold for gold in run.suite.golds}
        self.scores = tabulate(run, [measure])
        self.values: FloatArray = self.scores.values[:, 0, :]
        self.column = {_Key(unit.gold, unit.query): at for at, unit in enumerate(self.scores.units)}
        self._rankings = [{_Key(r.gold, r.query): r for r in engine.rankings} for engine in run.engines]
        self.applies = max(1, int((~np.isnan(self.values[0])).sum()))

    def means(self) -> FloatArray:
        means: FloatArray = np.nansum(self.values, axis=1) / self.applies
        return means

    def best_two(self) -> tuple[int, int] | None:
        """Find the two best engines; None where there is only one."""
        sign = 1 if self.measure.higher_is_better else -1
        means = self.means()
        order = sorted(range(len(means)), key=lambda at: (-sign * means[at], self.run.engines[at].name))
        return (order[0], order[1]) if len(order) > 1 else None

    def rescored(self, variants: Sequence[tuple[_Key, tuple[Target, ...]]]) -> FloatArray:
        """Score queries with targets added: engines × variants, all in one table."""
        if not variants:
            return np.empty((len(self.run.engines), 0))
        named = [(f"v{number}", key, added) for number, (key, added) in enumerate(variants)]
        golds = tuple(
            GoldSet(
                name, gold.corpus, tuple(self._variant(n, key, added) for n, key, added in named if key.gold == name)
            )
            for name, gold in self.golds.items()
        )
        engines = tuple(
            self._answers(engine, at, [(name, key) for name, key, _ in named])
            for at, engine in enumerate(self.run.engines)
        )
        full = Suite(tuple(gold for gold in golds if gold.queries))
        scores = tabulate(replace(self.run, suite=full, engines=engines), [self.measure])
        place = {unit.query: at for at, unit in enumerate(scores.units)}
        values: FloatArray = scores.values[:, 0, [place[name] for name, _, _ in named]]
        return values

    def _variant(self, name: str, key: _Key, added: tuple[Target, ...]) -> Query:
        query = self.queries[key]
        return replace(query, id=name, targets=(*query.targets, *added))

    def _answers(self, engine: EngineRun, at: int, named: Sequence[tuple[str, _Key]]) -> EngineRun:
        known = self._rankings[at]
        rankings = (replace(known[key], query=name) for name, key in named if key in known)
        return replace(engine, rankings=tuple(rankings))


def _gather(run: Run, level: Level, depth: int, judged: Judged) -> Iterator[PoolCandidate]:
    grid = Grid(run)
    marks = grid.marks(level)
    unjudged: dict[_Key, list[tuple[int, int, Hit]]] = {}
    for cell, match in zip(grid.cells(), grid.matches(level), strict=True):
        unit = grid.units[cell.unit]
        for rank, position in enumerate(match.positions[:depth], 1):
            hit = cell.hits[position]
            if not marks.judged[cell.engine, cell.unit, rank - 1] and not judged(unit.gold, unit.query, hit.span):
                unjudged.setdefault(_Key(unit.gold, unit.query), []).append((rank, cell.engine, hit))
    for unit in grid.units:
        key = _Key(unit.gold, unit.query)
        yield from _places(key, sorted(unjudged.get(key, ()), key=lambda entry: entry[:2]), run, level)


def _places(key: _Key, entries: Sequence[tuple[int, int, Hit]], run: Run, level: Level) -> Iterator[PoolCandidate]:
    groups: dict[Span, dict[str, int]] = {}
    for rank, engine, hit in entries:
        seen = hit_span(hit, level)
        home = next((span for span in groups if seen.common_lines(hit_span(_hit(span), level)) > 0), hit.span)
        groups.setdefault(home, {}).setdefault(run.engines[engine].name, rank)
    for span, ranks in groups.items():
        returned = [Returned(name, rank) for name, rank in sorted(ranks.items(), key=lambda entry: entry[::-1])]
        yield PoolCandidate(key.gold, key.query, span, tuple(returned))


def _hit(span: Span) -> Hit:
    return Hit(span.path, span.start, span.end)


def _key(candidate: PoolCandidate) -> _Key:
    return _Key(candidate.gold, candidate.query)


def _weighed(
    board: _Board, found: Sequence[PoolCandidate], pair: tuple[int, int] | None, config: PoolConfig
) -> list[PoolCandidate]:
    ways = [(candidate, grade) for candidate in found for grade in config.grades]
    values = board.rescored([(_key(c), (Target(c.span, grade),)) for c, grade in ways])
    names = [engine.name for engine in board.run.engines]
    effects: list[Effect] = []
    for at, (candidate, grade) in enumerate(ways):
        before = board.values[:, board.column[_key(candidate)]]
        change = np.nan_to_num(values[:, at] - before) / board.applies
        gap = float(change[pair[0]] - change[pair[1]]) if pair else 0.0
        changes = {name: float(one) for name, one in zip(names, change, strict=True)}
        effects.append(Effect(grade, changes, gap))
    each = len(config.grades)
    return [replace(c, effects=tuple(effects[at * each : (at + 1) * each])) for at, c in enumerate(found)]


def _by_query(found: Sequence[PoolCandidate]) -> dict[_Key, list[PoolCandidate]]:
    groups: dict[_Key, list[PoolCandidate]] = {}
    for candidate in found:
        groups.setdefault(_key(candidate), []).append(candidate)
    return groups


def _bounds(board: _Board, found: Sequence[PoolCandidate]) -> Iterator[ScoreBounds]:
    groups = _by_query(found)
    values = board.rescored([(key, tuple(Target(c.span) for c in group)) for key, group in groups.items()])
    before = board.values[:, [board.column[key] for key in groups]]
    gain = np.nan_to_num(values - before).sum(axis=1) / board.applies
    for at, (engine, mean) in enumerate(zip(board.run.engines, board.means(), strict=True)):
        own = sum(any(r.engine == engine.name for r in candidate.returned) for candidate in found)
        yield ScoreBounds(engine.name, float(mean), float(mean + gain[at]), own)


@dataclass(frozen=True, slots=True)
class _Swing:
    """How far labels can move one query's gap one way, the values of both engines then, and the labels it takes."""

    key: _Key
    gap: float
    values: tuple[float, float]
    labels: int


def _contest(board: _Board, found: Sequence[PoolCandidate], pair: tuple[int, int], config: PoolConfig) -> TopTwoGap:
    first, second = pair
    ways = [(key, way) for key, group in _by_query(found).items() for way in _ways(group, board, pair, config)]
    values = board.rescored([(key, tuple(Target(span) for span in way)) for key, way in ways])
    swings: dict[_Key, list[_Swing]] = {}
    for at, (key, way) in enumerate(ways):
        both = (float(values[first, at]), float(values[second, at]))
        before = board.values[list(pair), board.column[key]]
        gap = float(np.nan_to_num((both[0] - both[1]) - (before[0] - before[1])))
        swings.setdefault(key, []).append(_Swing(key, gap, both, len(way)))
    down = [min(group, key=lambda swing: (swing.gap, swing.labels)) for group in swings.values()]
    up = [max(group, key=lambda swing: (swing.gap, -swing.labels)) for group in swings.values()]
    means = board.means()
    gap = float(means[first] - means[second])
    scenes = {"now": _scene(board, pair, []), "least": _scene(board, pair, down), "most": _scene(board, pair, up)}
    least = gap + sum(min(0.0, swing.gap) for swing in down) / board.applies
    most = gap + sum(max(0.0, swing.gap) for swing in up) / board.applies
    toward = down if board.measure.higher_is_better else up
    names = [engine.name for engine in board.run.engines]
    return TopTwoGap(names[first], names[second], gap, least, most, _turning(gap, toward, board.applies), scenes)


def _ways(
    group: Sequence[PoolCandidate], board: _Board, pair: tuple[int, int], config: PoolConfig
) -> Iterator[tuple[Span, ...]]:
    spans = [candidate.span for candidate in group]
    if len(spans) <= config.enumerated:
        for chosen in product((False, True), repeat=len(spans)):
            yield tuple(span for span, right in zip(spans, chosen, strict=True) if right)
        return
    names = [board.run.engines[at].name for at in pair]
    by = [{candidate.span for candidate in group if _has(candidate, name)} for name in names]
    for chosen_set in (set(), set(spans), by[0], by[1], by[0] - by[1], by[1] - by[0]):
        yield tuple(span for span in spans if span in chosen_set)
    yield from ((span,) for span in spans)


def _has(candidate: PoolCandidate, engine: str) -> bool:
    return any(returned.engine == engine for returned in candidate.returned)


def _turning(gap: float, swings: Sequence[_Swing], applies: int) -> int | None:
    left, labels = gap, 0
    for swing in sorted(
        swings, key=lambda swing: (-abs(swing.gap) / max(1, swing.labels), swing.key.gold, swing.key.query)
    ):
        if swing.gap * gap > 0 or not swing.gap:
            continue
        left += swing.gap / applies
        labels += swing.labels
        if left * gap < 0 or not gap:
            return labels
    return None


def _scene(board: _Board, pair: tuple[int, int], swings: Sequence[_Swing]) -> Scores:
    values = board.scores.values[list(pair)].copy()
    for swing in swings:
        if swing.labels:
            values[:, 0, board.column[swing.key]] = swing.values
    names = tuple(board.run.engines[at].name for at in pair)
    return Scores(names, board.scores.measures, board.scores.units, values)
