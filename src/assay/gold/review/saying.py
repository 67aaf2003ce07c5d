"""From what somebody says to the record of it: a vote of a reviewer, a decision of a third person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import ConfigError
from assay.gold.circumstances import now
from assay.gold.review.accepting import read_closed
from assay.gold.review.adjudicators import adjudicates, check_votes
from assay.gold.review.decisions import Decision, read_decisions
from assay.gold.review.desk import Desk
from assay.gold.review.items import Item
from assay.gold.review.queue import Queue
from assay.gold.review.standing import Standing
from assay.gold.review.votes import UNSURE, Ballot, Vote, check_vote, find_item, reviewers


@dataclass(frozen=True, slots=True)
class Said:
    """A vote or a decision as it was given."""

    item: str
    value: str
    reason: str
    line: int | None = None  # of the file it stands in


def open_items(desk: Desk, ballot: Ballot) -> list[Item]:
    """Give what the reviewer has not voted on and nobody has settled, in queue order."""
    done = read_closed(desk.queue) | set(ballot.votes())
    return [item for item in desk.items() if item.id not in done]


def make_vote(desk: Desk, reviewer: str, item: Item, said: Said, *, engines: bool = False, prompt: str = "") -> Vote:
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


def make_decision(desk: Desk, reviewer: str, said: Said, found: Sequence[Standing]) -> Decision:
    """Make the record of a decision."""
    item = find_item([standing.item for standing in found], said.item)
    if said.value == UNSURE:
        raise ConfigError(f"'{UNSURE}' decides nothing", hint="leave the item open, or decide it")
    check_vote(item, said.value, said.reason)
    _check_third(next(standing for standing in found if standing.item.id == item.id), reviewer)
    return Decision(item.id, reviewer, said.value, said.reason, now(), desk.commit)


def has_spoken(queue: Queue, name: str) -> bool:
    """Tell whether somebody voted, decided or gave up voting under a name, however it is written."""
    spoke = {*reviewers(queue), *(decision.by for decision in read_decisions(queue))}
    return name.casefold() in {one.casefold() for one in spoke} or adjudicates(queue, name)


def has_voted(standing: Standing, reviewer: str) -> bool:
    """Tell whether somebody voted on an item."""
    return any(vote.reviewer.casefold() == reviewer.casefold() for vote in standing.votes)


def _check_third(standing: Standing, reviewer: str) -> None:
    """Refuse a decision where there is no dispute, or by one who is a party to it: it would go around the votes."""
    item = standing.item.id
    if has_voted(standing, reviewer):
        hint = "one who did not vote on it decides; to change your mind, vote again"
        raise ConfigError(f"{reviewer} voted on {item}: a decision needs a third person", hint=hint)
    if standing.state != "disputed" and standing.decision is None:
        hint = f"vote on it: --as {reviewer} --vote {item}=VALUE --reason TEXT"
        raise ConfigError(f"{item} is {standing.state}, not disputed: there is nothing to decide", hint=hint)
