"""Repair what is certain: the repairs that findings carry, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.errors import GoldError
from assay.gold.building import build_query
from assay.gold.lint.records import Finding, Repair
from assay.gold.place import Place
from assay.gold.targets import parse_target
from assay.types import PRIMARY, Adversary, Gold, Label, Query, Target


@dataclass(frozen=True, slots=True)
class Fixed:
    """A gold set after its repairs, and the findings that were repaired."""

    gold: Gold
    repaired: tuple[Finding, ...]


def fix(gold: Gold, findings: Sequence[Finding]) -> Fixed:
    """Carry out the repairs of a set's findings; one that would break a query is left alone."""
    repaired: list[Finding] = []
    queries: list[Query] = []
    for query in gold.queries:
        now = query
        for finding in findings:
            if finding.repair is not None and finding.gold == gold.name and finding.query == query.id:
                changed = _repaired(now, finding.repair)
                repaired += [finding] if changed else []
                now = changed or now
        queries.append(now)
    return Fixed(replace(gold, queries=tuple(queries)), tuple(repaired))


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
    """Tell whether a set with this query could be read again."""
    place = Place("--fix")
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
    """Yield targets, one of them changed or dropped."""
    for target in targets:
        if target.anchor != repair.anchor:
            yield target
        elif repair.instead is not None:
            yield parse_target(repair.instead, Place("--fix"), grade=target.grade)


def _adversaries(adversaries: Sequence[Adversary], repair: Repair) -> Iterator[Adversary]:
    """Yield adversaries, one of them changed or dropped."""
    for adversary in adversaries:
        changed = list(_targets([adversary.target], repair))
        if changed:
            yield adversary if changed[0] == adversary.target else replace(adversary, target=changed[0])


def _labels(labels: Sequence[Label], repair: Repair, anchors: Mapping[str, object] | set[str]) -> Iterator[Label]:
    """Yield where labels come from, as they are written now."""
    for label in labels:
        if label.target != repair.anchor:
            yield label
        elif repair.instead is not None and repair.instead in anchors:
            yield replace(label, target=repair.instead)
