"""Lint findings as text: by set, worst first, without repeats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from assay.cli.output import pluralize
from assay.gold.lint.rules import SEVERITIES
from assay.report.render.document import Block, Cell, Document, Heading, Paragraph, Tone, table

if TYPE_CHECKING:
    from assay.gold.lint.rules import Leaks, LintFinding, LintReport, Severity


_WORDS: tuple[tuple[Severity, str], ...] = (("error", "error"), ("warning", "warning"), ("info", "note"))
_TONES: dict[Severity, Tone] = {"error": "bad", "warning": "warning", "info": "quiet"}
#: Rows of one rule in one set; a reader who has seen eight knows the ninth.
_ROWS = 8
#: Queries named in one row.
_QUERIES = 4


def document(report: LintReport, repaired: Sequence[LintFinding], *, every: bool = False) -> Document:
    """Show what was found, what was repaired, and the counts; `every` finding by itself, or the same fact once."""
    blocks: list[Block] = []
    for gold in dict.fromkeys(finding.gold for finding in report.findings):
        blocks += [Heading(gold), _table([one for one in report.findings if one.gold == gold], every)]
    if repaired:
        blocks += [Heading("Repaired"), *(Paragraph(_repair(finding), "good") for finding in repaired)]
    if report.leaks:
        blocks += [Heading("How much of the answer is in the question"), _leaks(report.leaks)]
    return Document("assay gold lint", (*blocks, _counts(report)))


def _table(findings: Sequence[LintFinding], every: bool) -> Block:
    listed = _each if every else _rows
    rows = [row for severity in SEVERITIES for row in listed([f for f in findings if f.severity == severity])]
    return table(["code", "query", "line", "finding"], rows)


def _each(findings: Sequence[LintFinding]) -> Iterator[list[str | Cell]]:
    for finding in sorted(findings, key=lambda one: one.code):  # the order inside of a code stays
        yield _row([finding])


def _row(same: Sequence[LintFinding]) -> list[str | Cell]:
    first = same[0]
    line = "" if first.line is None else str(first.line)
    return [Cell(first.code, _TONES[first.severity]), _queries(same), line, _fact(first)]


def _rows(findings: Sequence[LintFinding]) -> Iterator[list[str | Cell]]:
    for code in sorted({finding.code for finding in findings}):
        facts: dict[str, list[LintFinding]] = {}
        for finding in findings:
            if finding.code == code:
                facts.setdefault(_fact(finding), []).append(finding)
        yield from map(_row, list(facts.values())[:_ROWS])
        if len(facts) > _ROWS:
            yield [Cell(code, "quiet"), "", "", f"… and {len(facts) - _ROWS} more; --json has them all"]


def _fact(finding: LintFinding) -> str:
    mark = " [--fix]" if finding.fixable else ""
    return f"{finding.message}{mark}" + (f" → {finding.hint}" if finding.hint else "")


def _queries(findings: Sequence[LintFinding]) -> str:
    names = list(dict.fromkeys(finding.query for finding in findings if finding.query))
    more = f" +{len(names) - _QUERIES}" if len(names) > _QUERIES else ""
    return ", ".join(names[:_QUERIES]) + more


def _repair(finding: LintFinding) -> str:
    assert finding.repair is not None
    done = f"became {finding.repair.instead}" if finding.repair.instead else "was dropped"
    return f"{finding.code} {finding.gold}/{finding.query}: {finding.repair.anchor} {done}"


def _leaks(leaks: Sequence[Leaks]) -> Block:
    rows = [[leak.gold, str(leak.none), str(leak.some), str(leak.half)] for leak in leaks]
    return table(["set", ">no word", ">some", ">half of the words or more"], rows)


def _counts(report: LintReport) -> Block:
    counts = {severity: report.count(severity) for severity in SEVERITIES}
    named = ", ".join(pluralize(counts[key], word) for key, word in _WORDS)
    fixable = sum(finding.fixable for finding in report.findings)
    tone: Tone = "bad" if counts["error"] else "warning" if counts["warning"] else "good"
    return Paragraph(f"{named}{f'; {fixable} can be repaired with --fix' if fixable else ''}.", tone)
