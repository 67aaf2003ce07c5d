"""Failed queries of a built-in engine: the stage that lost each target, and the score after each stage.

The run's own records say what was missed. The stages are seen by asking the engine again, over the same corpus and with
the same settings; where the corpus changed since, that is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from assay.types import EngineRun, GoldSet, Hit, Query, Ranking, Run, Status, Suite

if TYPE_CHECKING:
    from assay.experiment.corpora import PreparedGold
    from assay.report.render.document import Block, Document
    from assay.search import Index, Per, SearchConfig
    from assay.search.trace import Trace


_MEASURE = "nDCG@{k}"
_RECORDED = "in the run"  # what the engine answered when it was asked for the record


@dataclass(frozen=True, slots=True)
class Miss:
    """A query without a relevant file among its first k, and the stage that lost the last one."""

    gold: str
    query: str
    form: str
    text: str
    expected: tuple[str, ...]
    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class StageScore:
    """The measure over all queries, if the ranking had ended after a stage."""

    stage: str
    value: float


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What became of a run's queries."""

    engine: str
    per: str
    k: int
    measure: str
    queries: int  # phrasings that were asked; the measure is over the headline ones
    missed: tuple[Miss, ...]
    by_stage: Mapping[str, int]
    stages: tuple[StageScore, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Followed:
    """One query: what would have been answered after each stage, and what was; and why it was missed, if it was."""

    answers: Mapping[str, Ranking]
    miss: Miss | None


def diagnose(run: Run, engine: str | None, tell: Callable[[str], None]) -> Diagnosis:
    """Ask the builtin engine of a run again, stage by stage."""
    from assay.experiment.tracing import choose_explainable

    chosen = choose_explainable(run, engine)
    per, config = _settings(chosen)
    misses: list[Miss] = []
    after: dict[str, list[Ranking]] = {}
    notes: list[str] = []
    for gold in run.suite.golds:
        tell(f"{gold.name}: asking {chosen.name} again")
        place = _place(gold)
        notes += _changes(run, place)
        for one in _follow(chosen, place, config, per, run.k):
            misses += [one.miss] if one.miss else []
            for stage, answer in one.answers.items():
                after.setdefault(stage, []).append(answer)
    measure, stages = _measured(run, chosen, after)
    counts = dict(Counter(miss.stage for miss in misses).most_common())
    notes += _differs(stages, per)
    return Diagnosis(
        chosen.name, per, run.k, measure, len(chosen.rankings), tuple(misses), counts, stages, tuple(notes)
    )


def _settings(engine: EngineRun) -> tuple[Per, SearchConfig]:
    from assay.engines.builtin import BuiltinEngine
    from assay.experiment.tracing import rebuild_engine

    settings = cast(BuiltinEngine, rebuild_engine(engine)).settings
    return settings.per, settings.search


def _place(gold: GoldSet) -> PreparedGold:
    from assay.experiment.corpora import check_home, prepare

    check_home(gold)
    return prepare(gold, None, None, "report")


def _changes(run: Run, place: PreparedGold) -> list[str]:
    facts = run.header.corpora.get(place.gold.name)
    if facts is None or facts.digest == place.corpus.digest:
        return []
    return [f"The corpus of {place.gold.name} changed since the run: stages are those of today's files."]


def _follow(engine: EngineRun, place: PreparedGold, config: SearchConfig, per: Per, k: int) -> Iterator[_Followed]:
    from assay.search import Index

    index = Index.build(place.corpus, config)
    queries = {query.id: query for query in place.gold.queries}
    for ranking in engine.rankings:
        if ranking.gold == place.gold.name and ranking.query in queries:
            query = queries[ranking.query]
            trace = index.explain(query.forms[ranking.form], per=per, k=k)
            yield _Followed(_answers(index, trace, ranking, k), _miss(index, query, ranking, trace, k))


def _miss(index: Index, query: Query, ranking: Ranking, trace: Trace, k: int) -> Miss | None:
    from assay.search.trace import find_lost_stage

    wanted = tuple(dict.fromkeys(target.span.path for target in query.targets))
    if any(hit.path in wanted for hit in ranking.hits[:k]):
        return None
    text = query.forms[ranking.form]
    if ranking.status is not Status.OK:
        return Miss(ranking.gold, query.id, ranking.form, text, wanted, "failed", str(ranking.error or ranking.status))
    rows = [row for path in wanted for row in index.rows_of(path, trace.per)]
    lost = find_lost_stage(trace, rows, ", ".join(wanted), k)
    stage, reason = (lost.stage, lost.reason) if lost.stage else ("answer", f"{lost.reason} now, not in the run")
    return Miss(ranking.gold, query.id, ranking.form, text, wanted, stage, reason)


def _answers(index: Index, trace: Trace, ranking: Ranking, k: int) -> dict[str, Ranking]:
    from assay.search.results import order_of

    found = {}
    for stage in trace.stages:
        hits = tuple(_named(index, row, trace.per) for row in order_of(stage.scores)[:k].tolist())
        found[stage.name] = replace(ranking, hits=hits, tokens=(0,) * len(hits), status=Status.OK)
    return found | {_RECORDED: ranking}


def _named(index: Index, row: int, per: Per) -> Hit:
    if per == "file":
        return Hit(index.table.files.paths[row])
    units = index.table.units
    return Hit(index.table.files.paths[int(units.file[row])], int(units.start[row]), int(units.end[row]))


def _measured(run: Run, engine: EngineRun, after: Mapping[str, list[Ranking]]) -> tuple[str, tuple[StageScore, ...]]:
    import numpy as np

    from assay.scoring import parse_measure, score

    measure = parse_measure(_MEASURE.format(k=min(run.k, 10)))
    asked = {(one.gold, one.query) for one in next(iter(after.values()), [])}
    golds = tuple(
        replace(gold, queries=tuple(query for query in gold.queries if (gold.name, query.id) in asked))
        for gold in run.suite.golds
    )
    staged = tuple(replace(engine, name=name, rankings=tuple(rankings)) for name, rankings in after.items())
    scores = score(replace(run, suite=Suite(golds), engines=staged), [measure])
    headline = np.array([unit.headline for unit in scores.units], dtype=bool)
    means = [float(np.nanmean(scores.values[at, 0, headline])) for at in range(len(scores.engines))]
    return repr(measure), tuple(StageScore(name, mean) for name, mean in zip(scores.engines, means, strict=True))


def _differs(stages: tuple[StageScore, ...], per: str) -> list[str]:
    if len(stages) < 2 or per == "span" or abs(stages[-1].value - stages[-2].value) < 1e-9:
        return []
    return ["The last stage does not give what the run has: the engine or the corpus changed since."]


def document(found: Diagnosis, name: str, *, listed: bool) -> Document:
    """Say it for people."""
    from assay.report.render.document import Document, Heading, Paragraph, table

    missed = f"{len(found.missed)} of {found.queries} queries have no relevant file among the first {found.k}"
    blocks: list[Block] = [Paragraph(f"{found.engine}, per {found.per}: {missed}.")]
    blocks += [Paragraph(note, "warning") for note in found.notes]
    if found.missed:
        rows = [[stage, str(count)] for stage, count in found.by_stage.items()]
        blocks += [Heading("Where they were lost"), table(["stage", ">missed"], rows)]
    shown = [[one.stage, f"{one.value:.3f}"] for one in found.stages]
    note = "If the ranking had ended there; the headline phrasings, at file level."
    blocks += [Heading("After each stage"), table(["stage", f">{found.measure}"], shown, note)]
    if listed and found.missed:
        blocks += [Heading("Missed"), table(["query", "form", "stage", "reason", "expected"], _rows(found.missed))]
    return Document(f"What {name} missed", tuple(blocks))


def _rows(missed: tuple[Miss, ...]) -> list[list[Any]]:
    return [[miss.query, miss.form, miss.stage, miss.reason, ", ".join(miss.expected)] for miss in missed]
