"""Let lint look at proposals before they are queued: errors refuse one, the rest is told to reviewers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.gold.lint import Finding, Tools, lint
from assay.gold.mining.proposals import Check, Remarks
from assay.types import Corpus, Gold, Query


def lint_check(gold: Gold | None, corpus: Corpus, tools: Tools | None = None) -> Check:
    """Make the check that lints proposals together with the set there is: only so does it see what is asked twice."""

    def check(queries: Sequence[Query]) -> Mapping[str, Remarks]:
        there = gold.queries if gold else ()
        together = replace(gold or Gold("proposals", corpus.spec, ()), queries=(*there, *queries))
        report = lint(together, corpus, tools=tools)
        found: dict[str, list[Finding]] = {query.id: [] for query in queries}
        for finding in report.findings:
            if finding.query in found:
                found[finding.query].append(finding)
        return {name: _remarks(findings) for name, findings in found.items()}

    return check


def _remarks(findings: Sequence[Finding]) -> Remarks:
    """Take errors for reasons to refuse, and the rest for notes."""
    said = [(finding.severity, f"{finding.code} {finding.message}") for finding in findings]
    refusals = tuple(text for severity, text in said if severity == "error")
    return Remarks(refusals, tuple(text for severity, text in said if severity != "error"))
