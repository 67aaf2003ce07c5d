"""Put one settled proposal into a gold set: the set with it, and the provenance of every label it added."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from assay.errors import GoldError
from assay.gold.building import build_query
from assay.gold.place import Place
from assay.gold.review.items import ItemKind, make_item
from assay.gold.review.standing import AGAINST, Standing
from assay.types import PRIMARY, Adversary, Gold, Label, Query, Target

_DAY = 10  # letters of an ISO time that name the day


@dataclass(frozen=True, slots=True)
class Applied:
    """A gold set after one proposal, the query it went into, and the anchors it stands for there."""

    gold: Gold
    query: str
    anchors: frozenset[str]


def apply(gold: Gold, standing: Standing) -> Applied:
    """Give the set with what was settled; twice is the same as once, so that a kill in between costs nothing."""
    return _APPLY[standing.item.kind](gold, standing)


def _apply_query(gold: Gold, standing: Standing) -> Applied:
    """Append a whole query under an id that is free; one that is in the set already stays as it is."""
    item = standing.item
    anchors = frozenset(_anchors(item.query))
    known = next((query for query in gold.queries if make_item("query", query, item.origin).id == item.id), None)
    if standing.value in AGAINST or known is not None:
        return Applied(gold, known.id if known else item.query.id, anchors)
    labels = tuple(_label(standing, anchor) for anchor in _anchors(item.query))
    query = replace(item.query, id=_free_id(item.query.id, gold), labels=labels)
    return Applied(replace(gold, queries=(*gold.queries, query)), query.id, anchors)


def _apply_target(gold: Gold, standing: Standing) -> Applied:
    """Add a target, give it another grade, or take it out."""
    wanted = standing.item.target
    query = _query(gold, standing)
    others = tuple(target for target in query.targets if target.anchor != wanted.anchor)
    query = replace(query, irrelevant=tuple(t for t in query.irrelevant if t.anchor != wanted.anchor))
    if standing.value in AGAINST:
        if len(others) == len(query.targets):
            return Applied(gold, query.id, frozenset({wanted.anchor}))
        labels = tuple(label for label in query.labels if label.target != wanted.anchor)
        return _changed(gold, replace(query, targets=others, labels=labels), wanted.anchor)
    target = replace(wanted, grade=int(standing.value or 0))
    targets = _put(query.targets, target)
    return _changed(gold, replace(query, targets=targets, labels=_labelled(query, standing, wanted)), wanted.anchor)


def _apply_adversary(gold: Gold, standing: Standing) -> Applied:
    """Add an adversary, or take it out."""
    wanted = standing.item.adversary
    anchor = wanted.target.anchor
    query = _query(gold, standing)
    there = any(adversary.target.anchor == anchor for adversary in query.adversaries)
    others = tuple(adversary for adversary in query.adversaries if adversary.target.anchor != anchor)
    if standing.value in AGAINST:
        if not there:
            return Applied(gold, query.id, frozenset({anchor}))
        labels = tuple(label for label in query.labels if label.target != anchor)
        return _changed(gold, replace(query, adversaries=others, labels=labels), anchor)
    labels = _labelled(query, standing, wanted.target)
    adversaries: tuple[Adversary, ...] = query.adversaries if there else (*query.adversaries, wanted)
    return _changed(gold, replace(query, adversaries=adversaries, labels=labels), anchor)


def _apply_phrasing(gold: Gold, standing: Standing) -> Applied:
    """Add a phrasing that the query has not, or take it out."""
    item = standing.item
    form, text = item.form, item.query.forms[item.form]
    query = _query(gold, standing)
    known = query.forms.get(form)
    if standing.value in AGAINST:
        if known != text:
            return Applied(gold, query.id, frozenset())
        return _changed(gold, replace(query, forms={name: said for name, said in query.forms.items() if name != form}))
    if known is not None and known != text:
        raise GoldError(
            f"query '{query.id}' has another {form} phrasing already", hint="change the set by hand, or reject this one"
        )
    return _changed(gold, replace(query, forms={**query.forms, form: text}))


_APPLY: Mapping[ItemKind, Callable[[Gold, Standing], Applied]] = {
    "query": _apply_query,
    "target": _apply_target,
    "adversary": _apply_adversary,
    "phrasing": _apply_phrasing,
}


def _query(gold: Gold, standing: Standing) -> Query:
    """Find the query that a proposal is about."""
    wanted = standing.item.query.id
    for query in gold.queries:
        if query.id == wanted:
            return query
    raise GoldError(f"the set has no query '{wanted}'", hint="accept the query first, or reject the item")


def _changed(gold: Gold, query: Query, *anchors: str) -> Applied:
    """Put a changed query in its place, if it is still sound."""
    if not query.forms:
        raise GoldError(f"query '{query.id}' would have no phrasing left", hint="give it another one first")
    before = next((other for other in gold.queries if other.id == query.id), query)
    sound = build_query(
        query.id,
        query.forms,
        (*query.targets, *query.irrelevant),
        Place(gold.source or gold.name, query.line),
        adversaries=query.adversaries,
        rationale=query.rationale,
        measures=query.measures,
        tags=query.tags,
        labels=query.labels,
        least=min(PRIMARY, *(target.grade for target in before.primaries)),
    )
    queries = tuple(sound if other.id == query.id else other for other in gold.queries)
    return Applied(replace(gold, queries=queries), query.id, frozenset(anchors))


def _put(targets: tuple[Target, ...], target: Target) -> tuple[Target, ...]:
    """Give a target its grade where it stands, or a place behind the others."""
    if not any(other.anchor == target.anchor for other in targets):
        return (*targets, target)
    return tuple(replace(other, grade=target.grade) if other.anchor == target.anchor else other for other in targets)


def _anchors(query: Query) -> list[str]:
    """List all that a query points to, as written."""
    return [target.anchor for target in (*query.targets, *(adversary.target for adversary in query.adversaries))]


def _labelled(query: Query, standing: Standing, target: Target) -> tuple[Label, ...]:
    """Give the labels with that of one anchor brought up to date.

    An anchor that was in the set before an engine returned it was not added because of that: its mark stays.
    """
    anchor = target.anchor
    fresh = _label(standing, anchor)
    old = next((label for label in query.labels if label.target == anchor), None)
    if anchor in _anchors(query):
        by = tuple(dict.fromkeys([*(old.by if old else ()), *fresh.by]))
        fresh = replace(fresh, by=by, shown_by=old.shown_by if old else ())
    if old is None:
        return (*query.labels, fresh)
    return tuple(fresh if label.target == anchor else label for label in query.labels)


def _label(standing: Standing, anchor: str) -> Label:
    """Write down who gave a label, when, on which commit, and whose results brought it up."""
    last = standing.latest
    return Label(
        target=anchor,
        by=standing.supporters,
        on=last.on[:_DAY] if last else "",
        commit=(last.commit if last else "") or standing.item.commit,
        shown_by=standing.item.origin.shown_by,
    )


def _free_id(wanted: str, gold: Gold) -> str:
    """Number an id that is taken."""
    taken = {query.id for query in gold.queries}
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name
