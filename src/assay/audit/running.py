"""Make the checks, and keep what no record may hold out of what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from typing import cast

from assay.audit.bench import Bench
from assay.audit.checks import choose
from assay.audit.checks.base import Check
from assay.audit.config import AuditConfig
from assay.audit.records import Audit, Finding, Severity
from assay.audit.subject import Subject
from assay.engines.runner import one_line
from assay.errors import EngineError, EnvironmentFailure
from assay.experiment.environment import environment
from assay.redaction import Redactor, hiding
from assay.types import Corpus

Tell = Callable[[str], None]


def run_audit(subject: Subject, config: AuditConfig, tell: Tell = lambda _: None) -> Audit:
    """Audit an engine; raises EngineError or EnvironmentFailure when it does not even open."""
    checks = choose(config.only)
    redactor = hiding(subject.engine.secrets)
    findings: list[Finding] = []
    with Bench(subject, config) as bench:
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


def _made(check: Check, bench: Bench) -> Iterator[Finding]:
    """Make one check; an engine that no longer opens costs this check, never the audit."""
    try:
        yield from check.run(bench)
    except (EngineError, EnvironmentFailure) as problem:
        said = f"the engine does not open again: {one_line(problem)}"
        yield bench.finding(check.name, "opening", Severity.BROKEN, said)


def _named(corpus: Corpus) -> str:
    """Name a corpus as people know it: a folder by its own name, wherever it was named from."""
    return corpus.root.resolve().name if corpus.spec.kind == "path" else corpus.spec.repository


def _clean(finding: Finding, redactor: Redactor) -> Finding:
    """Strike secrets out of a finding."""
    return replace(
        finding,
        sentence=redactor.text(finding.sentence),
        example=tuple(map(redactor.text, finding.example)),
        commands=tuple(map(redactor.text, finding.commands)),
    )
