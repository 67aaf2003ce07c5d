from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from assay.errors import ConfigError, EngineError, NotComparableError
from assay.report.decision import Decision, QueryLoss, decide_comparison, find_losses
from assay.report.query_scores import QueryScores, chance_between, gather, path_key, stability
from assay.report.render.document import (
    Block,
    Cell,
    Document,
    Heading,
    Paragraph,
    Table,
    Tone,
    drop_empty_columns,
    table,
)
from assay.report.render.formatting import difference_text, format_interval, p_text
from assay.report.scored_run import (
    absent_notes,
    choose_leader,
    compared_engines,
    competing,
    engines_under_test,
    failed_engines,
    family_of,
    few_queries,
    mark_synthetic,
    measure_text,
    notes_on,
    pick,
    reference_warnings,
    resolve_baseline,
    score_gains,
    synthetic_notes,
)
from assay.scoring import identical_rankings, score
from assay.scoring.score import Scorer
from assay.stats import RunNames, all_pairs, compare, compare_scores, means, means_only
from assay.stats.compare import with_leader
from assay.stats.config import DEFAULT, CompareSettings, compare_options
from assay.stats.records import AllPairs, Comparison, ComparisonRow, Verdict
from assay.stats.run_variance import RunVariance, add_run_variance
from assay.stats.runs import EngineOfRun, join_sides
from assay.types import AnalysisPlan, CorpusInfo, Run, Scores

_Comparison = TypeVar("_Comparison", bound=Comparison)
#: Engines of one side by their names in rows of a comparison.
_Side = Mapping[str, tuple[QueryScores, str]]

#: The verdict on an engine without any successful query.
NOT_COMPARED = "failed, not compared"
_TONES: dict[Verdict, Tone] = {
    Verdict.BETTER: "good",
    Verdict.WORSE: "bad",
    Verdict.EQUIVALENT: "plain",
    Verdict.NOT_INFERIOR: "plain",
    Verdict.INCONCLUSIVE: "warning",
}


def compare_engines(run: Run, plan: AnalysisPlan, engine: str | None = None) -> Comparison:
    return compare_within(gather((run,), plan.measures, ""), plan, engine)


def compare_within(side: QueryScores, plan: AnalysisPlan, engine: str | None = None) -> Comparison:
    plan, pairwise = resolve_baseline(side, plan, side.scores, side.dead, engine)
    family = (engine,) if engine and not plan.family else family_of(side, plan)
    if not family:
        raise ConfigError(
            f"no engine to compare with {plan.baseline}", hint="run another engine, or choose another --baseline"
        )
    others = compared_engines(side, plan.baseline) if plan.family else ()
    names = tuple(dict.fromkeys((plan.baseline, *family, *others)))
    scores = pick(side.scores, engines=names, measures=plan.measures)
    engines = {e.name: (side, e.name) for e in side.engines}
    comparison = compare_family(scores, plan, family, side.dead, pairwise=pairwise)
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


def mark_identical(comparison: _Comparison, run: Run | Scorer) -> _Comparison:
    same = {frozenset((twins.first, twins.second)) for twins in identical_rankings(run)}
    rows = (replace(row, identical=frozenset((row.engine, row.baseline)) in same) for row in comparison.rows)
    return replace(comparison, rows=tuple(rows))


def _mark_same_answers(comparison: Comparison, engines: _Side) -> Comparison:
    answers = {name: set(side.engine(engine).answers) for name, (side, engine) in engines.items()}

    def is_same(row: ComparisonRow) -> bool:
        digests = answers[row.engine] | answers[row.baseline]
        return len(digests) == 1 and "" not in digests

    return replace(comparison, rows=tuple(replace(row, identical=is_same(row)) for row in comparison.rows))


def compare_family(
    scores: Scores, plan: AnalysisPlan, family: Sequence[str], dead: Collection[str], *, pairwise: bool = False
) -> Comparison:
    """Compare a family with the baseline; failed engines keep their means but leave the family."""
    left = [] if plan.baseline in dead else [name for name in family if name not in dead]
    failed = [name for name in (plan.baseline, *family) if name in dead]
    if not left:
        return _note_failed(_means_only(scores, plan, plan.baseline), failed, plan.baseline)
    comparison = compare(
        pick(scores, engines=[name for name in scores.engines if name not in dead]),
        baseline=plan.baseline,
        primary=plan.primary,
        family=left,
        pairwise=pairwise,
        **compare_options(plan),
    )
    every = means(scores, alpha=plan.alpha, cluster=plan.cluster) if dead else comparison.means
    return _note_failed(replace(comparison, means=every), failed, plan.baseline)


def _means_only(scores: Scores, plan: AnalysisPlan, baseline: str) -> Comparison:
    return means_only(scores, baseline=baseline, primary=plan.primary, alpha=plan.alpha, cluster=plan.cluster)


def _note_failed(comparison: _Comparison, failed: Sequence[str], baseline: str = "") -> _Comparison:
    if not failed:
        return comparison
    note = f"Failed on every query, not compared: {', '.join(failed)}"
    note += "; without the baseline there is no comparison." if baseline in failed else "."
    notes = comparison.notes if comparison.rows else ()  # "no second engine" would not be the reason
    return replace(comparison, failed=tuple(failed), notes=(note, *notes))


def compare_all_pairs(run: Run, plan: AnalysisPlan) -> AllPairs:
    """Compare all pairs of competing engines; the leader is that of the report."""
    names, dead = competing(run, plan), failed_engines(run)
    left, failed = [name for name in names if name not in dead], [name for name in names if name in dead]
    if failed and len(left) < 2:
        raise EngineError(
            f"{', '.join(failed)} failed on every query: fewer than two engines are left to compare",
            hint="`assay score` shows their errors",
        )
    scores = pick(score(run, plan.measures), engines=left)
    comparison = all_pairs(scores, plan.primary, **compare_options(plan))
    comparison = with_leader(comparison, choose_leader(run, plan, score_gains(scores, plan.primary)))
    comparison = _note_failed(mark_identical(comparison, run), failed)
    return replace(comparison, notes=(*synthetic_notes(run), *comparison.notes))


def compare_runs(
    old: Run, new: Run, plan: AnalysisPlan, names: tuple[str, str], engine: str | None = None
) -> Comparison:
    """Compare one engine, or all shared engines, between two runs; the old run is the baseline.

    Runs with different k or of different repositories are rejected.
    """
    require_comparable(old, new)
    before, after = gather((old,), plan.measures, names[0]), gather((new,), plan.measures, names[1])
    return compare_evidence(before, after, plan, engine)


def compare_evidence(old: QueryScores, new: QueryScores, plan: AnalysisPlan, engine: str | None = None) -> Comparison:
    """Compare two sides, each a run, its repeats or a baseline file; see `compare_runs`."""
    require_comparable(old, new)
    measures = old.scores.measures
    if plan.primary not in measures:
        raise NotComparableError(
            f"{old.name} has no values of {plan.primary}",
            hint=f"it has {', '.join(measures)}; record it again with --write-baseline, or choose --primary",
        )
    shared = replace(plan, measures=tuple(name for name in plan.measures if name in measures))
    before, after = ({f"{e.name} ({side.name})": (side, e.name) for e in side.engines} for side in (old, new))
    comparison = _add_run_variance(_compare_sides(old, new, shared, engine), plan, before, after)
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
            name = next(e.name for e in side.engines if label in (e.name, f"{e.name} ({side.name})"))
            sides.append(EngineOfRun(side.scores, name, side.name))
        joined = join_sides(sides[0], sides[1], row.measure).scores
        return find_losses(joined, joined.engines[1], joined.engines[0], row.measure)

    failures = {} if old else {e.name: (e.failed, e.asked) for e in new.engines}
    silent = [e.name for e in new.engines if e.role == "candidate" and e.silent]
    few = few_queries(len(new.scores.units), comparison.primary)
    decision = decide_comparison(
        comparison,
        suite="+".join(mark_synthetic(name, new.synthetic) for name in new.golds),
        losses=losses,
        worst=worst,
        blamed=blamed,
        failures=failures,
        silent=silent if old is None else [f"{name} ({new.name})" for name in silent],
        warnings=(*notes_on(new.synthetic, new.golds), *(change_notes(old, new, plan) if old else ()), *few),
    )
    compared = [decision.candidate.name, *([decision.baseline.name] if decision.baseline and not old else [])]
    names = [name.removesuffix(f" ({new.name})") for name in compared]
    better = reference_warnings(new, new.scores, comparison.primary, names)
    decision = replace(decision, warnings=(*better, *decision.warnings))
    # the same rankings in two runs are no sign of a setting without effect
    return replace(decision, reason="") if old and decision.outcome == "identical rankings" else decision


def require_comparable(old: Run | QueryScores, new: Run | QueryScores) -> None:
    """Raise if the sides differ in k or in a repository; a changed corpus of the same repository is comparable."""
    if old.k != new.k:
        raise NotComparableError(
            f"one run requested {old.k} results, the other {new.k}", hint="run both with the same k"
        )
    for name, before, after in _changed_pairs(old, new):
        if not _same_repository(before, after):
            names = [_repository_text(facts) for facts in (before, after)]
            hint = "compare runs of one repository; a full clone is identified by its first commit, not by its name"
            raise NotComparableError(
                f"the corpus of {name} is another repository: expected {names[0]}, got {names[1]}", hint=hint
            )


def _same_repository(old: CorpusInfo, new: CorpusInfo) -> bool:
    if old.root_commit and new.root_commit:
        return old.root_commit == new.root_commit
    return _repository_name(old) == _repository_name(new)


def _repository_name(facts: CorpusInfo) -> str:
    """Return the declared name; that of a directory without the hash of its place on the machine."""
    kind, _, name = facts.repository.partition(":")
    return f"{kind}:{name.rpartition('-')[0] or name}" if kind == "path" else facts.repository


def _repository_text(facts: CorpusInfo) -> str:
    name = _repository_name(facts).removeprefix("path:")
    return f"{name} (first commit {facts.root_commit[:9]})" if facts.root_commit else name


def _compare_sides(old: QueryScores, new: QueryScores, plan: AnalysisPlan, engine: str | None) -> Comparison:
    names = RunNames(old.name, new.name)
    tables, failed, labels = list[Scores](), set[str](), list[str]()
    for side in (old, new):
        chosen = (engine,) if engine else engines_under_test(side)
        tables.append(pick(side.scores, engines=chosen, measures=plan.measures))
        failed |= side.dead.intersection(chosen)
        labels += [f"{name} ({side.name})" for name in chosen if name in side.dead]
    left = [[name for name in scores.engines if name not in failed] for scores in tables]
    shared = set(tables[0].engines) & set(tables[1].engines)
    if failed and (not all(left) or (shared and shared <= failed)):
        return _note_failed(_means_only(tables[1], plan, names.old), labels)
    comparison = compare_scores(
        pick(tables[0], engines=left[0]),
        pick(tables[1], engines=left[1]),
        primary=plan.primary,
        names=names,
        family=None if engine else plan.family or None,
        **compare_options(plan),
    )
    return _note_failed(comparison, labels)


def change_notes(old: QueryScores, new: QueryScores, plan: AnalysisPlan) -> list[str]:
    notes = changed_corpora(old, new)
    settings = {engine.name: engine.settings for engine in old.engines}
    changed = [e.name for e in new.engines if settings.get(e.name, e.settings) != e.settings]
    notes += [f"Settings changed between the runs: {', '.join(changed)}."] if changed else []
    lost = [name for name in plan.measures if name not in old.scores.measures]
    notes += [f"{old.name} has no values of {', '.join(lost)}."] if lost else []
    if old.plan:
        pairs = [(name, getattr(old.plan, name), getattr(plan, name)) for name in _PLAN_KEYS]
        differences = [f"{name} {before} → {after}" for name, before, after in pairs if before != after]
        notes += (
            [f"The analysis plan differs from that of {old.name}: {', '.join(differences)}."] if differences else []
        )
    return notes


_PLAN_KEYS = ("primary", "margin", "alpha", "cluster")


def changed_corpora(old: Run | QueryScores, new: Run | QueryScores) -> list[str]:
    """Return a sentence with the changed files for each corpus that changed."""
    return [
        f"The corpus of {name} changed between the runs: {_changes_text(before, after)}."
        for name, before, after in _changed_pairs(old, new)
    ]


def _changed_pairs(old: Run | QueryScores, new: Run | QueryScores) -> list[tuple[str, CorpusInfo, CorpusInfo]]:
    before, after = (side.header.corpora if isinstance(side, Run) else side.corpora for side in (old, new))
    shared = sorted(before.keys() & after.keys())
    return [(name, before[name], after[name]) for name in shared if before[name].digest != after[name].digest]


#: Changed files that a sentence names.
_NAMED_FILES = 5


def _changes_text(old: CorpusInfo, new: CorpusInfo) -> str:
    """Name the first changed files; a baseline file holds no paths, so files removed since are only counted."""
    if not old.file_digests or not new.file_digests:
        return f"{old.files} → {new.files} files"
    before, after = ({path_key(path): digest for path, digest in side.file_digests.items()} for side in (old, new))
    paths = {path_key(path): path for side in (old, new) for path in side.file_digests if not path.startswith("/")}
    changes = {
        "modified": [key for key in after.keys() & before.keys() if after[key] != before[key]],
        "added": after.keys() - before.keys(),
        "removed": before.keys() - after.keys(),
    }
    parts, room = [], _NAMED_FILES
    for change, keys in changes.items():
        names = sorted(paths[key] for key in keys if key in paths)[:room]
        room -= len(names)
        rest = ", …" if names and len(names) < len(keys) else ""
        parts += [f"{len(keys)} {change}" + (f" ({', '.join(names)}{rest})" if names else "")] if keys else []
    return ", ".join(parts)


_LEGEND = (
    "Verdict: “better” and “worse” follow from the p-value, adjusted by Holm; “same” and “not worse” from the "
    "equivalence interval, which also allows for differences that these queries do not show."
)
#: Columns of the details and what they mean.
_DETAILS = {
    "d_z": "mean of the paired differences divided by their standard deviation",
    "ICC": "the correlation of queries inside a repository or cluster",
    "Effective n": "the number of independent queries with the same information",
    "MDE": "the minimum detectable effect",
}
_BADGES = {
    Verdict.BETTER: "Better",
    Verdict.WORSE: "Worse",
    Verdict.EQUIVALENT: "Same (equivalent)",
    Verdict.NOT_INFERIOR: "Not worse (non-inferior)",
    Verdict.INCONCLUSIVE: "Can't tell (inconclusive)",
}


def comparison_blocks(comparison: Comparison) -> list[Block]:
    """Return the verdicts, notes, and the details of the statistics."""
    rows = [row for row in comparison.rows if row.in_family]
    shown = _verdict_table(comparison, rows)
    if not rows:
        return [shown]
    notes: dict[str, list[str]] = {}
    for row in rows:
        for note in row.notes:
            notes.setdefault(note, []).append(f"{row.engine} − {row.baseline}")
    limits = (Paragraph(f"{', '.join(pairs)}: {note}", "quiet") for note, pairs in notes.items())
    return [shown, Paragraph(_LEGEND, "quiet"), *limits, Heading("Details"), _detail_table(comparison, rows)]


def _verdict_table(comparison: Comparison, rows: Sequence[ComparisonRow]) -> Table:
    means = {row.engine: f"{row.mean:.3f}" for row in comparison.means if row.measure == comparison.primary}
    level = rows[0].interval.level if rows else 1 - comparison.alpha
    columns = ["Engine", ">Mean", f">Difference ({level:.0%} CI)", ">Better/same/worse", ">p", "Verdict"]
    lines: list[list[str | Cell]] = []
    baseline = _only_baseline(comparison)
    if baseline in means and baseline not in comparison.failed:
        lines.append([baseline, means[baseline], "–", "–", "–", "Baseline"])
    lines += [
        [
            _row_name(comparison, row),
            means.get(row.engine, "–"),
            difference_text(row.difference, row.interval),
            f"{row.wins}/{row.ties}/{row.losses}",
            p_text(row.p_adjusted if row.p_adjusted is not None else row.p),
            Cell(verdict_badge(row), verdict_tone(row)),
        ]
        for row in rows
    ]
    failed = Cell(NOT_COMPARED.capitalize(), "bad")
    lines += [[name, means.get(name, "–"), "–", "–", "–", failed] for name in comparison.failed]
    return table(columns, lines, " ".join(comparison.notes))


def _detail_table(comparison: Comparison, rows: Sequence[ComparisonRow]) -> Table:
    interval = f">Equivalence ({rows[0].equivalence.level:.0%} CI)"
    columns = ["Engine", interval, ">d_z", ">Worse (%)", ">ICC", ">Effective n", ">MDE"]
    lines = [
        [
            _row_name(comparison, row),
            format_interval(row.equivalence, "+.2f"),
            "–" if row.d_z is None else f"{row.d_z:.2f}",
            f"{100 * row.worse_share:.0f}",
            "–" if row.icc is None else f"{row.icc:.2f}",
            f"{row.effective_n:.0f}",
            row.mde_text,
        ]
        for row in rows
    ]
    shown = drop_empty_columns(table(columns, lines))
    meanings = [f"{c.title}: {_DETAILS[c.title]}" for c in shown.columns if c.title in _DETAILS]
    return replace(shown, note=f"{'; '.join(meanings)}.")


def _row_name(comparison: Comparison, row: ComparisonRow) -> str:
    return row.engine if _only_baseline(comparison) else f"{row.engine} vs {row.baseline}"


def _only_baseline(comparison: Comparison) -> str:
    """Return the baseline of all rows in the family; empty if there are several."""
    baselines = {row.baseline for row in comparison.rows if row.in_family} or {comparison.baseline}
    return baselines.pop() if len(baselines) == 1 else ""


def verdict_badge(row: ComparisonRow) -> str:
    """Return the verdict in the words of a table."""
    if row.identical:
        return "Identical"
    if row.verdict is None:
        return "–"
    if row.verdict_text == "same scores":
        return "Same scores"
    badge = _BADGES[row.verdict]
    small = row.within_margin and row.verdict in (Verdict.BETTER, Verdict.WORSE)
    return f"Slightly {badge.lower()}" if small else badge


def verdict_tone(row: ComparisonRow) -> Tone:
    """Return the tone of a verdict; identical rankings are a warning, because a setting may not be connected."""
    if row.identical:
        return "warning"
    return "plain" if row.verdict is None else _TONES[row.verdict]


def comparison_document(comparison: Comparison | AllPairs) -> Document:
    """Show the comparisons of the family, the leaders of all pairs, and the secondary measures."""
    judged = [row for row in comparison.rows if row.in_family]
    blocks: list[Block] = [Paragraph(_leader_sentence(comparison))] if isinstance(comparison, AllPairs) else []
    blocks += comparison_blocks(comparison)
    if comparison.secondary:
        level = comparison.secondary[0].interval.level
        cells = [
            [measure_text(row.measure), _row_name(comparison, row), difference_text(row.difference, row.interval)]
            for row in comparison.secondary
        ]
        blocks += [Heading("Other measures"), table(["Measure", "Engine", f">Difference ({level:.0%} CI)"], cells)]
    if len(judged) != 1:
        return Document(f"{measure_text(comparison.primary)} {comparison.label}", tuple(blocks))
    row = judged[0]
    return Document(
        f"{row.engine} against {row.baseline} on {measure_text(row.measure)}: {row.summary}",
        tuple(blocks),
        verdict_tone(row),
    )


def _leader_sentence(comparison: AllPairs) -> str:
    values = {row.engine: row.mean for row in comparison.means if row.measure == comparison.primary}
    sign = 1 if comparison.rows[0].higher_is_better else -1
    ahead = [name for name, mean in values.items() if (mean - values[comparison.leader]) * sign > DEFAULT.tie]
    if ahead:
        return f"{comparison.leader} is the best engine under test; references with a better mean: {', '.join(ahead)}."
    if all(row.verdict is Verdict.INCONCLUSIVE for row in comparison.rows):
        return f"{comparison.leader} has the best mean, but every pair is inconclusive: the gold set is too small."
    others = [name for name in comparison.leaders if name != comparison.leader]
    if not others:
        return f"{comparison.leader} leads; every other engine is significantly worse."
    return f"{comparison.leader} has the best mean, but is not significantly better than {', '.join(others)}."
