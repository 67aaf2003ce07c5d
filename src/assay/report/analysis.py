"""Analyze a run: everything is computed from its records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from assay.experiment.records.directory import HTML
from assay.gold.query_properties import language_of, overlaps
from assay.processes.forks import forked
from assay.report.decision import DecidedEngine, decide, find_losses
from assay.report.diagnostics import find_diagnostics
from assay.report.engine_behavior import (
    contract_violations,
    measure_costs,
    path_mismatches,
    query_failures,
    stderr_tails,
    timing_conditions,
)
from assay.report.extra_tables import table_numbers
from assay.report.family import (
    choose_challenger,
    choose_leader,
    competing_engines,
    failed_engines,
    foreign_paths,
    judged_engines,
    possible_leaders,
    score_gains,
)
from assay.report.render.formatting import SHOWN, clip, repository_names
from assay.report.results_file import (
    AdversaryStats,
    Breakdown,
    EngineResources,
    EngineSummary,
    GroupMean,
    LayerMean,
    LowScore,
    Phrasing,
    Ranks,
    Results,
)
from assay.report.rows_file import make_rows
from assay.report.scored_run import (
    ScoredRun,
    by_tag,
    compare_with_baseline,
    forms_of,
    group_means,
    level_of,
    mark_identical,
    pick,
    rank_measure,
    score_run,
)
from assay.report.sentences import (
    absent_notes,
    corpus_notes,
    count_drafts,
    headline_phrasings,
    mark_synthetic,
    rank_sentence,
    reading_of,
    run_warnings,
    synthetic_sets,
)
from assay.scoring import Ties, breakdown, evaluation_means, evaluation_measures, parse_measure, score, ties
from assay.stats import compare_slices
from assay.stats.config import compare_options
from assay.stats.records import Comparison, SliceRow
from assay.types import AnalysisPlan, EngineRun, Run, Scores, Status

#: A tag with more values than this is not broken down.
_MAX_TAG_VALUES = 8
#: Languages and repositories are looked up by name, so long lists are read; this many fill a page.
_MAX_PLACES = 50
#: Breakdowns of report.html only: in a document they would bury the sections that decide.
PAGE_BREAKDOWNS = ("language of the target", "repository")


def analyze(run: Run, plan: AnalysisPlan) -> Results:
    return analyze_scored(score_run(run, plan))


def analyze_scored(scored: ScoredRun, *, worst: bool = True) -> Results:
    """Analyze a scored run; without `worst` low scores are not listed, for a page with every ranking."""
    with forked(partial(_details, scored, worst=worst)) as details:  # while this process compares the engines
        run, plan = scored.run, scored.plan
        scores = pick(scored.scores, measures=plan.measures)
        failed = failed_engines(run)
        comparison = compare_with_baseline(scores, plan, judged_engines(run, plan), failed, pairwise=scored.pairwise)
        comparison = replace(
            mark_identical(comparison, scored.scorer), notes=(*absent_notes(run, plan), *comparison.notes)
        )
        units = [scored.scores.units[i] for i in scored.headline]
        gains = score_gains(scores, scored.primary)
        leader, challenger = choose_leader(run, plan, gains), choose_challenger(run, plan, gains)
        tied = ties(scored.scorer, [parse_measure(scored.primary)], np.random.default_rng(plan.seed))
        headline = {(unit.gold, unit.query, unit.form) for unit in units}
        summaries = tuple(_summary(engine, tie, headline) for engine, tie in zip(run.engines, tied, strict=True))
        mismatches = path_mismatches(run)
        diagnostics = find_diagnostics(scored)
        synthetic = synthetic_sets(run)
        suite = "+".join(mark_synthetic(gold.name, synthetic) for gold in run.suite.golds)
        silent = [
            engine.name
            for engine in run.engines
            if engine.role == "candidate" and engine.name not in failed and not any(r.hits for r in engine.rankings)
        ]
        warnings = run_warnings(scored, challenger, silent, summaries, mismatches, diagnostics)
        spending = measure_costs(run)
        return Results(
            suite=suite,
            k=run.k,
            queries=len(units),
            repositories=len({unit.repository for unit in units}),
            forms=forms_of(scored.scores.units),
            headline=headline_phrasings([unit.form for unit in units], plan.primary),
            measures=plan.measures,
            leader=leader,
            challenger=challenger,
            comparison=comparison,
            engines=summaries,
            reading=reading_of(scored, comparison, leader),
            slices=_slices(scored, challenger),
            warnings=warnings,
            notes=(*corpus_notes(run), *(diagnostic.text for diagnostic in diagnostics if not diagnostic.grave)),
            header=run.header,
            spending=spending,
            conditions=timing_conditions(run),
            failed_queries=query_failures(run),
            contract_violations=contract_violations(run),
            path_mismatches=mismatches,
            stderr=stderr_tails(run),
            synthetic=synthetic,
            rows=make_rows(scored, comparison),
            diagnostics=diagnostics,
            tables=plan.tables,
            numbers=table_numbers(plan.tables, scored, comparison) if plan.tables else {},
            decision=decide(
                comparison,
                challenger,
                _decided_engines(scored, comparison, spending),
                suite=suite,
                losses=find_losses(scored.scores, challenger, plan.baseline, scored.primary),
                failures={summary.name: (summary.failed, summary.asked) for summary in summaries},
                silent=dict.fromkeys(silent, "") | foreign_paths(run),
                warnings=warnings,
                report=HTML,
                drafts=count_drafts(scored),
            ),
            **details(),
        )


def _details(scored: ScoredRun, *, worst: bool) -> dict[str, Any]:
    """Compute the fields of an analysis on which no other field depends."""
    names = competing_engines(scored.run)
    return {
        "breakdowns": tuple(_breakdowns(scored)),
        "phrasings": tuple(_phrasings(scored)),
        "adversaries": tuple(_adversaries(scored)),
        "layers": tuple(_layers(scored)),
        "ranks": tuple(_ranks(scored, name) for name in names),
        "low_scores": tuple(low for name in names for low in _low_scores(scored, name)) if worst else (),
    }


def _decided_engines(
    scored: ScoredRun, comparison: Comparison, spending: Sequence[EngineResources]
) -> Iterator[DecidedEngine]:
    """Yield the engines under test and the baseline; times only if engines were interleaved."""
    shown = {*possible_leaders(scored.run, scored.plan), *judged_engines(scored.run, scored.plan), comparison.baseline}
    times = {used.engine: used for used in spending} if scored.run.header.timed else {}
    failed = {engine.name: sum(r.status != Status.OK for r in engine.rankings) for engine in scored.run.engines}
    for row in comparison.means:
        if row.measure == scored.primary and row.engine in shown:
            used = times.get(row.engine)
            latency = (used.warm_ms, used.warm_p95_ms) if used and used.warm_ms else (None, None)
            yield DecidedEngine(row.engine, row.mean, row.interval.low, row.interval.high, failed[row.engine], *latency)


def compared_pair(run: Run, plan: AnalysisPlan) -> tuple[str, str]:
    """Return the baseline of a run and its challenger without the rest of the analysis."""
    scored = score_run(run, replace(plan, measures=(plan.primary,)))
    return scored.plan.baseline, choose_challenger(run, scored.plan, score_gains(scored.scores, plan.primary))


def _slices(scored: ScoredRun, challenger: str) -> tuple[SliceRow, ...]:
    plan = scored.plan
    if challenger == plan.baseline or {challenger, plan.baseline} & failed_engines(scored.run):
        return ()
    scores = pick(scored.scores, engines=(plan.baseline, challenger), measures=(plan.primary,))
    return compare_slices(scores, baseline=plan.baseline, primary=plan.primary, **compare_options(plan))


def _summary(engine: EngineRun, tied: Ties, headline: Collection[tuple[str, str, str]]) -> EngineSummary:
    shown = [r for r in engine.rankings if (r.gold, r.query, r.form) in headline]
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


def _breakdowns(scored: ScoredRun) -> Iterator[Breakdown]:
    """Break the primary measure down by phrasing, language, repository, leakage, and each tag with few values."""
    units, headline = scored.scores.units, scored.headline
    forms = {form: [i for i, unit in enumerate(units) if unit.form == form] for form in forms_of(units)}
    if len(forms) > 1:
        yield _breakdown(scored, "form", forms)
    queries = {i: scored.queries[units[i].gold, units[i].query] for i in headline}
    repositories = repository_names(unit.repository for unit in units)
    places = (
        {i: language_of(queries[i]) for i in headline},
        {i: repositories[units[i].repository] for i in headline},
    )
    for by, values in zip(PAGE_BREAKDOWNS, places, strict=True):
        names = sorted(set(values.values()))
        if 1 < len(names) <= _MAX_PLACES:
            yield _breakdown(scored, by, {name: [i for i in headline if values[i] == name] for name in names})
    leaky = {i for i in headline if overlaps(queries[i].forms[units[i].form], queries[i].targets)}
    groups = {
        "names the target": [i for i in headline if i in leaky],
        "no word in common": [i for i in headline if i not in leaky],
    }
    yield _breakdown(scored, "words shared with the target's path or symbol", groups)
    for tag in sorted({tag for i in headline for tag in units[i].tags}):
        parts = by_tag(scored, tag)
        if 1 < len(parts) <= _MAX_TAG_VALUES:
            yield _breakdown(scored, tag, parts)


def _breakdown(scored: ScoredRun, by: str, groups: Mapping[str, Sequence[int]]) -> Breakdown:
    means = [
        GroupMean(row.engine, name, row.queries, row.mean, row.interval.low, row.interval.high)
        for name, columns in groups.items()
        if columns
        for row in group_means(scored, columns, (scored.primary,))
    ]
    return Breakdown(by, scored.primary, tuple(means))


def _phrasings(scored: ScoredRun) -> Iterator[Phrasing]:
    names = [name for name in scored.scores.measures if parse_measure(name).of is not None]
    for row in group_means(scored, scored.headline, names) if names else []:
        yield Phrasing(row.engine, row.measure, row.mean, row.interval.low, row.interval.high, row.queries)


def _adversaries(scored: ScoredRun) -> Iterator[AdversaryStats]:
    """Yield displacement and rank gap over all adversaries, by relationship and by strength."""
    if not any(query.adversaries for gold in scored.run.suite.golds for query in gold.queries):
        return
    k = scored.run.k
    measures = [parse_measure(f"Displacement@{k}"), parse_measure(f"RankGap@{k}")]
    found = score(scored.scorer, [f"Hit(grade=2)@{k}"])
    yield from _adversary_rows("all", "all", found, score(scored.scorer, measures))
    kinds: tuple[Literal["relationship", "strength"], ...] = ("relationship", "strength")
    for by in kinds:
        for part in breakdown(scored.scorer, measures, by):
            yield from _adversary_rows(by, part.label, found, part.scores)


def _adversary_rows(by: str, value: str, found: Scores, scores: Scores) -> Iterator[AdversaryStats]:
    headline = [i for i, unit in enumerate(scores.units) if unit.headline]
    for e, engine in enumerate(scores.engines):
        columns = (found.values[e, 0, headline], *scores.values[e][:, headline])
        applies = ~np.isnan(columns[1])
        if applies.any():
            means = (float(values[applies].mean()) for values in columns)
            yield AdversaryStats(engine, by, value, int(applies.sum()), *means)


def _layers(scored: ScoredRun) -> Iterator[LayerMean]:
    named = [m for m in evaluation_measures(scored.run.suite) if m.depth <= scored.run.k]
    for row in evaluation_means(scored.run, score(scored.scorer, named)) if named else ():
        yield LayerMean(row.engine, row.measure, row.n, row.mean)


def _rank_of(reciprocal: float) -> int | None:
    return round(1 / reciprocal) if reciprocal > 0 else None


def _ranks(scored: ScoredRun, engine: str) -> Ranks:
    measure = rank_measure(scored.primary, scored.run.k)
    numbers = Counter(map(_rank_of, scored.values(engine, measure)[list(scored.headline)]))
    counts = tuple(numbers.get(rank, 0) for rank in range(1, scored.run.k + 1))
    missed = numbers.get(None, 0)
    sentence = "every query failed." if engine in failed_engines(scored.run) else rank_sentence(counts, missed)
    return Ranks(engine, counts, missed, sentence, level_of(scored.primary), measure)


def _low_scores(scored: ScoredRun, engine: str) -> list[LowScore]:
    """List the queries with less than half of the possible score, worst first."""
    measure = parse_measure(scored.primary)
    best = measure.high if measure.higher_is_better else measure.low
    half = (measure.high - measure.low) / 2
    values = scored.values(engine, scored.primary).tolist()
    reciprocal = scored.values(engine, rank_measure(scored.primary, scored.run.k)).tolist()
    rankings = {(r.gold, r.query, r.form): r for e in scored.run.engines if e.name == engine for r in e.rankings}
    low = []
    for i in scored.headline:
        if abs(values[i] - best) <= half:
            continue
        unit = scored.scores.units[i]
        query, ranking = scored.queries[unit.gold, unit.query], rankings[unit.gold, unit.query, unit.form]
        grade = max(target.grade for target in query.targets)
        low.append(
            LowScore(
                engine=engine,
                gold=unit.gold,
                query=unit.query,
                form=unit.form,
                text=query.forms[unit.form],
                value=values[i],
                rank=_rank_of(reciprocal[i]),
                expected=tuple(target.anchor for target in query.targets if target.grade == grade),
                top=tuple([clip(str(hit.span), SHOWN.example) for hit in ranking.hits[:3]]),
                error=None if ranking.error is None else clip(ranking.error, SHOWN.message),
            )
        )
    return sorted(low, key=lambda row: (-abs(row.value - best), row.gold, row.query))
