"""One query with the rankings of two engines, or of one engine in two runs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.errors import ConfigError, closest_match, did_you_mean
from assay.report.render.document import (
    Block,
    Cell,
    Document,
    Heading,
    Paragraph,
    RankingBlock,
    RankingLine,
    SideBySide,
    Tone,
    table,
)
from assay.report.render.text import SHOWN, clip, count, strip_control
from assay.report.scored_run import level_of
from assay.scoring import parse_measure, score
from assay.scoring.match import HitMark, HitMarker, Level, is_beside, match_distinct
from assay.scoring.runs import restrict_run, restrict_suite
from assay.types import PRIMARY, AnalysisPlan, Hit, Query, Ranking, Run, Status, sort_phrasings


@dataclass(frozen=True, slots=True)
class ShownEngine:
    """Whose answer is shown: an engine of a run, under the name that tells it from the other."""

    name: str
    engine: str
    run: Run


@dataclass(frozen=True, slots=True)
class ShownHit:
    """One hit: what it is, and where the same place stood in the other ranking."""

    hit: Hit
    mark: HitMark
    other: int | None  # rank among distinct hits, as in its mark; None: it is not there, or there is no other
    other_lines: bool = False  # it is right by its file alone: no answer has a line of it


@dataclass(frozen=True, slots=True)
class ShownRanking:
    """What one subject answered."""

    name: str
    ranking: Ranking | None  # None: it was not asked this form
    places: tuple[ShownHit, ...]
    values: tuple[float, ...]  # of each measure; NaN where one does not apply
    ranks: tuple[int | None, ...]  # at which each target, then each adversary, was found

    @property
    def failed(self) -> str:
        """Why there is no answer; empty where there is one."""
        if self.ranking is None:
            return "not asked"
        if self.ranking.status == Status.OK:
            return ""
        return f"{self.ranking.status}: {self.ranking.error or 'nothing was said'}"


@dataclass(frozen=True, slots=True)
class QueryView:
    """A query with the answers of one or two subjects."""

    gold: str
    query: Query
    form: str
    forms: tuple[str, ...]  # that were asked
    k: int
    level: Level
    measures: tuple[str, ...]
    sides: tuple[ShownRanking, ...]
    notes: tuple[str, ...]


def show_query(
    subjects: Sequence[ShownEngine],
    gold: str,
    query: Query,
    form: str | None,
    claim: AnalysisPlan,
    measures: Sequence[str],
) -> QueryView:
    """Put together what the subjects answered to one form of a query: the one that is named, else its headline."""
    last = subjects[-1].run
    forms = _asked(last, gold, query)
    chosen = _form(form, forms)
    level = level_of(claim.primary)
    rankings = [_ranking(subject, gold, query.id, chosen) for subject in subjects]
    others = _others(rankings, level)
    sides = tuple(
        _side(subject, gold, chosen, rankings[at], others[at], level, measures) for at, subject in enumerate(subjects)
    )
    return QueryView(gold, query, chosen, forms, last.k, level, tuple(measures), sides, _notes(subjects, gold, query))


def _asked(run: Run, gold: str, query: Query) -> tuple[str, ...]:
    seen = {r.form for e in run.engines for r in e.rankings if r.gold == gold and r.query == query.id}
    return sort_phrasings(seen or query.forms)


def _form(wanted: str | None, forms: Sequence[str]) -> str:
    if wanted is None or wanted in forms:
        return wanted or forms[0]
    hint = did_you_mean(wanted, forms) or f"it was asked as {', '.join(forms)}"
    raise ConfigError(f"the run did not ask this query as {wanted!r}", hint=hint)


def _ranking(subject: ShownEngine, gold: str, query: str, form: str) -> Ranking | None:
    engine = next((engine for engine in subject.run.engines if engine.name == subject.engine), None)
    if engine is None:
        names = [engine.name for engine in subject.run.engines]
        hint = did_you_mean(subject.engine, names) or f"there are: {', '.join(names)}"
        raise ConfigError(f"no engine {subject.engine!r} in the run", hint=hint)
    return next((r for r in engine.rankings if (r.gold, r.query, r.form) == (gold, query, form)), None)


def _others(rankings: Sequence[Ranking | None], level: Level) -> list[Mapping[int, int]]:
    if len(rankings) < 2:
        return [{} for _ in rankings]
    moved = match_distinct(_given(rankings[0]), _given(rankings[1]), level)
    return [{old: new for new, old in moved.items()}, moved]


def _given(ranking: Ranking | None) -> Sequence[Hit]:
    return ranking.hits if ranking is not None and ranking.status == Status.OK else ()


def _side(
    subject: ShownEngine,
    gold: str,
    form: str,
    ranking: Ranking | None,
    others: Mapping[int, int],
    level: Level,
    measures: Sequence[str],
) -> ShownRanking:
    name = "" if ranking is None else ranking.query
    query = next((q for g in subject.run.suite.golds if g.name == gold for q in g.queries if q.id == name), None)
    if ranking is None or query is None:
        return ShownRanking(subject.name, None, (), (), ())
    hits = _given(ranking)
    marks = HitMarker(query, level)(hits)
    places = tuple(
        ShownHit(hit, mark, others.get(mark.rank or 0), mark.target is not None and is_beside(hit, query.targets))
        for hit, mark in zip(hits, marks, strict=True)
    )
    values = _values(subject, f"{gold}/{query.id}", form, measures)
    return ShownRanking(subject.name, ranking, places, values, _ranks(query, marks))


def _values(subject: ShownEngine, name: str, form: str, measures: Sequence[str]) -> tuple[float, ...]:
    """Score one query of one engine; its other phrasings stay, because measures may be over all of them."""
    run = subject.run
    only = replace(run, engines=tuple(engine for engine in run.engines if engine.name == subject.engine))
    scores = score(restrict_run(only, restrict_suite(run.suite, {name})), list(measures))
    column = next(at for at, unit in enumerate(scores.units) if unit.form == form)
    return tuple(float(value) for value in scores.values[0, :, column])


def _ranks(query: Query, marks: Sequence[HitMark]) -> tuple[int | None, ...]:
    targets = {mark.target: mark.rank for mark in reversed(marks) if mark.target is not None}
    traps = {mark.adversary: mark.rank for mark in reversed(marks) if mark.adversary is not None}
    return (
        *(targets.get(at) for at in range(len(query.targets))),
        *(traps.get(at) for at in range(len(query.adversaries))),
    )


def _notes(subjects: Sequence[ShownEngine], gold: str, query: Query) -> tuple[str, ...]:
    runs = [subject.run for subject in subjects]
    if len(runs) < 2 or runs[0] is runs[1]:
        return ()
    name = f"{gold}/{query.id}"
    notes = []
    if runs[0].hashes.get(name) != runs[1].hashes.get(name):
        notes.append("The query is not the same in both runs: each ranking is marked by the answers of its own run.")
    digests = [run.header.corpora[gold].digest for run in runs if gold in run.header.corpora]
    if len(set(digests)) > 1:
        notes.append(f"The corpus of {gold} changed between the runs: lines may have moved.")
    if runs[0].k != runs[1].k:
        notes.append(f"The first run asked for {runs[0].k} results, the second for {runs[1].k}.")
    return tuple(notes)


#: Behind the grade of a hit that is right by its file alone.
_BESIDE = "~"
#: A difference that three digits do not show.
_SAME = 0.0005


def show_document(shown: QueryView) -> Document:
    """Say what was asked, what is right, and what came."""
    blocks: list[Block] = [Paragraph(shown.query.forms[shown.form])]
    blocks += [Paragraph(note, "warning") for note in shown.notes]
    blocks += [
        Paragraph(f"{side.name} gave no answer: {clip(side.failed, SHOWN.message)}", "bad")
        for side in shown.sides
        if side.failed
    ]
    blocks += [Heading("Answers"), _answers(shown), Heading("Values"), _values_showing_page(shown)]
    blocks += [Heading("Rankings"), SideBySide(tuple(_listing(shown, at) for at in range(len(shown.sides))))]
    blocks.append(Paragraph(_legend(shown), "quiet"))
    others = [form for form in shown.forms if form != shown.form]
    if others:
        blocks.append(Paragraph(f"It was also asked as {', '.join(others)} (--form).", "quiet"))
    return Document(f"{shown.gold}/{shown.query.id} ({shown.form})", tuple(blocks))


def _answers(shown: QueryView) -> Block:
    query = shown.query
    names = [(target.anchor, f"grade {target.grade}") for target in query.targets]
    names += [(a.target.anchor, f"adversary: {a.relationship}, {a.strength}") for a in query.adversaries]
    rows: list[list[str | Cell]] = []
    for at, (anchor, kind) in enumerate(names):
        right = at < len(query.targets)
        rows.append([anchor, kind, *(_rank(side, at, right=right) for side in shown.sides)])
    note = f"Ranks by {shown.level}; – is not among the first {shown.k}."
    return table(["place", "is", *(f">{side.name}" for side in shown.sides)], rows, note)


def _rank(side: ShownRanking, at: int, *, right: bool) -> Cell:
    rank = side.ranks[at] if at < len(side.ranks) else None
    if rank is None:
        return Cell("–", "quiet")
    return Cell(str(rank), "good" if right else "bad")


def _values_showing_page(shown: QueryView) -> Block:
    two = len(shown.sides) > 1
    rows: list[list[str | Cell]] = []
    for at, name in enumerate(shown.measures):
        values = [side.values[at] if at < len(side.values) else math.nan for side in shown.sides]
        row: list[str | Cell] = [name, *(_value(value) for value in values)]
        rows.append([*row, _change(name, values[0], values[-1])] if two else row)
    return table(["measure", *(f">{side.name}" for side in shown.sides), *([">change"] if two else [])], rows)


def _value(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "–"


def _change(name: str, before: float, after: float) -> Cell:
    change = after - before
    if not math.isfinite(change):
        return Cell("–", "quiet")
    if abs(change) < _SAME:
        return Cell("=", "quiet")
    better = (change > 0) == parse_measure(name).higher_is_better
    return Cell(f"{change:+.3f}", "good" if better else "bad")


def _listing(shown: QueryView, at: int) -> RankingBlock:
    side = shown.sides[at]
    two = len(shown.sides) > 1 and not any(one.failed for one in shown.sides)
    entries = tuple(_entry(shown, place, _tail(place, second=at > 0) if two else "") for place in side.places)
    empty = "" if entries or side.failed else "It answered with nothing."
    return RankingBlock(side.name, entries, clip(side.failed, SHOWN.message) or empty)


def _entry(shown: QueryView, place: ShownHit, tail: str) -> RankingLine:
    text = clip(str(place.hit.span), SHOWN.example)
    mark = place.mark
    tone: Tone = "plain"
    sign = ""
    if mark.target is not None:
        sign, tone = f"✓{shown.query.targets[mark.target].grade}", "good"
        tone = tone if shown.query.targets[mark.target].grade >= PRIMARY else "plain"
        sign += _BESIDE if place.other_lines else ""
    elif mark.adversary is not None:
        sign, tone = "✗", "bad"
    elif mark.rank is None:
        sign, tone = "=", "quiet"
    return RankingLine(str(mark.rank or ""), sign, text, tail, tone)


def _tail(place: ShownHit, *, second: bool) -> str:
    rank = place.mark.rank
    if rank is None:
        return ""
    if place.other is None:
        return "new" if second else "gone"
    if not second:
        return ""
    moved = place.other - rank
    return f"↑{moved}" if moved > 0 else f"↓{-moved}" if moved < 0 else "="


def _legend(shown: QueryView) -> str:
    places = [place for side in shown.sides for place in side.places]
    marks = [place.mark for place in places]
    said = ["✓2 is an answer of grade 2" if any(mark.target is not None for mark in marks) else ""]
    said.append(f"{_BESIDE}: right file, other lines" if any(place.other_lines for place in places) else "")
    said.append("✗ an adversary" if any(mark.adversary is not None for mark in marks) else "")
    said.append("= before a place: it repeats one above" if any(mark.rank is None for mark in marks) else "")
    said.append("↑2: two ranks up from the first to the second" if len(shown.sides) > 1 else "")
    parts = [part for part in said if part]
    found = sum(mark.target is not None for mark in marks)
    return "; ".join(parts) + "." if parts else f"{count(found, 'answer')} found."


def show_json(shown: QueryView) -> dict[str, object]:
    """Give all of it to a program."""
    return {
        "schema": "assay/show/1",
        "gold": shown.gold,
        "query": shown.query.id,
        "form": shown.form,
        "forms": list(shown.forms),
        "text": shown.query.forms[shown.form],
        "k": shown.k,
        "level": shown.level,
        "targets": [{"anchor": t.anchor, "grade": t.grade, "span": t.span} for t in shown.query.targets],
        "adversaries": [
            {"anchor": a.target.anchor, "relationship": a.relationship, "strength": a.strength, "span": a.target.span}
            for a in shown.query.adversaries
        ],
        "sides": [_side_json(shown, side) for side in shown.sides],
        "notes": list(shown.notes),
    }


def _side_json(shown: QueryView, side: ShownRanking) -> dict[str, object]:
    ranking = side.ranking
    return {
        "name": side.name,
        "status": None if ranking is None else str(ranking.status),
        "error": None if ranking is None else ranking.error,
        "values": dict(zip(shown.measures, side.values, strict=False)),
        "hits": [
            {
                "rank": rank,
                "path": place.hit.path,
                "start": place.hit.start,
                "end": place.hit.end,
                "score": place.hit.score,
                "distinct": place.mark.rank,
                "target": place.mark.target,
                "adversary": place.mark.adversary,
                "other_lines": place.other_lines,
                "other": place.other,
            }
            for rank, place in enumerate(side.places, start=1)
        ],
    }


#: How many queries are named where the one was not found: those that are read in one look.
_SHOWN = 5
#: Characters of a question that are enough to know it again.
_TEXT = 70


@dataclass(frozen=True, slots=True)
class QueryMatch:
    """A query, and the form whose text it was found by; none where it was found by its name."""

    gold: str
    query: Query
    form: str | None = None

    @property
    def name(self) -> str:
        """What it is called over all gold sets."""
        return f"{self.gold}/{self.query.id}"


def find_query(run: Run, wanted: str) -> QueryMatch:
    """Find a query by id, by gold/id, or by a part of its text that no other query has."""
    every = [QueryMatch(gold.name, query) for gold in run.suite.golds for query in gold.queries]
    for found in ([one for one in every if wanted in (one.query.id, one.name)], _holding(every, wanted)):
        if len(found) == 1:
            return found[0]
        if found:
            raise ConfigError(f"{len(found)} queries are meant by {_short(wanted)!r}", hint=_listed(found))
    raise ConfigError(f"no query {_short(wanted)!r} in this run", hint=_near(every, wanted))


def no_query(run: Run, folder: str) -> ConfigError:
    """Say that a run is named and no query of it, and which there are."""
    every = [QueryMatch(gold.name, query) for gold in run.suite.golds for query in gold.queries]
    return ConfigError(f"{folder} is a run; which query of it?", hint=_listed(every))


def _holding(every: Sequence[QueryMatch], wanted: str) -> list[QueryMatch]:
    words = wanted.casefold().strip()
    found = []
    for one in every if words else ():
        forms = [form for form in one.query.ordered_forms if words in one.query.forms[form].casefold()]
        found += [QueryMatch(one.gold, one.query, forms[0])] if forms else []
    return found


def _listed(found: Sequence[QueryMatch]) -> str:
    shown = "".join(f"\n    {_short(one.name)}: {_short(one.query.headline)}" for one in found[:_SHOWN])
    more = f"\n    and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"name one of them:{shown}{more}"


def _near(every: Sequence[QueryMatch], wanted: str) -> str:
    names = closest_match(wanted, [one.query.id for one in every], _SHOWN)
    near = [one for name in names for one in every if one.query.id == name]
    words = set(re.findall(r"\w{3,}", wanted.casefold()))
    shared = {one.name: len(words & _words(one.query)) for one in every}
    near += sorted((one for one in every if shared[one.name]), key=lambda one: (-shared[one.name], one.name))
    unique = list({one.name: one for one in near}.values())
    return f"the nearest ones; {_listed(unique[:_SHOWN])}" if unique else _listed(every)


def _words(query: Query) -> set[str]:
    return {word for text in query.forms.values() for word in re.findall(r"\w{3,}", text.casefold())}


def _short(text: str) -> str:
    flat = " ".join(strip_control(text[: 8 * _TEXT]).split())
    return flat if len(flat) <= _TEXT else f"{flat[: _TEXT - 1]}…"
