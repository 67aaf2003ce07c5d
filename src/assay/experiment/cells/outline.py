"""The part of a plan that is stored with its cells to rebuild the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from assay.experiment.cells.assembling import assemble, make_header
from assay.experiment.cells.planning import RunPlan
from assay.experiment.cells.records import CellId
from assay.experiment.cells.running import PlanResult
from assay.experiment.environment import environment
from assay.experiment.records.codec import read_claim
from assay.types import AnalysisPlan, Run, VariantInfo


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """A plan without its engines and gold sets, small enough to be written down."""

    plan: str  # digest
    golds: tuple[str, ...]
    engines: tuple[str, ...]
    k: int
    timeout: float
    claim: AnalysisPlan
    skipped: Mapping[str, str] = field(default_factory=dict)
    variations: Mapping[str, VariantInfo] = field(default_factory=dict)
    environment: Mapping[str, object] = field(default_factory=dict, compare=False)  # of whoever planned it

    @property
    def slots(self) -> tuple[CellId, ...]:
        """Every cell, gold set by gold set."""
        return tuple(CellId(gold, engine) for gold in self.golds for engine in self.engines)


def outline_of(plan: RunPlan, claim: AnalysisPlan) -> PlanSummary:
    """Say what a plan leads to."""
    return PlanSummary(
        plan=plan.digest,
        golds=tuple(gold.name for gold in plan.suite.golds),
        engines=tuple(plan.asked),
        k=plan.k,
        timeout=plan.limits.query,
        claim=claim,
        skipped=dict(plan.skipped),
        variations={name: one.variation for name, one in plan.asked.items() if one.variation},
        environment={**environment(), "interleaved": False},
    )


def run_of(outline: PlanSummary, work: PlanResult) -> Run:
    """Make the run of its cells; nothing of who ran them, or when, is in it but the days they were asked."""
    grounds = [work.grounds[name] for name in outline.golds]
    header = make_header(
        grounds,
        date=max(cell.engine.date for cell in work.cells.values()),
        environment=outline.environment,
        timeout=outline.timeout,
        timed=False,
        skipped=outline.skipped,
    )
    made = assemble(grounds, work.cells, outline.engines, outline.k, header=header, variations=outline.variations)
    return replace(made, header=replace(made.header, claim=outline.claim))


def outline_json(outline: PlanSummary) -> dict[str, Any]:
    """Turn an outline into JSON."""
    return asdict(outline)


def read_outline(row: Mapping[str, Any]) -> PlanSummary:
    """Read an outline from JSON."""
    lists: dict[str, Sequence[str]] = {name: tuple(row[name]) for name in ("golds", "engines")}
    variations = {name: VariantInfo(**one) for name, one in row["variations"].items()}
    return PlanSummary(**{**row, **lists, "variations": variations, "claim": read_claim(row["claim"])})
