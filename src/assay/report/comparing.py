"""Comparisons of runs under their claim, for every command that needs one."""

from __future__ import annotations

from dataclasses import replace

from assay.errors import ConfigError, NotComparableError
from assay.report.case import contestants, pick, real_engines, rivals
from assay.report.synthetic import synthetic_notes
from assay.scoring import score
from assay.stats import Names, all_pairs, compare, compare_scores
from assay.stats.records import AllPairs, Comparison
from assay.types import Claim, Run


def compare_engines(run: Run, claim: Claim, engine: str | None = None) -> Comparison:
    """Compare one engine of a run, or every one that competes, with the baseline."""
    family = (engine,) if engine else rivals(run, claim.baseline)
    if not family:
        raise ConfigError(
            f"nothing to compare with {claim.baseline}", hint="run another engine, or choose a --baseline"
        )
    chosen = tuple(dict.fromkeys((claim.baseline, *family)))
    found = compare(
        pick(score(run, claim.measures), engines=chosen),
        baseline=claim.baseline,
        primary=claim.primary,
        margin=claim.margin,
        alpha=claim.alpha,
        seed=claim.seed,
    )
    return replace(found, notes=(*synthetic_notes(run), *found.notes))


def compare_all_pairs(run: Run, claim: Claim) -> AllPairs:
    """Compare every engine that competes with every other."""
    scores = pick(score(run, claim.measures), engines=real_engines(run))
    found = all_pairs(scores, claim.primary, margin=claim.margin, alpha=claim.alpha, seed=claim.seed)
    return replace(found, notes=(*synthetic_notes(run), *found.notes))


def compare_runs(
    old: Run, new: Run, claim: Claim, names: tuple[str, str], engine: str | None = None, *, moved: bool = False
) -> Comparison:
    """Compare one engine, or all that two runs share, between the runs; the old one is the baseline.

    Runs that asked for different k, or on a corpus that changed, are refused; `moved` allows the latter.
    """
    if old.k != new.k:
        raise NotComparableError(
            f"one run asked for {old.k} results, the other for {new.k}", hint="run both with one k"
        )
    if not moved and _moved(old, new):
        raise NotComparableError(
            " ".join(_moved(old, new)), hint="--allow-changed-corpus compares all the same, and says so"
        )
    sides = [pick(score(run, claim.measures), engines=(engine,) if engine else contestants(run)) for run in (old, new)]
    found = compare_scores(
        *sides, primary=claim.primary, names=Names(*names), margin=claim.margin, alpha=claim.alpha, seed=claim.seed
    )
    return replace(found, notes=(*synthetic_notes(old, new), *_changes(old, new), *found.notes))


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
