from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import emit, info, pluralize, warn
from assay.errors import AssayError, ConfigError
from assay.gold.lint.rules import SEVERITIES
from assay.report.render.document import Block, Cell, Document, Heading, Paragraph, Tone, table

if TYPE_CHECKING:
    from assay.gold.lint.coverage import DetectionPower
    from assay.gold.lint.registry import RuleSelection
    from assay.gold.lint.rules import (
        EngineReach,
        LeakageCounts,
        LintConfig,
        LintDependencies,
        LintFinding,
        LintReport,
        Severity,
    )
    from assay.report.github import JobOutput
    from assay.report.render.document import Document
    from assay.search.chunking import ChunkConfig
    from assay.types import Corpus, CorpusSpec, GoldSet, Suite

_BUILTIN = "builtin"  # as `--reach` names our own engine


def lint_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sets", nargs="*", metavar="SET", help="gold file or folder in any format, or 'stdlib' (those of assay.toml)"
    )
    parser.add_argument("--config", metavar="FILE", help="an assay.toml whose sets are linted where no SET is named")
    parser.add_argument("--corpus", metavar="SPEC", help="where the code is: folder, git:URL@REV, pypi:NAME==V, …")
    parser.add_argument("--format", metavar="FORMAT", help="format of the sets (told from their content)")
    parser.add_argument("--fix", action="store_true", help="repair what is certain, in place")
    parser.add_argument("--select", metavar="CODES", help="rules to apply, by commas; G2 is all that begin so (all)")
    parser.add_argument("--ignore", metavar="CODES", help="rules to leave out, by commas")
    parser.add_argument(
        "--reach", action="append", metavar="FILE", help="chunks of an engine, JSON lines, or 'builtin' (repeatable)"
    )
    parser.add_argument("--strict", action="store_true", help="end with 2 for warnings too")
    parser.add_argument(
        "--github", action="store_true", help="in GitHub Actions: findings as annotations, and in the job summary"
    )


@dataclass(frozen=True, slots=True)
class _Linted:
    """What was found, and what was repaired before that."""

    report: LintReport
    repaired: tuple[LintFinding, ...]


@dataclass(frozen=True, slots=True)
class _Rules:
    """By what every set is looked at."""

    selection: RuleSelection
    config: LintConfig
    reaches: tuple[EngineReach, ...]  # of the engines whose chunks were given


def lint_command(args: argparse.Namespace) -> int:
    """Lint gold sets: invalid labels, better targets elsewhere, duplicate queries.

    assay gold lint gold.yaml                                    every rule, on the corpus that the set names
    assay gold lint annotations/ --corpus git:../repo@3f2a91c    on another corpus
    assay gold lint gold.yaml --select G1,G2 --ignore G204       some rules; codes may be cut short
    assay gold lint gold.yaml --fix                              repair what is certain, show what was changed
    assay gold lint gold.yaml --reach chunks.jsonl               what that engine's chunks can never return
    assay gold lint --github                                     the sets of assay.toml; findings beside their lines

    Ends with 2 when there are errors, under --strict when there are warnings too. docs/reference/lint.md lists the
    codes.
    """
    try:
        return _handle(args)
    except AssayError as error:
        if args.github:
            _tell_error(error)
        raise


def _handle(args: argparse.Namespace) -> int:
    from assay.gold.lint.reachability import read_chunks
    from assay.gold.lint.registry import merge_reports
    from assay.gold.lint.rules import LintConfig

    selection, config = _selection(args), LintConfig()
    reaches = tuple(read_chunks(Path(name)) for name in args.reach or () if name != _BUILTIN)
    suite = _load(args)
    parts = [_lint(args, gold, _Rules(selection, config, reaches)) for gold in suite.golds]
    report = merge_reports(suite, [part.report for part in parts], _power(config.margin), selection, config=config)
    repaired = [finding for part in parts for finding in part.repaired]
    _emit(args, suite, report, repaired)
    return 2 if report.count("error") or (args.strict and report.count("warning")) else 0


def _selection(args: argparse.Namespace) -> RuleSelection:
    from assay.gold.lint.registry import RuleSelection

    given = {key: _codes(getattr(args, key)) for key in ("select", "ignore") if getattr(args, key) is not None}
    return RuleSelection(**given)


def _codes(text: str) -> tuple[str, ...]:
    return tuple(code.strip() for code in text.split(",") if code.strip())


def _load(args: argparse.Namespace) -> Suite:
    from assay.corpus import parse_spec
    from assay.gold import load_gold
    from assay.gold.load import join

    if not args.sets:
        return _declared(args)
    corpus = _here(parse_spec(args.corpus)) if args.corpus else None
    return join([load_gold(source, format=args.format, corpus=corpus) for source in args.sets])


def _declared(args: argparse.Namespace) -> Suite:
    from assay.cli.options import declared, reject_flags
    from assay.experiment.corpora import load_suite

    reject_flags(args, "the sets of assay.toml", "corpus", "format")
    spec = declared(args.config)
    if not spec.gold:
        raise ConfigError("no gold set is named", hint="assay gold lint gold.yaml, or [run] gold in assay.toml")
    return load_suite(spec)


def _here(spec: CorpusSpec) -> CorpusSpec:
    local = spec.kind in ("path", "git") and Path(spec.value).exists()
    return replace(spec, value=str(Path(spec.value).absolute())) if local else spec


def _lint(args: argparse.Namespace, gold: GoldSet, rules: _Rules) -> _Linted:
    from assay.corpus import open_corpus
    from assay.gold.lint.registry import fix_all, lint

    info(args, f"{gold.name}: reading the corpus")
    corpus = open_corpus(gold.corpus, base=folder_of(gold))
    own = (builtin_reach(corpus),) if _BUILTIN in (args.reach or ()) else ()
    tools = lint_dependencies(gold.name, gold.corpus, folder_of(gold), (*own, *rules.reaches))
    if not args.fix:
        return _Linted(lint(gold, corpus, tools=tools, selection=rules.selection, config=rules.config), ())
    mended = fix_all(gold, corpus, tools=tools, selection=rules.selection, config=rules.config)
    if mended.repaired:
        _save(gold, mended.gold)
    return _Linted(mended.report, mended.repaired)


def _save(old: GoldSet, new: GoldSet) -> None:
    from assay.gold.formats.registry import save

    written = _written_corpus(old)
    saved = save(replace(old, corpus=written), replace(new, corpus=written))
    for note in saved.notes:
        warn(note)


def _written_corpus(gold: GoldSet) -> CorpusSpec:
    from assay.gold.build import read_source
    from assay.gold.formats.native import read_native
    from assay.gold.formats.registry import detect

    source = read_source(Path(gold.source or ""))
    return read_native(source).corpus if detect(source).name == "native" else gold.corpus


def _power(margin: float) -> DetectionPower:
    from assay.gold.lint.coverage import DetectionPower
    from assay.stats import components_of, plan
    from assay.stats.config import DEFAULT

    sd, icc = DEFAULT.assumed_sd, DEFAULT.assumed_icc

    def smallest(queries: int, repositories: int) -> float:
        components = components_of(sd, icc, repositories, queries / repositories)
        shown = plan(components, margin).mde_now
        return math.inf if shown is None else shown

    return DetectionPower(smallest, f"80 % power, assuming a standard deviation of {sd} and a correlation of {icc}")


def _emit(args: argparse.Namespace, suite: Suite, report: LintReport, repaired: Sequence[LintFinding]) -> None:
    from assay.gold.lint.rules import SEVERITIES

    data = {
        "schema": "assay/gold-lint/1",
        "sets": [{"name": gold.name, "file": gold.source, "queries": len(gold.queries)} for gold in suite.golds],
        "counts": {severity: report.count(severity) for severity in SEVERITIES},
        "findings": [_plain(finding) for finding in report.findings],
        "repaired": [_plain(finding) for finding in repaired],
        "leaks": [asdict(leak) for leak in report.leaks],
    }
    emit(args, document(report, repaired), data)
    if args.github:
        _tell_github(document(report, repaired, every=True), report)


def _tell_github(shown: Document, report: LintReport) -> None:
    from assay.report.github import SUMMARY_BYTES, of_findings, summarise, to_summary

    stage = _stage()
    stage.annotate(of_findings(report.findings), "the job summary lists them")
    if report.findings:
        summarise(stage, to_summary(shown, SUMMARY_BYTES))


def _tell_error(error: AssayError) -> None:
    from assay.report.github import of_error

    _stage().annotate([of_error(error, "assay gold lint")], "")


def _stage() -> JobOutput:
    import os

    from assay.report.github import JobOutput, read_context

    return JobOutput(read_context(os.environ, ""), warn)


def _plain(finding: LintFinding) -> dict[str, object]:
    repair = None if finding.repair is None else asdict(finding.repair)
    fields = ("code", "severity", "gold", "query", "file", "line", "anchor", "message", "hint", "fixable")
    return {name: getattr(finding, name) for name in fields} | {"repair": repair}


def folder_of(gold: GoldSet) -> Path | None:
    """Give the folder from which the paths of a set are meant."""
    return Path(gold.source).parent if gold.source else None


def lint_dependencies(
    name: str, spec: CorpusSpec, base: Path | None, reaches: Sequence[EngineReach] = ()
) -> LintDependencies:
    """Lend the rules what other rooms know: the whole checkout, what is beside the code, what engines can return."""
    from assay.corpus import open_corpus
    from assay.corpus.roles import file_role
    from assay.errors import AssayError
    from assay.gold.lint.rules import LintDependencies

    @cache
    def whole() -> Corpus | None:
        try:
            return open_corpus(replace(spec, include=(), exclude=()), base=base)
        except AssayError as error:
            warn(f"{name}: what the globs leave out cannot be read: {error.message}")
            return None

    def aside(path: str) -> bool:
        return file_role(path) != "none"

    return LintDependencies(whole, aside, tuple(reaches))


def builtin_reach(corpus: Corpus, config: ChunkConfig | None = None) -> EngineReach:
    """Give what our own engine can return, cut as it cuts or as a configuration says."""
    from assay.corpus import read_text
    from assay.gold.lint.rules import EngineReach
    from assay.search.chunking import ChunkConfig, SourceText, chunk_file
    from assay.types import Span

    files = {file.path: file for file in corpus.files}

    @cache
    def chunks(path: str) -> list[Span]:
        file = files[path]
        chunks = chunk_file(
            SourceText(path, read_text(corpus, path), file.kind, file.language), config or ChunkConfig()
        ).chunks
        return [Span(path, chunk.start, chunk.end) for chunk in chunks]

    return EngineReach("the builtin engine", chunks)


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


def _leaks(leaks: Sequence[LeakageCounts]) -> Block:
    rows = [[leak.gold, str(leak.none), str(leak.some), str(leak.half)] for leak in leaks]
    return table(["set", ">no word", ">some", ">half of the words or more"], rows)


def _counts(report: LintReport) -> Block:
    counts = {severity: report.count(severity) for severity in SEVERITIES}
    named = ", ".join(pluralize(counts[key], word) for key, word in _WORDS)
    fixable = sum(finding.fixable for finding in report.findings)
    tone: Tone = "bad" if counts["error"] else "warning" if counts["warning"] else "good"
    return Paragraph(f"{named}{f'; {fixable} can be repaired with --fix' if fixable else ''}.", tone)
