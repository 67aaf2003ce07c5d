"""All rankings of a run as columns: each place of a query once, and who named it where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.report.case import Case, level_of
from assay.report.explorer.packing import Column, pack_table, shortened
from assay.report.pages.texts import clip
from assay.scoring.marks import Marker
from assay.types import Ranking, Status

#: What `status` numbers; a question that an engine was not asked is none of them.
STATUSES = (*map(str, Status), "missing")
_MISSING = len(STATUSES) - 1
#: The mark of the first adversary where no query has more targets than stand below it.
_ADVERSARIES = 128

_Place = tuple[str, int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns while they grow."""

    places: list[int] = field(default_factory=list)
    named: list[_Place] = field(default_factory=list)
    status: list[int] = field(default_factory=list)
    error: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    hits: list[int] = field(default_factory=list)
    hit: list[int] = field(default_factory=list)
    mark: list[int] = field(default_factory=list)
    repeats: list[int] = field(default_factory=list)
    score: list[float | None] = field(default_factory=list)


def pack_rankings(case: Case, *, scores: bool, error_length: int) -> bytes:
    """Write every ranking of a run; without `scores` those of the hits are left out."""
    columns, errors, marks = _Columns(), _Errors(error_length), _Marks(case)
    rows = _rows(case)
    for unit, answers in enumerate(rows):
        _add_unit(columns, answers, errors)
        for engine, ranking in enumerate(answers):
            made, repeats = marks.of(engine, unit, ranking)
            columns.mark.extend(made)
            columns.repeats.extend(repeats)
    paths = sorted({place[0] for place in columns.named})
    head = {
        "engines": len(case.run.engines),
        "units": len(rows),
        "statuses": STATUSES,
        "adversaries": marks.adversaries,
        "paths": paths,
        "errors": list(errors.known),
    }
    return pack_table(head, _table(columns, paths, scores=scores))


def _rows(case: Case) -> list[list[Ranking | None]]:
    """Put the rankings of all engines beside each other, unit by unit."""
    column = {(unit.gold, unit.query, unit.form): at for at, unit in enumerate(case.scores.units)}
    rows: list[list[Ranking | None]] = [[None] * len(case.run.engines) for _ in column]
    for place, engine in enumerate(case.run.engines):
        for ranking in engine.rankings:
            rows[column[ranking.gold, ranking.query, ranking.form]][place] = ranking
    return rows


class _Errors:
    """Error texts, each once."""

    def __init__(self, length: int) -> None:
        self.known: dict[str, int] = {}
        self._length = length

    def number(self, ranking: Ranking | None) -> int:
        """Give the number of what a ranking says went wrong, from 1; 0 where it says nothing."""
        if ranking is None or not ranking.error:
            return 0
        return self.known.setdefault(clip(ranking.error, self._length), len(self.known)) + 1


class _Marks:
    """Marks of hits, by the matches that the scores were made of: a failed query has none."""

    def __init__(self, case: Case) -> None:
        level = level_of(case.primary)
        grid = case.scorer.grid
        markers = {key: Marker(query, level) for key, query in case.queries.items()}
        self._markers = [markers[unit.gold, unit.query] for unit in grid.units]
        self._matches = grid.matches(level)  # engine by engine
        most = max((len(query.targets) for query in case.queries.values()), default=0)
        self.adversaries = max(_ADVERSARIES, 1 + most)

    def of(self, engine: int, unit: int, ranking: Ranking | None) -> tuple[list[int], list[int]]:
        """Mark every hit of a ranking; of those that are marked, count what does not count above them."""
        if ranking is None:
            return [], []
        marks, repeats = [0] * len(ranking.hits), [0] * len(ranking.hits)
        found = self._matches[engine * len(self._markers) + unit]
        for at, mark in self._markers[unit].judged(ranking.hits, found):
            marks[at] = self.adversaries + (mark.adversary or 0) if mark.target is None else 1 + mark.target
            repeats[at] = at + 1 - (mark.rank or 0)
        return marks, repeats


def _add_unit(columns: _Columns, answers: Sequence[Ranking | None], errors: _Errors) -> None:
    """Add the rankings of all engines on one unit."""
    known: dict[_Place, int] = {}
    for ranking in answers:
        columns.status.append(_MISSING if ranking is None else STATUSES.index(ranking.status))
        columns.error.append(errors.number(ranking))
        columns.seconds.append(0.0 if ranking is None else ranking.seconds)
        columns.hits.append(0 if ranking is None else len(ranking.hits))
        if ranking is not None and ranking.hits:
            _add_hits(columns, ranking, known)
    columns.places.append(len(known))
    columns.named.extend(known)


def _add_hits(columns: _Columns, ranking: Ranking, known: dict[_Place, int]) -> None:
    """Add the hits of one ranking; `known` numbers the places of its unit."""
    hits = ranking.hits
    tokens = ranking.tokens if len(ranking.tokens) == len(hits) else (None,) * len(hits)
    places = [(hit.path, hit.start, hit.end, cost) for hit, cost in zip(hits, tokens, strict=True)]
    columns.hit.extend([known.setdefault(place, len(known)) for place in places])
    columns.score.extend([hit.score for hit in hits])


def _table(columns: _Columns, paths: Sequence[str], *, scores: bool) -> dict[str, Column]:
    """Give the columns as arrays."""
    numbers: Mapping[str, int] = {path: at for at, path in enumerate(paths)}
    whole = [
        (numbers[path], start or 0, (end or 0) - start + 1 if start else 0, 0 if cost is None else cost + 1)
        for path, start, end, cost in columns.named
    ]
    path, start, lines, tokens = np.array(whole, dtype=np.int64).reshape(-1, 4).T
    table: dict[str, Column] = {
        "places": _whole(columns.places),
        "path": path,
        "start": start,
        "lines": lines,
        "tokens": tokens,
        "status": _whole(columns.status),
        "error": _whole(columns.error),
        "seconds": np.array(columns.seconds, dtype=np.float32),
        "hits": _whole(columns.hits),
        "hit": _whole(columns.hit),
        "mark": _whole(columns.mark),
        "repeats": _whole(columns.repeats),
    }
    return table | ({"score": shortened(np.array(columns.score, dtype=np.float32))} if scores else {})


def _whole(numbers: Sequence[int]) -> Column:
    """Give numbers as an array."""
    return np.array(numbers, dtype=np.int64)
