"""Repair a set until nothing certain is left to repair, and never at the price of a new error."""

from __future__ import annotations

from dataclasses import dataclass

from assay.gold.lint.config import DEFAULT, LintConfig
from assay.gold.lint.fixing import fix
from assay.gold.lint.records import Finding, Report, Tools
from assay.gold.lint.registry import EVERY_RULE, Selection
from assay.gold.lint.running import lint
from assay.types import Corpus, Gold

_ROUNDS = 10  # a path, then its range, then a double that both had hidden; no repair undoes another


@dataclass(frozen=True, slots=True)
class Mended:
    """A gold set after all repairs, what was repaired, and what is left to find."""

    gold: Gold
    repaired: tuple[Finding, ...]
    report: Report


def mend(
    gold: Gold,
    corpus: Corpus,
    *,
    tools: Tools | None = None,
    selection: Selection = EVERY_RULE,
    config: LintConfig = DEFAULT,
) -> Mended:
    """Repair and look again; a round of repairs after which there are more errors is not made."""
    mended = Mended(gold, (), lint(gold, corpus, tools=tools, selection=selection, config=config))
    for _ in range(_ROUNDS):
        fixed = fix(mended.gold, mended.report.findings)
        if not fixed.repaired:
            break
        report = lint(fixed.gold, corpus, tools=tools, selection=selection, config=config)
        if report.count("error") > mended.report.count("error"):
            break
        mended = Mended(fixed.gold, (*mended.repaired, *fixed.repaired), report)
    return mended
