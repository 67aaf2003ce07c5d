"""From what somebody says to the record of it: a vote of a reviewer, a decision of a third person."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from assay.chat import Endpoint, Prompt, complete, fence, prompt_version
from assay.clock import today
from assay.errors import ConfigError, GoldError
from assay.gold.anchors import AnchorIndex, UnresolvedTarget
from assay.gold.building import GoldLocation, parse_target
from assay.gold.history import now
from assay.gold.review.accepting import read_closed
from assay.gold.review.items import Item, ItemKind, Origin, Queue, make_item
from assay.gold.review.standing import STATES, ItemStatus, State
from assay.gold.review.viewing import ItemView, ReviewWorkspace, describe
from assay.gold.review.votes import (
    UNSURE,
    Adjudication,
    Vote,
    VoteLog,
    adjudicates,
    check_vote,
    check_votes,
    find_item,
    question_for,
    read_decisions,
    reviewers,
    values_for,
)
from assay.types import GoldSet, Query


@dataclass(frozen=True, slots=True)
class VoteInput:
    """A vote or a decision as it was given."""

    item: str
    value: str
    reason: str
    line: int | None = None  # of the file it stands in


def open_items(desk: ReviewWorkspace, ballot: VoteLog) -> list[Item]:
    """Give what the reviewer has not voted on and nobody has settled, in queue order."""
    done = read_closed(desk.queue) | set(ballot.votes())
    return [item for item in desk.items() if item.id not in done]


def make_vote(
    desk: ReviewWorkspace, reviewer: str, item: Item, said: VoteInput, *, engines: bool = False, prompt: str = ""
) -> Vote:
    """Make the record of a vote; `engines` says that the reviewer saw who returned the place."""
    check_votes(desk.queue, reviewer)
    check_vote(item, said.value, said.reason)
    return Vote(
        item=item.id,
        reviewer=reviewer,
        value=said.value,
        reason=said.reason,
        on=now(),
        reader="model" if prompt else "human",
        prompt=prompt,
        commit=desk.commit,
        shown=item.origin.shown_by if engines else (),
    )


def make_decision(desk: ReviewWorkspace, reviewer: str, said: VoteInput, found: Sequence[ItemStatus]) -> Adjudication:
    """Make the record of a decision."""
    item = find_item([standing.item for standing in found], said.item)
    if said.value == UNSURE:
        raise ConfigError(f"'{UNSURE}' decides nothing", hint="leave the item open, or decide it")
    check_vote(item, said.value, said.reason)
    _check_third(next(standing for standing in found if standing.item.id == item.id), reviewer)
    return Adjudication(item.id, reviewer, said.value, said.reason, now(), desk.commit)


def has_spoken(queue: Queue, name: str) -> bool:
    """Tell whether somebody voted, decided or gave up voting under a name, however it is written."""
    spoke = {*reviewers(queue), *(decision.by for decision in read_decisions(queue))}
    return name.casefold() in {one.casefold() for one in spoke} or adjudicates(queue, name)


def has_voted(standing: ItemStatus, reviewer: str) -> bool:
    """Tell whether somebody voted on an item."""
    return any(vote.reviewer.casefold() == reviewer.casefold() for vote in standing.votes)


def _check_third(standing: ItemStatus, reviewer: str) -> None:
    item = standing.item.id
    if has_voted(standing, reviewer):
        hint = "one who did not vote on it decides; to change your mind, vote again"
        raise ConfigError(f"{reviewer} voted on {item}: a decision needs a third person", hint=hint)
    if standing.state != "disputed" and standing.decision is None:
        hint = f"vote on it: --as {reviewer} --vote {item}=VALUE --reason TEXT"
        raise ConfigError(f"{item} is {standing.state}, not disputed: there is nothing to decide", hint=hint)


_PROMPT_FILE: Final = Path(__file__).parent.parent.parent / "data" / "prompts" / "review.md"
_FENCED: Final = re.compile(r"\A```(?:json)?\s*\n(?P<inside>.*)\n\s*```\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ModelVote:
    """What a model said of an item: a vote and its reason, or what is wrong with the answer."""

    value: str = ""
    reason: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ModelVoteLimits:
    """How much of an answer is kept."""

    reason: int = 600  # letters: a reason is a sentence or two, not an essay


def prompt() -> str:
    """Read what the model is told."""
    return _PROMPT_FILE.read_text(encoding="utf-8")


def version() -> str:
    """Name the prompt by its words."""
    return prompt_version(prompt())


def ask_model(endpoint: Endpoint, view: ItemView) -> ModelVote:
    """Have a model judge one item."""
    return read_answer(complete(endpoint, question(view)), values_for(view.item.kind))


def question(view: ItemView) -> Prompt:
    """Put the task and the fenced item together."""
    text = "\n".join(describe(view))
    mark = fence(text)
    asked = f"{question_for(view.item.kind)}\n<item {mark}>\n{text}\n</item {mark}>"
    return Prompt(prompt(), asked)


def read_answer(text: str, values: tuple[str, ...], limits: ModelVoteLimits | None = None) -> ModelVote:
    """Read one JSON object with a vote and a reason, bare or in one code fence; anything else is no vote."""
    bare = text.strip()
    wrapped = _FENCED.match(bare)
    try:
        answer = json.loads(wrapped["inside"] if wrapped else bare)
    except (ValueError, RecursionError):
        return ModelVote(problem="the answer is no JSON object")
    match answer:
        case {"vote": str() | int() as vote, "reason": str(reason)} if reason.strip():
            said = "".join(letter if letter.isprintable() else " " for letter in reason.strip())
            if isinstance(vote, bool) or str(vote) not in values:
                return ModelVote(problem=f"the vote is none of {', '.join(values)}")
            return ModelVote(str(vote), said[: (limits or ModelVoteLimits()).reason])
    return ModelVote(problem="the answer lacks a vote or a reason")


def other_place(desk: ReviewWorkspace, item: Item, anchor: str) -> Item:
    """Propose another place for the query of an item; who proposed it is not kept, for that would be a vote."""
    target = parse_target(anchor, GoldLocation("the place"))
    found = AnchorIndex(desk.corpus).look_up(target)
    if isinstance(found, UnresolvedTarget):
        raise GoldError(found.message, hint=found.hint)
    about = replace(_whole(desk, item.query), targets=(target,), adversaries=(), rationale=None)
    return make_item("target", about, Origin("reviewer"), on=today(), commit=desk.commit)


def _whole(desk: ReviewWorkspace, query: Query) -> Query:
    gold = desk.load()
    return next((known for known in (gold.queries if gold else ()) if known.id == query.id), query)


def label_items(gold: GoldSet, *, on: str = "", commit: str = "") -> Iterator[Item]:
    """Yield an item for each target of each query; its grade is not shown, for reviewers are to give their own."""
    for query in gold.queries:
        for target in query.targets:
            about = replace(query, targets=(target,), adversaries=(), rationale=None)
            yield make_item("target", about, Origin("set", gold.name), on=on, commit=commit)


@dataclass(frozen=True, slots=True)
class ReviewerProgress:
    """What one reviewer has done, and what is left to do."""

    name: str
    readers: str  # human, model
    votes: int
    open: int  # not voted on by the reviewer, and not settled


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """The counts of one review."""

    items: int
    states: Mapping[State, int]  # every state
    kinds: Mapping[ItemKind, Mapping[State, int]]  # the kinds there are, the states they are in
    reviewers: tuple[ReviewerProgress, ...]


def tally(found: Sequence[ItemStatus], closed: Collection[str]) -> ReviewProgress:
    """Count where items stand; `closed` are those that need no more votes."""
    states = Counter(standing.state for standing in found)
    kinds = sorted({standing.item.kind for standing in found})
    by_kind = {kind: Counter(s.state for s in found if s.item.kind == kind) for kind in kinds}
    names = sorted({vote.reviewer for standing in found for vote in standing.votes})
    return ReviewProgress(
        items=len(found),
        states={state: states[state] for state in STATES},
        kinds={kind: dict(sorted(counts.items())) for kind, counts in by_kind.items()},
        reviewers=tuple(_reviewer(found, closed, name) for name in names),
    )


def _reviewer(found: Sequence[ItemStatus], closed: Collection[str], name: str) -> ReviewerProgress:
    votes = [vote for standing in found for vote in standing.votes if vote.reviewer == name]
    left = sum(standing.item.id not in closed and not has_voted(standing, name) for standing in found)
    return ReviewerProgress(name, ", ".join(sorted({vote.reader for vote in votes})), len(votes), left)
