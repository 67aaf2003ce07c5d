from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from assay.experiment.records.codec import dump
from assay.gold.query_properties import overlaps
from assay.report.comparison_text import card, decision_tone, headline, verdict_tone
from assay.report.extra_tables import table_blocks
from assay.report.render.formatting import clip, plain, repository_names
from assay.report.report_sections import NO_TIMES, adversaries_note, conditions_text, scores_note
from assay.report.results_file import Results, results_json
from assay.report.scored_run import ScoredRun, forms_of, level_of, rank_measure
from assay.report.sentences import FEW_QUERIES
from assay.scoring import parse_measure
from assay.scoring.match import HitMarker
from assay.stats.records import Verdict
from assay.types import EngineRun, Query, Ranking, Status, Target, WaterfallStep

if TYPE_CHECKING:
    from assay.experiment.tracing import QueryTrace, Traces

SCHEMA = "assay/page/1"
_DIGITS = 5  # of a score in a trace
#: Names of the numbers in the column `status`; missing: the engine was not asked.
STATUSES = (*map(str, Status), "missing")
#: Mark of the first adversary, unless a query has more targets.
_ADVERSARIES = 128
Column = NDArray[np.int64] | NDArray[np.float32]
#: Bits of a float's fraction that a score loses; five digits are left.
_LOST_BITS = 7
_SEVEN = 7  # bits of a number in each byte of LEB128


def summary(scored: ScoredRun, results: Results, limits: PageLimits) -> dict[str, Any]:
    corpora = scored.run.header.corpora
    return {
        "schema": SCHEMA,
        "decision": results.decision.to_json()
        | {"headline": headline(results.decision), "lines": list(card(results.decision).lines[1:])},
        "tone": decision_tone(results.decision),
        "results": _page_results(results),
        "values": {
            "measures": [_measure(name) for name in page_measures(scored)],
            "rank": rank_measure(scored.primary, scored.run.k),
            "level": level_of(scored.primary),
        },
        "tokens": [_mean_tokens(scored, engine) for engine in scored.run.engines],
        "few": FEW_QUERIES,
        "excerpts": {"around": limits.around, "lines": limits.lines},
        "notes": {
            "scores": scores_note(results),
            "adversaries": adversaries_note(results),
            "times": "" if results.header.timed else NO_TIMES,
            "conditions": conditions_text(results.conditions),
        },
        "limitations": limitations(results),
        "lint": [{"gold": name, "text": text} for name, facts in corpora.items() for text in facts.problems],
        "tables": [
            {"kind": type(block).__name__.lower(), "block": plain(block)}
            for block in (table_blocks(results) if results.tables else ())
        ],
    }


def _page_results(results: Results) -> dict[str, Any]:
    data = results_json(replace(results, low_scores=()))
    del data["low_scores"], data["decision"]  # the summary has the decision
    comparison = results.comparison
    for name, rows in (("rows", comparison.rows), ("secondary", comparison.secondary)):
        for fields, row in zip(data["comparison"][name], rows, strict=True):
            fields.update(tone=verdict_tone(row), verdict_text=row.verdict_text, mde_text=row.mde_text)
    for fields, facts in zip(data["engines"], results.engines, strict=True):
        fields.update(answered_nothing=facts.answered_nothing)
    for fields, used in zip(data["spending"], results.spending, strict=True):
        fields.update(mostly_failed=used.mostly_failed)
    return data


def page_measures(scored: ScoredRun) -> tuple[str, ...]:
    """Return the measures whose values are in the page: those of the analysis plan and the reciprocal rank."""
    return tuple(dict.fromkeys((*scored.plan.measures, rank_measure(scored.primary, scored.run.k))))


def _measure(name: str) -> dict[str, Any]:
    measure = parse_measure(name)
    low, high = (end if math.isfinite(end) else None for end in (measure.low, measure.high))
    return {"name": name, "low": low, "high": high, "higher": measure.higher_is_better}


def _mean_tokens(scored: ScoredRun, engine: EngineRun) -> float | None:
    """Return the mean token count of the results of a headline query; None if every query failed."""
    headlines = {(unit.gold, unit.query, unit.form) for unit in scored.scores.units if unit.headline}
    answered = [r for r in engine.rankings if r.status == Status.OK and (r.gold, r.query, r.form) in headlines]
    return float(np.mean([sum(r.tokens[: scored.run.k]) for r in answered])) if answered else None


def limitations(results: Results) -> list[str]:
    """Return the limitations of the comparisons as sentences."""
    rows = [row for row in results.comparison.rows if row.in_family]
    inconclusive = [row for row in rows if row.verdict == Verdict.INCONCLUSIVE and not row.identical]
    untested = [row for row in rows if row.p is None]
    found = []
    if inconclusive:
        first = inconclusive[0]
        names = ", ".join(f"{row.engine} (MDE {row.mde_text})" for row in inconclusive)
        found.append(
            f"Inconclusive against {first.baseline} on {first.measure}: {names}. Queries from more repositories lower "
            "the MDE: `assay plan --detect 0.05` computes how many."
        )
    if untested:
        found.append(f"Too few clusters for a p-value ({untested[0].clusters}), so no engine can be better or worse.")
    notes = [f"{row.engine}: {note}" for row in rows for note in row.notes]
    return list(dict.fromkeys([*found, *results.comparison.notes, *notes]))


def trace_data(scored: ScoredRun, traces: Traces) -> dict[str, Any]:
    column = {(unit.gold, unit.query, unit.form): at for at, unit in enumerate(scored.scores.units)}
    return {str(column[query]): waterfall_data(trace) for query, trace in traces.made.items() if query in column}


def waterfall_data(traced: QueryTrace) -> dict[str, Any]:
    waterfall = traced.waterfall
    return {
        "engine": traced.engine,
        "question": {"kind": waterfall.kind, "terms": list(waterfall.terms)},
        "stages": list(waterfall.stages),
        "candidates": [
            {"path": row.path, "start": row.start, "end": row.end, "steps": list(map(_step, row.steps))}
            for row in waterfall.candidates
        ],
    }


def _step(step: WaterfallStep) -> dict[str, float | None]:
    score, change = (round(value, _DIGITS) if math.isfinite(value) else None for value in (step.score, step.change))
    return {"score": score, "change": change, "rank": step.rank, "before": step.before}


def queries(scored: ScoredRun) -> dict[str, Any]:
    units = scored.scores.units
    golds = [gold.name for gold in scored.run.suite.golds]
    forms, repositories = forms_of(units), sorted({unit.repository for unit in units})
    names = repository_names(repositories)
    numbers = {key: at for at, key in enumerate(scored.queries)}
    leaks: dict[tuple[str, str], bool] = {}
    for unit in units:
        if unit.headline:
            query = scored.queries[unit.gold, unit.query]
            leaks[unit.gold, unit.query] = overlaps(query.forms[unit.form], query.targets)
    return {
        "forms": forms,
        "golds": golds,
        "repositories": [names[repository] for repository in repositories],
        "queries": [_query(query, golds.index(gold)) for (gold, _), query in scored.queries.items()],
        "units": [
            {
                "q": numbers[unit.gold, unit.query],
                "form": forms.index(unit.form),
                "headline": unit.headline,
                "repo": repositories.index(unit.repository),
                "leak": leaks[unit.gold, unit.query],
                "text": scored.queries[unit.gold, unit.query].forms[unit.form],
            }
            for unit in units
        ],
    }


def _query(query: Query, gold: int) -> dict[str, Any]:
    why = query.rationale
    return {
        "gold": gold,
        "id": query.id,
        "line": query.line,
        "targets": [_target(target) | {"grade": target.grade, "symbol": target.symbol} for target in query.targets],
        "adversaries": [
            _target(adversary.target)
            | {
                "relationship": adversary.relationship,
                "strength": adversary.strength,
                "confusion": adversary.confusion,
            }
            for adversary in query.adversaries
        ],
        "rationale": None if why is None else {"owner": why.owner, "reason": why.reason, "boundary": why.boundary},
        "tags": dict(query.tags),
        "measures": list(query.measures),
    }


def _target(target: Target) -> dict[str, Any]:
    return {"path": target.span.path, "start": target.span.start, "end": target.span.end, "anchor": target.anchor}


_Place = tuple[str, int | None, int | None, int | None]  # path, start, end, tokens


class _Rankings:
    """The columns of all rankings, unit by unit and engine by engine."""

    def __init__(self, scored: ScoredRun, error_length: int) -> None:
        level = level_of(scored.primary)
        grid = scored.scorer.grid
        markers = {key: HitMarker(query, level) for key, query in scored.queries.items()}
        self._markers = [markers[unit.gold, unit.query] for unit in grid.units]
        self._matches = grid.matches(level)  # those of the scores, engine by engine; failed queries have none
        self._error_length = error_length
        most = max((len(query.targets) for query in scored.queries.values()), default=0)
        self.adversaries = max(_ADVERSARIES, 1 + most)
        self.errors: dict[str, int] = {}
        self.places: list[_Place] = []
        self.scores: list[float | None] = []
        self.seconds: list[float] = []
        names = ("places", "status", "error", "hits", "hit", "mark", "repeats")
        self.numbers: dict[str, list[int]] = {name: [] for name in names}

    def add_unit(self, unit: int, rankings: Sequence[Ranking | None]) -> None:
        known: dict[_Place, int] = {}  # results of the engines on one unit overlap
        for engine, ranking in enumerate(rankings):
            self.numbers["status"].append(STATUSES.index("missing" if ranking is None else ranking.status))
            self.numbers["error"].append(self._error_number(ranking))
            self.numbers["hits"].append(0 if ranking is None else len(ranking.hits))
            self.seconds.append(0.0 if ranking is None else ranking.seconds)
            if ranking is not None and ranking.hits:
                self._add_hits(unit, engine, ranking, known)
        self.numbers["places"].append(len(known))
        self.places.extend(known)

    def _error_number(self, ranking: Ranking | None) -> int:
        if ranking is None or not ranking.error:
            return 0
        return self.errors.setdefault(clip(ranking.error, self._error_length), len(self.errors)) + 1

    def _add_hits(self, unit: int, engine: int, ranking: Ranking, known: dict[_Place, int]) -> None:
        hits = ranking.hits
        tokens = ranking.tokens if len(ranking.tokens) == len(hits) else (None,) * len(hits)
        places = [(hit.path, hit.start, hit.end, cost) for hit, cost in zip(hits, tokens, strict=True)]
        self.numbers["hit"].extend([known.setdefault(place, len(known)) for place in places])
        self.scores.extend([hit.score for hit in hits])
        marks, repeats = [0] * len(hits), [0] * len(hits)
        matches = self._matches[engine * len(self._markers) + unit]
        for at, mark in self._markers[unit].judged(hits, matches):
            marks[at] = self.adversaries + (mark.adversary or 0) if mark.target is None else 1 + mark.target
            repeats[at] = at + 1 - (mark.rank or 0)
        self.numbers["mark"].extend(marks)
        self.numbers["repeats"].extend(repeats)

    def columns(self, paths: Sequence[str]) -> dict[str, Column]:
        path_numbers = {path: at for at, path in enumerate(paths)}
        rows = [
            (path_numbers[path], start or 0, (end or 0) - start + 1 if start else 0, 0 if cost is None else cost + 1)
            for path, start, end, cost in self.places
        ]
        path, start, lines, tokens = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        numbers: dict[str, Column] = {name: np.array(values, dtype=np.int64) for name, values in self.numbers.items()}
        return {
            "places": numbers["places"],
            "path": path,
            "start": start,
            "lines": lines,
            "tokens": tokens,
            "status": numbers["status"],
            "error": numbers["error"],
            "seconds": np.array(self.seconds, dtype=np.float32),
            "hits": numbers["hits"],
            "hit": numbers["hit"],
            "mark": numbers["mark"],
            "repeats": numbers["repeats"],
            "score": round_floats(np.array(self.scores, dtype=np.float32)),
        }


def pack_rankings(scored: ScoredRun, *, scores: bool, error_length: int) -> bytes:
    """Pack every ranking of a run, with or without the scores of the hits."""
    engines = scored.run.engines
    column = {(unit.gold, unit.query, unit.form): at for at, unit in enumerate(scored.scores.units)}
    units: list[list[Ranking | None]] = [[None] * len(engines) for _ in column]
    for number, engine in enumerate(engines):
        for ranking in engine.rankings:
            units[column[ranking.gold, ranking.query, ranking.form]][number] = ranking
    packed = _Rankings(scored, error_length)
    for at, rankings in enumerate(units):
        packed.add_unit(at, rankings)
    paths = sorted({place[0] for place in packed.places})
    columns = packed.columns(paths)
    if not scores:
        del columns["score"]
    head = {
        "engines": len(engines),
        "units": len(units),
        "statuses": STATUSES,
        "adversaries": packed.adversaries,
        "paths": paths,
        "errors": list(packed.errors),
    }
    return pack_table(head, columns)


def pack_table(head: Mapping[str, object], columns: Mapping[str, Column]) -> bytes:
    packed, listed = [], []
    for name, column in columns.items():
        if column.dtype.kind == "f":  # byte by byte: bytes of equal position compress better
            kind, data = "float32", column.astype("<f4").view(np.uint8).reshape(-1, 4).T.tobytes()
        else:
            kind, data = "varint", varints(column)
        packed.append(data)
        listed.append([name, kind, len(column), len(data)])
    text = dump({**head, "columns": listed}).encode("utf-8")
    return b"".join([struct.pack("<I", len(text)), text, *packed])


def varints(numbers: Column | Sequence[int]) -> bytes:
    """Pack unsigned numbers as LEB128: seven bits per byte, lowest first; the high bit means that more follow."""
    left = np.asarray(numbers, dtype=np.uint64)
    if not len(left):
        return b""
    width = max(1, -(-int(left.max()).bit_length() // _SEVEN))
    shifts = np.arange(width, dtype=np.uint64) * np.uint64(_SEVEN)
    parts = left[:, None] >> shifts  # the remaining bits at each byte
    more = parts[:, 1:] > 0
    data = (parts & np.uint64(0x7F)).astype(np.uint8)
    data[:, :-1] |= more.astype(np.uint8) << 7
    used = np.hstack([np.ones((len(left), 1), dtype=np.bool_), more])
    return data[used].tobytes()


def round_floats(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round floats to five digits, so that they compress; NaN and infinity stay."""
    bits = values.astype("<f4").view(np.uint32)
    half, mask = np.uint32(1 << (_LOST_BITS - 1)), np.uint32(0xFFFFFFFF << _LOST_BITS & 0xFFFFFFFF)
    rounded = ((bits + half) & mask).view(np.float32)
    return np.where(np.isfinite(values) & np.isfinite(rounded), rounded, values).astype(np.float32)


@dataclass(frozen=True, slots=True)
class PageLimits:
    """Size of report.html and how much of each query it shows."""

    max_bytes: int = 3_000_000  # of the file: small enough for mail, opens in a second
    source: bool = True  # False: no source at all
    around: int = 3  # lines before and after a span
    lines: int = 60  # of one excerpt: longer ones are read in an editor
    top: int = 3  # results of an engine whose source is shown: what people look at first
    error: int = 300  # characters of an error text; the records have all of it
