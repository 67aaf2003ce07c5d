"""Data of report.html: results, limitations and queries."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.gold import overlaps
from assay.report.analysis import FEW_QUERIES
from assay.report.comparison import verdict_tone
from assay.report.costs import NO_TIMES
from assay.report.explorer.limits import PageLimits
from assay.report.explorer.packing import Column, pack_table, shortened
from assay.report.headlines import headline, headline_tone, verdict_sentence
from assay.report.render.terminal import plain
from assay.report.render.text import clip, repository_names
from assay.report.results import Results, results_json
from assay.report.scored_run import ScoredRun, forms_of, level_of, rank_measure
from assay.report.sections import scores_note, traps_note
from assay.report.tables import table_blocks
from assay.scoring import parse_measure
from assay.scoring.match import HitMarker
from assay.stats.records import ComparisonRow, Verdict
from assay.types import Adversary, EngineRun, Query, Ranking, Status, Target, Unit, WaterfallStep

if TYPE_CHECKING:
    from assay.experiment.tracing import QueryTrace, Traces


SCHEMA = "assay/page/1"
_DIGITS = 5  # of a score in a trace


def summary(case: ScoredRun, results: Results, limits: PageLimits) -> dict[str, Any]:
    """Give the verdict, the results, and what could not be claimed."""
    return {
        "schema": SCHEMA,
        "title": headline(results),
        "sentence": verdict_sentence(results),
        "tone": headline_tone(results),
        "results": _told(results),
        "values": {
            "measures": [_measure(name) for name in shown_measures(case)],
            "rank": _rank(case),
            "level": level_of(case.primary),
        },
        "tokens": [_tokens(case, engine) for engine in case.run.engines],
        "few": FEW_QUERIES,
        "excerpts": {"around": limits.around, "lines": limits.lines},
        "notes": {
            "scores": scores_note(results),
            "adversaries": traps_note(results),
            "times": "" if results.header.timed else NO_TIMES,
        },
        "claims": unsupported_claims(results),
        "lint": [
            {"gold": name, "text": text} for name, facts in case.run.header.corpora.items() for text in facts.problems
        ],
        "tables": [{"kind": type(block).__name__.lower(), "block": plain(block)} for block in table_blocks(results)],
    }


def _told(results: Results) -> dict[str, Any]:
    found = results_json(replace(results, failures=()))  # every ranking is in the page
    del found["failures"]
    comparison = results.comparison
    for name, rows in (("rows", comparison.rows), ("secondary", comparison.secondary)):
        for data, row in zip(found["comparison"][name], rows, strict=True):
            data.update(tone=verdict_tone(row), said=row.said, mde_text=row.mde_text)
    for data, facts in zip(found["engines"], results.engines, strict=True):
        data.update(answered_nothing=facts.answered_nothing)
    for data, spent in zip(found["spending"], results.spending, strict=True):
        data.update(mostly_failed=spent.mostly_failed)
    return found


def shown_measures(case: ScoredRun) -> tuple[str, ...]:
    """Name the measures whose values are in the page: those of the claim, and the rank of the first right answer."""
    return tuple(dict.fromkeys((*case.claim.measures, _rank(case))))


def _rank(case: ScoredRun) -> str:
    return rank_measure(case.primary, case.run.k)


def _measure(name: str) -> dict[str, Any]:
    measure = parse_measure(name)
    low, high = (end if math.isfinite(end) else None for end in (measure.low, measure.high))
    return {"name": name, "low": low, "high": high, "higher": measure.higher_is_better}


def _tokens(case: ScoredRun, engine: EngineRun) -> float | None:
    """Average what the results of an answered headline query cost to read; None where nothing was answered."""
    asked = {(unit.gold, unit.query, unit.form) for unit in case.scores.units if unit.headline}
    answered = [r for r in engine.rankings if r.status == Status.OK and (r.gold, r.query, r.form) in asked]
    return float(np.mean([sum(r.tokens[: case.run.k]) for r in answered])) if answered else None


def unsupported_claims(results: Results) -> list[str]:
    """Say what could not be claimed, and what would have to be otherwise."""
    rows = [row for row in results.comparison.rows if row.in_family]
    open_rows = [row for row in rows if row.verdict == Verdict.INCONCLUSIVE and not row.identical]
    notes = [f"{row.engine}: {note}" for row in rows for note in row.notes]
    return list(dict.fromkeys([*_inconclusive(open_rows), *_untested(rows), *results.comparison.notes, *notes]))


def _inconclusive(rows: Sequence[ComparisonRow]) -> list[str]:
    if not rows:
        return []
    first = rows[0]
    named = ", ".join(f"{row.engine} (could have shown {row.mde_text})" for row in rows)
    return [
        f"Inconclusive against {first.baseline} on {first.measure}: {named}. More queries from more repositories "
        "show smaller differences: `assay plan` says how many."
    ]


def _untested(rows: Sequence[ComparisonRow]) -> list[str]:
    few = [row for row in rows if row.p is None]
    if not few:
        return []
    return [f"No p-value on {few[0].clusters} independent clusters: nothing can be called better or worse."]


def trace_data(case: ScoredRun, traces: Traces) -> dict[str, Any]:
    """Give what the reference engine did, by the number of the unit."""
    column = {(unit.gold, unit.query, unit.form): at for at, unit in enumerate(case.scores.units)}
    return {str(column[asked]): waterfall_data(traced) for asked, traced in traces.made.items() if asked in column}


def waterfall_data(traced: QueryTrace) -> dict[str, Any]:
    """Write one waterfall."""
    found = traced.waterfall
    return {
        "engine": traced.engine,
        "question": {"kind": found.kind, "terms": list(found.terms)},
        "stages": list(found.stages),
        "candidates": [
            {"path": row.path, "start": row.start, "end": row.end, "steps": list(map(_step, row.steps))}
            for row in found.candidates
        ],
    }


def _step(step: WaterfallStep) -> dict[str, float | None]:
    score, change = (round(value, _DIGITS) if math.isfinite(value) else None for value in (step.score, step.change))
    return {"score": score, "change": change, "rank": step.rank, "before": step.before}


def queries(case: ScoredRun) -> dict[str, Any]:
    """Give the queries with their answers, and the units that were asked, in the order of the scores."""
    units = case.scores.units
    golds = [gold.name for gold in case.run.suite.golds]
    forms, repositories = forms_of(units), sorted({unit.repository for unit in units})
    called = repository_names(repositories)
    place = {key: at for at, key in enumerate(case.queries)}
    leaks = _leaks(case)
    return {
        "forms": forms,
        "golds": golds,
        "repositories": [called[name] for name in repositories],
        "queries": [_query(query, golds.index(gold)) for (gold, _), query in case.queries.items()],
        "units": [
            {
                "q": place[unit.gold, unit.query],
                "form": forms.index(unit.form),
                "headline": unit.headline,
                "repo": repositories.index(unit.repository),
                "leak": leaks[unit.gold, unit.query],
                "text": case.queries[unit.gold, unit.query].forms[unit.form],
            }
            for unit in units
        ],
    }


def _leaks(case: ScoredRun) -> dict[tuple[str, str], bool]:
    heads: list[Unit] = [unit for unit in case.scores.units if unit.headline]
    named = ((unit, case.queries[unit.gold, unit.query]) for unit in heads)
    return {(unit.gold, unit.query): overlaps(query.forms[unit.form], query.targets) for unit, query in named}


def _query(query: Query, gold: int) -> dict[str, Any]:
    why = query.rationale
    return {
        "gold": gold,
        "id": query.id,
        "line": query.line,
        "targets": [_target(target) | {"grade": target.grade, "symbol": target.symbol} for target in query.targets],
        "adversaries": list(map(_adversary, query.adversaries)),
        "rationale": None if why is None else {"owner": why.owner, "reason": why.reason, "boundary": why.boundary},
        "tags": dict(query.tags),
        "measures": list(query.measures),
    }


def _target(target: Target) -> dict[str, Any]:
    return {"path": target.span.path, "start": target.span.start, "end": target.span.end, "anchor": target.anchor}


def _adversary(adversary: Adversary) -> Mapping[str, Any]:
    why = {"relationship": adversary.relationship, "strength": adversary.strength, "confusion": adversary.confusion}
    return _target(adversary.target) | why


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


def pack_rankings(case: ScoredRun, *, scores: bool, error_length: int) -> bytes:
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


def _rows(case: ScoredRun) -> list[list[Ranking | None]]:
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
        if ranking is None or not ranking.error:
            return 0
        return self.known.setdefault(clip(ranking.error, self._length), len(self.known)) + 1


class _Marks:
    """Marks of hits, by the matches that the scores were made of: a failed query has none."""

    def __init__(self, case: ScoredRun) -> None:
        level = level_of(case.primary)
        grid = case.scorer.grid
        markers = {key: HitMarker(query, level) for key, query in case.queries.items()}
        self._markers = [markers[unit.gold, unit.query] for unit in grid.units]
        self._matches = grid.matches(level)  # engine by engine
        most = max((len(query.targets) for query in case.queries.values()), default=0)
        self.adversaries = max(_ADVERSARIES, 1 + most)

    def of(self, engine: int, unit: int, ranking: Ranking | None) -> tuple[list[int], list[int]]:
        if ranking is None:
            return [], []
        marks, repeats = [0] * len(ranking.hits), [0] * len(ranking.hits)
        found = self._matches[engine * len(self._markers) + unit]
        for at, mark in self._markers[unit].judged(ranking.hits, found):
            marks[at] = self.adversaries + (mark.adversary or 0) if mark.target is None else 1 + mark.target
            repeats[at] = at + 1 - (mark.rank or 0)
        return marks, repeats


def _add_unit(columns: _Columns, answers: Sequence[Ranking | None], errors: _Errors) -> None:
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
    hits = ranking.hits
    tokens = ranking.tokens if len(ranking.tokens) == len(hits) else (None,) * len(hits)
    places = [(hit.path, hit.start, hit.end, cost) for hit, cost in zip(hits, tokens, strict=True)]
    columns.hit.extend([known.setdefault(place, len(known)) for place in places])
    columns.score.extend([hit.score for hit in hits])


def _table(columns: _Columns, paths: Sequence[str], *, scores: bool) -> dict[str, Column]:
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
    return np.array(numbers, dtype=np.int64)
