"""Analyze a run: everything is computed from its records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from assay.report.comparison import compare_family, mark_identical
from assay.report.costs import conditions, spending
from assay.report.diagnostics import find_diagnostics
from assay.report.failures import contract_violations, path_mismatches, query_failures, stderr_tails, stray_sentence
from assay.report.groups import breakdowns, failures, hard_negative_stats, layers, phrasings, rank_distribution
from assay.report.render.text import SHOWN, clip, count
from assay.report.results import EngineSummary, PathMismatch, Results
from assay.report.rows import make_rows
from assay.report.scored_run import (
    ScoredRun,
    absent_notes,
    choose_challenger,
    choose_leader,
    failed_engines,
    family_of,
    forms_of,
    mean_gains,
    open_case,
    pick,
    real_engines,
)
from assay.report.synthetic import suite_name, synthetic_notes, synthetic_sets
from assay.report.tables import table_numbers
from assay.scoring import Ties, evaluation_measures, parse_measure, ties
from assay.stats import compare_slices, means_only
from assay.stats.config import settings_of
from assay.stats.records import Comparison, SliceRow
from assay.types import AnalysisPlan, EngineRole, EngineRun, Run, Status

#: Below this many queries a single one moves the mean by three points and more (the Pyckle guide's own limit).
FEW_QUERIES = 30
#: More failures than this and the numbers speak of the failures, not of the ranking (DESIGN.md, exit codes).
FAILED_SHARE = 0.05
#: A difference that three digits do not show.
_SHOWN_GAP = 0.0005
#: More results than this share that are no files of the corpus say that an engine looks elsewhere.
_STRAYING = 0.05
#: Problems with the gold set that are spelled out; the header in results.json holds them all.
_SHOWN_PROBLEMS = 3


def analyse(run: Run, claim: AnalysisPlan) -> Results:
    """Compute all that a report says."""
    return analyse_case(open_case(run, claim))


def analyse_case(case: ScoredRun, *, worst: bool = True) -> Results:
    """Compute all that a report says of a run that is scored already.

    Without `worst` the queries that engines did badly on are not listed: who has every ranking needs no such list.
    """
    run, claim = case.run, case.claim
    comparison = _comparison(case)
    units = [case.scores.units[i] for i in case.headline]
    gains = mean_gains(comparison, case.primary)
    leader, challenger = choose_leader(run, claim, gains), choose_challenger(run, claim, gains)
    tied = ties(case.scorer, [parse_measure(case.primary)], np.random.default_rng(claim.seed))
    asked = {(unit.gold, unit.query, unit.form) for unit in units}
    facts = tuple(_facts(engine, ties_of, asked) for engine, ties_of in zip(run.engines, tied, strict=True))
    astray = path_mismatches(run)
    raised = find_diagnostics(case)
    shown = claim.tables
    return Results(
        suite=suite_name(run),
        k=run.k,
        queries=len(units),
        repositories=len({u.repository for u in units}),
        forms=forms_of(case.scores.units),
        headline=_headline([unit.form for unit in units], claim.primary),
        measures=claim.measures,
        leader=leader,
        challenger=challenger,
        comparison=comparison,
        engines=facts,
        reading=_reading(case, comparison, leader),
        breakdowns=tuple(breakdowns(case)),
        slices=_slices(case, challenger),
        phrasings=tuple(phrasings(case)),
        traps=tuple(hard_negative_stats(case)),
        layers=tuple(layers(case)),
        ranks=tuple(rank_distribution(case, name) for name in real_engines(run)),
        failures=tuple(f for name in real_engines(run) for f in failures(case, name)) if worst else (),
        warnings=(
            *map(stray_sentence, astray),
            *_warnings(case, facts, astray, len(units)),
            *(alarm.text for alarm in raised if alarm.grave),
        ),
        notes=(*_corpus_facts(case, "notes"), *(alarm.text for alarm in raised if not alarm.grave)),
        header=run.header,
        spending=spending(run),
        conditions=conditions(run),
        mishaps=query_failures(run),
        breaches=contract_violations(run),
        strayed=astray,
        stderr=stderr_tails(run),
        synthetic=synthetic_sets(run),
        rows=make_rows(case, comparison),
        alarms=raised,
        tables=shown,
        numbers=table_numbers(shown, case, comparison),
    )


def challenger_of(run: Run, claim: AnalysisPlan) -> str:
    """Name the best engine that is compared with the baseline, as the report does, without the rest of it."""
    case = open_case(run, replace(claim, measures=(claim.primary,)))
    scores = pick(case.scores, measures=(claim.primary,))
    means = means_only(scores, baseline=claim.baseline, primary=claim.primary, alpha=claim.alpha, cluster=claim.cluster)
    return choose_challenger(run, claim, mean_gains(means, claim.primary))


def _comparison(case: ScoredRun) -> Comparison:
    claim = case.claim
    scores = pick(case.scores, measures=claim.measures)
    found = compare_family(scores, claim, family_of(case.run, claim), failed_engines(case.run))
    return replace(mark_identical(found, case.scorer), notes=(*absent_notes(case.run, claim), *found.notes))


def _slices(case: ScoredRun, challenger: str) -> tuple[SliceRow, ...]:
    claim = case.claim
    if challenger == claim.baseline or {challenger, claim.baseline} & failed_engines(case.run):
        return ()
    scores = pick(case.scores, engines=(claim.baseline, challenger), measures=(claim.primary,))
    return compare_slices(
        scores,
        baseline=claim.baseline,
        primary=claim.primary,
        **settings_of(claim),
    )


def _headline(forms: Sequence[str], primary: str) -> str:
    if parse_measure(primary).of is not None:
        return "over all phrasings"
    counts = Counter(forms).most_common()
    first = counts[0][0] if counts else "only"
    others = ", ".join(f"{count} by {form}" for form, count in counts[1:])
    return f"{first} form" + (f"; {others}" if others else "")


def _facts(engine: EngineRun, tied: Ties, asked: Collection[tuple[str, str, str]]) -> EngineSummary:
    shown = [r for r in engine.rankings if (r.gold, r.query, r.form) in asked]
    return EngineSummary(
        name=engine.name,
        role=engine.role,
        asked=len(engine.rankings),
        failed=sum(r.status != Status.OK for r in engine.rankings),
        statuses=dict(sorted(Counter(str(r.status) for r in engine.rankings).items())),
        distinct=float(np.mean([len({h.path for h in r.hits}) for r in shown])) if shown else 0.0,
        tie_rate=tied.rate,
        tie_range=(tied.low, tied.mean, tied.high) if tied.rate else None,
        notes=tuple(clip(note, SHOWN.message) for note in engine.notes),
    )


def _reading(case: ScoredRun, comparison: Comparison, leader: str) -> str:
    at = {m.engine: m for m in comparison.means if m.measure == case.primary}
    best = at[leader]
    text = f"{leader} scores {best.mean:.3f} {case.primary} on {count(best.queries, 'query', 'queries')}"
    floor, ceiling, grep = (at.get(_with_role(case.run, role)) for role in ("floor", "ceiling", "yardstick"))
    if floor and ceiling and ceiling.mean != floor.mean:
        share = (best.mean - floor.mean) / (ceiling.mean - floor.mean)
        low, high = f"random ({floor.mean:.3f})", f"the oracle ({ceiling.mean:.3f})"
        text += (
            f": {share:.0%} of the way from {low} to {high}"
            if share > 0
            else f": no better than {low}; {high} shows what is there"
        )
    if grep and leader != grep.engine:
        gap = best.mean - grep.mean
        words = f"{abs(gap):.3f} {'less' if gap > 0 else 'more'}" if abs(gap) >= _SHOWN_GAP else "as much"
        text += f"; a keyword search reaches {grep.mean:.3f}, {words}"
    return text + "."


def _with_role(run: Run, role: EngineRole) -> str:
    return next((e.name for e in run.engines if e.role == role), "")


def _warnings(
    case: ScoredRun, facts: Sequence[EngineSummary], astray: Sequence[PathMismatch], queries: int
) -> Iterator[str]:
    yield from synthetic_notes(case.run)
    if queries < FEW_QUERIES:
        many = count(queries, "query", "queries")
        measure = parse_measure(case.primary)
        step = (measure.high - measure.low) / queries
        yield f"Only {many}: one can move a mean by {step:.3g}. Gather {FEW_QUERIES} before you act on this."
    drafts = sum(q.tags.get("status") == "draft" for q in case.queries.values())
    if drafts:
        yield f"{drafts} of {len(case.queries)} queries are drafts: write their questions before you trust a number."
    yield from _torn(case)
    deep = sorted({repr(m) for m in evaluation_measures(case.run.suite) if m.depth > case.run.k})
    if deep:
        yield f"The evaluation layer asks for {', '.join(deep)}; left out, as this run asked for {case.run.k} results."
    for engine, fact in zip(case.run.engines, facts, strict=True):
        yield from _trouble(case, engine, fact, {found.gold for found in astray if found.engine == engine.name})
    problems = _corpus_facts(case, "problems")
    if problems:
        lost = "; ".join(problems[:_SHOWN_PROBLEMS])
        yield f"{len(problems)} places of the gold set are not in this corpus and were left out, such as {lost}."
        yield from _corpus_facts(case, "notes")


def _torn(case: ScoredRun) -> Iterator[str]:
    from assay.gold.lint.queries import find_duplicates, have_same_targets

    pairs = [
        pair for gold in case.run.suite.golds for pair in find_duplicates(gold.queries) if not have_same_targets(*pair)
    ]
    if not pairs:
        return
    one, other = pairs[0]
    many = "A query asks" if len(pairs) == 1 else f"{len(pairs)} queries ask"
    yield (
        f"{many} for another answer in the words of an earlier one, such as {other.id} and {one.id}: no engine can "
        f"answer both, so even the oracle may stay below 1. `assay gold lint` names them (G401)."
    )


def _trouble(case: ScoredRun, engine: EngineRun, fact: EngineSummary, astray: Collection[str]) -> Iterator[str]:
    if fact.failed:
        kinds = ", ".join(f"{n} {status}" for status, n in fact.statuses.items() if status != Status.OK)
        first = clip(next(r.error for r in engine.rankings if r.status != Status.OK) or "nothing", SHOWN.message)
        worst = f"{fact.name} failed on {fact.failed} of {fact.asked} queries ({kinds})"
        yield f"{worst}; each takes the worst value. The first said: {first}"
    hits = [(r.gold, h.path) for r in engine.rankings if r.gold not in astray for h in r.hits]
    strays = [path for gold, path in hits if path not in case.run.lines[gold]]
    if len(strays) > _STRAYING * len(hits):
        example = clip(strays[0], SHOWN.example)
        yield f"{fact.name}: {len(strays)} of {len(hits)} results are no files of the corpus, such as {example}."


def _corpus_facts(case: ScoredRun, key: Literal["notes", "problems"]) -> list[str]:
    return [f"{name}: {text}" for name, facts in case.run.header.corpora.items() for text in getattr(facts, key)]
