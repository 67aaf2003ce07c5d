"""From a run to everything that may be said of it. Every number comes from the records; no engine is asked again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from assay.experiment.spec import Spec
from assay.report.case import Case, forms_of, open_case, pick, real_engines, rivals
from assay.report.groups import breakdowns, layers, phrasings, traps
from assay.report.ranks import failures, rank_distribution
from assay.report.results import EngineFacts, Results
from assay.scoring import Ties, identical_rankings, parse_measure, ties
from assay.stats import compare, means
from assay.stats.records import Comparison
from assay.types import EngineRun, Run, Status

#: Below this many queries a single one moves the mean by three points and more (the Pyckle guide's own limit).
FEW_QUERIES = 30
#: Problems with the gold set that are spelled out; the header in results.json holds them all.
_SHOWN_PROBLEMS = 3


def analyse(run: Run, spec: Spec) -> Results:
    """Compute all that a report says."""
    case = open_case(run, spec)
    comparison = _comparison(case)
    units = [case.scores.units[i] for i in case.headline]
    leader = _leader(case, comparison)
    tied = ties(run, [parse_measure(case.primary)], np.random.default_rng(spec.seed))
    facts = tuple(_facts(case, engine, ties_of) for engine, ties_of in zip(run.engines, tied, strict=True))
    return Results(
        suite=run.suite.name,
        k=run.k,
        queries=len(units),
        repositories=len({u.repository for u in units}),
        forms=forms_of(case.scores.units),
        measures=case.measures,
        leader=leader,
        comparison=comparison,
        engines=facts,
        reading=_reading(case, comparison, leader),
        breakdowns=tuple(breakdowns(case)),
        phrasings=tuple(phrasings(case)),
        traps=tuple(traps(case)),
        layers=tuple(layers(case)),
        ranks=tuple(rank_distribution(case, name) for name in real_engines(run)),
        failures=tuple(f for name in real_engines(run) for f in failures(case, name)),
        warnings=tuple(_warnings(case, facts, len(units))),
        notes=tuple(_corpus_facts(case, "notes")),
        header=dict(run.header),
    )


def _comparison(case: Case) -> Comparison:
    """Compare the real engines with the baseline; floor and ceiling have means but are no contestants."""
    spec = case.spec
    scores = pick(case.scores, measures=case.measures)
    family = rivals(case.run, spec.baseline)
    if not family:
        found = means(scores, alpha=spec.alpha)
        nothing = ("There is no second engine to compare with.",)
        return Comparison(
            baseline=spec.baseline,
            primary=case.primary,
            alpha=spec.alpha,
            margin=spec.margin,
            seed=spec.seed,
            resamples=0,
            family_size=0,
            rows=(),
            secondary=(),
            means=found,
            label=found[0].label,
            notes=nothing,
        )
    return compare(
        scores,
        baseline=spec.baseline,
        primary=case.primary,
        margin=spec.margin,
        alpha=spec.alpha,
        seed=spec.seed,
        family=family,
    )


def _leader(case: Case, comparison: Comparison) -> str:
    """Choose the best real engine other than the baseline; the baseline where it stands alone."""
    real = [m for m in comparison.means if m.measure == case.primary and m.engine in real_engines(case.run)]
    others = [m for m in real if m.engine != comparison.baseline] or real
    return max(others, key=lambda m: (m.mean, m.engine)).engine if others else comparison.baseline


def _facts(case: Case, engine: EngineRun, tied: Ties) -> EngineFacts:
    """Describe how an engine behaved."""
    heads = {(case.scores.units[i].gold, case.scores.units[i].query, case.scores.units[i].form) for i in case.headline}
    shown = [r for r in engine.rankings if (r.gold, r.query, r.form) in heads]
    seconds = np.array([r.seconds for r in engine.rankings if r.status == Status.OK] or [0.0])
    breaches = Counter(note for r in engine.rankings for note in r.notes)
    return EngineFacts(
        name=engine.name,
        reference=engine.name not in real_engines(case.run),
        asked=len(engine.rankings),
        failed=sum(r.status != Status.OK for r in engine.rankings),
        statuses=dict(sorted(Counter(str(r.status) for r in engine.rankings).items())),
        distinct=float(np.mean([len({h.path for h in r.hits}) for r in shown])) if shown else 0.0,
        tie_rate=tied.rate,
        tie_range=(tied.low, tied.mean, tied.high) if tied.rate else None,
        median_ms=float(np.median(seconds)) * 1000,
        p95_ms=float(np.quantile(seconds, 0.95)) * 1000,
        index_seconds=sum(engine.index_seconds.values()),
        breaches=dict(breaches.most_common(5)),
        notes=engine.notes,
    )


def _reading(case: Case, comparison: Comparison, leader: str) -> str:
    """Read the best score against random, keywords and oracle of the same run."""
    at = {m.engine: m for m in comparison.means if m.measure == case.primary}
    best = at[leader]
    text = f"{leader} scores {best.mean:.3f} {case.primary} on {best.queries} queries"
    floor, ceiling = at.get("random"), at.get("oracle")
    if floor and ceiling and ceiling.mean > floor.mean:
        share = (best.mean - floor.mean) / (ceiling.mean - floor.mean)
        text += f": {share:.0%} of the way from random ({floor.mean:.3f}) to the oracle ({ceiling.mean:.3f})"
    if "keywords" in at and leader != "keywords":
        gap = best.mean - at["keywords"].mean
        text += f"; a keyword search reaches {at['keywords'].mean:.3f}, {abs(gap):.3f} {'less' if gap > 0 else 'more'}"
    return text + "."


def _warnings(case: Case, facts: Sequence[EngineFacts], queries: int) -> Iterator[str]:
    """Say what limits every number of this run."""
    if queries < FEW_QUERIES:
        yield f"Only {queries} queries: one moves a mean by {1 / queries:.3f}; below {FEW_QUERIES} nothing is settled."
    for pair in identical_rankings(case.run):
        yield f"{pair.first} and {pair.second} gave identical rankings: is the setting between them connected?"
    for fact in facts:
        if fact.failed:
            kinds = ", ".join(f"{n} {status}" for status, n in fact.statuses.items() if status != Status.OK)
            yield f"{fact.name} failed on {fact.failed} of {fact.asked} queries ({kinds}); each takes the worst value."
    problems = _corpus_facts(case, "problems")
    if problems:
        shown = "; ".join(problems[:_SHOWN_PROBLEMS])
        more = f"; and {len(problems) - _SHOWN_PROBLEMS} more" if len(problems) > _SHOWN_PROBLEMS else ""
        yield f"{len(problems)} places of the gold set are not in this corpus and were left out: {shown}{more}."


def _corpus_facts(case: Case, key: str) -> list[str]:
    """Collect sentences that the corpora's headers hold."""
    corpora = case.run.header.get("corpora")
    found = corpora.items() if isinstance(corpora, dict) else ()
    return [f"{name}: {sentence}" for name, entry in found for sentence in entry[key]]
