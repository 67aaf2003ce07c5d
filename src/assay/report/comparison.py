from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from assay.corpus_changes import change_sentences, require_same_repositories
from assay.errors import ConfigError, EngineError, NotComparableError
from assay.report.decision import Decision, QueryLoss, decide_comparison, find_losses
from assay.report.family import (
    choose_leader,
    competing_engines,
    failed_engines,
    judged_engines,
    opponents_of,
    possible_leaders,
    resolve_baseline,
    score_gains,
    tested_engines,
)
from assay.report.query_scores import QueryScores, chance_between, stability
from assay.report.scored_run import compare_with_baseline, compute_means, mark_identical, note_failed, pick
from assay.report.sentences import (
    absent_notes,
    draft_warnings,
    few_queries,
    mark_synthetic,
    notes_on,
    reference_warnings,
    synthetic_notes,
)
from assay.scoring import score
from assay.stats import RunNames, all_pairs, compare_scores
from assay.stats.compare import with_leader
from assay.stats.config import CompareSettings, compare_options
from assay.stats.records import AllPairs, Comparison, ComparisonRow, EngineLabel, engine_of
from assay.stats.run_variance import RunVariance, add_run_variance
from assay.stats.runs import EngineOfRun, join_sides
from assay.types import AnalysisPlan, Run, Scores

#: Engines of one side by their names in rows of a comparison.
_Side = Mapping[str, tuple[QueryScores, str]]


def compare_in_run(side: QueryScores, plan: AnalysisPlan, engine: str | None = None) -> Comparison:
    plan, pairwise = resolve_baseline(side, plan, side.scores, side.dead, engine)
    family = (engine,) if engine and not plan.family else judged_engines(side, plan)
    if not family:
        raise ConfigError(
            f"no engine to compare with {plan.baseline}", hint="run another engine, or choose another --baseline"
        )
    others = opponents_of(side, plan.baseline) if plan.family else ()
    names = tuple(dict.fromkeys((plan.baseline, *family, *others)))
    scores = pick(side.scores, engines=names, measures=plan.measures)
    engines = {e.name: (side, e.name) for e in side.engines}
    comparison = compare_with_baseline(scores, plan, family, side.dead, pairwise=pairwise)
    comparison = _add_run_variance(comparison, plan, engines, engines)
    if engine and plan.family:
        if engine not in plan.family:
            raise ConfigError(
                f"{engine!r} is not in the declared family: {', '.join(plan.family)}",
                hint=f"declare it with --family {engine}",
            )
        kept = (engine, plan.baseline)
        comparison = replace(
            comparison,
            rows=tuple(row for row in comparison.rows if row.engine == engine),
            secondary=tuple(row for row in comparison.secondary if row.engine == engine),
            means=tuple(row for row in comparison.means if row.engine in kept),
            failed=tuple(name for name in comparison.failed if name in kept),
        )
    comparison = _mark_same_answers(comparison, engines)
    return replace(
        comparison, notes=(*notes_on(side.synthetic, side.golds), *absent_notes(side, plan), *comparison.notes)
    )


def _add_run_variance(comparison: Comparison, plan: AnalysisPlan, old: _Side, new: _Side) -> Comparison:
    def variance_of(row: ComparisonRow) -> RunVariance | None:
        return chance_between(stability(*old[row.baseline], row.measure), stability(*new[row.engine], row.measure))

    return add_run_variance(comparison, variance_of, CompareSettings(**compare_options(plan)))


def _mark_same_answers(comparison: Comparison, engines: _Side) -> Comparison:
    answers = {name: set(side.engine(engine).answers) for name, (side, engine) in engines.items()}

    def is_same(row: ComparisonRow) -> bool:
        digests = answers[row.engine] | answers[row.baseline]
        return len(digests) == 1 and "" not in digests

    return replace(comparison, rows=tuple(replace(row, identical=is_same(row)) for row in comparison.rows))


def compare_all_pairs(run: Run, plan: AnalysisPlan) -> AllPairs:
    """Compare all pairs of engines that can lead; with fewer than two, also the baseline or the references."""
    leaders, dead = possible_leaders(run, plan), failed_engines(run)
    with_baseline = tuple(e.name for e in run.engines if e.name in leaders or e.name == plan.baseline)
    names = next((found for found in (leaders, with_baseline) if len(found) > 1), competing_engines(run))
    left, failed = [name for name in names if name not in dead], [name for name in names if name in dead]
    if failed and len(left) < 2:
        raise EngineError(
            f"{', '.join(failed)} failed on every query: fewer than two engines are left to compare",
            hint="`assay score` shows their errors",
        )
    scores = pick(score(run, plan.measures), engines=left)
    comparison = all_pairs(scores, plan.primary, **compare_options(plan))
    comparison = with_leader(comparison, choose_leader(run, plan, score_gains(scores, plan.primary)))
    comparison = note_failed(mark_identical(comparison, run), failed)
    return replace(comparison, notes=(*synthetic_notes(run), *comparison.notes))


def compare_sides(old: QueryScores, new: QueryScores, plan: AnalysisPlan, engine: str | None = None) -> Comparison:
    """Compare one engine, or all shared engines, of two sides: a run, its repeats or a baseline file.

    Sides with different k or of different repositories are rejected.
    """
    require_comparable(old, new)
    measures = old.scores.measures
    if plan.primary not in measures:
        raise NotComparableError(
            f"{old.name} has no {plan.primary} scores",
            hint=f"choose --primary from {', '.join(measures)}, or record the baseline again: "
            "assay gate RESULTS --write-baseline FILE",
        )
    shared = replace(plan, measures=tuple(name for name in plan.measures if name in measures))
    sides: list[dict[str, tuple[QueryScores, str]]] = [
        {EngineLabel(engine.name, side.name): (side, engine.name) for engine in side.engines} for side in (old, new)
    ]
    before, after = sides
    comparison = _add_run_variance(_compare_shared(old, new, shared, engine), plan, before, after)
    synthetic = notes_on((*old.synthetic, *new.synthetic), (*old.golds, *new.golds))
    notes = (*synthetic, *change_notes(old, new, plan), *comparison.notes)
    return replace(_mark_same_answers(comparison, before | after), notes=notes)


def decide_sides(
    comparison: Comparison,
    old: QueryScores | None,
    new: QueryScores,
    plan: AnalysisPlan,
    *,
    worst: bool = False,
    blamed: Collection[str] = (),
) -> Decision:
    """Decide on a comparison within one side, or between two; see `decide_comparison`."""

    def losses(row: ComparisonRow) -> list[QueryLoss]:
        if old is None:
            return find_losses(new.scores, row.engine, row.baseline, row.measure)
        sides = []
        for side, label in ((old, row.baseline), (new, row.engine)):
            sides.append(EngineOfRun(side.scores, engine_of(label), side.name))
        joined = join_sides(sides[0], sides[1], row.measure).scores
        return find_losses(joined, joined.engines[1], joined.engines[0], row.measure)

    failures = {} if old else {e.name: (e.failed, e.asked) for e in new.engines}
    silent = {
        EngineLabel(e.name, new.name) if old else e.name: e.foreign
        for e in new.engines
        if e.role == "candidate" and (e.silent or e.foreign)
    }
    queries = len(new.scores.units)
    few = (*draft_warnings(new.drafts, queries), *few_queries(queries, comparison.primary))
    decision = decide_comparison(
        comparison,
        suite="+".join(mark_synthetic(name, new.synthetic) for name in new.golds),
        losses=losses,
        worst=worst,
        blamed=blamed,
        failures=failures,
        silent=silent,
        warnings=(*notes_on(new.synthetic, new.golds), *(change_notes(old, new, plan) if old else ()), *few),
    )
    compared = [decision.candidate.name, *([decision.baseline.name] if decision.baseline and not old else [])]
    names = [engine_of(name) for name in compared]
    better = reference_warnings(new, new.scores, comparison.primary, names)
    # the runs may share only some of the queries
    drafts = min(new.drafts, decision.queries) if old is None or new.drafts == queries else 0
    decision = replace(decision, warnings=(*better, *decision.warnings), drafts=drafts)
    # the same rankings in two runs are no sign of a setting without effect
    return replace(decision, reason="") if old and decision.outcome == "identical rankings" else decision


def require_comparable(old: Run | QueryScores, new: Run | QueryScores) -> None:
    """Raise if the sides differ in k or in a repository; a changed corpus of the same repository is comparable."""
    if old.k != new.k:
        raise NotComparableError(
            f"one run requested {old.k} results, the other {new.k}", hint="run both with the same k"
        )
    before, after = (side.header.corpora if isinstance(side, Run) else side.corpora for side in (old, new))
    require_same_repositories(before, after)


def _compare_shared(old: QueryScores, new: QueryScores, plan: AnalysisPlan, engine: str | None) -> Comparison:
    names = RunNames(old.name, new.name)
    tables, failed, labels = list[Scores](), set[str](), list[str]()
    for side in (old, new):
        chosen = (engine,) if engine else tested_engines(side)
        tables.append(pick(side.scores, engines=chosen, measures=plan.measures))
        failed |= side.dead.intersection(chosen)
        labels += [EngineLabel(name, side.name) for name in chosen if name in side.dead]
    left = [[name for name in scores.engines if name not in failed] for scores in tables]
    shared = set(tables[0].engines) & set(tables[1].engines)
    if failed and (not all(left) or (shared and shared <= failed)):
        return note_failed(compute_means(tables[1], plan, names.old), labels)
    comparison = compare_scores(
        pick(tables[0], engines=left[0]),
        pick(tables[1], engines=left[1]),
        primary=plan.primary,
        names=names,
        family=None if engine else plan.family or None,
        **compare_options(plan),
    )
    return note_failed(comparison, labels)


def change_notes(old: QueryScores, new: QueryScores, plan: AnalysisPlan) -> list[str]:
    notes = change_sentences(old.corpora, new.corpora)
    settings = {engine.name: engine.settings for engine in old.engines}
    changed = [e.name for e in new.engines if settings.get(e.name, e.settings) != e.settings]
    notes += [f"Settings changed between the runs: {', '.join(changed)}."] if changed else []
    lost = [name for name in plan.measures if name not in old.scores.measures]
    notes += [f"{old.name} has no {', '.join(lost)} scores."] if lost else []
    if old.plan:
        pairs = [(name, getattr(old.plan, name), getattr(plan, name)) for name in _PLAN_KEYS]
        differences = [f"{name} {before} → {after}" for name, before, after in pairs if before != after]
        notes += (
            [f"The analysis plan differs from that of {old.name}: {', '.join(differences)}."] if differences else []
        )
    return notes


_PLAN_KEYS = ("primary", "margin", "alpha", "cluster")
