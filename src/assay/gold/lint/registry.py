"""All rules, by code; the documentation is made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from assay.errors import ConfigError, closest_match
from assay.gold.lint import anchors, copies, coverage, overlaps, owners, reach, repeats, shims, wording
from assay.gold.lint.coverage import SIZE, Power, check_size
from assay.gold.lint.rules import DEFAULT, LintConfig, LintDependencies, LintFinding, LintReport, LintRule
from assay.gold.lint.view import LintContext
from assay.gold.lint.wording import leaks
from assay.types import Corpus, GoldSet, Suite


@dataclass(frozen=True, slots=True)
class LintCheck:
    """A function over one set, and the rules it may find broken."""

    rules: tuple[LintRule, ...]
    run: Callable[[LintContext], Iterator[LintFinding]]


CHECKS = tuple(
    LintCheck(module.RULES, module.check)
    for module in (anchors, owners, shims, repeats, overlaps, copies, wording, reach, coverage)
)
RULES = tuple(sorted((rule for check in CHECKS for rule in check.rules), key=lambda rule: rule.code))


@dataclass(frozen=True, slots=True)
class RuleSelection:
    """Which rules count: those whose code begins with one selected and with none ignored."""

    select: tuple[str, ...] = ("G",)
    ignore: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a code that selects nothing: a dead knob is worse than none."""
        for code in (*self.select, *self.ignore):
            if not any(rule.code.startswith(code) for rule in RULES):
                near = closest_match(code, [rule.code for rule in RULES], 3)
                raise ConfigError(f"no rule begins with '{code}'", hint=f"such as {', '.join(near or ('G1', 'G201'))}")

    def takes(self, code: str) -> bool:
        """Tell whether a rule counts."""
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
    """Find what is wrong with one gold set on its corpus."""
    view = LintContext(gold, corpus, tools or LintDependencies(), config)
    checks = [check for check in CHECKS if any(selection.takes(rule.code) for rule in check.rules)]
    found = [finding for check in checks for finding in check.run(view) if selection.takes(finding.code)]
    return LintReport(tuple(_ordered(gold, found)), (leaks(view),))


def join(
    suite: Suite,
    reports: Sequence[LintReport],
    power: Power | None = None,
    selection: RuleSelection = EVERY_RULE,
    *,
    config: LintConfig = DEFAULT,
) -> LintReport:
    """Put the reports of sets together, with what can be said of all of them only."""
    findings = [finding for report in reports for finding in report.findings]
    if power is not None and selection.takes(SIZE.code):
        findings += check_size(suite, power, config)
    return LintReport(tuple(findings), tuple(leak for report in reports for leak in report.leaks))


def _ordered(gold: GoldSet, findings: Sequence[LintFinding]) -> list[LintFinding]:
    place = {query.id: number for number, query in enumerate(gold.queries, 1)}
    distinct = dict.fromkeys(findings)
    return sorted(distinct, key=lambda one: (place.get(one.query, 0), one.code, one.anchor, one.message))
