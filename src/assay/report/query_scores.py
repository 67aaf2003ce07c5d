from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from assay.digests import digest_of
from assay.errors import NotComparableError
from assay.report.family import foreign_paths
from assay.report.render.formatting import count
from assay.report.scored_run import FAILED_SHARE, pick
from assay.report.sentences import synthetic_sets
from assay.scoring import ranking_codes, score
from assay.stats.config import DEFAULT
from assay.stats.records import ComparisonRow
from assay.stats.run_variance import RunVariance, estimate_run_variance
from assay.stats.runs import EngineOfRun, join_sides
from assay.types import AnalysisPlan, CorpusInfo, EngineRole, EngineRun, Run, Scores, Status

if TYPE_CHECKING:
    from assay.types import FloatArray

#: Unstable queries in a sentence; the JSON has all.
_NAMED_QUERIES = 5


@dataclass(frozen=True, slots=True)
class UnstableQuery:
    gold: str
    query: str
    form: str
    statuses: tuple[Status, ...]  # one per repeat

    @property
    def failed(self) -> int:
        return sum(status != Status.OK for status in self.statuses)

    @property
    def wavers(self) -> bool:
        return 0 < self.failed < len(self.statuses)


@dataclass(frozen=True, slots=True)
class EngineScores:
    name: str
    role: EngineRole
    settings: str  # digest of the settings
    asked: int  # queries over all repeats
    failed: int
    answers: tuple[str, ...]  # a digest of all rankings per repeat; empty if it found nothing
    means: tuple[tuple[float, ...], ...]  # headline means: repeats × measures; NaN where a measure does not apply
    changed: float = 0.0  # share of queries whose ranking differs between repeats
    noise: tuple[float, ...] = ()  # variance of a run's mean from single queries, by measure; 0 of a single run
    troubles: tuple[UnstableQuery, ...] = ()
    foreign: str = ""  # a returned path, if none exists in the corpus

    @property
    def dead(self) -> bool:
        """Whether every query failed."""
        return self.asked > 0 and self.failed == self.asked

    @property
    def silent(self) -> bool:
        """Whether at least one repeat has no results at all."""
        return self.asked > 0 and "" in self.answers

    @property
    def wavering(self) -> tuple[UnstableQuery, ...]:
        return tuple(trouble for trouble in self.troubles if trouble.wavers)


@dataclass(frozen=True, slots=True)
class QueryScores:
    """One side of a comparison: scores by query, averaged over repeats.

    Repeats of a query are not statistical units: they measure the variance of the engine.
    """

    name: str  # label in tables and sentences
    k: int
    engines: tuple[EngineScores, ...]
    scores: Scores  # headline units
    repeats: int = 1
    corpora: Mapping[str, CorpusInfo] = field(default_factory=dict)  # by gold name
    golds: tuple[str, ...] = ()
    synthetic: tuple[str, ...] = ()  # gold sets generated from code
    plan: AnalysisPlan | None = None  # the recorded analysis plan
    gold_hash: str = ""
    assay: str = ""  # version of Assay that scored it
    date: str = ""
    skipped: Mapping[str, str] = field(default_factory=dict)  # engine -> why it did not run
    is_file: bool = False  # whether it was read from a baseline file
    drafts: int = 0  # queries of the headline

    @property
    def dead(self) -> frozenset[str]:
        return frozenset(engine.name for engine in self.engines if engine.dead)

    def engine(self, name: str) -> EngineScores:
        return next(engine for engine in self.engines if engine.name == name)


def gather(runs: Sequence[Run], measures: Sequence[str], name: str) -> QueryScores:
    """Score the repeats of one experiment; failed queries get the worst score."""
    first = runs[0]
    for number, run in enumerate(runs[1:], 2):
        _check_repeat(first, run, number)
    names = [engine.name for engine in first.engines]
    tables = []
    for run in runs:
        scores = score(run, measures)
        columns = [i for i, unit in enumerate(scores.units) if unit.headline]
        tables.append(pick(scores, engines=names, columns=columns))
    values = np.stack([table.values for table in tables])  # repeats × engines × measures × units
    means, noise = means_over(values), query_noise(values)
    drafts = {(g.name, q.id) for g in first.suite.golds for q in g.queries if q.tags.get("status") == "draft"}
    return QueryScores(
        name=name,
        k=first.k,
        engines=tuple(_engine_scores(runs, name, means[:, at], noise[at]) for at, name in enumerate(names)),
        scores=replace(tables[0], values=values.mean(axis=0)),
        repeats=len(runs),
        corpora=first.header.corpora,
        golds=tuple(gold.name for gold in first.suite.golds),
        synthetic=synthetic_sets(first),
        plan=first.header.analysis_plan,
        gold_hash=first.header.gold_hash,
        assay=first.header.assay,
        date=first.header.date,
        skipped=first.header.skipped,
        drafts=sum((unit.gold, unit.query) in drafts for unit in tables[0].units),
    )


def _check_repeat(first: Run, other: Run, number: int) -> None:
    def inputs(run: Run) -> dict[str, object]:
        return {
            "gold": run.hashes,
            "k": run.k,
            "corpora": {name: facts.digest for name, facts in run.header.corpora.items()},
            "engines": {engine.name for engine in run.engines},
            "phrasings": {ranking.form for engine in run.engines for ranking in engine.rankings},
        }

    def identities(run: Run) -> dict[str, object]:
        return {e.name: (digest_of(e.config), e.version, e.fingerprint, e.code) for e in run.engines}

    hint = "run all repeats with one `assay run --repeat N`"
    for read, text in (
        (inputs, "repeat {number} differs from the first in its {name}"),
        (identities, "the settings or version of {name} in repeat {number} differ from the first"),
    ):
        others = read(other)
        for name, value in read(first).items():
            if value != others[name]:
                raise NotComparableError(text.format(name=name, number=number), hint=hint)


def means_over(values: FloatArray) -> FloatArray:
    """Average over the units where a measure applies; NaN if it applies to none."""
    applies = ~np.isnan(values)
    total = np.where(applies, values, 0.0).sum(axis=-1)
    averages: FloatArray = np.where(applies.any(axis=-1), total, np.nan) / np.maximum(applies.sum(axis=-1), 1)
    return averages


def query_noise(values: FloatArray) -> FloatArray:
    """Return the variance of a run's mean that single queries cause, from the residuals of repeats × queries.

    Variance that all queries of a run share is not included.
    """
    repeats = len(values)
    counts = (~np.isnan(values[0])).sum(axis=-1)
    if repeats == 1:
        return np.zeros(counts.shape)
    of_query = values.mean(axis=0)
    own = values - of_query - (means_over(values) - means_over(of_query))[..., None]
    squares = np.nansum(own**2, axis=(0, -1))
    return np.asarray(squares / ((repeats - 1) * np.maximum(counts - 1, 1) * np.maximum(counts, 1)))


def _engine_scores(runs: Sequence[Run], name: str, means: FloatArray, noise: FloatArray) -> EngineScores:
    repeats = [next(engine for engine in run.engines if engine.name == name) for run in runs]
    rankings = [ranking for engine in repeats for ranking in engine.rankings]
    statuses: dict[tuple[str, str, str], list[Status]] = {}
    for ranking in rankings:
        statuses.setdefault((ranking.gold, ranking.query, ranking.form), []).append(ranking.status)
    changed = 0.0
    if len(repeats) > 1:
        codes = ranking_codes(replace(runs[0], engines=tuple(repeats)))
        changed = float((codes != codes[0]).any(axis=0).mean()) if codes.shape[1] else 0.0
    return EngineScores(
        name=name,
        role=repeats[0].role,
        settings=digest_of(repeats[0].config),
        asked=len(rankings),
        failed=sum(ranking.status != Status.OK for ranking in rankings),
        answers=tuple(map(_rankings_digest, repeats)),
        means=tuple(tuple(map(float, row)) for row in means),
        changed=changed,
        foreign=next((paths[name] for paths in map(foreign_paths, runs) if name in paths), ""),
        noise=tuple(map(float, noise)),
        troubles=tuple(
            UnstableQuery(*key, tuple(of_query)) for key, of_query in statuses.items() if set(of_query) != {Status.OK}
        ),
    )


def _rankings_digest(engine: EngineRun) -> str:
    answers = sorted(
        [ranking.gold, ranking.query, ranking.form, [[hit.path, hit.start, hit.end] for hit in ranking.hits]]
        for ranking in engine.rankings
        if ranking.status == Status.OK and ranking.hits
    )
    return digest_of(answers) if answers else ""


@dataclass(frozen=True, slots=True)
class Stability:
    side: str
    engine: str
    measure: str
    means: tuple[float, ...]  # of the headline, one per repeat
    sd: float | None  # of those means; None for a single run
    changed: float  # share of queries whose ranking differs between repeats
    wavering: tuple[UnstableQuery, ...]  # queries that failed in some repeats only
    noise: float = 0.0  # variance of a run's mean from single queries

    @property
    def repeats(self) -> int:
        return len(self.means)


def stability(side: QueryScores, name: str, measure: str) -> Stability:
    engine, at = side.engine(name), side.scores.measures.index(measure)
    means, sd = tuple(row[at] for row in engine.means), None
    if len(means) > 1:
        mean = math.fsum(means) / len(means)
        sd = math.sqrt(math.fsum((value - mean) ** 2 for value in means) / (len(means) - 1))
    return Stability(side.name, name, measure, means, sd, engine.changed, engine.wavering, engine.noise[at])


def chance_between(old: Stability, new: Stability) -> RunVariance | None:
    """Return the between-run variance of two sides; None if neither was repeated."""
    return estimate_run_variance(old.means, new.means, (old.noise, new.noise))


def wavering_text(queries: Sequence[UnstableQuery]) -> str:
    names = [
        f"{query.gold}/{query.query} ({query.form}: {query.failed} of {len(query.statuses)})"
        for query in queries[:_NAMED_QUERIES]
    ]
    more = [f"{len(queries) - _NAMED_QUERIES} more"] if len(queries) > _NAMED_QUERIES else []
    return ", ".join(names + more)


def answered_text(engine: EngineScores, repeats: int) -> str:
    share = engine.failed / engine.asked if engine.asked else 1.0
    over = f" over {count(repeats, 'repeat')}" if repeats > 1 else ""
    text = f"{engine.failed} of {engine.asked} queries failed{over} ({share:.1%}; at most {FAILED_SHARE:.0%} allowed)"
    if engine.foreign:
        return f"{text}; no returned path exists in the corpus, such as {engine.foreign}"
    if engine.dead or not engine.silent:
        return text
    where = f" in {engine.answers.count('')} of {repeats} repeats" if repeats > 1 else ""
    return f"{text}; no query returned a result{where}: run the tool by hand to see why"


@dataclass(frozen=True, slots=True)
class Regression:
    engine: str
    measure: str
    gold: str
    query: str
    form: str
    before: float
    after: float

    @property
    def intent(self) -> str:
        return f"{self.gold}/{self.query}"


def find_regressions(old: QueryScores, new: QueryScores, name: str, row: ComparisonRow) -> tuple[Regression, ...]:
    before, after = (EngineOfRun(side.scores, name, side.name) for side in (old, new))
    joined = join_sides(before, after, row.measure).scores
    sign = 1.0 if row.higher_is_better else -1.0
    regressions = [
        Regression(name, row.measure, unit.gold, unit.query, unit.form, float(was), float(now))
        for unit, was, now in zip(joined.units, joined.values[0, 0], joined.values[1, 0], strict=True)
        if sign * (was - now) > DEFAULT.tie
    ]
    regressions.sort(key=lambda found: (sign * (found.after - found.before), found.gold, found.query))
    return tuple(regressions)
