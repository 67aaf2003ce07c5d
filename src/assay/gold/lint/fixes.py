"""Repair what is certain: the repairs that findings carry, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.errors import GoldError
from assay.gold.building import GoldLocation, build_query, parse_target
from assay.gold.lint.registry import EVERY_RULE, RuleSelection, lint
from assay.gold.lint.rules import DEFAULT, LintConfig, LintDependencies, LintFinding, LintReport, Repair
from assay.types import PRIMARY, Adversary, Corpus, GoldSet, LabelProvenance, Query, Target


@dataclass(frozen=True, slots=True)
class FixResult:
    """A gold set after its repairs, and the findings that were repaired."""

    gold: GoldSet
    repaired: tuple[LintFinding, ...]


def fix(gold: GoldSet, findings: Sequence[LintFinding]) -> FixResult:
    """Carry out the repairs of a set's findings; one that would break a query is left alone."""
    repaired: list[LintFinding] = []
    queries: list[Query] = []
    for query in gold.queries:
        now = query
        for finding in findings:
            if finding.repair is not None and finding.gold == gold.name and finding.query == query.id:
                changed = _repaired(now, finding.repair)
                repaired += [finding] if changed else []
                now = changed or now
        queries.append(now)
    return FixResult(replace(gold, queries=tuple(queries)), tuple(repaired))


def _repaired(query: Query, repair: Repair) -> Query | None:
    """Give a query with one anchor replaced or dropped; None when that leaves it unsound, or changes nothing."""
    targets = tuple(_targets(query.targets, repair))
    adversaries = tuple(_adversaries(query.adversaries, repair))
    if (targets, adversaries) == (query.targets, query.adversaries):
        return None
    labels = tuple(_labels(query.labels, repair, {target.anchor for target in targets}))
    changed = replace(query, targets=targets, adversaries=adversaries, labels=labels)
    return changed if _is_sound(changed, min(target.grade for target in query.primaries)) else None


def _is_sound(query: Query, least: int) -> bool:
    place = GoldLocation("--fix")
    try:
        build_query(
            query.id,
            query.forms,
            query.targets,
            place,
            adversaries=query.adversaries,
            labels=query.labels,
            least=min(least, PRIMARY),
        )
    except GoldError:
        return False
    return True


def _targets(targets: Sequence[Target], repair: Repair) -> Iterator[Target]:
    for target in targets:
        if target.anchor != repair.anchor:
            yield target
        elif repair.instead is not None:
            yield parse_target(repair.instead, GoldLocation("--fix"), grade=target.grade)


def _adversaries(adversaries: Sequence[Adversary], repair: Repair) -> Iterator[Adversary]:
    for adversary in adversaries:
        changed = list(_targets([adversary.target], repair))
        if changed:
            yield adversary if changed[0] == adversary.target else replace(adversary, target=changed[0])


def _labels(
    labels: Sequence[LabelProvenance], repair: Repair, anchors: Mapping[str, object] | set[str]
) -> Iterator[LabelProvenance]:
    for label in labels:
        if label.target != repair.anchor:
            yield label
        elif repair.instead is not None and repair.instead in anchors:
            yield replace(label, target=repair.instead)


_ROUNDS = 10  # a path, then its range, then a double that both had hidden; no repair undoes another


@dataclass(frozen=True, slots=True)
class FixAllResult:
    """A gold set after all repairs, what was repaired, and what is left to find."""

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
    """Repair and look again; a round of repairs after which there are more errors is not made."""
    mended = FixAllResult(gold, (), lint(gold, corpus, tools=tools, selection=selection, config=config))
    for _ in range(_ROUNDS):
        fixed = fix(mended.gold, mended.report.findings)
        if not fixed.repaired:
            break
        report = lint(fixed.gold, corpus, tools=tools, selection=selection, config=config)
        if report.count("error") > mended.report.count("error"):
            break
        mended = FixAllResult(fixed.gold, (*mended.repaired, *fixed.repaired), report)
    return mended
