"""Which file? semble's visible half by semble's own rule: `python -m benchmarks visible`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.stats import means
from assay.types import Scores
from benchmarks.pages import Section, difference_text, mean_text, table, target_text
from benchmarks.quality.ladder import OFF
from benchmarks.quality.measuring import SEMBLE, Asking, Fleet, by_repository, chosen, difference
from benchmarks.quality.model import WORDS
from benchmarks.quality.sources import visible
from benchmarks.quality.variants import Variant, variant

DEFAULT = "builtin"
TARGET = 0.87  # macro
#: Assay's own rule beside semble's: grades count, and no target is paid twice.
STRICT = "nDCG@10"

VARIANTS = (
    Variant(DEFAULT),
    variant("builtin, without its model", WORDS),
    variant("builtin, words alone", OFF),
    Variant("BM25, 50 lines, roots of identifier parts", kind="plain", tokens="roots"),
    Variant("BM25, 50 lines, identifier parts", kind="plain", tokens="parts"),
    Variant("BM25, 50 lines, plain words", kind="plain", tokens="words"),
    Variant("keywords", kind="keywords"),
)


def main() -> Section:
    """Run all variants on every repository."""
    here = visible()
    with Fleet(here.golds) as fleet:
        scores = fleet.scores(VARIANTS, Asking((SEMBLE, STRICT)))
    return section(scores, here.notes)


def section(scores: Scores, notes: Sequence[str]) -> Section:
    """Write what was seen."""
    macro = by_repository(scores)
    reached = float(macro.values[0, 0].mean())
    lines = (
        f"{SEMBLE}, {len(scores.units)} queries, {len(macro.units)} repositories. Macro: each repository counts once; "
        "intervals are by repository. Queries and targets that do not exist at the pinned revision count as missed.",
        "",
        *notes,
        f"Macro of {DEFAULT}: {target_text(reached, TARGET)}",
        "",
        *_engines(scores, macro),
        *_repositories(macro),
        *_categories(scores),
    )
    return Section(lines, passed=reached >= TARGET)


def _engines(scores: Scores, macro: Scores) -> tuple[str, ...]:
    """Tell the engines apart."""
    over = {(row.engine, row.measure): row for row in means(scores)}
    each = {(row.engine, row.measure): row for row in means(macro)}
    rows = [
        (
            name,
            mean_text(each[name, SEMBLE]),
            mean_text(over[name, SEMBLE]),
            mean_text(each[name, STRICT]),
            "" if name == DEFAULT else difference_text(difference(macro, name, DEFAULT, SEMBLE)),
        )
        for name in scores.engines
    ]
    return table(("engine", "macro", "over queries", f"macro, {STRICT}", f"macro, minus {DEFAULT}"), rows)


def _repositories(macro: Scores) -> tuple[str, ...]:
    """Show each repository."""
    rows = [
        (unit.repository, *(f"{value:.3f}" for value in macro.values[:, 0, at])) for at, unit in enumerate(macro.units)
    ]
    return table(("repository", *macro.engines), rows)


def _categories(scores: Scores) -> tuple[str, ...]:
    """Show each kind of query, over queries."""
    kinds = sorted({unit.tags.get("category", "none") for unit in scores.units})
    rows = []
    for kind in kinds:
        part = chosen(scores, lambda unit, kind=kind: unit.tags.get("category", "none") == kind)  # type: ignore[misc]
        rows.append((kind, len(part.units), *(f"{value:.3f}" for value in np.nanmean(part.values[:, 0], axis=1))))
    return table(("category", "queries", *scores.engines), rows)
