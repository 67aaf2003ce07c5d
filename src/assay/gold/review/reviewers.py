"""Create votes, decisions and proposals of reviewers, request votes from models, and count progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from assay.chat import Endpoint, Prompt, complete, load_prompt, parse_json, prompt_version, quote
from assay.clock import timestamp, today
from assay.errors import ConfigError, GoldError
from assay.gold.anchors import AnchorIndex, UnresolvedTarget, parse_target
from assay.gold.build import GoldLocation
from assay.gold.review.acceptance import read_closed
from assay.gold.review.items import DRAFT_TAG, ItemKind, ItemOrigin, ReviewItem, ReviewQueue, is_draft, make_item
from assay.gold.review.views import ItemView, ReviewWorkspace, format_view
from assay.gold.review.votes import (
    ACCEPT,
    REJECT,
    STATES,
    UNSURE,
    Adjudication,
    ItemState,
    ItemStatus,
    Vote,
    VoteLog,
    check_may_vote,
    check_vote,
    find_item,
    is_adjudicator,
    list_reviewers,
    read_decisions,
    vote_question,
    vote_values,
)
from assay.types import GoldSet, Query, Target

_LONGEST_REASON: Final = 600  # characters of a model's reason: a sentence or two


@dataclass(frozen=True, slots=True)
class VoteInput:
    item: str
    value: str
    reason: str
    line: int | None = None  # of the input file


def list_open_items(workspace: ReviewWorkspace, log: VoteLog) -> list[ReviewItem]:
    done = read_closed(workspace.queue) | set(log.votes())
    return [item for item in workspace.items() if item.id not in done]


def make_vote(
    workspace: ReviewWorkspace,
    reviewer: str,
    item: ReviewItem,
    given: VoteInput,
    *,
    engines: bool = False,
    prompt: str = "",
) -> Vote:
    """Validate and return a vote; `engines` is whether the reviewer saw which engines returned the location."""
    check_may_vote(workspace.queue, reviewer)
    check_vote(item, given.value, given.reason)
    return Vote(
        item=item.id,
        reviewer=reviewer,
        value=given.value,
        reason=given.reason,
        on=timestamp(),
        reader="model" if prompt else "human",
        prompt=prompt,
        commit=workspace.commit,
        shown=item.origin.shown_by if engines else (),
    )


def make_decision(
    workspace: ReviewWorkspace, reviewer: str, given: VoteInput, statuses: Sequence[ItemStatus]
) -> Adjudication:
    """Return a decision; raise ConfigError if the item is neither disputed nor decided, or the reviewer voted on it."""
    item = find_item([status.item for status in statuses], given.item)
    if given.value == UNSURE:
        raise ConfigError(f"a decision cannot be '{UNSURE}'", hint="use another value, or leave the item undecided")
    check_vote(item, given.value, given.reason)
    status = next(status for status in statuses if status.item.id == item.id)
    if status.has_vote_of(reviewer):
        hint = "adjudicate under a name that has not voted on the item; to change your vote, vote again"
        raise ConfigError(f"{reviewer} voted on item {item.id} and cannot decide it", hint=hint)
    if status.state != "disputed" and status.decision is None:
        hint = f"vote on the item: --reviewer {reviewer} --vote {item.id}=VALUE --reason TEXT"
        raise ConfigError(f"item {item.id} is {status.state}, not disputed", hint=hint)
    return Adjudication(item.id, reviewer, given.value, given.reason, timestamp(), workspace.commit)


def has_taken_part(queue: ReviewQueue, name: str) -> bool:
    names = {*list_reviewers(queue), *(decision.by for decision in read_decisions(queue))}
    return name.casefold() in {other.casefold() for other in names} or is_adjudicator(queue, name)


@dataclass(frozen=True, slots=True)
class ModelVote:
    value: str = ""
    reason: str = ""
    problem: str = ""  # why the answer is invalid


def review_prompt_version() -> str:
    return prompt_version(load_prompt("review"))


def ask_model(endpoint: Endpoint, view: ItemView) -> ModelVote:
    kind, item = view.item.kind, quote("\n".join(format_view(view)), "item")
    prompt = Prompt(load_prompt("review"), f"{vote_question(kind)}\n{item}")
    return read_answer(complete(endpoint, prompt), vote_values(kind))


def read_answer(text: str, values: tuple[str, ...]) -> ModelVote:
    try:
        answer = parse_json(text)
    except ValueError:
        return ModelVote(problem="the answer is not JSON")
    match answer:
        case {"vote": str() | int() as vote, "reason": str(reason)} if reason.strip():
            if isinstance(vote, bool) or str(vote) not in values:
                return ModelVote(problem=f"expected one of {', '.join(values)} as vote")
            printable = "".join(letter if letter.isprintable() else " " for letter in reason.strip())
            return ModelVote(str(vote), printable[:_LONGEST_REASON])
    return ModelVote(problem="the answer lacks a vote or a reason")


def propose_location(workspace: ReviewWorkspace, item: ReviewItem, anchor: str) -> ReviewItem:
    """Return an item that proposes a target for the same query; the proposer is not recorded, to keep votes blinded."""
    target = parse_target(anchor, GoldLocation("the location"))
    resolved = AnchorIndex(workspace.corpus).look_up(target)
    if isinstance(resolved, UnresolvedTarget):
        raise GoldError(resolved.message, hint=resolved.hint)
    gold = workspace.load()
    query = next((known for known in (gold.queries if gold else ()) if known.id == item.query.id), item.query)
    return _target_item(query, target, ItemOrigin("reviewer"), on=today(), commit=workspace.commit)


def make_label_items(gold: GoldSet, *, on: str = "", commit: str = "") -> Iterator[ReviewItem]:
    """Yield an item for each target of a set; the items omit the grades, which reviewers must not see."""
    for query in gold.queries:
        for target in query.targets:
            yield _target_item(query, target, ItemOrigin("set", gold.name), on=on, commit=commit)


def queue_drafts(workspace: ReviewWorkspace) -> None:
    """Queue the drafts of a set that are not in the queue yet."""
    gold = workspace.load()
    drafts = [query for query in gold.queries if is_draft(query)] if gold else []
    if drafts:
        origin = ItemOrigin("rules", "a draft of assay init")
        items = [make_item("query", query, origin, on=today(), commit=workspace.commit) for query in drafts]
        workspace.queue.add(items)


def reword_query(workspace: ReviewWorkspace, log: VoteLog, item: ReviewItem, text: str) -> ReviewItem:
    """Queue a query with another question, accept it, reject the item with the old question; return the new item.

    Repeating the same change adds nothing.
    """
    if item.kind != "query":
        raise ConfigError(f"{item.id} is a {item.kind}, whose question cannot be changed", hint="vote on it")
    tags = {key: value for key, value in item.query.tags.items() if key != DRAFT_TAG}
    question = GoldLocation("the proposal").text(" ".join(text.split()), "the question")
    query = replace(item.query, forms={**item.query.forms, item.form: question}, tags=tags)
    new = make_item("query", query, ItemOrigin("reviewer"), on=today(), commit=workspace.commit)
    if new.id == item.id:
        raise ConfigError("the question is unchanged", hint="type another question, or accept it as it is")
    workspace.queue.add([new])
    old = VoteInput(item.id, REJECT, f"reworded as {new.id}")
    given = [(item, old), (new, VoteInput(new.id, ACCEPT, f"reworded from {item.id}"))]
    known = log.votes()
    votes = [make_vote(workspace, log.reviewer, voted, one) for voted, one in given]
    log.cast([vote for vote in votes if not (vote.item in known and known[vote.item].same(vote))])
    return new


def _target_item(query: Query, target: Target, origin: ItemOrigin, *, on: str, commit: str) -> ReviewItem:
    about = replace(query, targets=(target,), adversaries=(), rationale=None)
    return make_item("target", about, origin, on=on, commit=commit)


@dataclass(frozen=True, slots=True)
class ReviewerProgress:
    name: str
    readers: str  # human, model
    votes: int
    open: int  # items that need votes and on which the reviewer has not voted


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    items: int
    states: Mapping[ItemState, int]  # all states
    kinds: Mapping[ItemKind, Mapping[ItemState, int]]  # existing kinds and their states
    reviewers: tuple[ReviewerProgress, ...]


def count_progress(statuses: Sequence[ItemStatus], closed: Collection[str]) -> ReviewProgress:
    states = Counter(status.state for status in statuses)
    kinds = sorted({status.item.kind for status in statuses})
    by_kind = {kind: Counter(s.state for s in statuses if s.item.kind == kind) for kind in kinds}
    people: list[ReviewerProgress] = []
    for name in sorted({vote.reviewer for status in statuses for vote in status.votes}):
        votes = [vote for status in statuses for vote in status.votes if vote.reviewer == name]
        left = sum(status.item.id not in closed and not status.has_vote_of(name) for status in statuses)
        people.append(ReviewerProgress(name, ", ".join(sorted({vote.reader for vote in votes})), len(votes), left))
    return ReviewProgress(
        items=len(statuses),
        states={state: states[state] for state in STATES},
        kinds={kind: dict(sorted(counts.items())) for kind, counts in by_kind.items()},
        reviewers=tuple(people),
    )
