"""Apply the repairs that findings carry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from assay.errors import GoldError
from assay.gold.building import GoldLocation, build_query, parse_target
from assay.gold.lint.registry import EVERY_RULE, RuleSelection, lint
from assay.gold.lint.rules import DEFAULT, LintConfig, LintDependencies, LintFinding, LintReport, Repair
from assay.types import PRIMARY, Corpus, GoldSet, Query, Target

_ROUNDS = 10  # a path, then its range, then a duplicate that both had hidden; no repair undoes another


@dataclass(frozen=True, slots=True)
class FixAllResult:
    """A gold set after all repairs, the repaired findings, and the report on what is left."""

    gold: GoldSet
    repaired: tuple[LintFinding, ...]
    report: LintReport


def fix_all(
    gold: GoldSet,
    corpus: Corpus,
    *,
    tools: LintDependencies | None = None,
    selection: RuleSelection = EVERY_RULE,
    config: LintConfig = DEFAULT,
) -> FixAllResult:
    """Repair and lint until nothing changes; discard a round of repairs that adds errors."""
    result = FixAllResult(gold, (), lint(gold, corpus, tools=tools, selection=selection, config=config))
    for _ in range(_ROUNDS):
        fixed = fix(result.gold, result.report.findings)
        if not fixed.repaired:
            break
        report = lint(fixed.gold, corpus, tools=tools, selection=selection, config=config)
        if report.count("error") > result.report.count("error"):
            break
        result = FixAllResult(fixed.gold, (*result.repaired, *fixed.repaired), report)
    return result


@dataclass(frozen=True, slots=True)
class FixResult:
    """A gold set after its repairs, and the findings that were repaired."""

    gold: GoldSet
    repaired: tuple[LintFinding, ...]


def fix(gold: GoldSet, findings: Sequence[LintFinding]) -> FixResult:
    """Apply the repairs of a set's findings, except those that would make a query invalid."""
    repaired: list[LintFinding] = []
    queries: list[Query] = []
    for query in gold.queries:
        for finding in findings:
            if finding.repair is not None and finding.gold == gold.name and finding.query == query.id:
                changed = _apply(query, finding.repair)
                if changed is not None:
                    repaired.append(finding)
                    query = changed  # noqa: PLW2901
        queries.append(query)
    return FixResult(replace(gold, queries=tuple(queries)), tuple(repaired))


def _apply(query: Query, repair: Repair) -> Query | None:
    """Return a query with one anchor replaced or dropped; None if nothing changes or the result is invalid."""
    targets = tuple(_repair_targets(query.targets, repair))
    adversaries = tuple(
        replace(adversary, target=target)
        for adversary in query.adversaries
        for target in _repair_targets([adversary.target], repair)
    )
    if (targets, adversaries) == (query.targets, query.adversaries):
        return None
    anchors = {target.anchor for target in targets}
    labels = tuple(
        label if label.target != repair.anchor else replace(label, target=repair.instead or "")
        for label in query.labels
        if label.target != repair.anchor or repair.instead in anchors
    )
    least = min(PRIMARY, *(target.grade for target in query.primaries))
    try:
        build_query(
            query.id,
            query.forms,
            targets,
            GoldLocation("--fix"),
            adversaries=adversaries,
            labels=labels,
            least=least,
        )
    except GoldError:
        return None
    return replace(query, targets=targets, adversaries=adversaries, labels=labels)


def _repair_targets(targets: Sequence[Target], repair: Repair) -> Iterator[Target]:
    for target in targets:
        if target.anchor != repair.anchor:
            yield target
        elif repair.instead is not None:
            yield parse_target(repair.instead, GoldLocation("--fix"), grade=target.grade)
