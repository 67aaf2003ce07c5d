"""Comparisons of engines and runs under an analysis plan."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from assay.errors import ConfigError, EngineError, NotComparableError
from assay.report.evidence import EngineScores, QueryScores, Stability, chance_between, gather, stability
from assay.report.render.document import Block, Cell, Forest, IntervalPoint, Paragraph, Tone, table
from assay.report.render.text import difference_text, signed_ends
from assay.report.scored_run import (
    absent_notes,
    choose_leader,
    compared_engines,
    competing,
    engines_under_test,
    failed_engines,
    family_of,
    mean_gains,
    notes_on,
    pick,
    synthetic_notes,
)
from assay.scoring import identical_rankings, score
from assay.scoring.score import Scorer
from assay.stats import RunNames, all_pairs, compare, compare_scores, means, means_only
from assay.stats.compare import with_leader
from assay.stats.config import CompareSettings, settings_of
from assay.stats.records import AllPairs, Comparison, ComparisonRow, Verdict
from assay.stats.run_variance import RunVariance, add_run_variance
from assay.types import AnalysisPlan, CorpusInfo, Run, Scores

_Found = TypeVar("_Found", bound=Comparison)


def compare_engines(run: Run, claim: AnalysisPlan, engine: str | None = None) -> Comparison:
    """Compare one engine of a run, or every one that competes, with the baseline."""
    return compare_within(gather((run,), claim.measures, ""), claim, engine)


def compare_within(seen: QueryScores, claim: AnalysisPlan, engine: str | None = None) -> Comparison:
    """Compare engines of one run, or of all its repeats, with the baseline."""
    family = (engine,) if engine and not claim.family else family_of(seen, claim)
    if not family:
        raise ConfigError(
            f"nothing to compare with {claim.baseline}", hint="run another engine, or choose a --baseline"
        )
    others = compared_engines(seen, claim.baseline) if claim.family else ()
    chosen = tuple(dict.fromkeys((claim.baseline, *family, *others)))
    scores = pick(seen.scores, engines=chosen, measures=claim.measures)
    both = _Means(seen, {one.name: one for one in seen.engines})
    found = _over_runs(compare_family(scores, claim, family, seen.dead), claim, both, both)
    found = _narrowed(found, claim, engine) if engine and claim.family else found
    found = _mark_same(found, {one.name: one.answers for one in seen.engines})
    return replace(found, notes=(*notes_on(seen.synthetic, seen.golds), *absent_notes(seen, claim), *found.notes))


@dataclass(frozen=True, slots=True)
class _Means:
    """One side of a comparison, its engines by the names that rows call them."""

    side: QueryScores
    engines: Mapping[str, EngineScores]

    def repeats(self, name: str, measure: str) -> Stability:
        return stability(self.side, self.engines[name].name, measure)


def _over_runs(found: Comparison, claim: AnalysisPlan, old: _Means, new: _Means) -> Comparison:
    def chance_of(row: ComparisonRow) -> RunVariance | None:
        return chance_between(old.repeats(row.baseline, row.measure), new.repeats(row.engine, row.measure))

    return add_run_variance(found, chance_of, CompareSettings(**settings_of(claim)))


def mark_identical(found: _Found, run: Run | Scorer) -> _Found:
    """Mark the comparisons of engines whose rankings are the same throughout: there is nothing to judge."""
    same = {frozenset((twins.first, twins.second)) for twins in identical_rankings(run)}
    rows = (replace(row, identical=frozenset((row.engine, row.baseline)) in same) for row in found.rows)
    return replace(found, rows=tuple(rows))


def _mark_same(found: Comparison, answers: Mapping[str, Sequence[str]]) -> Comparison:
    def is_same(row: ComparisonRow) -> bool:
        given = {*answers[row.engine], *answers[row.baseline]}
        return len(given) == 1 and "" not in given

    return replace(found, rows=tuple(replace(row, identical=is_same(row)) for row in found.rows))


def _narrowed(found: Comparison, claim: AnalysisPlan, engine: str) -> Comparison:
    if engine not in claim.family:
        raise ConfigError(
            f"{engine!r} is not in the declared family: {', '.join(claim.family)}",
            hint=f"a verdict on it would be an afterthought; --family {engine} declares another claim",
        )
    kept = (engine, claim.baseline)
    return replace(
        found,
        rows=tuple(row for row in found.rows if row.engine == engine),
        secondary=tuple(row for row in found.secondary if row.engine == engine),
        means=tuple(row for row in found.means if row.engine in kept),
        failed=tuple(name for name in found.failed if name in kept),
    )


def compare_family(scores: Scores, claim: AnalysisPlan, family: Sequence[str], dead: Collection[str]) -> Comparison:
    """Compare a family with the baseline; engines that answered nothing keep their means but leave the family."""
    left = [] if claim.baseline in dead else [name for name in family if name not in dead]
    failed = [name for name in (claim.baseline, *family) if name in dead]
    if not left:
        found = means_only(
            scores, baseline=claim.baseline, primary=claim.primary, alpha=claim.alpha, cluster=claim.cluster
        )
        return _without(found, failed, claim.baseline)
    found = compare(
        pick(scores, engines=[name for name in scores.engines if name not in dead]),
        baseline=claim.baseline,
        primary=claim.primary,
        family=left,
        **settings_of(claim),
    )
    every = means(scores, alpha=claim.alpha, cluster=claim.cluster) if dead else found.means
    return _without(replace(found, means=every), failed, claim.baseline)


def _without(found: Comparison, failed: Sequence[str], baseline: str = "") -> Comparison:
    """Say who is not compared, because every query of theirs failed."""
    if not failed:
        return found
    said = f"Failed, not compared: {', '.join(failed)} answered no query"
    said += ", so nothing is compared with the baseline." if baseline in failed else "; the family is without them."
    notes = found.notes if found.rows else ()  # "no second engine" would not be the reason
    return replace(found, failed=tuple(failed), notes=(said, *notes))


def compare_all_pairs(run: Run, claim: AnalysisPlan) -> AllPairs:
    """Compare every engine that competes with every other, as `competing` says; the leader is that of the report."""
    real, dead = competing(run, claim), failed_engines(run)
    left, failed = [name for name in real if name not in dead], [name for name in real if name in dead]
    if failed and len(left) < 2:
        raise EngineError(
            f"{', '.join(failed)} answered no query: fewer than two engines are left to compare",
            hint="assay score shows what they said",
        )
    scores = pick(score(run, claim.measures), engines=left)
    found = all_pairs(scores, claim.primary, **settings_of(claim))
    found = with_leader(found, choose_leader(run, claim, mean_gains(found, claim.primary)))
    shared = _without(found, failed)
    return replace(mark_identical(found, run), failed=shared.failed, notes=(*synthetic_notes(run), *shared.notes))


def compare_runs(
    old: Run, new: Run, claim: AnalysisPlan, names: tuple[str, str], engine: str | None = None, *, moved: bool = False
) -> Comparison:
    """Compare one engine, or all that two runs share, between the runs; the old one is the baseline.

    Runs that asked for different k, or on a corpus that changed, are refused; `moved` allows the latter.
    """
    require_comparable(old, new, moved=moved)
    before, after = gather((old,), claim.measures, names[0]), gather((new,), claim.measures, names[1])
    return compare_evidence(before, after, claim, engine, moved=moved)


def compare_evidence(
    old: QueryScores, new: QueryScores, claim: AnalysisPlan, engine: str | None = None, *, moved: bool = False
) -> Comparison:
    """Compare what two sides share, each a run, its repeats or a baseline file; refusals are those of two runs."""
    _refuse(_Facts(old.k, old.corpora), _Facts(new.k, new.corpora), moved=moved)
    measures = _shared_measures(old, claim)
    called = [_Means(side, {f"{one.name} ({side.name})": one for one in side.engines}) for side in (old, new)]
    found = _over_runs(_between(old, new, replace(claim, measures=measures), engine), claim, *called)
    answers = {f"{one.name} ({side.name})": one.answers for side in (old, new) for one in side.engines}
    synthetic = notes_on((*old.synthetic, *new.synthetic), (*old.golds, *new.golds))
    return replace(_mark_same(found, answers), notes=(*synthetic, *_changes(old, new, claim), *found.notes))


def _shared_measures(old: QueryScores, claim: AnalysisPlan) -> tuple[str, ...]:
    if claim.primary not in old.scores.measures:
        raise NotComparableError(
            f"{old.name} has no values of {claim.primary}",
            hint=f"it has {', '.join(old.scores.measures)}; write it anew with --write-baseline, or choose --primary",
        )
    return tuple(name for name in claim.measures if name in old.scores.measures)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What two sides must have in common."""

    k: int
    corpora: Mapping[str, CorpusInfo]


def require_comparable(old: Run, new: Run, *, moved: bool = False) -> None:
    """Refuse two runs that must not be compared."""
    _refuse(_Facts(old.k, old.header.corpora), _Facts(new.k, new.header.corpora), moved=moved)


def changed_corpora(old: Run, new: Run) -> list[str]:
    """Say which corpora changed between two runs, in a sentence each."""
    return _moved(old.header.corpora, new.header.corpora)


def _refuse(old: _Facts, new: _Facts, *, moved: bool) -> None:
    if old.k != new.k:
        raise NotComparableError(
            f"one run asked for {old.k} results, the other for {new.k}", hint="run both with one k"
        )
    changed = _moved(old.corpora, new.corpora)
    if not moved and changed:
        raise NotComparableError(" ".join(changed), hint="--allow-changed-corpus compares all the same, and says so")


def _between(old: QueryScores, new: QueryScores, claim: AnalysisPlan, engine: str | None) -> Comparison:
    sides, names = (old, new), RunNames(old.name, new.name)
    chosen = [(engine,) if engine else engines_under_test(side) for side in sides]
    scores = [pick(side.scores, engines=who, measures=claim.measures) for side, who in zip(sides, chosen, strict=True)]
    failed = [
        (name, f"{name} ({side.name})")
        for side, who in zip(sides, chosen, strict=True)
        for name in who
        if name in side.dead
    ]
    dead = {name for name, _ in failed}
    left = [[name for name in side.engines if name not in dead] for side in scores]
    shared = set(chosen[0]) & set(chosen[1])
    if failed and (not all(left) or (shared and shared <= dead)):
        found = means_only(
            scores[1], baseline=names.old, primary=claim.primary, alpha=claim.alpha, cluster=claim.cluster
        )
        return _without(found, [called for _, called in failed])
    kept = [pick(side, engines=who) for side, who in zip(scores, left, strict=True)]
    found = compare_scores(
        *kept,
        primary=claim.primary,
        names=names,
        family=None if engine else claim.family or None,
        **settings_of(claim),
    )
    return _without(found, [called for _, called in failed])


def _changes(old: QueryScores, new: QueryScores, claim: AnalysisPlan) -> list[str]:
    was = {engine.name: engine.settings for engine in old.engines}
    set_anew = [e.name for e in new.engines if e.name in was and was[e.name] != e.settings]
    notes = _moved(old.corpora, new.corpora)
    notes += [f"Settings changed between the runs: {', '.join(set_anew)}."] if set_anew else []
    lost = [name for name in claim.measures if name not in old.scores.measures]
    notes += [f"{old.name} has no values of {', '.join(lost)}."] if lost else []
    return notes + _claimed_otherwise(old, claim)


def _claimed_otherwise(old: QueryScores, claim: AnalysisPlan) -> list[str]:
    was = old.claim
    names = ("primary", "margin", "alpha", "cluster") if was else ()
    told = [
        f"{name} {getattr(was, name)} → {getattr(claim, name)}"
        for name in names
        if getattr(was, name) != getattr(claim, name)
    ]
    return [f"The claim is not the one of {old.name}: {', '.join(told)}."] if told else []


def _moved(before: Mapping[str, CorpusInfo], after: Mapping[str, CorpusInfo]) -> list[str]:
    return [
        f"The corpus of {name} changed between the runs ({before[name].files} → {after[name].files} files)."
        for name in sorted(before.keys() & after.keys())
        if before[name].digest != after[name].digest
    ]


_TONES: dict[Verdict, Tone] = {
    Verdict.BETTER: "good",
    Verdict.WORSE: "bad",
    Verdict.EQUIVALENT: "plain",
    Verdict.NOT_INFERIOR: "plain",
    Verdict.INCONCLUSIVE: "warning",
}


#: The verdict of an engine that answered nothing.
NOT_COMPARED = "failed, not compared"


def comparison_blocks(found: Comparison) -> list[Block]:
    """Show the family's comparisons with all that belongs beside them, as a table and a picture."""
    rows = [row for row in found.rows if row.in_family]
    level, narrow = (rows[0].interval.level, rows[0].equivalence.level) if rows else (0.95, 0.90)
    columns = [
        "engine",
        "baseline",
        "verdict",
        f">difference [{level:.0%}]",
        f">equivalence [{narrow:.0%}]",
        ">p",
        ">d_z",
        ">win/tie/loss",
        ">harmed",
        ">ICC",
        ">n eff.",
        ">MDE",
    ]
    lines = [*(_comparison(row) for row in rows), *(_failed(name, found, len(columns)) for name in found.failed)]
    grid = table(columns, lines, " ".join(found.notes))
    if not rows:
        return [grid]
    reach = _round_up(max(abs(v) for r in rows for v in (r.interval.low, r.interval.high)))
    points = tuple(
        IntervalPoint(f"{r.engine} − {r.baseline}", r.difference, r.interval.low, r.interval.high, verdict_tone(r))
        for r in rows
    )
    return [grid, Paragraph(_LEGEND, "quiet"), Forest(points, -reach, reach, line=0.0), *_limits(rows)]


_LEGEND = (
    "better and worse need Holm's p; equivalent and not inferior are read from the equivalence interval, which allows "
    "for unseen differences. d_z: the difference in standard deviations of the differences. harmed: queries that got "
    "worse. ICC, n eff.: how alike queries of one repository, or of one declared cluster, are, and how many "
    "independent ones they are worth. MDE: the smallest difference this set would probably have shown."
)


def _limits(rows: Iterable[ComparisonRow]) -> list[Block]:
    notes: dict[str, list[str]] = {}
    for row in rows:
        for note in row.notes:
            notes.setdefault(note, []).append(f"{row.engine} − {row.baseline}")
    return [Paragraph(f"{', '.join(pairs)}: {note}", "quiet") for note, pairs in notes.items()]


def _round_up(reach: float) -> float:
    return max(0.05, math.ceil(reach * 20 - 1e-9) / 20)


def _comparison(row: ComparisonRow) -> list[str | Cell]:
    p = row.p_adjusted if row.p_adjusted is not None else row.p
    return [
        row.engine,
        row.baseline,
        Cell(row.claim, verdict_tone(row)),
        difference_text(row.difference, row.interval),
        signed_ends(row.equivalence),
        "–" if p is None else p_text(p),
        _number(row.d_z, ".2f"),
        f"{row.wins}/{row.ties}/{row.losses}",
        f"{row.harmed:.0%}",
        _number(row.icc, ".2f"),
        f"{row.effective_n:.0f}",
        row.mde_text,
    ]


def _failed(name: str, found: Comparison, width: int) -> list[str | Cell]:
    baseline = "–" if name == found.baseline else found.baseline or "–"
    return [name, baseline, Cell(NOT_COMPARED, "bad"), *["–"] * (width - 3)]


def verdict_tone(row: ComparisonRow) -> Tone:
    """Colour a comparison by its verdict; one of equals is no good news: something may not be connected."""
    if row.identical:
        return "warning"
    return "plain" if row.verdict is None else _TONES[row.verdict]


def _number(value: float | None, shape: str) -> str:
    return "–" if value is None else format(value, shape)


def p_text(value: float) -> str:
    """Write a p-value."""
    return f"{value:.4f}" if value >= 0.0001 else "<0.0001"
