"""Comparisons of runs under their claim, for every command that needs one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypeVar

from assay.errors import ConfigError, EngineError, NotComparableError
from assay.report.case import absent_notes, competing, contestants, dead_engines, family_of, pick, rivals
from assay.report.synthetic import synthetic_notes
from assay.scoring import identical_rankings, score
from assay.stats import Names, all_pairs, compare, compare_scores, means, means_only
from assay.stats.config import settings_of
from assay.stats.records import AllPairs, Comparison
from assay.types import Claim, Run, Scores

_Found = TypeVar("_Found", bound=Comparison)


def compare_engines(run: Run, claim: Claim, engine: str | None = None) -> Comparison:
    """Compare one engine of a run, or every one that competes, with the baseline."""
    family = (engine,) if engine and not claim.family else family_of(run, claim)
    if not family:
        raise ConfigError(
            f"nothing to compare with {claim.baseline}", hint="run another engine, or choose a --baseline"
        )
    others = rivals(run, claim.baseline) if claim.family else ()
    chosen = tuple(dict.fromkeys((claim.baseline, *family, *others)))
    found = compare_family(pick(score(run, claim.measures), engines=chosen), claim, family, dead_engines(run))
    found = mark_identical(_narrowed(found, claim, engine) if engine and claim.family else found, run)
    return replace(found, notes=(*synthetic_notes(run), *absent_notes(run, claim), *found.notes))


def mark_identical(found: _Found, run: Run) -> _Found:
    """Mark the comparisons of engines whose rankings are the same throughout: there is nothing to judge."""
    same = {frozenset((twins.first, twins.second)) for twins in identical_rankings(run)}
    rows = (replace(row, identical=frozenset((row.engine, row.baseline)) in same) for row in found.rows)
    return replace(found, rows=tuple(rows))


def _narrowed(found: Comparison, claim: Claim, engine: str) -> Comparison:
    """Show one engine of a declared family; its p-value stays adjusted for all of them."""
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


def compare_family(scores: Scores, claim: Claim, family: Sequence[str], dead: Collection[str]) -> Comparison:
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


def compare_all_pairs(run: Run, claim: Claim) -> AllPairs:
    """Compare every engine that competes with every other; of a declared family, its engines and the baseline."""
    real, dead = competing(run, claim), dead_engines(run)
    left, failed = [name for name in real if name not in dead], [name for name in real if name in dead]
    if failed and len(left) < 2:
        raise EngineError(
            f"{', '.join(failed)} answered no query: fewer than two engines are left to compare",
            hint="assay score shows what they said",
        )
    scores = pick(score(run, claim.measures), engines=left)
    found = all_pairs(
        scores,
        claim.primary,
        **settings_of(claim),
    )
    shared = _without(found, failed)
    return replace(mark_identical(found, run), failed=shared.failed, notes=(*synthetic_notes(run), *shared.notes))


def compare_runs(
    old: Run, new: Run, claim: Claim, names: tuple[str, str], engine: str | None = None, *, moved: bool = False
) -> Comparison:
    """Compare one engine, or all that two runs share, between the runs; the old one is the baseline.

    Runs that asked for different k, or on a corpus that changed, are refused; `moved` allows the latter.
    """
    refuse_unlike(old, new, moved=moved)
    found = mark_identical(_between(old, new, claim, Names(*names), engine), _side_by_side(old, new, Names(*names)))
    return replace(found, notes=(*synthetic_notes(old, new), *_changes(old, new), *found.notes))


def refuse_unlike(old: Run, new: Run, *, moved: bool = False) -> None:
    """Refuse two runs that must not be compared."""
    if old.k != new.k:
        raise NotComparableError(
            f"one run asked for {old.k} results, the other for {new.k}", hint="run both with one k"
        )
    if not moved and _moved(old, new):
        raise NotComparableError(
            " ".join(_moved(old, new)), hint="--allow-changed-corpus compares all the same, and says so"
        )


def _between(old: Run, new: Run, claim: Claim, names: Names, engine: str | None) -> Comparison:
    """Compare what both runs have an answer of; what failed in one of them leaves both."""
    chosen = [(engine,) if engine else contestants(run) for run in (old, new)]
    sides = [pick(score(run, claim.measures), engines=who) for run, who in zip((old, new), chosen, strict=True)]
    failed = [
        (name, f"{name} ({called})")
        for run, who, called in zip((old, new), chosen, (names.old, names.new), strict=True)
        for name in who
        if name in dead_engines(run)
    ]
    dead = {name for name, _ in failed}
    left = [[name for name in side.engines if name not in dead] for side in sides]
    shared = set(chosen[0]) & set(chosen[1])
    if failed and (not all(left) or (shared and shared <= dead)):
        found = means_only(
            sides[1], baseline=names.old, primary=claim.primary, alpha=claim.alpha, cluster=claim.cluster
        )
        return _without(found, [called for _, called in failed])
    kept = [pick(side, engines=who) for side, who in zip(sides, left, strict=True)]
    found = compare_scores(
        *kept,
        primary=claim.primary,
        names=names,
        family=None if engine else claim.family or None,
        **settings_of(claim),
    )
    return _without(found, [called for _, called in failed])


def _side_by_side(old: Run, new: Run, names: Names) -> Run:
    """Put the engines of two runs into one, under the names that their comparison gives them."""
    sides = ((old, names.old), (new, names.new))
    return replace(
        new, engines=tuple(replace(e, name=f"{e.name} ({called})") for run, called in sides for e in run.engines)
    )


def _changes(old: Run, new: Run) -> list[str]:
    """Say what else differs between two runs than what is being compared."""
    was = {engine.name: engine.config for engine in old.engines}
    set_anew = [e.name for e in new.engines if e.name in was and was[e.name] != e.config]
    return _moved(old, new) + ([f"Settings changed between the runs: {', '.join(set_anew)}."] if set_anew else [])


def _moved(old: Run, new: Run) -> list[str]:
    """Say which corpora changed between two runs."""
    before, after = old.header.corpora, new.header.corpora
    return [
        f"The corpus of {name} changed between the runs ({before[name].files} → {after[name].files} files)."
        for name in sorted(before.keys() & after.keys())
        if before[name].digest != after[name].digest
    ]
