"""Scores with and without pooled labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.report.analysis import analyse
from assay.report.render.document import Block, Heading, Paragraph, table
from assay.report.results import Results, results_json
from assay.scoring.runs import Unpooled, without_pooled
from assay.types import AnalysisPlan, Run


@dataclass(frozen=True, slots=True)
class UnpooledScores:
    """What is added to a report, for people and for programs."""

    blocks: tuple[Block, ...]
    data: dict[str, Any]


def score_unpooled(run: Run, claim: AnalysisPlan, full: Results) -> UnpooledScores:
    """Score a run again without the labels that results brought up, and put the means side by side."""
    own = without_pooled(run)
    facts = {"labels": own.labels, "queries": list(own.queries), "engines": list(own.engines)}
    title = Heading("Without pooled labels")
    if not own.labels:
        return UnpooledScores((title, Paragraph("No label of this run was brought up by an engine's results.")), facts)
    if not own.run.suite.golds:
        return UnpooledScores(
            (title, Paragraph("Every query has its answers from engines' results.", "warning")), facts
        )
    results = analyse(own.run, claim)
    rows = _rows(full, results)
    columns = ["engine", *(f">{name}{part}" for name in claim.measures for part in ("", " without"))]
    blocks = (title, Paragraph(_sentence(own, results)), table(columns, rows))
    return UnpooledScores(blocks, {**facts, "results": results_json(results)})


def _sentence(own: Unpooled, results: Results) -> str:
    gone = f", and {_queries(len(own.queries))} without another answer" if own.queries else ""
    labels = "1 label" if own.labels == 1 else f"{own.labels} labels"
    left_out = (
        f"{labels} that results of {', '.join(own.engines)} brought up {'is' if own.labels == 1 else 'are'} left out"
    )
    return f"{left_out}{gone}: {_queries(results.queries)}. What follows this table is with all labels."


def _queries(number: int) -> str:
    return "1 query" if number == 1 else f"{number} queries"


def _rows(full: Results, own: Results) -> list[list[str]]:
    tables = [{(m.engine, m.measure): m.mean for m in one.comparison.means} for one in (full, own)]
    names = [facts.name for facts in full.engines]
    return [[name, *(f"{t[name, m]:.3f}" for m in full.measures for t in tables)] for name in names]
