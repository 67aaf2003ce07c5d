"""The state of each item: open, waiting for votes, agreed, disputed, decided, accepted or rejected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from assay.errors import ConfigError
from assay.gold.review.items import Item
from assay.gold.review.votes import REJECT, UNSURE, Adjudication, Vote

State = Literal["open", "waiting", "agreed", "disputed", "decided", "accepted", "rejected"]
STATES: tuple[State, ...] = get_args(State)

#: Values that reject a proposal.
AGAINST = ("0", REJECT)


@dataclass(frozen=True, slots=True)
class ReviewRules:
    """When votes settle an item."""

    least: int = 2  # agreeing reviewers; with one alone there is no agreement

    def __post_init__(self) -> None:
        if self.least < 1:
            raise ConfigError(f"--least {self.least}", hint="at least one reviewer must have voted")


@dataclass(frozen=True, slots=True)
class ItemStatus:
    """An item with the current votes by reviewer name."""

    item: Item
    state: State
    votes: tuple[Vote, ...] = ()
    decision: Adjudication | None = None
    value: str | None = None  # the result, once settled

    @property
    def settled(self) -> bool:
        """Whether it is settled and not yet in the set."""
        return self.state in ("agreed", "decided")

    @property
    def supporters(self) -> tuple[str, ...]:
        """The reviewers who voted for the result, then the adjudicator."""
        voters = [vote.reviewer for vote in self.votes if vote.value == self.value]
        return tuple(dict.fromkeys([*voters, *([self.decision.by] if self.decision else [])]))

    @property
    def latest(self) -> Vote | Adjudication | None:
        """The last vote or decision for the result."""
        words: list[Vote | Adjudication] = [vote for vote in self.votes if vote.value == self.value]
        words += [self.decision] if self.decision else []
        return max(words, key=lambda word: (word.on, word.value), default=None)


def standings(
    items: Sequence[Item],
    votes: Iterable[Vote],
    decisions: Iterable[Adjudication] = (),
    written: Mapping[str, str] | None = None,
    rules: ReviewRules | None = None,
) -> tuple[ItemStatus, ...]:
    """Return the status of each item; `written` maps items to the values that the set has."""
    current: dict[str, dict[str, Vote]] = {}
    for vote in votes:
        current.setdefault(vote.item, {})[vote.reviewer] = vote
    decided = {decision.item: decision for decision in decisions}
    least = (rules or ReviewRules()).least
    found: list[ItemStatus] = []
    for item in items:
        by_name = tuple(vote for _, vote in sorted(current.get(item.id, {}).items()))
        decision, known = decided.get(item.id), (written or {}).get(item.id)
        state, value = ("decided", decision.value) if decision else _count_votes(by_name, least)
        if known is not None and value in (known, None) and state != "disputed":
            state, value = ("rejected" if known in AGAINST else "accepted"), known
        found.append(ItemStatus(item, state, by_name, decision, value))
    return tuple(found)


def _count_votes(votes: Sequence[Vote], least: int) -> tuple[State, str | None]:
    values = {vote.value for vote in votes}
    if not votes:
        return "open", None
    if len(values) > 1:
        return "disputed", None
    if len(votes) < least:
        return "waiting", None
    return ("disputed", None) if values == {UNSURE} else ("agreed", values.pop())
