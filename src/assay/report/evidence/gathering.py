"""From runs to evidence: several runs of one experiment are repeats, and a query's value is its mean over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assay.digests import digest_of
from assay.errors import NotComparableError
from assay.report.case import pick
from assay.report.evidence.record import EngineEvidence, Evidence, Trouble
from assay.report.synthetic import synthetic_sets
from assay.scoring import ranking_codes, score
from assay.types import EngineRun, Run, Scores, Status

if TYPE_CHECKING:
    from assay.types import FloatArray


def gather(runs: Sequence[Run], measures: Sequence[str], name: str) -> Evidence:
    """Make evidence of the repeats of one experiment; a failed repeat of a query counts as the worst (rule 2)."""
    first = runs[0]
    for number, run in enumerate(runs[1:], 2):
        _check_repeat(first, run, number)
    tables = [_headline(score(run, measures), [e.name for e in first.engines]) for run in runs]
    values = np.stack([table.values for table in tables])  # repeats × engines × measures × units
    means, noise = means_over(values), query_noise(values)
    return Evidence(
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
    """Refuse what is no repeat: a mean over different experiments is a mean of nothing."""
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
    """Give what tells the corpora of a run from others."""
    return {name: facts.digest for name, facts in run.header.corpora.items()}


def _forms(run: Run) -> set[str]:
    """Give the phrasings that were asked."""
    return {ranking.form for engine in run.engines for ranking in engine.rankings}


def _identity(engine: EngineRun) -> tuple[str, ...]:
    """Give what decides who answered: settings, version, programs and our own code."""
    return digest_of(engine.config), engine.version, engine.fingerprint, engine.code


def _named(run: Run, name: str) -> EngineRun:
    """Find an engine of a run."""
    return next(engine for engine in run.engines if engine.name == name)


def _headline(scores: Scores, engines: Sequence[str]) -> Scores:
    """Keep what comparisons are made of, the engines in one order."""
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


def _engine(runs: Sequence[Run], name: str, means: FloatArray, noise: FloatArray) -> EngineEvidence:
    """Describe one engine over all repeats."""
    repeats = [_named(run, name) for run in runs]
    rankings = [ranking for engine in repeats for ranking in engine.rankings]
    return EngineEvidence(
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
    """Digest all that an engine found, in rank order; an answer that found nothing is as good as none."""
    found = sorted(
        [ranking.gold, ranking.query, ranking.form, [[hit.path, hit.start, hit.end] for hit in ranking.hits]]
        for ranking in engine.rankings
        if ranking.status == Status.OK and ranking.hits
    )
    return digest_of(found) if found else ""


def _changed(run: Run, repeats: Sequence[EngineRun]) -> float:
    """Give the share of questions whose ranking is not the same in every repeat."""
    if len(repeats) == 1:
        return 0.0
    codes = ranking_codes(replace(run, engines=tuple(repeats)))
    return float((codes != codes[0]).any(axis=0).mean()) if codes.shape[1] else 0.0


def _troubles(repeats: Sequence[EngineRun]) -> tuple[Trouble, ...]:
    """List the questions that failed in a repeat, in the order they were asked."""
    statuses: dict[tuple[str, str, str], list[Status]] = {}
    for engine in repeats:
        for ranking in engine.rankings:
            statuses.setdefault((ranking.gold, ranking.query, ranking.form), []).append(ranking.status)
    return tuple(
        Trouble(*key, tuple(found)) for key, found in statuses.items() if any(one != Status.OK for one in found)
    )
