"""Look at a gold set by every rule."""

from __future__ import annotations

from collections.abc import Sequence

from assay.gold.lint.config import DEFAULT, LintConfig
from assay.gold.lint.records import Finding, Report, Tools
from assay.gold.lint.registry import CHECKS, EVERY_RULE, Selection
from assay.gold.lint.sets import SIZE, Power, check_size
from assay.gold.lint.view import View
from assay.gold.lint.wording import leaks
from assay.types import Corpus, Gold, Suite


def lint(
    gold: Gold,
    corpus: Corpus,
    *,
    tools: Tools | None = None,
    selection: Selection = EVERY_RULE,
    config: LintConfig = DEFAULT,
) -> Report:
    """Find what is wrong with one gold set on its corpus."""
    view = View(gold, corpus, tools or Tools(), config)
    checks = [check for check in CHECKS if any(selection.takes(rule.code) for rule in check.rules)]
    found = [finding for check in checks for finding in check.run(view) if selection.takes(finding.code)]
    return Report(tuple(_ordered(gold, found)), (leaks(view),))


def join(
    suite: Suite,
    reports: Sequence[Report],
    power: Power | None = None,
    selection: Selection = EVERY_RULE,
    *,
    config: LintConfig = DEFAULT,
) -> Report:
    """Put the reports of sets together, with what can be said of all of them only."""
    findings = [finding for report in reports for finding in report.findings]
    if power is not None and selection.takes(SIZE.code):
        findings += check_size(suite, power, config)
    return Report(tuple(findings), tuple(leak for report in reports for leak in report.leaks))


def _ordered(gold: Gold, findings: Sequence[Finding]) -> list[Finding]:
    """Order by query as the set has them, what concerns the whole set first; then by code and words."""
    place = {query.id: number for number, query in enumerate(gold.queries, 1)}
    distinct = dict.fromkeys(findings)
    return sorted(distinct, key=lambda one: (place.get(one.query, 0), one.code, one.anchor, one.message))
