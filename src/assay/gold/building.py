"""What every format ends in: a query whose targets are sound, a gold set whose ids are unique."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from assay.gold.place import Place
from assay.types import PRIMARY, Adversary, CorpusSpec, Gold, Label, Query, Rationale, Target


def build_query(
    query_id: str,
    forms: Mapping[str, str],
    targets: Iterable[Target],
    place: Place,
    *,
    adversaries: Sequence[Adversary] = (),
    rationale: Rationale | None = None,
    measures: Sequence[str] = (),
    tags: Mapping[str, str] | None = None,
    labels: Sequence[Label] = (),
    least: int = PRIMARY,
) -> Query:
    """Make a query; targets are ordered by grade, then as written; those of grade 0 are judged, not relevant.

    `least` is the lowest best grade of a query: formats with grades of their own take 1.
    """
    every = sorted(targets, key=lambda target: -target.grade)
    ordered = tuple(target for target in every if target.grade > 0)
    irrelevant = tuple(target for target in every if target.grade == 0)
    _check_targets(query_id, every, place, least)
    _check_adversaries(query_id, ordered, adversaries, place)
    _check_labels(query_id, [*ordered, *(adversary.target for adversary in adversaries)], labels, place)
    return Query(
        query_id,
        dict(forms),
        ordered,
        tuple(adversaries),
        rationale,
        tuple(measures),
        dict(tags or {}),
        place.line,
        tuple(labels),
        irrelevant,
    )


def build_gold(
    name: str,
    corpus: CorpusSpec,
    queries: Sequence[Query],
    place: Place,
    provenance: Mapping[str, str] | None = None,
) -> Gold:
    """Make a gold set; it has queries and no id stands for two."""
    if not queries:
        raise place.error("the gold set is empty", "add at least one query")
    first: dict[str, Query] = {}
    for query in queries:
        if query.id in first:
            raise Place(place.file, query.line).error(
                f"the id '{query.id}' is used twice, first in line {first[query.id].line}", "give each query its own id"
            )
        first[query.id] = query
    return Gold(name, corpus, tuple(queries), dict(provenance or {}), place.file)


def row_id(number: int) -> str:
    """Name a query of a format without ids by its place, counted from 1."""
    return f"row-{number:03d}"


def _check_targets(query_id: str, targets: Sequence[Target], place: Place, least: int) -> None:
    """Refuse a query without a target of some grade, and one that names the same target twice."""
    if not any(target.grade >= least for target in targets):
        if least < PRIMARY:
            raise place.error(f"query '{query_id}' has no relevant target", "give a target the grade 1 or a higher one")
        raise place.error(f"query '{query_id}' has no primary target", "name the code that answers it with grade 2")
    seen: set[str] = set()
    for target in targets:
        if target.anchor in seen:
            raise place.error(f"query '{query_id}' names the target {target.anchor} twice", "keep one, with one grade")
        seen.add(target.anchor)


def _check_adversaries(
    query_id: str, targets: Sequence[Target], adversaries: Sequence[Adversary], place: Place
) -> None:
    """Refuse an adversary that is a target: the same anchor, or a whole file that holds one, or lies in one."""
    seen: set[str] = set()
    for adversary in adversaries:
        wrong = adversary.target
        if wrong.anchor in seen:
            raise place.error(f"query '{query_id}' names the adversary {wrong.anchor} twice", "keep one")
        seen.add(wrong.anchor)
        for target in targets:
            if wrong.anchor == target.anchor or _one_holds_the_other(wrong, target):
                raise place.error(
                    f"query '{query_id}' has {wrong.anchor} as an adversary and {target.anchor} as a target",
                    "a wrong answer cannot be right too: anchor both to symbols or line ranges, or drop one",
                )


def _check_labels(query_id: str, labelled: Sequence[Target], labels: Sequence[Label], place: Place) -> None:
    """Refuse the origin of a label that the query does not have, and a second one of the same label."""
    anchors = {target.anchor for target in labelled}
    seen: set[str] = set()
    for label in labels:
        if label.target not in anchors:
            raise place.error(
                f"query '{query_id}' says where the label {label.target} comes from, but has no such label",
                "write the target in 'labels' as it stands in 'retrieval' or 'interference', or remove the entry",
            )
        if label.target in seen:
            raise place.error(f"query '{query_id}' says twice where the label {label.target} comes from", "keep one")
        seen.add(label.target)


def _one_holds_the_other(one: Target, other: Target) -> bool:
    """Tell whether one of two targets is the whole file that the other lies in."""
    whole = [target.symbol is None and target.span.start is None for target in (one, other)]
    return one.span.path == other.span.path and any(whole)
