"""From a comparison to an entry: what changed, what was measured, and what the rule says of it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from assay._version import __version__
from assay.experiment.ledger.entry import Entry, Evidence, How, Side, Tuning
from assay.experiment.ledger.rule import Rule, judge
from assay.experiment.records import config_hash
from assay.gold.split import part_of
from assay.scoring import identical_rankings
from assay.settings import joined, leaves
from assay.stats.records import ComparisonRow
from assay.stats.slices import RepositoryChange
from assay.types import Claim, EngineRun, Run


@dataclass(frozen=True, slots=True)
class Measured:
    """Two engines that were compared, and on what; the run is that of the new one."""

    run: Run
    new: EngineRun
    old: EngineRun
    row: ComparisonRow
    repositories: tuple[RepositoryChange, ...]
    family: int = 1  # comparisons that were judged together


@dataclass(frozen=True, slots=True)
class Heading:
    """What people say of a change."""

    title: str
    how: How = "run"
    by: str = ""


def make_entry(heading: Heading, found: Measured, claim: Claim, rule: Rule, tuning: Tuning | None = None) -> Entry:
    """Put a change to the rule and write down all that it rests on."""
    run, row = found.run, found.row
    decision = judge(rule, row, found.repositories)
    return Entry(
        title=heading.title,
        how=heading.how,
        new=_side(found.new, row.mean),
        old=_side(found.old, row.baseline_mean),
        changes=dict(differences(found.old.config, found.new.config)),
        gold=tuple(gold.name for gold in run.suite.golds),
        gold_hash=run.header.gold_hash,
        parts=tuple(sorted({part for g in run.suite.golds for q in g.queries if (part := part_of(q))})),
        corpora={name: facts.digest for name, facts in run.header.corpora.items()},
        evidence=_evidence(found, claim),
        rule=rule,
        accepted=decision.accepted,
        reasons=decision.reasons,
        assay=__version__,
        by=heading.by,
        tuning=tuning,
    )


def _side(engine: EngineRun, mean: float) -> Side:
    """Name one of the two engines."""
    return Side(engine.name, config_hash(engine.config), mean, engine.version)


def _evidence(found: Measured, claim: Claim) -> Evidence:
    """Keep what a reader needs to judge for himself."""
    row = found.row
    return Evidence(
        measure=row.measure,
        higher_is_better=row.higher_is_better,
        k=found.run.k,
        difference=row.difference,
        low=_finite(row.interval.low),
        high=_finite(row.interval.high),
        level=row.interval.level,
        p=row.p_adjusted if row.p_adjusted is not None else row.p,
        family=found.family,
        verdict=None if row.verdict is None else str(row.verdict),
        margin=claim.margin,
        alpha=claim.alpha,
        queries=row.queries,
        clusters=row.clusters,
        label=row.label,
        repositories=found.repositories,
        identical=_identical(found),
    )


def _identical(found: Measured) -> bool:
    """Tell whether the two engines gave the same rankings throughout."""
    sides = (replace(found.old, name="old"), replace(found.new, name="new"))
    return bool(identical_rankings(replace(found.run, engines=sides)))


def _finite(value: float) -> float | None:
    """Give a number that JSON can hold."""
    return value if math.isfinite(value) else None


def differences(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[tuple[str, tuple[object, object]]]:
    """List the settings in which two engines differ, before and after; None where one has no such setting."""
    before, after = (_settings(json.loads(json.dumps(config, default=str))) for config in (old, new))
    for key in sorted({*before, *after}):
        if before.get(key) != after.get(key):
            yield key, (before.get(key), after.get(key))


def _settings(table: Mapping[str, Any]) -> dict[str, object]:
    """Name everything in a table by its dotted key."""
    return {joined(names): value for names, value in leaves(table)} if table else {}
