"""All lint rules and their checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from assay.errors import ConfigError, closest_match
from assay.gold.lint import anchors, coverage, overlaps, owners, reach, wording
from assay.gold.lint.rules import DEFAULT, LintConfig, LintDependencies, LintFinding, LintReport, LintRule
from assay.gold.lint.view import LintContext
from assay.types import Corpus, GoldSet, Suite

CHECKS: tuple[tuple[tuple[LintRule, ...], Callable[[LintContext], Iterator[LintFinding]]], ...] = (
    (anchors.RULES, anchors.check),
    (owners.RULES, owners.check_definitions),
    ((owners.SHIM,), owners.check_shims),
    ((owners.REPEATED,), owners.check_repeats),
    (overlaps.RULES, overlaps.check),
    (overlaps.COPY_RULES, overlaps.check_copies),
    (wording.RULES, wording.check),
    (reach.RULES, reach.check),
    (coverage.RULES, coverage.check),
)
RULES = tuple(sorted((rule for rules, _ in CHECKS for rule in rules), key=lambda rule: rule.code))


@dataclass(frozen=True, slots=True)
class RuleSelection:
    """The rules whose code begins with a selected prefix and with no ignored one."""

    select: tuple[str, ...] = ("G",)
    ignore: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ConfigError for a prefix without rules."""
        for code in (*self.select, *self.ignore):
            if not any(rule.code.startswith(code) for rule in RULES):
                near = closest_match(code, [rule.code for rule in RULES], 3)
                raise ConfigError(f"no rule begins with '{code}'", hint=f"such as {', '.join(near or ('G1', 'G201'))}")

    def includes(self, code: str) -> bool:
        """Return whether a rule is selected."""
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
    """Check one gold set on its corpus."""
    view = LintContext(gold, corpus, tools or LintDependencies(), config)
    checks = [check for rules, check in CHECKS if any(selection.includes(rule.code) for rule in rules)]
    found = dict.fromkeys(finding for check in checks for finding in check(view) if selection.includes(finding.code))
    place = {query.id: number for number, query in enumerate(gold.queries, 1)}
    findings = sorted(found, key=lambda one: (place.get(one.query, 0), one.code, one.anchor, one.message))
    return LintReport(tuple(findings), (wording.leaks(view),))


def join(
    suite: Suite,
    reports: Sequence[LintReport],
    power: coverage.Power | None = None,
    selection: RuleSelection = EVERY_RULE,
    *,
    config: LintConfig = DEFAULT,
) -> LintReport:
    """Combine the reports of gold sets and check the size of all together."""
    findings = [finding for report in reports for finding in report.findings]
    if power is not None and selection.includes(coverage.SIZE.code):
        findings += coverage.check_size(suite, power, config)
    return LintReport(tuple(findings), tuple(leak for report in reports for leak in report.leaks))
