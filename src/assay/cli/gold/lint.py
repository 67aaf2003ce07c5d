from __future__ import annotations

import math
import os
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

from assay.cli.arguments import reject_flags
from assay.cli.console import emit, info, log, pluralize, warn
from assay.cli.options import given_flags, load_config, split_list
from assay.corpus import open_corpus, parse_spec, read_text
from assay.errors import AssayError, ConfigError
from assay.experiment.corpora import load_suite
from assay.gold.build import read_source
from assay.gold.formats.native import read_native
from assay.gold.lint.queries import DetectionPower
from assay.gold.lint.reachability import read_chunks
from assay.gold.lint.registry import RuleSelection, fix_all, lint, merge_reports
from assay.gold.lint.rules import SEVERITIES, EngineReach, LintConfig, LintDependencies, LintFinding, LintReport
from assay.gold.load import detect, join, load_gold, save
from assay.report.github import SUMMARY_BYTES, JobOutput, of_error, of_findings, read_context, summarize, to_summary
from assay.report.render.document import Block, Cell, Document, Heading, Paragraph, Tone, table
from assay.search.chunking import ChunkConfig, SourceText, chunk_file
from assay.stats import components_of, plan
from assay.stats.config import DEFAULT
from assay.types import Corpus, CorpusSpec, GoldSet, Span, Suite

_BUILTIN = "builtin"  # the name of the bundled engine in --reach


def lint_command(args: Namespace) -> int:
    try:
        return _lint(args)
    except AssayError as error:
        if args.github:
            _job_output().annotate([of_error(error, "assay gold lint")], "")
        raise


def _lint(args: Namespace) -> int:
    codes = {
        key: tuple(filter(None, split_list(text) or ())) for key, text in given_flags(args, "select", "ignore").items()
    }
    selection = RuleSelection(**codes)
    config = LintConfig()
    reaches = tuple(read_chunks(Path(name)) for name in args.reach or () if name != _BUILTIN)
    suite = _load_sets(args)
    reports: list[LintReport] = []
    repaired: list[LintFinding] = []
    for gold in suite.golds:
        report, repairs = _lint_set(args, gold, selection, config, reaches)
        reports.append(report)
        repaired += repairs
    report = merge_reports(suite, reports, _power(config.margin), selection, config=config)
    data = {
        "schema": "assay/gold-lint/1",
        "sets": [{"name": gold.name, "file": gold.source, "queries": len(gold.queries)} for gold in suite.golds],
        "counts": {severity: report.count(severity) for severity in SEVERITIES},
        "findings": [_finding_json(finding) for finding in report.findings],
        "repaired": [_finding_json(finding) for finding in repaired],
        "leaks": [asdict(leak) for leak in report.leaks],
    }
    emit(args, _document(report, repaired), data)
    if args.github:
        output = _job_output()
        output.annotate(of_findings(report.findings), "the job summary lists them")
        if report.findings:
            summarize(output, to_summary(_document(report, repaired, every=True), SUMMARY_BYTES))
    return 2 if report.count("error") or (args.strict and report.count("warning")) else 0


def _load_sets(args: Namespace) -> Suite:
    if args.sets:
        corpus = parse_spec(args.corpus) if args.corpus else None
        if corpus and corpus.kind in ("path", "git") and Path(corpus.value).exists():
            corpus = replace(corpus, value=str(Path(corpus.value).absolute()))  # relative to this directory
        return join([load_gold(source, format=args.format, corpus=corpus) for source in args.sets])
    reject_flags(args, "the sets of assay.toml", "corpus", "format")
    spec = load_config(args)
    if not spec.gold:
        raise ConfigError("no gold set given", hint="assay gold lint gold.yaml, or set [run] gold in assay.toml")
    return load_suite(spec)


def _lint_set(
    args: Namespace, gold: GoldSet, selection: RuleSelection, config: LintConfig, reaches: tuple[EngineReach, ...]
) -> tuple[LintReport, Sequence[LintFinding]]:
    info(args, f"{gold.name}: reading the corpus")
    base = Path(gold.source).parent if gold.source else None
    corpus = open_corpus(gold.corpus, base=base)
    own = (builtin_reach(corpus),) if _BUILTIN in (args.reach or ()) else ()
    tools = lint_dependencies(gold.name, gold.corpus, base, (*own, *reaches))
    if not args.fix:
        return lint(gold, corpus, tools=tools, selection=selection, config=config), ()
    fixed = fix_all(gold, corpus, tools=tools, selection=selection, config=config)
    if fixed.repaired:
        _save(gold, fixed.gold)
    return fixed.report, fixed.repaired


def _save(old: GoldSet, new: GoldSet) -> None:
    source = read_source(Path(old.source or ""))
    # a native file keeps the corpus that it names
    corpus = read_native(source).corpus if detect(source).name == "native" else old.corpus
    for note in save(replace(old, corpus=corpus), replace(new, corpus=corpus)).notes:
        warn(note)


def _power(margin: float) -> DetectionPower:
    sd, icc = DEFAULT.assumed_sd, DEFAULT.assumed_icc

    def smallest(queries: int, repositories: int) -> float:
        mde = plan(components_of(sd, icc, repositories, queries / repositories), margin).mde_now
        return math.inf if mde is None else mde

    return DetectionPower(smallest, f"80% power, assuming a standard deviation of {sd} and a correlation of {icc}")


def _finding_json(finding: LintFinding) -> dict[str, object]:
    fields = ("code", "severity", "gold", "query", "file", "line", "anchor", "message", "hint", "fixable")
    repair = None if finding.repair is None else asdict(finding.repair)
    return {name: getattr(finding, name) for name in fields} | {"repair": repair}


def _job_output() -> JobOutput:
    return JobOutput(read_context(os.environ, ""), log)


def lint_dependencies(
    name: str, spec: CorpusSpec, base: Path | None, reaches: Sequence[EngineReach] = ()
) -> LintDependencies:
    """Return the dependencies of lint rules: the unfiltered corpus, and the chunks of engines."""

    @cache
    def whole() -> Corpus | None:
        try:
            return open_corpus(replace(spec, include=(), exclude=()), base=base)
        except AssayError as error:
            warn(f"{name}: files excluded by globs cannot be read: {error.message}")
            return None

    return LintDependencies(whole, tuple(reaches))


def builtin_reach(corpus: Corpus, config: ChunkConfig | None = None) -> EngineReach:
    files = {file.path: file for file in corpus.files}

    @cache
    def chunks(path: str) -> list[Span]:
        source = SourceText(path, read_text(corpus, path), files[path].kind, files[path].language)
        found = chunk_file(source, config or ChunkConfig()).chunks
        return [Span(path, chunk.start, chunk.end) for chunk in found]

    return EngineReach("the builtin engine", chunks)


def _document(report: LintReport, repaired: Sequence[LintFinding], *, every: bool = False) -> Document:
    """Return a document of findings, repairs and counts; equal findings are one row unless `every` is set."""
    blocks: list[Block] = []
    for gold in dict.fromkeys(finding.gold for finding in report.findings):
        findings = [finding for finding in report.findings if finding.gold == gold]
        rows = list(_finding_rows(findings, every=every))
        blocks += [Heading(gold), table(["Code", "Query", "Line", "Finding"], rows)]
    if repaired:
        blocks += [Heading("Repaired"), *(Paragraph(_format_repair(finding), "good") for finding in repaired)]
    if report.leaks:
        leaks = [[leak.gold, str(leak.none), str(leak.some), str(leak.half)] for leak in report.leaks]
        columns = ["Gold set", ">No shared word", ">Some shared", ">Half or more shared"]
        blocks += [Heading("Query words found in targets"), table(columns, leaks)]
    errors, warnings = report.count("error"), report.count("warning")
    counts = (
        f"{pluralize(errors, 'error')}, {pluralize(warnings, 'warning')}, {pluralize(report.count('info'), 'note')}"
    )
    fixable = sum(finding.fixable for finding in report.findings)
    fix = f"; {fixable} can be repaired with --fix" if fixable else ""
    blocks.append(Paragraph(f"{counts}{fix}.", "bad" if errors else "warning" if warnings else "good"))
    return Document("assay gold lint", tuple(blocks))


def _finding_rows(findings: Sequence[LintFinding], *, every: bool) -> Iterator[list[str | Cell]]:
    by_rule: dict[str, dict[str, list[LintFinding]]] = {}
    for number, finding in enumerate(sorted(findings, key=lambda f: (SEVERITIES.index(f.severity), f.code))):
        text = str(number) if every else _without_name(finding)
        by_rule.setdefault(f"{finding.severity} {finding.code}", {}).setdefault(text, []).append(finding)
    for rule, groups in by_rule.items():
        most = len(groups) if every else 8  # rows per rule and set
        yield from map(_row, list(groups.values())[:most])
        if len(groups) > most:
            yield [Cell(rule.split()[1], "quiet"), "", "", f"… and {len(groups) - most} more; --json has them all"]


def _row(findings: Sequence[LintFinding]) -> list[str | Cell]:
    first, most = findings[0], 2
    names = list(dict.fromkeys(finding.query for finding in findings if finding.query))
    queries = ", ".join(names[:most]) + (f" +{len(names) - most}" if len(names) > most else "")
    tone: Tone = "bad" if first.severity == "error" else "warning" if first.severity == "warning" else "quiet"
    text = _without_name(first) if len(names) > 1 else _format_finding(first)
    return [Cell(first.code, tone), queries, "" if first.line is None else str(first.line), text]


def _without_name(finding: LintFinding) -> str:
    """Format a finding without the id of its query, so that those of several queries are equal."""
    return _format_finding(finding).replace(f"query {finding.query!r} ", "the query ")


def _format_finding(finding: LintFinding) -> str:
    mark = " [--fix]" if finding.fixable else ""
    return f"{finding.message}{mark}" + (f" → {finding.hint}" if finding.hint else "")


def _format_repair(finding: LintFinding) -> str:
    assert finding.repair is not None
    done = f"became {finding.repair.instead}" if finding.repair.instead else "was dropped"
    return f"{finding.code} {finding.gold}/{finding.query}: {finding.repair.anchor} {done}"
