"""From settled proposals to gold: what holds is written into the set, and written down so that it is done once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import GoldError
from assay.files import write_atomic
from assay.gold.anchors import AnchorProblem
from assay.gold.building import GoldLocation, build_query
from assay.gold.journal import opened, read_rows
from assay.gold.native.nodes import MappingKeys
from assay.gold.review.items import ItemKind, Queue, make_item
from assay.gold.review.standing import AGAINST, ItemStatus, ReviewRules, standings
from assay.gold.review.votes import all_votes, read_decisions
from assay.types import PRIMARY, Adversary, CorpusSpec, GoldSet, LabelProvenance, Query, Target

if TYPE_CHECKING:
    from assay.gold.native.nodes import YamlNode


_DAY = 10  # letters of an ISO time that name the day


@dataclass(frozen=True, slots=True)
class AppliedItem:
    """A gold set after one proposal, the query it went into, and the anchors it stands for there."""

    gold: GoldSet
    query: str
    anchors: frozenset[str]


def apply(gold: GoldSet, standing: ItemStatus) -> AppliedItem:
    """Give the set with what was settled; twice is the same as once, so that a kill in between costs nothing."""
    return _APPLY[standing.item.kind](gold, standing)


def _apply_query(gold: GoldSet, standing: ItemStatus) -> AppliedItem:
    item = standing.item
    anchors = frozenset(_anchors(item.query))
    known = next((query for query in gold.queries if make_item("query", query, item.origin).id == item.id), None)
    if standing.value in AGAINST or known is not None:
        return AppliedItem(gold, known.id if known else item.query.id, anchors)
    labels = tuple(_label(standing, anchor) for anchor in _anchors(item.query))
    query = replace(item.query, id=_free_id(item.query.id, gold), labels=labels)
    return AppliedItem(replace(gold, queries=(*gold.queries, query)), query.id, anchors)


def _apply_target(gold: GoldSet, standing: ItemStatus) -> AppliedItem:
    wanted = standing.item.target
    query = _query(gold, standing)
    others = tuple(target for target in query.targets if target.anchor != wanted.anchor)
    query = replace(query, irrelevant=tuple(t for t in query.irrelevant if t.anchor != wanted.anchor))
    if standing.value in AGAINST:
        if len(others) == len(query.targets):
            return AppliedItem(gold, query.id, frozenset({wanted.anchor}))
        labels = tuple(label for label in query.labels if label.target != wanted.anchor)
        return _changed(gold, replace(query, targets=others, labels=labels), wanted.anchor)
    target = replace(wanted, grade=int(standing.value or 0))
    targets = _put(query.targets, target)
    return _changed(gold, replace(query, targets=targets, labels=_labelled(query, standing, wanted)), wanted.anchor)


def _apply_adversary(gold: GoldSet, standing: ItemStatus) -> AppliedItem:
    wanted = standing.item.adversary
    anchor = wanted.target.anchor
    query = _query(gold, standing)
    there = any(adversary.target.anchor == anchor for adversary in query.adversaries)
    others = tuple(adversary for adversary in query.adversaries if adversary.target.anchor != anchor)
    if standing.value in AGAINST:
        if not there:
            return AppliedItem(gold, query.id, frozenset({anchor}))
        labels = tuple(label for label in query.labels if label.target != anchor)
        return _changed(gold, replace(query, adversaries=others, labels=labels), anchor)
    labels = _labelled(query, standing, wanted.target)
    adversaries: tuple[Adversary, ...] = query.adversaries if there else (*query.adversaries, wanted)
    return _changed(gold, replace(query, adversaries=adversaries, labels=labels), anchor)


def _apply_phrasing(gold: GoldSet, standing: ItemStatus) -> AppliedItem:
    item = standing.item
    form, text = item.form, item.query.forms[item.form]
    query = _query(gold, standing)
    known = query.forms.get(form)
    if standing.value in AGAINST:
        if known != text:
            return AppliedItem(gold, query.id, frozenset())
        return _changed(gold, replace(query, forms={name: said for name, said in query.forms.items() if name != form}))
    if known is not None and known != text:
        raise GoldError(
            f"query '{query.id}' has another {form} phrasing already", hint="change the set by hand, or reject this one"
        )
    return _changed(gold, replace(query, forms={**query.forms, form: text}))


_APPLY: Mapping[ItemKind, Callable[[GoldSet, ItemStatus], AppliedItem]] = {
    "query": _apply_query,
    "target": _apply_target,
    "adversary": _apply_adversary,
    "phrasing": _apply_phrasing,
}


def _query(gold: GoldSet, standing: ItemStatus) -> Query:
    wanted = standing.item.query.id
    for query in gold.queries:
        if query.id == wanted:
            return query
    raise GoldError(f"the set has no query '{wanted}'", hint="accept the query first, or reject the item")


def _changed(gold: GoldSet, query: Query, *anchors: str) -> AppliedItem:
    if not query.forms:
        raise GoldError(f"query '{query.id}' would have no phrasing left", hint="give it another one first")
    before = next((other for other in gold.queries if other.id == query.id), query)
    sound = build_query(
        query.id,
        query.forms,
        (*query.targets, *query.irrelevant),
        GoldLocation(gold.source or gold.name, query.line),
        adversaries=query.adversaries,
        rationale=query.rationale,
        measures=query.measures,
        tags=query.tags,
        labels=query.labels,
        least=min(PRIMARY, *(target.grade for target in before.primaries)),
    )
    queries = tuple(sound if other.id == query.id else other for other in gold.queries)
    return AppliedItem(replace(gold, queries=queries), query.id, frozenset(anchors))


def _put(targets: tuple[Target, ...], target: Target) -> tuple[Target, ...]:
    if not any(other.anchor == target.anchor for other in targets):
        return (*targets, target)
    return tuple(replace(other, grade=target.grade) if other.anchor == target.anchor else other for other in targets)


def _anchors(query: Query) -> list[str]:
    return [target.anchor for target in (*query.targets, *(adversary.target for adversary in query.adversaries))]


def _labelled(query: Query, standing: ItemStatus, target: Target) -> tuple[LabelProvenance, ...]:
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


def _label(standing: ItemStatus, anchor: str) -> LabelProvenance:
    last = standing.latest
    return LabelProvenance(
        target=anchor,
        by=standing.supporters,
        on=last.on[:_DAY] if last else "",
        commit=(last.commit if last else "") or standing.item.commit,
        shown_by=standing.item.origin.shown_by,
    )


def _free_id(wanted: str, gold: GoldSet) -> str:
    taken = {query.id for query in gold.queries}
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


#: Finds what is wrong with a set: lint, or the look-up of its anchors.
Check = Callable[[GoldSet], Sequence[AnchorProblem]]

_WRITTEN = MappingKeys(("item", "value", "by", "on"))


@dataclass(frozen=True, slots=True)
class Refusal:
    """A settled proposal that would have made the set unsound, and why."""

    item: str
    query: str
    reason: str


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What became of the settled proposals."""

    gold: GoldSet | None  # the set as it is now; none where there is still none
    taken: tuple[ItemStatus, ...] = ()
    refused: tuple[Refusal, ...] = ()
    whole: bool = False  # all of the file was written anew, so that comments went
    lost: tuple[str, ...] = ()  # what the format of the set could not hold

    @property
    def added(self) -> int:
        """How many proposals became gold."""
        return sum(standing.value not in AGAINST for standing in self.taken)


def read_standings(queue: Queue, rules: ReviewRules | None = None) -> tuple[ItemStatus, ...]:
    """Tell where each item of a queue stands, from the files."""
    return standings(queue.items(), all_votes(queue), read_decisions(queue), read_written(queue), rules)


def read_written(queue: Queue) -> dict[str, str]:
    """Give what the set has taken up: the value by item, the last one where there are several."""
    return {fields["item"].text(): fields["value"].text() for fields in _written(queue)}


def read_taken(queue: Queue) -> dict[str, str]:
    """Give when the set first took each item up, or turned it down: since then everybody can see what holds."""
    return {fields["item"].text(): fields["on"].text() for fields in reversed(_written(queue))}


def read_closed(queue: Queue) -> frozenset[str]:
    """Name the items that need no more votes: decided, or taken up by the set. No vote is read for it."""
    return frozenset(read_written(queue)) | {decision.item for decision in read_decisions(queue)}


def _written(queue: Queue) -> list[dict[str, YamlNode]]:
    return sorted((row.mapping(_WRITTEN) for row in read_rows(_file(queue))), key=lambda fields: fields["on"].text())


def accept(
    queue: Queue,
    load: Callable[[], GoldSet | None],
    check: Check,
    *,
    corpus: CorpusSpec | None = None,
    rules: ReviewRules | None = None,
    on: str,
) -> Acceptance:
    """Write what is settled into the set, then that it was written; killed in between, the next call does the rest."""
    queue.prepare()
    with opened(_file(queue)) as journal:  # one writer of the set at a time
        old = load()
        made = _foreseen(queue, old, check, corpus, rules)
        if not made.taken and not made.refused:
            return made
        made = _saved(old, made, queue.gold_file)
        journal.append([_row(standing, on) for standing in made.taken])
    return made


def preview(
    queue: Queue,
    load: Callable[[], GoldSet | None],
    check: Check,
    *,
    corpus: CorpusSpec | None = None,
    rules: ReviewRules | None = None,
) -> Acceptance:
    """Say what `accept` would do now; nothing is written."""
    return _foreseen(queue, load(), check, corpus, rules)


def _foreseen(
    queue: Queue, old: GoldSet | None, check: Check, corpus: CorpusSpec | None, rules: ReviewRules | None
) -> Acceptance:
    settled = [standing for standing in read_standings(queue, rules) if standing.settled]
    if not settled:
        return Acceptance(old)
    made = apply_items(old or _empty(queue.gold_file, corpus), settled, check)
    return replace(made, gold=None) if old is None and made.gold is not None and not made.gold.queries else made


def apply_items(gold: GoldSet, settled: Sequence[ItemStatus], check: Check) -> Acceptance:
    """Put settled proposals into a set; each that would bring an error is left out and told."""
    before = {_key(problem) for problem in check(gold)} if gold.queries else set()
    refused: dict[str, Refusal] = {}
    while True:
        made, applied = gold, {}
        # a whole query comes before what was proposed for it
        for standing in sorted(settled, key=lambda standing: standing.item.kind != "query"):
            if standing.item.id in refused:
                continue
            try:
                applied[standing.item.id] = apply(made, standing)
                made = applied[standing.item.id].gold
            except GoldError as error:
                refused[standing.item.id] = _refusal(standing, error.message)
        found = check(made) if made != gold else ()
        new = [problem for problem in found if _key(problem) not in before]
        blamed = _blamed(new, applied, settled)
        if not blamed:
            taken = tuple(standing for standing in settled if standing.item.id in applied)
            return Acceptance(made, taken, tuple(refused[key] for key in _order(settled) if key in refused))
        refused |= blamed


def _blamed(
    problems: Sequence[AnchorProblem], applied: Mapping[str, AppliedItem], settled: Sequence[ItemStatus]
) -> dict[str, Refusal]:
    blamed: dict[str, Refusal] = {}
    gains = [standing for standing in settled if standing.item.id in applied and standing.value not in AGAINST]
    for problem in problems:
        same = [s for s in gains if applied[s.item.id].query == problem.query]
        exact = [s for s in same if problem.anchor and problem.anchor in applied[s.item.id].anchors]
        for standing in exact or same or [s for s in settled if s.item.id in applied]:
            blamed.setdefault(standing.item.id, _refusal(standing, problem.message))
    return blamed


def _saved(old: GoldSet | None, made: Acceptance, path: Path) -> Acceptance:
    from assay.gold.native.editing import save
    from assay.gold.native.layers import write_native

    if made.gold is None or made.gold == old:
        return made
    if old is None:
        write_atomic(path, write_native(made.gold))
        return made
    saved = save(old, made.gold)
    return replace(made, whole=saved.whole, lost=saved.lost)


def _empty(path: Path, corpus: CorpusSpec | None) -> GoldSet:
    if corpus is None:
        raise GoldError("there is no such set yet", file=path, hint="name its code with --corpus to make it")
    return GoldSet("-".join(path.stem.split()), corpus, (), source=str(path))


def _row(standing: ItemStatus, on: str) -> dict[str, object]:
    return {"item": standing.item.id, "value": standing.value, "by": ", ".join(standing.supporters), "on": on}


def _key(problem: AnchorProblem) -> tuple[str, str, str, str]:
    return (problem.code, problem.query, problem.anchor, problem.message)


def _order(settled: Sequence[ItemStatus]) -> list[str]:
    return [standing.item.id for standing in settled]


def _refusal(standing: ItemStatus, reason: str) -> Refusal:
    return Refusal(standing.item.id, standing.item.query.id, reason)


def _file(queue: Queue) -> Path:
    return queue.folder / "accepted.jsonl"
