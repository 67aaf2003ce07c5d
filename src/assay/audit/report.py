"""Audit findings as terminal text, Markdown, HTML and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from assay.audit.records import Audit, Severity
from assay.report.render.document import Block, Cell, Code, Document, Heading, Paragraph, Tone, table

_TONES: dict[Severity, Tone] = {
    Severity.BROKEN: "bad",
    Severity.WEAKNESS: "warning",
    Severity.FINE: "good",
    Severity.NOT_APPLICABLE: "quiet",
    Severity.NOT_TRIED: "warning",
}
_PLURALS = {Severity.BROKEN: "broken laws", Severity.WEAKNESS: "weaknesses"}
_DETAILED = (Severity.BROKEN, Severity.WEAKNESS)


def audit_json(audit: Audit) -> dict[str, Any]:
    return {"schema": "assay/audit/1", **asdict(audit)}


def document(audit: Audit) -> Document:
    """Return the page: a summary, a table of all findings, and the problems in detail."""
    return Document(f"Audit of {audit.engine} on {audit.corpus}", tuple(_blocks(audit)))


def _blocks(audit: Audit) -> Iterator[Block]:
    yield Paragraph(_summary(audit))
    yield Paragraph(_method(audit), "quiet")
    for note in audit.notes:
        yield Paragraph(note, "warning")
    rows: list[list[str | Cell]] = []
    for finding in audit.findings:
        severity = Cell(finding.severity, _TONES[finding.severity])
        share = "" if finding.share is None else str(finding.share)
        rows.append([finding.check, finding.law, severity, finding.sentence, share])
    yield table(["check", "law", "", "finding", ">share (95%)"], rows)
    problems = [finding for finding in audit.findings if finding.severity in _DETAILED]
    for finding in problems:
        yield Heading(f"{finding.check}, {finding.law}: {finding.severity}")
        sentence = finding.sentence[:1].upper() + finding.sentence[1:]
        yield Paragraph(sentence if sentence.endswith(".") else f"{sentence}.")
        if finding.example:
            yield Code("\n".join(finding.example))
        yield Paragraph("To reproduce:", "quiet")
        yield Code("\n".join(finding.commands))
    detailed = {finding.check for finding in problems}
    commands = [finding.commands[-1] for finding in audit.findings if finding.check not in detailed]
    if commands:
        yield Heading("Commands for the other checks" if detailed else "Commands for the checks")
        yield Code("\n".join(dict.fromkeys(commands)))


def _summary(audit: Audit) -> str:
    counts = {one: sum(finding.severity == one for finding in audit.findings) for one in Severity}
    parts = [
        f"{count} {severity if count == 1 else _PLURALS.get(severity, severity)}"
        for severity, count in counts.items()
        if count
    ]
    laws = "1 law" if len(audit.findings) == 1 else f"{len(audit.findings)} laws"
    return f"{laws} checked: {', '.join(parts)}."


def _method(audit: Audit) -> str:
    settings = audit.settings
    origins = ["of the gold set" if q.origin.startswith("query ") else q.origin for q in audit.questions]
    return (
        f"{len(audit.questions)} ordinary queries ({', '.join(dict.fromkeys(origins))}), k = {settings.get('k')}, "
        f"seed {settings.get('seed')}, on {audit.files} files. Shares have 95% Wilson intervals over the tried cases."
    )
