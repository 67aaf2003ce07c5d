from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from operator import attrgetter

from assay.errors import GoldError
from assay.files import write_atomic
from assay.gold.anchors import AnchorProblem
from assay.gold.build import GoldLocation, build_query
from assay.gold.formats.native import write_native
from assay.gold.journal import open_journal, read_rows
from assay.gold.load import save
from assay.gold.review.items import DRAFT_TAG, ReviewItem, ReviewQueue, is_draft, make_item
from assay.gold.review.votes import AGAINST, ItemStatus, ReviewRules, compute_statuses, read_all_votes, read_decisions
from assay.gold.yaml_nodes import MappingKeys, YamlNode
from assay.types import PRIMARY, CorpusSpec, GoldSet, LabelProvenance, Query

#: Returns the problems of a set, such as lint findings and unresolved anchors.
Check = Callable[[GoldSet], Sequence[AnchorProblem]]

_FILE = "accepted.jsonl"
_ACCEPTED = MappingKeys(("item", "value", "by", "on"))
_problem_key = attrgetter("code", "query", "anchor", "message")


@dataclass(frozen=True, slots=True)
class Refusal:
    item: str
    query: str
    reason: str


@dataclass(frozen=True, slots=True)
class Acceptance:
    gold: GoldSet | None  # with the items applied; None if there is no set and no query to create one
    taken: tuple[ItemStatus, ...] = ()
    refused: tuple[Refusal, ...] = ()
    whole: bool = False  # the file was rewritten without its comments
    lost: tuple[str, ...] = ()  # warnings about fields that the format of the set cannot store

    @property
    def added(self) -> int:
        return sum(status.value not in AGAINST for status in self.taken)


def read_statuses(queue: ReviewQueue, rules: ReviewRules | None = None) -> tuple[ItemStatus, ...]:
    return compute_statuses(queue.items(), read_all_votes(queue), read_decisions(queue), read_written(queue), rules)


def read_written(queue: ReviewQueue) -> dict[str, str]:
    """Return the last recorded value of each applied item, by item id."""
    return {fields["item"].text(): fields["value"].text() for fields in _read_accepted(queue)}


def read_acceptance_times(queue: ReviewQueue) -> dict[str, str]:
    return {fields["item"].text(): fields["on"].text() for fields in reversed(_read_accepted(queue))}


def read_closed(queue: ReviewQueue) -> frozenset[str]:
    """Return the ids of decided and applied items, which need no more votes."""
    return frozenset(read_written(queue)) | {decision.item for decision in read_decisions(queue)}


def _read_accepted(queue: ReviewQueue) -> list[dict[str, YamlNode]]:
    rows = read_rows(queue.directory / _FILE)
    return sorted((row.mapping(_ACCEPTED) for row in rows), key=lambda fields: fields["on"].text())


def accept(
    queue: ReviewQueue,
    load: Callable[[], GoldSet | None],
    check: Check,
    *,
    corpus: CorpusSpec | None = None,
    rules: ReviewRules | None = None,
    on: str,
) -> Acceptance:
    """Apply the settled items to the gold file and record them; the next call completes an interrupted call."""
    queue.prepare()
    with open_journal(queue.directory / _FILE) as journal:  # one writer of the set at a time
        old = load()
        made = preview(queue, old, check, corpus=corpus, rules=rules)
        if made.gold is not None and made.gold != old:
            if old is None:
                write_atomic(queue.gold_file, write_native(made.gold))
            else:
                saved = save(old, made.gold)
                made = replace(made, whole=saved.whole, lost=saved.lost)
        if made.taken or made.refused:
            journal.append(
                {"item": status.item.id, "value": status.value, "by": ", ".join(status.supporters), "on": on}
                for status in made.taken
            )
    return made


def preview(
    queue: ReviewQueue,
    old: GoldSet | None,
    check: Check,
    *,
    corpus: CorpusSpec | None = None,
    rules: ReviewRules | None = None,
) -> Acceptance:
    """Return what `accept` would do, without writing; refuse items that cause an error or a new problem."""
    settled = [status for status in read_statuses(queue, rules) if status.settled]
    if not settled:
        return Acceptance(old)
    gold, path = old, queue.gold_file
    if gold is None:
        if corpus is None:
            raise GoldError("the gold set does not exist", file=path, hint="create the set with --corpus CORPUS")
        gold = GoldSet("-".join(path.stem.split()), corpus, (), source=str(path))
    before = {_problem_key(problem) for problem in check(gold)} if gold.queries else set()
    refused: dict[str, Refusal] = {}
    while True:
        made, query_ids = _apply_settled(gold, settled, refused)
        problems = check(made) if made != gold else ()
        new = [problem for problem in problems if _problem_key(problem) not in before]
        applied = [status for status in settled if status.item.id in query_ids]
        for problem in new:
            for status in _find_causes(problem, applied, query_ids):
                reason = Refusal(status.item.id, status.item.query.id, problem.message)
                refused.setdefault(status.item.id, reason)
        if not new:
            break
    return Acceptance(
        gold=None if old is None and not made.queries else made,
        taken=tuple(applied),
        refused=tuple(refused[status.item.id] for status in settled if status.item.id in refused),
    )


def _apply_settled(
    gold: GoldSet, settled: Sequence[ItemStatus], refused: dict[str, Refusal]
) -> tuple[GoldSet, dict[str, str]]:
    """Apply the items that are not refused; return the set and the query id of each item; add errors to `refused`."""
    query_ids: dict[str, str] = {}
    # A query comes before its targets, adversaries and phrasings.
    for status in sorted(settled, key=lambda status: status.item.kind != "query"):
        item = status.item
        if item.id in refused:
            continue
        try:
            gold, query_ids[item.id] = (_apply_query if item.kind == "query" else _apply_part)(gold, status)
        except GoldError as error:
            refused[item.id] = Refusal(item.id, item.query.id, error.message)
    return gold, query_ids


def _find_causes(
    problem: AnchorProblem, applied: Sequence[ItemStatus], query_ids: Mapping[str, str]
) -> Sequence[ItemStatus]:
    """Return the items that may cause a problem: those with the same anchor, else of the same query, else all."""

    def proposes(item: ReviewItem) -> bool:
        anchors = _anchors(item.query) if item.kind == "query" else [item.anchor]
        return item.kind != "phrasing" and bool(problem.anchor) and problem.anchor in anchors

    own = [s for s in applied if s.value not in AGAINST and query_ids[s.item.id] == problem.query]
    return [status for status in own if proposes(status.item)] or own or applied


# Applying an item again changes nothing, so an interruption before the item is recorded is harmless.


def _apply_query(gold: GoldSet, status: ItemStatus) -> tuple[GoldSet, str]:
    item = status.item
    known = next((query for query in gold.queries if make_item("query", query, item.origin).id == item.id), None)
    if known is not None and is_draft(known):
        labels = tuple(_label(status, anchor) for anchor in _anchors(known))
        accepted = replace(known, tags={k: v for k, v in known.tags.items() if k != DRAFT_TAG}, labels=labels)
        new = [] if status.value in AGAINST else [accepted]
        queries = (query for old in gold.queries for query in (new if old is known else [old]))
        return replace(gold, queries=tuple(queries)), known.id
    if status.value in AGAINST or known is not None:
        return gold, known.id if known else item.query.id
    if is_draft(item.query):
        raise GoldError("the draft was changed in the gold file", hint="review the changed draft")
    ids = {query.id for query in gold.queries}
    numbered = (f"{item.query.id}-{number}" for number in count(2))
    name = next(name for name in chain([item.query.id], numbered) if name not in ids)
    labels = tuple(_label(status, anchor) for anchor in _anchors(item.query))
    return replace(gold, queries=(*gold.queries, replace(item.query, id=name, labels=labels))), name


def _apply_part(gold: GoldSet, status: ItemStatus) -> tuple[GoldSet, str]:
    query_id = status.item.query.id
    old = next((query for query in gold.queries if query.id == query_id), None)
    if old is None:
        raise GoldError(f"the set has no query '{query_id}'", hint="accept the query first, or reject the item")
    if status.value in AGAINST and not _has_part(old, status.item):
        return gold, query_id
    apply = {"phrasing": _apply_phrasing, "target": _apply_target, "adversary": _apply_adversary}[status.item.kind]
    new = apply(old, status)
    checked = build_query(
        new.id,
        new.forms,
        (*new.targets, *new.irrelevant),
        GoldLocation(gold.source or gold.name, new.line),
        adversaries=new.adversaries,
        rationale=new.rationale,
        measures=new.measures,
        tags=new.tags,
        labels=new.labels,
        least=min(PRIMARY, *(target.grade for target in old.primaries)),
    )
    return replace(gold, queries=tuple(checked if query is old else query for query in gold.queries)), query_id


def _has_part(query: Query, item: ReviewItem) -> bool:
    if item.kind == "phrasing":
        return query.forms.get(item.form) == item.query.headline
    targets = query.targets if item.kind == "target" else [adversary.target for adversary in query.adversaries]
    return any(target.anchor == item.anchor for target in targets)


def _apply_phrasing(query: Query, status: ItemStatus) -> Query:
    form, text = status.item.form, status.item.query.headline
    if status.value not in AGAINST:
        if query.forms.get(form, text) != text:
            message = f"query '{query.id}' already has another {form} phrasing"
            raise GoldError(message, hint="edit the set, or reject this phrasing")
        return replace(query, forms={**query.forms, form: text})
    if len(query.forms) == 1:
        raise GoldError(f"query '{query.id}' would have no phrasing left", hint="add another phrasing first")
    return replace(query, forms={name: query.forms[name] for name in query.forms if name != form})


def _apply_target(query: Query, status: ItemStatus) -> Query:
    anchor, grade = status.item.anchor, int(status.value or 0)
    targets = tuple(target for target in query.targets if target.anchor != anchor)
    if status.value not in AGAINST:
        known = len(targets) < len(query.targets)
        graded = tuple(replace(t, grade=grade) if t.anchor == anchor else t for t in query.targets)
        targets = graded if known else (*graded, replace(status.item.target, grade=grade))
    irrelevant = tuple(target for target in query.irrelevant if target.anchor != anchor)
    return replace(query, targets=targets, irrelevant=irrelevant, labels=_update_labels(query, status, anchor))


def _apply_adversary(query: Query, status: ItemStatus) -> Query:
    anchor = status.item.anchor
    adversaries = tuple(adversary for adversary in query.adversaries if adversary.target.anchor != anchor)
    if status.value not in AGAINST:
        known = len(adversaries) < len(query.adversaries)
        adversaries = query.adversaries if known else (*adversaries, status.item.adversary)
    return replace(query, adversaries=adversaries, labels=_update_labels(query, status, anchor))


def _anchors(query: Query) -> list[str]:
    return [target.anchor for target in (*query.targets, *(adversary.target for adversary in query.adversaries))]


def _update_labels(query: Query, status: ItemStatus, anchor: str) -> tuple[LabelProvenance, ...]:
    """Return the labels of a query, with that of one anchor replaced or added, or removed if its item was rejected.

    If the query already has the anchor, `shown_by` does not change: no engine caused the addition.
    """
    if status.value in AGAINST:
        return tuple(label for label in query.labels if label.target != anchor)
    fresh = _label(status, anchor)
    old = next((label for label in query.labels if label.target == anchor), None)
    if anchor in _anchors(query):
        by = tuple(dict.fromkeys([*(old.by if old else ()), *fresh.by]))
        fresh = replace(fresh, by=by, shown_by=old.shown_by if old else ())
    if old is None:
        return (*query.labels, fresh)
    return tuple(fresh if label.target == anchor else label for label in query.labels)


def _label(status: ItemStatus, anchor: str) -> LabelProvenance:
    last = status.latest
    return LabelProvenance(
        target=anchor,
        by=status.supporters,
        on=last.on[:10] if last else "",  # the date of an ISO time
        commit=(last.commit if last else "") or status.item.commit,
        shown_by=status.item.origin.shown_by,
    )
