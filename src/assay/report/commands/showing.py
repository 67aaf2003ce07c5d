"""One query and what two engines, or one engine in two runs, answered to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.errors import ConfigError, meant
from assay.report.case import level_of
from assay.scoring import score
from assay.scoring.joining import restrict_run, restrict_suite
from assay.scoring.marks import Mark, Marker, is_beside, match_distinct
from assay.scoring.match import Level
from assay.types import Claim, Hit, Query, Ranking, Run, Status, order_forms


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose answer is shown: an engine of a run, under the name that tells it from the other."""

    name: str
    engine: str
    run: Run


@dataclass(frozen=True, slots=True)
class Place:
    """One hit: what it is, and where the same place stood in the other ranking."""

    hit: Hit
    mark: Mark
    other: int | None  # rank among distinct hits, as in its mark; None: it is not there, or there is no other
    other_lines: bool = False  # it is right by its file alone: no answer has a line of it


@dataclass(frozen=True, slots=True)
class Side:
    """What one subject answered."""

    name: str
    ranking: Ranking | None  # None: it was not asked this form
    places: tuple[Place, ...]
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
class Shown:
    """A query with the answers of one or two subjects."""

    gold: str
    query: Query
    form: str
    forms: tuple[str, ...]  # that were asked
    k: int
    level: Level
    measures: tuple[str, ...]
    sides: tuple[Side, ...]
    notes: tuple[str, ...]


def show_query(
    subjects: Sequence[Subject], gold: str, query: Query, form: str | None, claim: Claim, measures: Sequence[str]
) -> Shown:
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
    return Shown(gold, query, chosen, forms, last.k, level, tuple(measures), sides, _notes(subjects, gold, query))


def _asked(run: Run, gold: str, query: Query) -> tuple[str, ...]:
    """List the forms of a query that a run asked, in the order they are shown."""
    seen = {r.form for e in run.engines for r in e.rankings if r.gold == gold and r.query == query.id}
    return order_forms(seen or query.forms)


def _form(wanted: str | None, forms: Sequence[str]) -> str:
    """Choose the form; one that was not asked is an error."""
    if wanted is None or wanted in forms:
        return wanted or forms[0]
    hint = meant(wanted, forms) or f"it was asked as {', '.join(forms)}"
    raise ConfigError(f"the run did not ask this query as {wanted!r}", hint=hint)


def _ranking(subject: Subject, gold: str, query: str, form: str) -> Ranking | None:
    """Find what a subject answered."""
    engine = next((engine for engine in subject.run.engines if engine.name == subject.engine), None)
    if engine is None:
        names = [engine.name for engine in subject.run.engines]
        hint = meant(subject.engine, names) or f"there are: {', '.join(names)}"
        raise ConfigError(f"no engine {subject.engine!r} in the run", hint=hint)
    return next((r for r in engine.rankings if (r.gold, r.query, r.form) == (gold, query, form)), None)


def _others(rankings: Sequence[Ranking | None], level: Level) -> list[Mapping[int, int]]:
    """Give for ranks of each ranking the rank in the other; nothing where there is no other."""
    if len(rankings) < 2:
        return [{} for _ in rankings]
    moved = match_distinct(_given(rankings[0]), _given(rankings[1]), level)
    return [{old: new for new, old in moved.items()}, moved]


def _given(ranking: Ranking | None) -> Sequence[Hit]:
    """Give the hits of an answer; one that failed has none."""
    return ranking.hits if ranking is not None and ranking.status == Status.OK else ()


def _side(
    subject: Subject,
    gold: str,
    form: str,
    ranking: Ranking | None,
    others: Mapping[int, int],
    level: Level,
    measures: Sequence[str],
) -> Side:
    """Mark what one subject answered by the gold of its own run, and score it."""
    name = "" if ranking is None else ranking.query
    query = next((q for g in subject.run.suite.golds if g.name == gold for q in g.queries if q.id == name), None)
    if ranking is None or query is None:
        return Side(subject.name, None, (), (), ())
    hits = _given(ranking)
    marks = Marker(query, level)(hits)
    places = tuple(
        Place(hit, mark, others.get(mark.rank or 0), mark.target is not None and is_beside(hit, query.targets))
        for hit, mark in zip(hits, marks, strict=True)
    )
    values = _values(subject, f"{gold}/{query.id}", form, measures)
    return Side(subject.name, ranking, places, values, _ranks(query, marks))


def _values(subject: Subject, name: str, form: str, measures: Sequence[str]) -> tuple[float, ...]:
    """Score one query of one engine; its other phrasings stay, because measures may be over all of them."""
    run = subject.run
    only = replace(run, engines=tuple(engine for engine in run.engines if engine.name == subject.engine))
    scores = score(restrict_run(only, restrict_suite(run.suite, {name})), list(measures))
    column = next(at for at, unit in enumerate(scores.units) if unit.form == form)
    return tuple(float(value) for value in scores.values[0, :, column])


def _ranks(query: Query, marks: Sequence[Mark]) -> tuple[int | None, ...]:
    """Give the rank of each target, then of each adversary, as the level tells them apart."""
    targets = {mark.target: mark.rank for mark in reversed(marks) if mark.target is not None}
    traps = {mark.adversary: mark.rank for mark in reversed(marks) if mark.adversary is not None}
    return (
        *(targets.get(at) for at in range(len(query.targets))),
        *(traps.get(at) for at in range(len(query.adversaries))),
    )


def _notes(subjects: Sequence[Subject], gold: str, query: Query) -> tuple[str, ...]:
    """Say what else differs between two runs than the answers."""
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
