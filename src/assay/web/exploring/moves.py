"""How ranks moved between two answers to one query, what of them is right, and what the measure says of either."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.experiment.running.tracing import Traced
from assay.report.case import level_of
from assay.report.explorer.gathering import waterfall_data
from assay.scoring import parse_measure, score
from assay.scoring.marks import Mark, Marker, match_hits
from assay.scoring.match import Level
from assay.types import EngineRun, Gold, Hit, Query, Ranking, Run, Status, Suite
from assay.web.exploring.asking import Answered
from assay.web.exploring.opening import Opened

SCHEMA = "assay/ask/1"


@dataclass(frozen=True, slots=True)
class Known:
    """A query of the run in one of its forms, of which is known what is right."""

    gold: Gold
    query: Query
    form: str


def told(opened: Opened, answered: Answered, known: Known | None) -> dict[str, Any]:
    """Say all that the page shows of a query that was asked again."""
    run, k = opened.run, opened.run.k
    marks = _marks(opened, answered.after, known)
    moved = match_hits(answered.before, answered.after, _level(opened))
    rows = [
        _row(hit, mark, rank, moved.get(rank))
        for rank, (hit, mark) in enumerate(zip(answered.after, marks, strict=True), start=1)
    ]
    old_marks = _marks(opened, answered.before[:k], known)
    came_to = {old: new for new, old in moved.items()}
    gone = [
        _row(hit, mark, came_to.get(rank), rank)
        for rank, (hit, mark) in enumerate(zip(answered.before[:k], old_marks, strict=True), start=1)
        if came_to.get(rank, k + 1) > k
    ]
    return {
        "schema": SCHEMA,
        "k": k,
        "hits": rows[:k],
        "gone": gone,
        "followed": len(answered.after),
        "value": None if known is None else _values(opened, answered, known),
        "trace": waterfall_data(Traced(answered.engine.name, answered.trace)),
        "seconds": answered.seconds,
        "opening": answered.opening,
        "notes": _notes(run, answered, known),
    }


def _row(hit: Hit, mark: Mark, rank: int | None, before: int | None) -> dict[str, Any]:
    """Describe a result with where it stands and stood; None: not among those that are followed."""
    place = {"path": hit.path, "start": hit.start, "end": hit.end, "score": hit.score}
    return place | {"rank": rank, "before": before, "target": mark.target, "adversary": mark.adversary}


def _marks(opened: Opened, hits: Sequence[Hit], known: Known | None) -> Sequence[Mark]:
    """Mark the hits as the report does; of a query that nobody labelled nothing is known."""
    if known is None:
        return [Mark(rank) for rank in range(1, len(hits) + 1)]
    return Marker(known.query, _level(opened))(hits)


def _level(opened: Opened) -> Level:
    """Give the level at which answers are right: that of the primary measure."""
    return level_of(opened.claim.primary)


def _values(opened: Opened, answered: Answered, known: Known) -> dict[str, Any] | None:
    """Score both answers by the primary measure; one over several phrasings by the measure that it is made of."""
    measure = parse_measure(opened.claim.primary)
    measure = measure.of or measure
    run = _run_of_one(opened.run, answered, known)
    values = [float(row[0][0]) for row in score(run, [measure]).values]
    if any(map(math.isnan, values)):
        return None
    return {"measure": repr(measure), "before": values[0], "after": values[1], "higher": measure.higher_is_better}


def _run_of_one(run: Run, answered: Answered, known: Known) -> Run:
    """Make a run of one query and two engines: before and after."""
    query = replace(known.query, forms={known.form: known.query.forms[known.form]})
    sizes = answered.place.sizes
    sides = {"before": answered.before[: run.k], "after": answered.after[: run.k]}
    paths = {hit.path for hits in sides.values() for hit in hits}
    return replace(
        run,
        suite=Suite((replace(known.gold, queries=(query,)),)),
        engines=tuple(_engine_of_one(name, hits, answered, known) for name, hits in sides.items()),
        lines={known.gold.name: {**run.lines.get(known.gold.name, {}), **{path: sizes.lines(path) for path in paths}}},
    )


def _engine_of_one(name: str, hits: Sequence[Hit], answered: Answered, known: Known) -> EngineRun:
    """Make the record of one answer."""
    shown = tuple(Hit(hit.path, hit.start, hit.end, hit.score) for hit in hits)
    tokens = tuple(answered.place.sizes.tokens(hit) for hit in shown)
    return EngineRun(name, (Ranking(known.gold.name, known.query.id, known.form, shown, tokens, Status.OK),))


def _notes(run: Run, answered: Answered, known: Known | None) -> list[str]:
    """Say what is not as it was when the run was made."""
    gold = answered.place.gold.name
    facts = run.header.corpora.get(gold)
    notes = []
    if facts is None or facts.digest != answered.place.corpus.digest:
        notes.append(f"The corpus of {gold} changed since the run: both answers are of today's files.")
    recorded = None if known is None else _recorded(answered.engine, known)
    now = [(hit.path, hit.start, hit.end) for hit in answered.before[: run.k]]
    if recorded is not None and recorded != now and not notes:
        notes.append("With the run's own settings the engine answers otherwise today: Assay or a model changed since.")
    return notes


def _recorded(engine: EngineRun, known: Known) -> list[tuple[str, int | None, int | None]] | None:
    """Find what the engine answered in the run."""
    key = (known.gold.name, known.query.id, known.form)
    for one in engine.rankings:
        if (one.gold, one.query, one.form) == key and one.status is Status.OK:
            return [(hit.path, hit.start, hit.end) for hit in one.hits]
    return None
