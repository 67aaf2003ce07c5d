"""Per-query scores of a run, of repeats, or of a baseline file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from assay.digests import digest_of
from assay.errors import NotComparableError
from assay.report.render.document import Block, Cell, Heading, Paragraph, table
from assay.report.render.text import count
from assay.report.scored_run import pick, synthetic_sets
from assay.scoring import ranking_codes, score
from assay.stats.config import DEFAULT
from assay.stats.records import ComparisonRow
from assay.stats.run_variance import RunVariance, estimate_run_variance
from assay.stats.runs import EngineOfRun, join_sides
from assay.types import AnalysisPlan, CorpusInfo, EngineRole, EngineRun, Run, Scores, Status

if TYPE_CHECKING:
    from assay.types import FloatArray


@dataclass(frozen=True, slots=True)
class UnstableQuery:
    """A question that an engine did not answer in every repeat."""

    gold: str
    query: str
    form: str
    statuses: tuple[Status, ...]  # one a repeat

    @property
    def failed(self) -> int:
        """In how many repeats it failed."""
        return sum(status != Status.OK for status in self.statuses)

    @property
    def wavers(self) -> bool:
        """Whether it failed in some repeats only."""
        return 0 < self.failed < len(self.statuses)


@dataclass(frozen=True, slots=True)
class EngineScores:
    """What is known of one engine beside its values."""

    name: str
    role: EngineRole
    settings: str  # digest of what shapes its ranking
    asked: int  # questions, over all repeats
    failed: int
    answers: tuple[str, ...]  # a digest of all its rankings, one a repeat; empty where it found nothing
    means: tuple[tuple[float, ...], ...]  # headline means: repeats × measures; NaN where a measure does not apply
    changed: float = 0.0  # share of its questions whose ranking is not the same in every repeat
    noise: tuple[float, ...] = ()  # variance of a run's mean by chance of single queries, by measure; 0 of a single run
    troubles: tuple[UnstableQuery, ...] = ()

    @property
    def dead(self) -> bool:
        """Whether it answered nothing: its values are all the worst, and say nothing of its ranking."""
        return self.asked > 0 and self.failed == self.asked

    @property
    def silent(self) -> bool:
        """Whether it found nothing at all in some repeat, as a tool does that ends with 1 and prints nothing."""
        return self.asked > 0 and "" in self.answers

    @property
    def is_noisy(self) -> bool:
        """Whether repeats differ: in a ranking, or in whether a query failed."""
        return self.changed > 0.0 or bool(self.wavering)

    @property
    def wavering(self) -> tuple[UnstableQuery, ...]:
        """The questions that it answered in some repeats only."""
        return tuple(trouble for trouble in self.troubles if trouble.wavers)


@dataclass(frozen=True, slots=True)
class QueryScores:
    """One side of a comparison: values by query, a mean over repeats where there are several.

    Repeats of one query are never units of their own: they tell of the engine's chance, not of other queries.
    """

    name: str  # as people are told of it
    k: int
    engines: tuple[EngineScores, ...]
    scores: Scores  # headline units
    repeats: int = 1
    corpora: Mapping[str, CorpusInfo] = field(default_factory=dict)  # by gold name
    golds: tuple[str, ...] = ()
    synthetic: tuple[str, ...] = ()  # those of them that were made from the code
    claim: AnalysisPlan | None = None  # that it was made for, where it is kept
    gold_hash: str = ""
    assay: str = ""  # the version that scored it
    date: str = ""
    skipped: Mapping[str, str] = field(default_factory=dict)  # engine -> why it was not run
    is_file: bool = False  # whether it was read from a baseline file

    @property
    def dead(self) -> frozenset[str]:
        """Name the engines that answered nothing."""
        return frozenset(engine.name for engine in self.engines if engine.dead)

    def engine(self, name: str) -> EngineScores:
        """Find an engine by its name."""
        return next(engine for engine in self.engines if engine.name == name)


def gather(runs: Sequence[Run], measures: Sequence[str], name: str) -> QueryScores:
    """Make evidence of the repeats of one experiment; a failed repeat of a query counts as the worst (rule 2)."""
    first = runs[0]
    for number, run in enumerate(runs[1:], 2):
        _check_repeat(first, run, number)
    tables = [_headline(score(run, measures), [e.name for e in first.engines]) for run in runs]
    values = np.stack([table.values for table in tables])  # repeats × engines × measures × units
    means, noise = means_over(values), query_noise(values)
    return QueryScores(
        name=name,
        k=first.k,
        engines=tuple(_engine(runs, engine.name, means[:, at], noise[at]) for at, engine in enumerate(first.engines)),
        scores=replace(tables[0], values=values.mean(axis=0)),
        repeats=len(runs),
        corpora=first.header.corpora,
        golds=tuple(gold.name for gold in first.suite.golds),
        synthetic=synthetic_sets(first),
        claim=first.header.claim,
        gold_hash=first.header.gold_hash,
        assay=first.header.assay,
        date=first.header.date,
        skipped=first.header.skipped,
    )


def _check_repeat(first: Run, other: Run, number: int) -> None:
    hint = "repeats are runs of one experiment: make them together, by `assay run --repeat N`"
    for what, of_first, of_other in (
        ("gold", first.hashes, other.hashes),
        ("k", first.k, other.k),
        ("corpora", _digests(first), _digests(other)),
        ("engines", {e.name for e in first.engines}, {e.name for e in other.engines}),
        ("phrasings that were asked", _forms(first), _forms(other)),
    ):
        if of_first != of_other:
            raise NotComparableError(f"repeat {number} is not of the same {what} as the first", hint=hint)
    for engine in first.engines:
        if _identity(engine) != _identity(_named(other, engine.name)):
            raise NotComparableError(f"{engine.name} is another one in repeat {number} than in the first", hint=hint)


def _digests(run: Run) -> dict[str, str]:
    return {name: facts.digest for name, facts in run.header.corpora.items()}


def _forms(run: Run) -> set[str]:
    return {ranking.form for engine in run.engines for ranking in engine.rankings}


def _identity(engine: EngineRun) -> tuple[str, ...]:
    return digest_of(engine.config), engine.version, engine.fingerprint, engine.code


def _named(run: Run, name: str) -> EngineRun:
    return next(engine for engine in run.engines if engine.name == name)


def _headline(scores: Scores, engines: Sequence[str]) -> Scores:
    return pick(scores, engines=engines, columns=[i for i, unit in enumerate(scores.units) if unit.headline])


def means_over(values: FloatArray) -> FloatArray:
    """Average over the units where a measure applies; NaN where it applies to none."""
    applies = ~np.isnan(values)
    total = np.where(applies, values, 0.0).sum(axis=-1)
    found: FloatArray = np.where(applies.any(axis=-1), total, np.nan) / np.maximum(applies.sum(axis=-1), 1)
    return found


def query_noise(values: FloatArray) -> FloatArray:
    """Variance of a run's mean that comes from single queries: what is left of repeats × queries without both means.

    The luck that all queries of a run share is in the means of the runs.
    """
    repeats = len(values)
    counts = (~np.isnan(values[0])).sum(axis=-1)
    if repeats == 1:
        return np.zeros(counts.shape)
    of_query = values.mean(axis=0)
    own = values - of_query - (means_over(values) - means_over(of_query))[..., None]
    squares = np.nansum(own**2, axis=(0, -1))
    return np.asarray(squares / ((repeats - 1) * np.maximum(counts - 1, 1) * np.maximum(counts, 1)))


def _engine(runs: Sequence[Run], name: str, means: FloatArray, noise: FloatArray) -> EngineScores:
    repeats = [_named(run, name) for run in runs]
    rankings = [ranking for engine in repeats for ranking in engine.rankings]
    return EngineScores(
        name=name,
        role=repeats[0].role,
        settings=digest_of(repeats[0].config),
        asked=len(rankings),
        failed=sum(ranking.status != Status.OK for ranking in rankings),
        answers=tuple(map(_answers, repeats)),
        means=tuple(tuple(map(float, row)) for row in means),
        changed=_changed(runs[0], repeats),
        noise=tuple(map(float, noise)),
        troubles=_troubles(repeats),
    )


def _answers(engine: EngineRun) -> str:
    found = sorted(
        [ranking.gold, ranking.query, ranking.form, [[hit.path, hit.start, hit.end] for hit in ranking.hits]]
        for ranking in engine.rankings
        if ranking.status == Status.OK and ranking.hits
    )
    return digest_of(found) if found else ""


def _changed(run: Run, repeats: Sequence[EngineRun]) -> float:
    if len(repeats) == 1:
        return 0.0
    codes = ranking_codes(replace(run, engines=tuple(repeats)))
    return float((codes != codes[0]).any(axis=0).mean()) if codes.shape[1] else 0.0


def _troubles(repeats: Sequence[EngineRun]) -> tuple[UnstableQuery, ...]:
    statuses: dict[tuple[str, str, str], list[Status]] = {}
    for engine in repeats:
        for ranking in engine.rankings:
            statuses.setdefault((ranking.gold, ranking.query, ranking.form), []).append(ranking.status)
    return tuple(
        UnstableQuery(*key, tuple(found)) for key, found in statuses.items() if any(one != Status.OK for one in found)
    )


#: Queries that a sentence names; the JSON has them all.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Stability:
    """What one engine did over the repeats of one side."""

    side: str
    engine: str
    measure: str
    means: tuple[float, ...]  # of the headline, one a repeat
    sd: float | None  # of those means; None of a single run
    changed: float  # share of questions whose ranking is not the same in every repeat
    wavering: tuple[UnstableQuery, ...]  # questions that failed in some repeats only
    noise: float = 0.0  # variance of a run's mean by chance of single queries

    @property
    def repeats(self) -> int:
        """How often it was run."""
        return len(self.means)


def stability(seen: QueryScores, name: str, measure: str) -> Stability:
    """Say how steady an engine is on one measure."""
    engine, place = seen.engine(name), seen.scores.measures.index(measure)
    means = tuple(row[place] for row in engine.means)
    return Stability(seen.name, name, measure, means, _sd(means), engine.changed, engine.wavering, engine.noise[place])


def _sd(values: Sequence[float]) -> float | None:
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def chance_between(old: Stability, new: Stability) -> RunVariance | None:
    """Return how much runs of the two sides vary by chance; None where neither was repeated."""
    return estimate_run_variance(old.means, new.means, (old.noise, new.noise))


def wavering_text(found: Sequence[UnstableQuery]) -> str:
    """Name the questions that failed in some repeats only."""
    named = [f"{one.gold}/{one.query} ({one.form}: {one.failed} of {len(one.statuses)})" for one in found[:_NAMED]]
    more = [f"{len(found) - _NAMED} more"] if len(found) > _NAMED else []
    return ", ".join(named + more)


def steadiness_blocks(found: Sequence[Stability]) -> list[Block]:
    """Show how steady engines are; nothing where nothing was repeated."""
    repeated = [one for one in found if one.repeats > 1]
    if not repeated:
        return []
    columns = ["run", "engine", ">repeats", ">mean", ">sd between repeats", ">rankings that changed", "fails sometimes"]
    return [Heading("Between repeats"), table(columns, [_row(one) for one in repeated]), Paragraph(_LEGEND, "quiet")]


_LEGEND = (
    "Each query counts once, with its mean over the repeats: repeats are no further queries. The standard deviation is "
    "that of the mean of one whole run."
)


def _row(one: Stability) -> list[str | Cell]:
    mean = math.fsum(one.means) / one.repeats
    fails = Cell(wavering_text(one.wavering), "warning") if one.wavering else Cell("–")
    sd = "–" if one.sd is None else f"±{one.sd:.3f}"
    return [one.side, one.engine, str(one.repeats), f"{one.measure} {mean:.3f}", sd, f"{one.changed:.0%}", fails]


def answered_text(engine: EngineScores, repeats: int, borne: float) -> str:
    """Say how many answers failed, and whether none found anything."""
    share = engine.failed / engine.asked if engine.asked else 1.0
    over = f" over {count(repeats, 'repeat')}" if repeats > 1 else ""
    told = f"{engine.failed} of {engine.asked} queries failed{over} ({share:.1%}; {borne:.0%} are borne)"
    return f"{told}; {_silent_text(engine, repeats)}" if engine.silent and not engine.dead else told


def _silent_text(engine: EngineScores, repeats: int) -> str:
    empty = engine.answers.count("")
    where = f" in {empty} of {repeats} repeats" if repeats > 1 else ""
    return (
        f"no query found anything{where}, which is how a tool looks that prints nothing and ends with 0 or 1: "
        "run it by hand"
    )


#: Queries of one comparison that are kept: who mends ten has mended the reason.
_MOST = 10


@dataclass(frozen=True, slots=True)
class Regression:
    """A query that got worse."""

    engine: str
    measure: str
    gold: str
    query: str
    form: str
    before: float
    after: float

    @property
    def intent(self) -> str:
        """The query with its set."""
        return f"{self.gold}/{self.query}"


def losses(
    old: QueryScores, new: QueryScores, name: str, row: ComparisonRow, *, most: int = _MOST
) -> tuple[Regression, ...]:
    """List the queries of one comparison between two sides that got worse, the greatest loss first."""
    joined = join_sides(
        EngineOfRun(old.scores, name, old.name), EngineOfRun(new.scores, name, new.name), row.measure
    ).scores
    sign = 1.0 if row.higher_is_better else -1.0
    found = [
        Regression(name, row.measure, unit.gold, unit.query, unit.form, float(before), float(after))
        for unit, before, after in zip(joined.units, joined.values[0, 0], joined.values[1, 0], strict=True)
        if sign * (before - after) > DEFAULT.tie
    ]
    return tuple(sorted(found, key=lambda one: (sign * (one.after - one.before), one.gold, one.query))[:most])


def loss_blocks(found: Sequence[Regression]) -> list[Block]:
    """Show the queries that got worse."""
    if not found:
        return []
    rows = [
        [one.intent, one.engine, f"{one.before:.3f}", f"{one.after:.3f}", f"{one.after - one.before:+.3f}"]
        for one in found
    ]
    return [
        Heading("Queries that lost most"),
        table(["query", "engine", f">{found[0].measure} before", ">now", ">change"], rows),
    ]
