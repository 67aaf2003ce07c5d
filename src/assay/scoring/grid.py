"""A run as a grid of engines × units, and groups of queries that share targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.digests import digest_of
from assay.errors import InputError
from assay.scoring.match import (
    PATH,
    PLACE,
    Level,
    Match,
    Projection,
    assign_targets,
    hit_span,
    matches_any,
    project,
    touches,
    visible_adversaries,
)
from assay.types import Adversary, EngineRun, Hit, Query, Ranking, Run, Span, Status, Target, Unit

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
#: Path, start and end of a hit; a tuple, because most hits never need a span.
SpanKey = tuple[str, int | None, int | None]


@dataclass(frozen=True, slots=True)
class GradedRanks:
    """Grades and positions of the distinct hits at one level (engines × units × ranks), and the ideal grades."""

    grades: IntArray  # 0 without an assigned target, and past the end of the list
    positions: IntArray  # in the returned list, from 0; past the end of the list, beyond any cutoff
    ideal: IntArray  # units × targets: grades, highest first, padded with 0


@dataclass(frozen=True, slots=True)
class HitFlags:
    judged: BoolArray  # overlaps a target, an adversary or a span judged irrelevant
    adversary: BoolArray  # overlaps an adversary and no target
    has_adversary: BoolArray  # (units,) whether an adversary is not inside a target


class GridCell(NamedTuple):
    engine: int
    unit: int
    hits: tuple[Hit, ...]
    tokens: tuple[int, ...]


class _LabeledFileHits(NamedTuple):
    """The distinct hits in files of labels. Engines return the same spans, and each is compared with labels once."""

    at: tuple[list[int], list[int], list[int]]  # engine, unit and rank of each hit
    number: list[int]  # of its span in `spans`
    spans: list[tuple[int, Span]]  # with their units
    right: BoolArray  # whether each span overlaps a target
    irrelevant: BoolArray


class Grid:
    """A run as a grid of engines × units; matches, grades and flags are cached by level."""

    def __init__(self, run: Run, forms: frozenset[str] | None = None) -> None:
        self.run = run
        self.units, self.queries = _list_units(run, forms)
        column = {(unit.gold, unit.query, unit.form): index for index, unit in enumerate(self.units)}
        self._rankings = tuple(_place_rankings(engine, column) for engine in run.engines)
        self.shape = (len(run.engines), len(self.units))
        answered = [[ranking is not None and ranking.status == Status.OK for ranking in row] for row in self._rankings]
        self.ok: BoolArray = np.array(answered, dtype=np.bool_).reshape(self.shape)
        self.oversample: IntArray = np.array([engine.oversample for engine in run.engines], dtype=np.int64)
        self._projections: dict[Level, tuple[Projection, ...]] = {}
        self._matches: dict[Level, list[Match]] = {}
        self._graded: dict[Level, GradedRanks] = {}
        self._marks: dict[Level, HitFlags] = {}
        self._labeled: dict[Level, _LabeledFileHits] = {}
        self._whole = self.queries  # with every adversary

    def against(self, keep: Callable[[Adversary], bool]) -> Grid:
        other = copy(self)
        made = {id(q): replace(q, adversaries=tuple(filter(keep, q.adversaries))) for q in self.queries}
        other.queries = tuple(made[id(query)] for query in self.queries)
        other._marks = {}
        return other

    def cells(self) -> Iterator[GridCell]:
        """Yield the rankings engine by engine, cut at the number of results that the engine may return."""
        for engine, row in enumerate(self._rankings):
            limit = int(self.run.k * self.oversample[engine])
            for unit, ranking in enumerate(row):
                if ranking is None or ranking.status != Status.OK:
                    yield GridCell(engine, unit, (), ())
                else:
                    yield GridCell(engine, unit, ranking.hits[:limit], ranking.tokens[:limit])

    def distinct_spans(self, cell: GridCell, k: int) -> list[SpanKey]:
        returned = cell.hits[: int(k * self.oversample[cell.engine])]
        return list(dict.fromkeys(map(PLACE, returned)))[:k]

    def blank(self) -> FloatArray:
        return np.full(self.shape, np.nan)

    def projections(self, level: Level) -> tuple[Projection, ...]:
        if level not in self._projections:
            made = {id(query): project(query.targets, level) for query in self.queries}
            self._projections[level] = tuple(made[id(query)] for query in self.queries)
        return self._projections[level]

    def matches(self, level: Level) -> list[Match]:
        """Return the match of every ranking, in the order of `cells`."""
        if level not in self._matches:
            projections = self.projections(level)
            self._matches[level] = [assign_targets(cell.hits, projections[cell.unit]) for cell in self.cells()]
        return self._matches[level]

    def graded(self, level: Level) -> GradedRanks:
        if level not in self._graded:
            matches, k = self.matches(level), self.run.k
            lengths = np.fromiter((match.distinct for match in matches), np.int64, len(matches))
            ranks = np.arange(max(k, int(lengths.max(initial=0))))
            positions = np.where(ranks < lengths[:, None], ranks, k * int(self.oversample.max(initial=1)))
            grades = np.zeros_like(positions)
            for row, match in enumerate(matches):
                if not isinstance(match.positions, range):
                    positions[row, : match.distinct] = match.positions
                for rank, target in match.found:
                    grades[row, rank] = match.targets[target].grade
            shape = (*self.shape, len(ranks))
            ideals = [sorted((t.grade for t in each.targets), reverse=True) for each in self.projections(level)]
            width = max([k, *map(len, ideals)])
            ideal = np.array([row + [0] * (width - len(row)) for row in ideals], dtype=np.int64).reshape(-1, width)
            self._graded[level] = GradedRanks(grades.reshape(shape), positions.reshape(shape), ideal)
        return self._graded[level]

    def marks(self, level: Level) -> HitFlags:
        if level not in self._marks:
            targets = self.projections(level)
            pairs = zip(self.queries, targets, strict=True)
            made = {id(query): visible_adversaries(query, projection) for query, projection in pairs}
            adversaries = [made[id(query)] for query in self.queries]
            judged, adversary = np.zeros((2, *self.graded(level).grades.shape), dtype=np.bool_)
            hits = self._hits_in_labeled_files(level)
            wrong = np.array([matches_any(span, adversaries[unit]) for unit, span in hits.spans], dtype=np.bool_)
            judged[hits.at] = (hits.right | hits.irrelevant | wrong)[hits.number]
            adversary[hits.at] = (wrong & ~hits.right)[hits.number]
            has_adversary = np.array([bool(projection.targets) for projection in adversaries], dtype=np.bool_)
            self._marks[level] = HitFlags(judged, adversary, has_adversary)
        return self._marks[level]

    def _hits_in_labeled_files(self, level: Level) -> _LabeledFileHits:
        if level not in self._labeled:
            targets, files, irrelevant = self.projections(level), {}, {}
            for query in self._whole:
                labels = (*query.targets, *(a.target for a in query.adversaries), *query.irrelevant)
                files[id(query)] = {target.span.path for target in labels}
                irrelevant[id(query)] = project(query.irrelevant, level)
            unit_files = [files[id(query)] for query in self._whole]
            numbers: dict[tuple[int, object], int] = {}
            at: tuple[list[int], list[int], list[int]] = [], [], []
            number, spans = list[int](), list[tuple[int, Span]]()
            for cell, match in zip(self.cells(), self.matches(level), strict=True):
                labeled, unit = unit_files[cell.unit], cell.unit
                paths = [*map(PATH, cell.hits)]
                for rank, position in enumerate(match.positions):
                    if paths[position] not in labeled:
                        continue
                    key = unit, paths[position] if level == "file" else PLACE(cell.hits[position])
                    known = numbers.setdefault(key, len(spans))
                    if known == len(spans):
                        spans.append((unit, hit_span(cell.hits[position], level)))
                    number.append(known)
                    for column, value in zip(at, (cell.engine, unit, rank), strict=True):
                        column.append(value)
            self._labeled[level] = _LabeledFileHits(
                at,
                number,
                spans,
                np.array([touches(span, targets[unit]) for unit, span in spans], dtype=np.bool_),
                np.array([touches(span, irrelevant[id(self._whole[unit])]) for unit, span in spans], dtype=np.bool_),
            )
        return self._labeled[level]

    def within(self, level: Level, k: int) -> BoolArray:
        """Return whether each of the first k distinct hits is one of the first k × oversample returned hits."""
        limit = (k * self.oversample)[:, None, None]
        return self.graded(level).positions[..., :k] < limit


def _list_units(run: Run, forms: frozenset[str] | None) -> tuple[tuple[Unit, ...], tuple[Query, ...]]:
    ran_forms = {ranking.form for engine in run.engines for ranking in engine.rankings}
    known = {form for gold in run.suite.golds for query in gold.queries for form in query.forms}
    chosen = forms if forms is not None else ran_forms or known
    units: list[Unit] = []
    queries: list[Query] = []
    shared, repositories = shared_targets(run), gold_repositories(run)
    for gold in run.suite.golds:
        for query in gold.queries:
            ran = [form for form in query.ordered_forms if form in chosen]
            digest = run.hashes.get(f"{gold.name}/{query.id}", "")
            group = shared.get((gold.name, query.id), "")
            units.extend(
                Unit(gold.name, query.id, form, repositories[gold.name], digest, form == ran[0], query.tags, group)
                for form in ran
            )
            queries.extend([query] * len(ran))
    return tuple(units), tuple(queries)


def _place_rankings(engine: EngineRun, column: Mapping[tuple[str, str, str], int]) -> tuple[Ranking | None, ...]:
    row: list[Ranking | None] = [None] * len(column)
    for ranking in engine.rankings:
        index = column.get((ranking.gold, ranking.query, ranking.form))
        if index is None or row[index] is not None:
            where = f"{engine.name}: {ranking.gold}/{ranking.query} ({ranking.form})"
            if index is None:
                raise InputError(f"{where} is not in the gold set", hint="use the gold set that the run was made with")
            raise InputError(f"{where} has two rankings", hint="run the engine again")
        row[index] = ranking
    return tuple(row)


#: Share of a repository's queries above which units are not merged. Simulated on pairs, rings, mined commits and
#: TREC-like sets: with a twentieth, rings have a type I error of .07; with a fifth, too few units remain for a p-value.
LARGEST = 0.1
_DIGITS = 12
#: Kinds of synthetic sets whose corpus is a copy (`gold.synth`).
_ON_A_COPY = ("doc", "keyword")


def shared_targets(run: Run) -> dict[tuple[str, str], str]:
    """Return the group name of each query (gold, id) that shares primary targets with another; omit other queries.

    Queries that share targets are correlated, so comparisons by intent count them as one. Counted as independent,
    40 pairs of queries with differences correlated .3 to .6 have a type I error of .08 to .12 instead of .05
    (tests/stats/leader_worlds.py).

    Queries of one repository with a common primary target form one group, transitively. In sets with many targets per
    query this would join everything. Targets are therefore linked from the most common one down, and where the joined
    group would have more than a tenth of the repository's queries, only queries that are in no group yet are joined.
    Queries with equal targets are always one group.
    """

    def key(target: Target) -> str:  # by its lines, so that a symbol and its lines are the same target
        return target.anchor if target.symbol and target.span.start is None else str(target.span)

    homes: dict[str, dict[tuple[str, str], frozenset[str]]] = {}
    repositories = gold_repositories(run)
    for gold in run.suite.golds:
        queries = homes.setdefault(repositories[gold.name], {})
        queries |= {(gold.name, query.id): frozenset(map(key, query.primaries)) for query in gold.queries}
    groups: dict[tuple[str, str], str] = {}
    for queries in homes.values():
        counts = Counter(keys for keys in queries.values() if keys)
        names: dict[frozenset[str], str] = {}
        for group in _link(counts, LARGEST * len(queries)):
            if sum(counts[keys] for keys in group) > 1:
                names |= dict.fromkeys(group, digest_of(sorted(frozenset().union(*group)))[:_DIGITS])
        groups |= {query: names[keys] for query, keys in queries.items() if keys in names}
    return groups


def gold_repositories(run: Run) -> dict[str, str]:
    """Return the repository of each gold set, as recorded in the run.

    Synthetic sets belong to the repository they were made from, though some use a copy without comments.
    """
    facts = run.header.corpora
    repositories: dict[str, str] = {}
    for gold in run.suite.golds:
        repositories[gold.name] = facts[gold.name].repository if gold.name in facts else gold.corpus.repository
    origins: dict[str, str] = {}
    for gold in sorted(run.suite.golds, key=lambda gold: gold.provenance.get("synthetic") in _ON_A_COPY):
        if gold.synthetic and "from" in gold.provenance:
            repositories[gold.name] = origins.setdefault(gold.provenance["from"], repositories[gold.name])
    return repositories


def _link(counts: Mapping[frozenset[str], int], most: float) -> list[list[frozenset[str]]]:
    nodes = sorted(counts, key=sorted)
    holders: dict[str, list[int]] = {}
    for at, keys in enumerate(nodes):
        for key in keys:
            holders.setdefault(key, []).append(at)
    popularity = {key: sum(counts[nodes[at]] for at in held) for key, held in holders.items()}
    group = list(range(len(nodes)))
    members = [[at] for at in group]
    sizes = [counts[keys] for keys in nodes]
    for key in sorted(holders, key=lambda key: (-popularity[key], key)):
        touched = sorted({group[at] for at in holders[key]})
        if sum(sizes[at] for at in touched) > most:
            touched = [at for at in touched if len(members[at]) == 1]
        if len(touched) < 2:
            continue
        into = max(touched, key=lambda at: (len(members[at]), -at))
        for at in touched:
            if at != into:
                for node in members[at]:
                    group[node] = into
                members[into] += members[at]
                sizes[into] += sizes[at]
    return [[nodes[node] for node in members[at]] for at in sorted(set(group))]
