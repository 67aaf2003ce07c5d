from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path, PurePosixPath
from typing import Any, cast

from assay.audit.checks import determinism, edge_cases, filters, index_contents, rankings
from assay.audit.engine_client import AuditSessions, AuditTarget, shuffle
from assay.audit.findings import Audit, AuditConfig, AuditFinding, AuditQuery, Severity, make_finding
from assay.engines.calls import summarize
from assay.errors import CorpusError, EngineError, SetupError
from assay.experiment.records.directory import write_assayignore
from assay.experiment.run_plan import environment
from assay.files import write_atomic
from assay.redaction import make_redactor
from assay.report.render.document import Block, Card, Cell, Code, Document, Heading, Paragraph, Tone, table, to_markdown
from assay.report.render.formatting import plain
from assay.settings import unknown_name
from assay.types import Corpus, Query


@dataclass(frozen=True, slots=True)
class AuditCheck:
    name: str
    about: str
    run: Callable[[AuditSessions], Iterator[AuditFinding]]


#: In execution order; checks that may change an engine's state come last.
CHECKS: tuple[AuditCheck, ...] = (
    AuditCheck("answers", "do ordinary queries succeed?", rankings.check_answers),
    AuditCheck("determinism", "does the same query always give the same ranking?", determinism.check_determinism),
    AuditCheck("prefix", "is the top 5 a prefix of the top 10?", rankings.check_prefix),
    AuditCheck("depth", "does the engine return k distinct results?", rankings.check_depth),
    AuditCheck("ties", "do scores follow the rank, and are ties stable?", rankings.check_ties),
    AuditCheck("paths", "do results name existing files and lines?", rankings.check_paths),
    AuditCheck("filters", "does a filter only remove results?", filters.check_filters),
    AuditCheck("reachability", "can the engine return the targets of the gold set?", index_contents.check_reachability),
    AuditCheck("update", "after edits, does an update equal a rebuild?", index_contents.check_update),
    AuditCheck("odd", "how does the engine handle edge cases, and queries after them?", edge_cases.check_edge_cases),
)


def choose_checks(names: Sequence[str]) -> tuple[AuditCheck, ...]:
    known = [check.name for check in CHECKS]
    for name in names:
        if name not in known:
            raise unknown_name("unknown check", name, known, "checks")
    return tuple(check for check in CHECKS if not names or check.name in names)


FILES = ("audit.json", "audit.md")
#: Origins of generated queries by the kind of their synthetic gold set.
_ORIGINS = {"symbol": "a name in the code", "doc": "a sentence of its documentation"}


def run_audit(target: AuditTarget, config: AuditConfig, tell: Callable[[str], None] = lambda _: None) -> Audit:
    """Audit an engine and redact its secrets; raise EngineError or SetupError if the engine does not open."""
    redactor = make_redactor(target.engine.secrets)
    findings: list[AuditFinding] = []
    with AuditSessions(target, config) as sessions:
        answered = sum(sessions.ranking(query, config.k).ok for query in sessions.queries)
        for check in choose_checks(config.only):
            tell(f"{target.name}: {check.name}: {check.about}")
            for finding in _run_check(check, sessions):
                commands = (*finding.commands, target.repro.audit(check.name, config))
                redacted = replace(
                    finding,
                    check=check.name,
                    sentence=redactor.text(finding.sentence),
                    example=tuple(map(redactor.text, finding.example)),
                    commands=tuple(map(redactor.text, commands)),
                )
                findings.append(redacted)
    corpus = target.corpus
    return Audit(
        engine=redactor.text(target.name),
        corpus=corpus.root.resolve().name if corpus.spec.kind == "path" else corpus.spec.repository,
        digest=corpus.digest,
        files=len(corpus.files),
        questions=target.queries,
        findings=tuple(findings),
        notes=tuple(redactor.text(note) for note in (*target.notes, *target.engine.notes)),
        config=cast(dict[str, object], redactor.value(target.engine.config)),
        settings=asdict(config),
        environment=environment(),
        answered=answered,
    )


def _run_check(check: AuditCheck, sessions: AuditSessions) -> Iterator[AuditFinding]:
    try:
        yield from check.run(sessions)
    except (EngineError, SetupError) as error:
        yield make_finding("opening", Severity.BROKEN, f"cannot open the engine again: {summarize(error)}")


def write_audit(audit: Audit, directory: Path) -> None:
    """Write audit.json and audit.md into a directory, which is excluded from corpora."""
    page = audit_document(audit)
    data = json.dumps(plain(audit_json(audit)), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_assayignore(directory)
    for name, text in zip(FILES, (data, to_markdown(page)), strict=True):
        write_atomic(directory / name, text)


_TONES: dict[Severity, Tone] = {
    Severity.BROKEN: "bad",
    Severity.WEAKNESS: "warning",
    Severity.FINE: "good",
    Severity.NOT_APPLICABLE: "quiet",
    Severity.NOT_TRIED: "warning",
}
_SHOWN = {Severity.BROKEN: "violated", Severity.FINE: "ok"}
_SIGNS = {Severity.BROKEN: "✗", Severity.WEAKNESS: "!", Severity.FINE: "✓"}
_DETAILED = (Severity.BROKEN, Severity.WEAKNESS)


def audit_json(audit: Audit) -> dict[str, Any]:
    return {"schema": "assay/audit/1", **asdict(audit)}


def audit_document(audit: Audit) -> Document:
    """Return a summary, a table of all findings, and the problems in detail."""
    return Document(f"Audit of {audit.engine} on {audit.corpus}", tuple(_blocks(audit)))


def _blocks(audit: Audit) -> Iterator[Block]:
    yield Paragraph(_summary(audit))
    method = "Violations: tried cases without the property, with the 95% Wilson interval of their share."
    yield Paragraph(f"{_sample(audit)}. {method}", "quiet")
    for note in audit.notes:
        yield Paragraph(note, "warning")
    rows: list[list[str | Cell]] = []
    for finding in audit.findings:
        severity = _severity_cell(finding.severity)
        share = "" if finding.share is None else str(finding.share)
        rows.append([finding.check, finding.law, severity, finding.sentence, share])
    yield table(["Check", "Property", "Result", "Finding", ">Violations (95% CI)"], rows)
    yield from _problem_blocks(audit)


def audit_summary(audit: Audit) -> Document:
    """Return one row per check, the problems in detail and, last, the outcome."""
    rows: list[list[str | Cell]] = []
    for check in CHECKS:
        found = [finding.severity for finding in audit.findings if finding.check == check.name]
        if found:
            rows.append([check.name, _severity_cell(min(found, key=list(Severity).index)), check.about])
    settled = [severity for severity in (Severity.BROKEN, Severity.WEAKNESS) if _has(audit, severity)]
    worst = settled[0] if settled else Severity.FINE
    title = f"{_SIGNS[worst]} {audit.engine} on {audit.corpus}: {_summary(audit).rstrip('.')}"
    card = Card((title, _sample(audit), *audit.notes, "Every finding: add --full"), _TONES[worst])
    return Document("", (table(["Check", "Result", "Question"], rows), *_problem_blocks(audit), card))


def _has(audit: Audit, severity: Severity) -> bool:
    return any(finding.severity == severity for finding in audit.findings)


def _severity_cell(severity: Severity) -> Cell:
    return Cell(_shown(severity), _TONES[severity])


def _problem_blocks(audit: Audit) -> Iterator[Block]:
    for finding in (finding for finding in audit.findings if finding.severity in _DETAILED):
        yield Heading(f"{finding.check}, {finding.law}: {_shown(finding.severity)}")
        sentence = finding.sentence[:1].upper() + finding.sentence[1:]
        yield Paragraph(sentence if sentence.endswith(".") else f"{sentence}.")
        if finding.example:
            yield Code("\n".join(finding.example))
        yield Paragraph("To reproduce:", "quiet")
        yield Code("\n".join(finding.commands))


def _shown(severity: Severity) -> str:
    return _SHOWN.get(severity, severity)


def _summary(audit: Audit) -> str:
    counts = {one: sum(finding.severity == one for finding in audit.findings) for one in Severity}
    parts = [
        f"{count} {'weaknesses' if severity == Severity.WEAKNESS and count > 1 else _shown(severity)}"
        for severity, count in counts.items()
        if count
    ]
    checked = "1 property" if len(audit.findings) == 1 else f"{len(audit.findings)} properties"
    return f"{checked} checked: {', '.join(parts)}."


def _sample(audit: Audit) -> str:
    settings = audit.settings
    origins = ["of the gold set" if q.origin.startswith("query ") else q.origin for q in audit.questions]
    return (
        f"{len(audit.questions)} ordinary queries ({', '.join(dict.fromkeys(origins))}), k = {settings.get('k')}, "
        f"seed {settings.get('seed')}, on {audit.files} files"
    )


def gold_queries(queries: Sequence[Query], count: int, seed: int) -> tuple[AuditQuery, ...]:
    """Draw queries of a gold set in their headline phrasing, in file order."""
    drawn = sorted(shuffle(range(len(queries)), seed)[:count])
    return tuple(AuditQuery(queries[index].headline, f"query {queries[index].id}") for index in drawn)


def code_queries(corpus: Corpus, count: int, seed: int) -> tuple[AuditQuery, ...]:
    """Draw names and documentation sentences of a corpus alternately, then words of file names."""
    from assay.gold.code_index import SampleSize
    from assay.gold.synth import synthesize
    from assay.syntax.identifiers import split

    suite = synthesize(corpus, name="audit", kinds=tuple(_ORIGINS), wanted=SampleSize(count=count, seed=seed))
    drawn = [
        [AuditQuery(query.headline, _ORIGINS[gold.provenance["synthetic"]]) for query in shuffle(gold.queries, seed)]
        for gold in suite.golds
    ]
    found: dict[str, AuditQuery] = {}
    for query in (query for row in zip_longest(*drawn) for query in row if query is not None):
        found.setdefault(query.text, query)
    for file in corpus.files:
        if words := " ".join(split(PurePosixPath(file.path).stem)):
            found.setdefault(words, AuditQuery(words, "the name of a file"))
    if not found:
        raise CorpusError("cannot make queries from the corpus", file=corpus.root, hint="pass queries with --gold")
    return tuple(found.values())[:count]
