from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from assay.errors import ConfigError, GoldError, closest_match
from assay.gold.anchors import parse_target
from assay.gold.build import GoldLocation, build_query
from assay.gold.lint import anchors, definitions, labels, queries, reachability
from assay.gold.lint.rules import DEFAULT, RULES, LintConfig, LintContext, LintDependencies, LintFinding, LintReport
from assay.types import PRIMARY, Corpus, GoldSet, Query, Suite, Target

#: Checks, each with the prefixes of the rule codes that it reports.
CHECKS: tuple[tuple[tuple[str, ...], Callable[[LintContext], Iterator[LintFinding]]], ...] = (
    (("G1",), anchors.check),
    (("G201", "G202", "G204"), definitions.check_definitions),
    (("G203",), definitions.check_shims),
    (("G205",), definitions.check_repeats),
    (("G30",), labels.check),
    (("G31",), labels.check_copies),
    (("G4",), queries.check),
    (("G5",), reachability.check),
    (("G6",), queries.check_coverage),
)
_ROUNDS = 10  # one repair can reveal the next: a path, its range, then a duplicate; no repair undoes another


@dataclass(frozen=True, slots=True)
class RuleSelection:
    select: tuple[str, ...] = ("G",)
    ignore: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for code in (*self.select, *self.ignore):
            if not any(rule.code.startswith(code) for rule in RULES):
                near = closest_match(code, [rule.code for rule in RULES], 3)
                hint = f"use a prefix such as {', '.join(near or ('G1', 'G201'))}"
                raise ConfigError(f"no lint rule code begins with '{code}'", hint=hint)

    def includes(self, code: str) -> bool:
        return code.startswith(self.select) and not (self.ignore and code.startswith(self.ignore))


EVERY_RULE = RuleSelection()


def lint(
    gold: GoldSet,
    corpus: Corpus,
    *,
    tools: LintDependencies | None = None,
    selection: RuleSelection = EVERY_RULE,
    config: LintConfig = DEFAULT,
) -> LintReport:
    view = LintContext(gold, corpus, tools or LintDependencies(), config)
    codes = [rule.code for rule in RULES if selection.includes(rule.code)]
    checks = [check for prefixes, check in CHECKS if any(code.startswith(prefixes) for code in codes)]
    unsorted = dict.fromkeys(finding for check in checks for finding in check(view) if selection.includes(finding.code))
    position = {query.id: number for number, query in enumerate(gold.queries, 1)}
    findings = sorted(unsorted, key=lambda f: (position.get(f.query, 0), f.code, f.anchor, f.message))
    return LintReport(tuple(findings), (queries.count_leakage(view),))


def merge_reports(
    suite: Suite,
    reports: Sequence[LintReport],
    power: queries.DetectionPower | None = None,
    selection: RuleSelection = EVERY_RULE,
    *,
    config: LintConfig = DEFAULT,
) -> LintReport:
    """Merge the reports of gold sets and, with `power`, check whether all sets together have enough queries."""
    findings = [finding for report in reports for finding in report.findings]
    if power is not None and selection.includes("G604"):
        findings += queries.check_size(suite, power, config)
    return LintReport(tuple(findings), tuple(leak for report in reports for leak in report.leaks))


@dataclass(frozen=True, slots=True)
class FixResult:
    gold: GoldSet
    repaired: tuple[LintFinding, ...]
    report: LintReport  # the remaining findings


def fix_all(
    gold: GoldSet,
    corpus: Corpus,
    *,
    tools: LintDependencies | None = None,
    selection: RuleSelection = EVERY_RULE,
    config: LintConfig = DEFAULT,
) -> FixResult:
    """Lint and repair a gold set in rounds; discard a round that adds errors."""
    result = FixResult(gold, (), lint(gold, corpus, tools=tools, selection=selection, config=config))
    for _ in range(_ROUNDS):
        fixed, repaired = fix(result.gold, result.report.findings)
        if not repaired:
            break
        report = lint(fixed, corpus, tools=tools, selection=selection, config=config)
        if report.count("error") > result.report.count("error"):
            break
        result = FixResult(fixed, (*result.repaired, *repaired), report)
    return result


def fix(gold: GoldSet, findings: Sequence[LintFinding]) -> tuple[GoldSet, tuple[LintFinding, ...]]:
    """Apply each repair that leaves the query valid; return the new set and the repaired findings."""
    repaired: list[LintFinding] = []
    fixed: list[Query] = []
    for query in gold.queries:
        for finding in findings:
            own = finding.gold == gold.name and finding.query == query.id
            if own and (changed := _repair(query, finding)) is not None:
                repaired.append(finding)
                query = changed  # noqa: PLW2901
        fixed.append(query)
    return replace(gold, queries=tuple(fixed)), tuple(repaired)


def _repair(query: Query, finding: LintFinding) -> Query | None:
    location, repair = GoldLocation("--fix"), finding.repair
    if repair is None:
        return None

    def repaired(targets: Sequence[Target]) -> Iterator[Target]:
        for target in targets:
            if target.anchor != repair.anchor:
                yield target
            elif repair.instead is not None:
                yield parse_target(repair.instead, location, grade=target.grade)

    targets = tuple(repaired(query.targets))
    adversaries = tuple(
        replace(adversary, target=target) for adversary in query.adversaries for target in repaired([adversary.target])
    )
    if (targets, adversaries) == (query.targets, query.adversaries):
        return None
    remaining = {target.anchor for target in targets}
    labels = tuple(
        label if label.target != repair.anchor else replace(label, target=repair.instead or "")
        for label in query.labels
        if label.target != repair.anchor or repair.instead in remaining
    )
    least = min(PRIMARY, *(target.grade for target in query.primaries))
    try:
        build_query(query.id, query.forms, targets, location, adversaries=adversaries, labels=labels, least=least)
    except GoldError:
        return None
    return replace(query, targets=targets, adversaries=adversaries, labels=labels)
