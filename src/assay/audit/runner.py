"""Run the checks and redact secrets from their findings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import cast

from assay.audit.checks import choose
from assay.audit.checks.base import AuditCheck
from assay.audit.records import Audit, AuditConfig, AuditFinding, Severity
from assay.audit.report import audit_json, document
from assay.audit.sessions import AuditSessions
from assay.audit.subject import AuditTarget
from assay.engines.runner import summarize
from assay.errors import EngineError, SetupError
from assay.experiment.environment import environment
from assay.experiment.records import write_assayignore
from assay.files import write_atomic
from assay.redaction import Redactor, make_redactor
from assay.report.render.markup import to_html, to_markdown
from assay.report.render.text import plain
from assay.types import Corpus

Tell = Callable[[str], None]


def run_audit(subject: AuditTarget, config: AuditConfig, tell: Tell = lambda _: None) -> Audit:
    """Audit an engine; raises EngineError or EnvironmentFailure when it does not even open."""
    checks = choose(config.only)
    redactor = make_redactor(subject.engine.secrets)
    findings: list[AuditFinding] = []
    with AuditSessions(subject, config) as bench:
        answered = sum(bench.answer(text, config.k).ok for text in bench.texts)
        for check in checks:
            tell(f"{subject.name}: {check.name}: {check.about}")
            findings += [_clean(finding, redactor) for finding in _made(check, bench)]
    return Audit(
        engine=redactor.text(subject.name),
        corpus=_named(subject.corpus),
        digest=subject.corpus.digest,
        files=len(subject.corpus.files),
        questions=subject.questions,
        findings=tuple(findings),
        notes=tuple(redactor.text(note) for note in (*subject.notes, *subject.engine.notes)),
        config=cast(dict[str, object], redactor.value(subject.engine.config)),
        settings=asdict(config),
        environment=environment(),
        answered=answered,
    )


def _made(check: AuditCheck, bench: AuditSessions) -> Iterator[AuditFinding]:
    try:
        yield from check.run(bench)
    except (EngineError, SetupError) as problem:
        said = f"the engine does not open again: {summarize(problem)}"
        yield bench.finding(check.name, "opening", Severity.BROKEN, said)


def _named(corpus: Corpus) -> str:
    return corpus.root.resolve().name if corpus.spec.kind == "path" else corpus.spec.repository


def _clean(finding: AuditFinding, redactor: Redactor) -> AuditFinding:
    return replace(
        finding,
        sentence=redactor.text(finding.sentence),
        example=tuple(map(redactor.text, finding.example)),
        commands=tuple(map(redactor.text, finding.commands)),
    )


FILES = ("audit.json", "audit.md", "audit.html")


def write_audit(audit: Audit, folder: Path) -> None:
    """Write audit.json, audit.md and audit.html into a folder that no corpus takes in."""
    page = document(audit)
    data = json.dumps(plain(audit_json(audit)), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_assayignore(folder)
    for name, text in zip(FILES, (data, to_markdown(page), to_html(page)), strict=True):
        write_atomic(folder / name, text)
