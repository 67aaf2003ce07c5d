"""Analyze a run: everything is computed from its records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal

import numpy as np

from assay.experiment.records.directory import HTML
from assay.gold.git_history import reanchor_hint
from assay.gold.query_properties import find_duplicates, have_same_targets, language_of, overlaps
from assay.processes.forks import forked
from assay.report.comparison import compare_family, mark_identical
from assay.report.costs import measure_costs, timing_conditions
from assay.report.decision import DecidedEngine, decide, find_losses
from assay.report.diagnostics import find_diagnostics
from assay.report.extra_tables import table_numbers
from assay.report.failures import contract_violations, mismatch_text, path_mismatches, query_failures, stderr_tails
from assay.report.render.formatting import SHOWN, clip, count, repository_names
from assay.report.results_file import (
    AdversaryStats,
    Breakdown,
    EngineResources,
    EngineSummary,
    GroupMean,
    LayerMean,
    LowScore,
    PathMismatch,
    Phrasing,
    Ranks,
    Results,
)
from assay.report.rows_file import make_rows
from assay.report.scored_run import (
    ScoredRun,
    absent_notes,
    by_tag,
    candidates,
    choose_challenger,
    choose_leader,
    failed_engines,
    family_of,
    few_queries,
    forms_of,
    group_means,
    level_of,
    mark_synthetic,
    measure_text,
    pick,
    rank_measure,
    real_engines,
    reference_warnings,
    score_gains,
    score_run,
    synthetic_notes,
    synthetic_sets,
)
from assay.scoring import Ties, breakdown, evaluation_means, evaluation_measures, parse_measure, score, ties
from assay.stats import compare_slices
from assay.stats.config import compare_options
from assay.stats.records import Comparison, SliceRow
from assay.types import AnalysisPlan, EngineRun, Run, Scores, Status

#: A difference that three digits do not show.
_SHOWN_GAP = 0.0005
#: With more results outside the corpus an engine probably searches another tree.
_STRAY_SHARE = 0.05
#: Problems of the gold set in a warning; the header in results.json has all.
_SHOWN_PROBLEMS = 3
#: A tag with more values than this is not broken down.
_MAX_TAG_VALUES = 8
#: Languages and repositories are looked up by name, so long lists are read; this many fill a page.
_MAX_PLACES = 50
#: Breakdowns of report.html only: in a document they would bury the sections that decide.
PAGE_BREAKDOWNS = ("language of the answer", "repository")
#: With more than one miss in this many queries, recall comes before ranking.
_MANY_MISSED = 3


def analyze(run: Run, plan: AnalysisPlan) -> Results:
    return analyze_scored(score_run(run, plan))


_SILENT: Final = (
    "a tool that searches for the whole query as one string needs `--engine keywords`; engines run in a copy "
    "of the corpus without .git"
)


def analyze_scored(scored: ScoredRun, *, worst: bool = True) -> Results:
    """Analyze a scored run; without `worst` low scores are not listed, for a page with every ranking."""
    with forked(partial(_details, scored, worst=worst)) as details:
        return _analyze(scored, details)


def _details(scored: ScoredRun, *, worst: bool) -> dict[str, Any]:
    """Compute the fields of an analysis on which no other field depends."""
    names = real_engines(scored.run)
    return {
        "breakdowns": tuple(_breakdowns(scored)),
        "phrasings": tuple(_phrasings(scored)),
        "adversaries": tuple(_adversaries(scored)),
        "layers": tuple(_layers(scored)),
        "ranks": tuple(_ranks(scored, name) for name in names),
        "low_scores": tuple(low for name in names for low in _low_scores(scored, name)) if worst else (),
    }


def _analyze(scored: ScoredRun, details: Callable[[], dict[str, Any]]) -> Results:
    run, plan = scored.run, scored.plan
    scores = pick(scored.scores, measures=plan.measures)
    failed = failed_engines(run)
    comparison = compare_family(scores, plan, family_of(run, plan), failed, pairwise=scored.pairwise)
    comparison = replace(mark_identical(comparison, scored.scorer), notes=(*absent_notes(run, plan), *comparison.notes))
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
    able = {engine.name for engine in run.engines if any(ranking.hits for ranking in engine.rankings)}
    silent = [e.name for e in run.engines if e.role == "candidate" and e.name not in able | set(failed)]
    grave = sorted((each for each in diagnostics if each.grave), key=lambda each: each.kind != "paths only")
    paths_only = [each.text for each in grave if each.kind == "paths only"]
    # by consequence: the card shows the first
    warnings = (
        *(f"{name} returned no results: {_SILENT}." for name in silent),
        *map(mismatch_text, mismatches),
        *paths_only,
        *(reference_warnings(run, scores, scored.primary, (challenger, plan.baseline)) if challenger in able else ()),
        *_stale_ranges(run),
        *_warnings(scored, summaries, mismatches, len(units)),
        *(each.text for each in grave[len(paths_only) :]),
    )
    spending = measure_costs(run)
    return Results(
        suite=suite,
        k=run.k,
        queries=len(units),
        repositories=len({unit.repository for unit in units}),
        forms=forms_of(scored.scores.units),
        headline=_headline_forms([unit.form for unit in units], plan.primary),
        measures=plan.measures,
        leader=leader,
        challenger=challenger,
        comparison=comparison,
        engines=summaries,
        reading=_reading(scored, comparison, leader),
        slices=_slices(scored, challenger),
        warnings=warnings,
        notes=(*_corpus_facts(run, "notes"), *(diagnostic.text for diagnostic in diagnostics if not diagnostic.grave)),
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
            silent=silent,
            warnings=warnings,
            report=HTML,
            drafts=_count_drafts(scored),
        ),
        **details(),
    )


def _decided_engines(
    scored: ScoredRun, comparison: Comparison, spending: Sequence[EngineResources]
) -> Iterator[DecidedEngine]:
    """Yield the engines under test and the baseline; times only if engines were interleaved."""
    shown = {*candidates(scored.run, scored.plan), *family_of(scored.run, scored.plan), comparison.baseline}
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


def _headline_forms(forms: Sequence[str], primary: str) -> str:
    if parse_measure(primary).of is not None:
        return "over all phrasings"
    counts = Counter(forms).most_common()
    first = counts[0][0] if counts else "only"
    others = ", ".join(f"{number} by {form}" for form, number in counts[1:])
    return f"{first} phrasing" + (f"; {others}" if others else "")


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


def _reading(scored: ScoredRun, comparison: Comparison, leader: str) -> str:
    means = {row.engine: row for row in comparison.means if row.measure == scored.primary}
    roles = {engine.role: means.get(engine.name) for engine in reversed(scored.run.engines)}  # the first of each role
    best, floor, ceiling, keywords = means[leader], roles.get("floor"), roles.get("ceiling"), roles.get("reference")
    text = (
        f"{leader} scores {best.mean:.3f} {measure_text(scored.primary)} on {count(best.queries, 'query', 'queries')}"
    )
    if floor and ceiling and ceiling.mean != floor.mean:
        share = (best.mean - floor.mean) / (ceiling.mean - floor.mean)
        low, high = f"random ({floor.mean:.3f})", f"the oracle ({ceiling.mean:.3f})"
        text += (
            f": {share:.0%} of the way from {low} to {high}"
            if share > 0
            else f": no better than {low}; {high} shows what is there"
        )
    if keywords and leader != keywords.engine:
        gap = best.mean - keywords.mean
        words = f"{abs(gap):.3f} {'less' if gap > 0 else 'more'}" if abs(gap) >= _SHOWN_GAP else "as much"
        text += f"; a keyword search reaches {keywords.mean:.3f}, {words}"
    return text + "."


def _stale_ranges(run: Run) -> Iterator[str]:
    for gold in run.suite.golds:
        stale = run.header.corpora[gold.name].stale if gold.name in run.header.corpora else ()
        if stale:
            ranges = "1 line range" if len(stale) == 1 else f"{len(stale)} line ranges"
            example = f"such as {stale[0]}" if len(stale) > 1 else stale[0]
            yield (
                f"{ranges} of {gold.name} changed since committed, {example}: scores may be wrong; "
                f"run `{reanchor_hint(gold.source or 'SET')}`."
            )


def _warnings(
    scored: ScoredRun, summaries: Sequence[EngineSummary], mismatches: Sequence[PathMismatch], queries: int
) -> Iterator[str]:
    drafts = _count_drafts(scored)
    if drafts:
        verb = "is a draft" if drafts == 1 else "are drafts"
        yield f"{drafts} of {len(scored.queries)} queries {verb}: run `assay gold review` before you trust a number."
    yield from synthetic_notes(scored.run)
    yield from few_queries(queries, scored.primary)
    golds = scored.run.suite.golds
    torn = [pair for gold in golds for pair in find_duplicates(gold.queries) if not have_same_targets(*pair)]
    if torn:
        one, other = torn[0]
        many = "A query asks" if len(torn) == 1 else f"{len(torn)} queries ask"
        yield (
            f"{many} for another answer in the words of an earlier one, such as {other.id} and {one.id}: no engine can "
            f"answer both, so even the oracle may stay below 1. `assay gold lint` names them (G401)."
        )
    k = scored.run.k
    deep = sorted({repr(m) for m in evaluation_measures(scored.run.suite) if m.depth > k})
    if deep:
        yield f"The evaluation layer asks for {', '.join(deep)}; left out, as this run asked for {k} results."
    for engine, summary in zip(scored.run.engines, summaries, strict=True):
        yield from _engine_warnings(scored.run, engine, summary, mismatches)
    problems = _corpus_facts(scored.run, "problems")
    if problems:
        lost = "; ".join(problems[:_SHOWN_PROBLEMS])
        yield f"{len(problems)} places of the gold set are not in this corpus and were left out, such as {lost}."
        yield from _corpus_facts(scored.run, "notes")


def _count_drafts(scored: ScoredRun) -> int:
    return sum(query.tags.get("status") == "draft" for query in scored.queries.values())


def _engine_warnings(
    run: Run, engine: EngineRun, summary: EngineSummary, mismatches: Sequence[PathMismatch]
) -> Iterator[str]:
    if summary.failed:
        kinds = ", ".join(f"{n} {status}" for status, n in summary.statuses.items() if status != Status.OK)
        first = clip(next(r.error for r in engine.rankings if r.status != Status.OK) or "nothing", SHOWN.message)
        failed = f"{engine.name} failed on {summary.failed} of {summary.asked} queries ({kinds})"
        yield f"{failed}; each takes the worst value. The first said: {first}"
    reported = {mismatch.gold for mismatch in mismatches if mismatch.engine == engine.name}
    checked = [(run.lines[r.gold], r.hits) for r in engine.rankings if r.gold not in reported and r.hits]
    hits = sum(len(returned) for _, returned in checked)
    strays = [hit.path for lines, returned in checked for hit in returned if hit[0] not in lines]
    if len(strays) > _STRAY_SHARE * hits:
        example = clip(strays[0], SHOWN.example)
        yield f"{engine.name}: {len(strays)} of {hits} results are no files of the corpus, such as {example}."


def _corpus_facts(run: Run, key: Literal["notes", "problems"]) -> list[str]:
    return [f"{name}: {text}" for name, facts in run.header.corpora.items() for text in getattr(facts, key)]


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
    sentence = "every query failed." if engine in failed_engines(scored.run) else _rank_sentence(counts, missed)
    return Ranks(engine, counts, missed, sentence, level_of(scored.primary), measure)


def _rank_sentence(counts: Sequence[int], missed: int) -> str:
    total = sum(counts) + missed
    if missed == total:
        return "nothing was found: look at its paths and its index before its ranking."
    top, late = sum(counts[:2]), sum(counts[2:])
    text = f"{counts[0] / total:.0%} at rank 1, {top / total:.0%} in the first two, {missed / total:.0%} not found"
    if missed > total / _MANY_MISSED:
        return f"{text}: many answers never appear; look at what is indexed and how queries are read before the order."
    if late > top / 2:
        return f"{text}: answers are found but spread over the ranks; the order is the problem, not the recall."
    return f"{text}: answers stand on top" + ("; read the misses one by one." if missed else ".")


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
