from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from assay.corpus_changes import find_changes
from assay.errors import ConfigError, closest_match, did_you_mean
from assay.gold.build import row_id
from assay.report.render.document import (
    Block,
    Cell,
    Document,
    Heading,
    Paragraph,
    RankingBlock,
    RankingLine,
    SideBySide,
    Table,
    Tone,
    table,
)
from assay.report.render.formatting import SHOWN, clip, strip_control
from assay.report.scored_run import level_of, measure_text
from assay.scoring import parse_measure, score
from assay.scoring.match import HitMark, HitMarker, Level, hit_span, is_beside, match_distinct, overlap_of, target_span
from assay.scoring.score import restrict_run, restrict_suite
from assay.types import PRIMARY, AnalysisPlan, Hit, Query, Ranking, Run, Status, sort_phrasings

#: After the grade of a hit in the right file without a line of a target.
_BESIDE = "~"
#: A difference that three digits do not show.
_SAME = 0.0005
#: A result whose lines overlap those of a result of the other side.
_OVERLAPS = "~"
#: Queries that an error lists.
_LISTED = 5
#: Characters of a query in an error.
_TEXT = 70


class ShownEngine(NamedTuple):
    """An engine of a run, with a label that is unique among the shown engines."""

    name: str
    engine: str
    run: Run


class ShownHit(NamedTuple):
    hit: Hit
    mark: HitMark
    other: int | None  # rank among distinct hits; None: missing in the other ranking, or no other ranking
    other_lines: bool  # in the file of a target, but without a line of one
    found_at: int | None = None  # rank of an earlier hit that was assigned the target of this one


@dataclass(frozen=True, slots=True)
class ShownRanking:
    name: str
    ranking: Ranking | None  # None: the engine was not asked this phrasing
    hits: tuple[ShownHit, ...] = ()
    values: tuple[float, ...] = ()  # of each measure; NaN where one does not apply
    ranks: tuple[int | None, ...] = ()  # of each target, then of each adversary
    covered: tuple[int | None, ...] = ()  # of each target: rank of the first hit that matches it, assigned or not

    @property
    def failure(self) -> str:
        if self.ranking is None:
            return "not run on this phrasing"
        if self.ranking.status == Status.OK:
            return ""
        return f"{self.ranking.status}: {self.ranking.error or 'no message'}"


@dataclass(frozen=True, slots=True)
class QueryView:
    gold: str
    query: Query
    form: str
    forms: tuple[str, ...]  # phrasings that were asked
    k: int
    level: Level
    measures: tuple[str, ...]
    sides: tuple[ShownRanking, ...]
    notes: tuple[str, ...]
    two_engines: bool  # not one engine before and after


def show_query(
    subjects: Sequence[ShownEngine],
    gold: str,
    query: Query,
    form: str | None,
    plan: AnalysisPlan,
    measures: Sequence[str],
) -> QueryView:
    """Collect the rankings of one phrasing of a query, by default its headline."""
    last = subjects[-1].run
    asked = {r.form for e in last.engines for r in e.rankings if r.gold == gold and r.query == query.id}
    forms = sort_phrasings(asked or query.forms)
    if form is not None and form not in forms:
        hint = did_you_mean(form, forms) or f"phrasings: {', '.join(forms)}"
        raise ConfigError(f"no phrasing {form!r} of this query in the run", hint=hint)
    form, level = form or forms[0], level_of(plan.primary)
    rankings = [_find_ranking(subject, (gold, query.id, form)) for subject in subjects]
    others: list[Mapping[int, int]] = [{} for _ in rankings]
    if len(rankings) > 1:
        moved = match_distinct(_hits(rankings[0]), _hits(rankings[1]), level)
        others = [{old: new for new, old in moved.items()}, moved]
    sides = tuple(
        _shown_ranking(subject, ranking, other, level, measures)
        for subject, ranking, other in zip(subjects, rankings, others, strict=True)
    )
    two_engines = len({subject.engine for subject in subjects}) > 1
    notes = _notes(subjects, gold, query)
    return QueryView(gold, query, form, forms, last.k, level, tuple(measures), sides, notes, two_engines)


def _find_ranking(subject: ShownEngine, key: tuple[str, str, str]) -> Ranking | None:
    engines = {engine.name: engine for engine in subject.run.engines}
    if subject.engine not in engines:
        hint = did_you_mean(subject.engine, list(engines)) or f"engines: {', '.join(engines)}"
        raise ConfigError(f"no engine {subject.engine!r} in the run", hint=hint)
    return next((r for r in engines[subject.engine].rankings if (r.gold, r.query, r.form) == key), None)


def _hits(ranking: Ranking | None) -> Sequence[Hit]:
    return ranking.hits if ranking is not None and ranking.status == Status.OK else ()


def _shown_ranking(
    subject: ShownEngine, ranking: Ranking | None, others: Mapping[int, int], level: Level, measures: Sequence[str]
) -> ShownRanking:
    key = (ranking.gold, ranking.query) if ranking else None
    golds = subject.run.suite.golds
    query = next((query for gold in golds for query in gold.queries if (gold.name, query.id) == key), None)
    if ranking is None or query is None:
        return ShownRanking(subject.name, None)
    marks = HitMarker(query, level)(_hits(ranking))
    targets = {mark.target: mark.rank for mark in reversed(marks)}
    adversaries = {mark.adversary: mark.rank for mark in reversed(marks)}
    ranks = [targets.get(at) for at in range(len(query.targets))]
    ranks += [adversaries.get(at) for at in range(len(query.adversaries))]
    hits, covered = list[ShownHit](), dict[int, int]()
    for hit, mark in zip(_hits(ranking), marks, strict=True):
        span = hit_span(hit, level)
        matched = [i for i, t in enumerate(query.targets) if overlap_of(span, target_span(t, level)) > 0]
        found_at = None
        if mark.rank is not None:
            covered |= {i: mark.rank for i in matched if i not in covered}
            if mark.target is None:
                found_at = min((rank for i in matched if (rank := ranks[i])), default=None)
        beside = mark.target is not None and is_beside(hit, query.targets)
        hits.append(ShownHit(hit, mark, others.get(mark.rank or 0), beside, found_at))
    return ShownRanking(
        subject.name,
        ranking,
        tuple(hits),
        _values(subject, ranking, measures),
        tuple(ranks),
        tuple(covered.get(i) for i in range(len(query.targets))),
    )


def _values(subject: ShownEngine, ranking: Ranking, measures: Sequence[str]) -> tuple[float, ...]:
    """Score one query of one engine, with all phrasings because measures may need them."""
    run = subject.run
    only = replace(run, engines=tuple(engine for engine in run.engines if engine.name == subject.engine))
    suite = restrict_suite(run.suite, {f"{ranking.gold}/{ranking.query}"})
    scores = score(restrict_run(only, suite), list(measures))
    column = next(at for at, unit in enumerate(scores.units) if unit.form == ranking.form)
    return tuple(float(value) for value in scores.values[0, :, column])


def _notes(subjects: Sequence[ShownEngine], gold: str, query: Query) -> tuple[str, ...]:
    runs = [subject.run for subject in subjects]
    if len(runs) < 2 or runs[0] is runs[1]:
        return ()
    notes, name = [], f"{gold}/{query.id}"
    if runs[0].hashes.get(name) != runs[1].hashes.get(name):
        notes.append("The query differs between the runs: each ranking is marked with the targets of its run.")
    if gold in {change.gold for change in find_changes(*(run.header.corpora for run in runs))}:
        notes.append(f"The corpus of {gold} changed between the runs: lines may have moved.")
    if runs[0].k != runs[1].k:
        notes.append(f"The first run requested {runs[0].k} results, the second {runs[1].k}.")
    return tuple(notes)


def show_document(shown: QueryView) -> Document:
    blocks: list[Block] = [Paragraph(shown.query.forms[shown.form])]
    blocks += [Paragraph(note, "warning") for note in shown.notes]
    blocks += [
        Paragraph(f"{side.name} failed: {clip(side.failure, SHOWN.message)}", "bad")
        for side in shown.sides
        if side.failure
    ]
    blocks += [Heading("Targets"), _target_table(shown), Heading("Values"), _value_table(shown)]
    blocks += [Heading("Rankings"), SideBySide(tuple(_ranking_block(shown, at) for at in range(len(shown.sides))))]
    blocks.append(Paragraph(_legend(shown), "quiet"))
    others = [form for form in shown.forms if form != shown.form]
    if others:
        blocks.append(Paragraph(f"Other phrasings: {', '.join(others)} (--form).", "quiet"))
    return Document(f"{shown.gold}/{shown.query.id} ({shown.form})", tuple(blocks))


def _target_table(shown: QueryView) -> Table:
    labels: list[tuple[str, str, Tone]] = [(t.anchor, f"grade {t.grade}", "good") for t in shown.query.targets]
    labels += [(a.target.anchor, f"adversary: {a.relationship}, {a.strength}", "bad") for a in shown.query.adversaries]
    rows: list[list[str | Cell]] = []
    for at, (anchor, kind, tone) in enumerate(labels):
        cells = []
        for side in shown.sides:
            rank, covered = (values[at] if at < len(values) else None for values in (side.ranks, side.covered))
            cells.append(Cell(str(rank), tone) if rank else Cell(f"({covered})" if covered else "–", "quiet"))
        rows.append([anchor, kind, *cells])
    texts = {cell.text for row in rows for cell in row[2:] if isinstance(cell, Cell)}
    notes = [f"Ranks by {shown.level}"]
    notes += [f"–: not in the top {shown.k}"] if "–" in texts else []
    notes += ["(1): the result at rank 1 matches this target, but counts for another"] * any("(" in t for t in texts)
    note = f"{'; '.join(notes)}."
    return table(["Target", "Label", *(f">{side.name}" for side in shown.sides)], rows, note)


def _value_table(shown: QueryView) -> Table:
    columns = ["Measure", *(f">{side.name}" for side in shown.sides), ">Difference" if shown.two_engines else ">Change"]
    rows: list[list[str | Cell]] = []
    for at, name in enumerate(shown.measures):
        values = [side.values[at] if at < len(side.values) else math.nan for side in shown.sides]
        cells = [f"{value:.3f}" if math.isfinite(value) else "–" for value in values]
        rows.append([measure_text(name), *cells, _change(name, values[-1] - values[0])])
    if len(shown.sides) == 1:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return table(columns, rows)


def _change(name: str, change: float) -> Cell:
    if not math.isfinite(change):
        return Cell("–", "quiet")
    if abs(change) < _SAME:
        return Cell("=", "quiet")
    better = (change > 0) == parse_measure(name).higher_is_better
    return Cell(f"{change:+.3f}", "good" if better else "bad")


def _ranking_block(shown: QueryView, at: int) -> RankingBlock:
    side = shown.sides[at]
    two = len(shown.sides) > 1 and not any(other.failure for other in shown.sides)
    lines = []
    for hit in side.hits:
        sign, tone = _mark(shown, hit)
        move = _move(shown, hit, second=at > 0) if two else ""
        lines.append(RankingLine(str(hit.mark.rank or ""), sign, clip(str(hit.hit.span), SHOWN.example), move, tone))
    empty = "" if lines or side.failure else "No results."
    return RankingBlock(side.name, tuple(lines), clip(side.failure, SHOWN.message) or empty)


def _mark(shown: QueryView, hit: ShownHit) -> tuple[str, Tone]:
    if hit.mark.target is not None:
        grade = shown.query.targets[hit.mark.target].grade
        return f"✓{grade}{_BESIDE if hit.other_lines else ''}", "good" if grade >= PRIMARY else "plain"
    if hit.mark.adversary is not None:
        return "✗", "bad"
    if hit.found_at is not None:
        return f"({hit.found_at})", "quiet"
    return ("=", "quiet") if hit.mark.rank is None else ("", "plain")


def _move(shown: QueryView, hit: ShownHit, *, second: bool) -> str:
    rank = hit.mark.rank
    if rank is None:
        return ""
    if hit.other is None:
        alone = "only" if shown.two_engines else "new" if second else "gone"
        return _OVERLAPS if _overlaps(shown, hit, second=second) else alone
    moved = hit.other - rank if second else 0
    return f"↑{moved}" if moved > 0 else f"↓{-moved}" if moved < 0 else "=" if second else ""


def _overlaps(shown: QueryView, hit: ShownHit, *, second: bool) -> bool:
    """Return whether a result of the other side has lines in common with a result."""
    span = hit_span(hit.hit, shown.level)
    others = shown.sides[0 if second else -1].hits
    return any(overlap_of(span, hit_span(other.hit, shown.level)) > 0 for other in others)


def _legend(shown: QueryView) -> str:
    hits = [hit for side in shown.sides for hit in side.hits]
    first, second = shown.sides[0].name, shown.sides[-1].name
    sides = enumerate(shown.sides if len(shown.sides) > 1 else ())
    moves = {_move(shown, hit, second=bool(at)) for at, side in sides for hit in side.hits}
    parts = {
        "✓2: target of grade 2": any(hit.mark.target is not None for hit in hits),
        f"{_BESIDE}: right file, other lines": any(hit.other_lines for hit in hits),
        "✗: adversary": any(hit.mark.adversary is not None for hit in hits),
        "=: repeats a result above": any(hit.mark.rank is None for hit in hits),
        "(1): target already found at rank 1": any(hit.found_at for hit in hits),
        "only: not in the results of the other engine": "only" in moves,
        f"{_OVERLAPS}: other lines than an overlapping result of the other side": _OVERLAPS in moves,
        f"↑2: two ranks higher in {second} than in {first}": len(shown.sides) > 1,
    }
    used = [text for text, is_used in parts.items() if is_used]
    return "; ".join(used) + "." if used else "No targets found."


def show_json(shown: QueryView) -> dict[str, object]:
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
        "sides": [
            {
                "name": side.name,
                "status": side.ranking and str(side.ranking.status),
                "error": side.ranking and side.ranking.error,
                "values": dict(zip(shown.measures, side.values, strict=False)),
                "hits": [_hit_json(rank, hit) for rank, hit in enumerate(side.hits, start=1)],
            }
            for side in shown.sides
        ],
        "notes": list(shown.notes),
    }


def _hit_json(rank: int, shown: ShownHit) -> dict[str, object]:
    return {
        "rank": rank,
        "path": shown.hit.path,
        "start": shown.hit.start,
        "end": shown.hit.end,
        "score": shown.hit.score,
        "distinct": shown.mark.rank,
        "target": shown.mark.target,
        "adversary": shown.mark.adversary,
        "other_lines": shown.other_lines,
        "other": shown.other,
    }


class QueryMatch(NamedTuple):
    """A query, and the phrasing that matched; None if the id matched."""

    gold: str
    query: Query
    form: str | None = None

    @property
    def name(self) -> str:
        return f"{self.gold}/{self.query.id}"


def find_query(run: Run, wanted: str) -> QueryMatch:
    """Find a query by id, gold/id or row number, or by a part of its text or a start of its id that no other has."""
    every = _every_query(run)
    wanted = wanted.removesuffix("…")
    if wanted.isdecimal() and any(match.query.id == row_id(int(wanted)) for match in every):
        wanted = row_id(int(wanted))
    words, by_text = wanted.casefold().strip(), []
    for match in every if words else ():
        forms = [form for form in match.query.ordered_forms if words in match.query.forms[form].casefold()]
        by_text += [match._replace(form=forms[0])] if forms else []
    exact = [match for match in every if wanted in (match.query.id, match.name)]
    prefixed = [match for match in every if wanted and match.query.id.startswith(wanted)]
    for matches in (exact, prefixed, by_text):
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise ConfigError(f"{len(matches)} queries match {_short(wanted)!r}", hint=_list_queries(matches))
    raise ConfigError(f"no query {_short(wanted)!r} in this run", hint=_list_similar(every, wanted))


def no_query(run: Run, directory: str) -> ConfigError:
    return ConfigError(f"missing query of the run {directory}", hint=_list_queries(_every_query(run)))


def _every_query(run: Run) -> list[QueryMatch]:
    return [QueryMatch(gold.name, query) for gold in run.suite.golds for query in gold.queries]


def _list_queries(matches: Sequence[QueryMatch]) -> str:
    shown = "".join(f"\n    {_short(match.name)}: {_short(match.query.headline)}" for match in matches[:_LISTED])
    more = f"\n    and {len(matches) - _LISTED} more" if len(matches) > _LISTED else ""
    return f"name one of these queries:{shown}{more}"


def _list_similar(every: Sequence[QueryMatch], wanted: str) -> str:
    ids = closest_match(wanted, [match.query.id for match in every], _LISTED)
    similar = {match.name: match for name in ids for match in every if match.query.id == name}
    shared = [(-len(_words(wanted) & _words(*match.query.forms.values())), match.name, match) for match in every]
    similar |= {name: match for number, name, match in sorted(shared, key=lambda row: row[:2]) if number}
    listed = list(similar.values())[:_LISTED]
    return _list_queries(listed or every)


def _words(*texts: str) -> set[str]:
    return {word for text in texts for word in re.findall(r"\w{3,}", text.casefold())}


def _short(text: str) -> str:
    flat = " ".join(strip_control(text[: 8 * _TEXT]).split())
    return flat if len(flat) <= _TEXT else f"{flat[: _TEXT - 1]}…"
