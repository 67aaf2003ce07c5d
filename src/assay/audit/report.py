"""Audit findings as terminal text, Markdown, HTML and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from assay.audit.records import Audit, AuditFinding, Severity
from assay.report.render.document import Block, Cell, Code, Document, Heading, Paragraph, Tone, table

_TONES: dict[Severity, Tone] = {
    Severity.BROKEN: "bad",
    Severity.WEAKNESS: "warning",
    Severity.FINE: "good",
    Severity.NOT_APPLICABLE: "quiet",
    Severity.NOT_TRIED: "warning",
}
_SEVERAL = {Severity.BROKEN: "broken laws", Severity.WEAKNESS: "weaknesses"}
_TOLD = (Severity.BROKEN, Severity.WEAKNESS)


def audit_json(audit: Audit) -> dict[str, Any]:
    """Give the audit as JSON can hold it."""
    return {"schema": "assay/audit/1", **asdict(audit)}


def document(audit: Audit) -> Document:
    """Write the page: a summary, a table of all findings, and what is amiss one by one."""
    return Document(f"Audit of {audit.engine} on {audit.corpus}", tuple(_blocks(audit)))


def _blocks(audit: Audit) -> Iterator[Block]:
    yield Paragraph(_summary(audit))
    yield Paragraph(_method(audit), "quiet")
    for note in audit.notes:
        yield Paragraph(note, "warning")
    yield table(["check", "law", "", "what was found", ">share (95 %)"], [_row(finding) for finding in audit.findings])
    for finding in audit.findings:
        if finding.severity in _TOLD:
            yield from _detail(finding)
    yield from _rest(audit)


def _row(finding: AuditFinding) -> list[str | Cell]:
    severity = Cell(finding.severity, _TONES[finding.severity])
    share = "" if finding.share is None else str(finding.share)
    return [finding.check, finding.law, severity, finding.sentence, share]


def _detail(finding: AuditFinding) -> Iterator[Block]:
    yield Heading(f"{finding.check}, {finding.law}: {finding.severity}")
    yield Paragraph(_sentence(finding.sentence))
    if finding.example:
        yield Code("\n".join(finding.example))
    yield Paragraph("To see it again:", "quiet")
    yield Code("\n".join(finding.commands))


def _rest(audit: Audit) -> Iterator[Block]:
    told = {finding.check for finding in audit.findings if finding.severity in _TOLD}
    rest = [finding.commands[-1] for finding in audit.findings if finding.check not in told]
    if rest:
        yield Heading("The other checks, one by one" if told else "The checks, one by one")
        yield Code("\n".join(dict.fromkeys(rest)))


def _summary(audit: Audit) -> str:
    counts = {severity: audit.count(severity) for severity in Severity}
    told = [
        f"{count} {severity if count == 1 else _SEVERAL.get(severity, severity)}"
        for severity, count in counts.items()
        if count
    ]
    laws = "1 law" if len(audit.findings) == 1 else f"{len(audit.findings)} laws"
    return f"{laws} looked at: {', '.join(told)}."


def _method(audit: Audit) -> str:
    settings = audit.settings
    origins = ", ".join(dict.fromkeys(_origin(question.origin) for question in audit.questions))
    return (
        f"{len(audit.questions)} ordinary queries ({origins}), k = {settings.get('k')}, seed {settings.get('seed')}, "
        f"on {audit.files} files. Shares are with their 95 % Wilson interval over the cases that were tried."
    )


def _origin(origin: str) -> str:
    return "of the gold set" if origin.startswith("query ") else origin


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
