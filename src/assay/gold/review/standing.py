"""Where each item stands: nobody voted, one vote is missing, they agree, they do not, it was decided, it is gold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from assay.errors import ConfigError
from assay.gold.review.items import Item
from assay.gold.review.votes import REJECT, UNSURE, Adjudication, Vote

State = Literal["open", "waiting", "agreed", "disputed", "decided", "accepted", "rejected"]
STATES: tuple[State, ...] = get_args(State)

#: Votes that say that a proposal is wrong: nothing of it becomes gold.
AGAINST = ("0", REJECT)


@dataclass(frozen=True, slots=True)
class ReviewRules:
    """When votes settle an item."""

    least: int = 2  # reviewers that must say the same: one alone cannot be disagreed with

    def __post_init__(self) -> None:
        """Refuse a rule that nobody would have to fulfil."""
        if self.least < 1:
            raise ConfigError(f"--least {self.least}", hint="at least one reviewer must have voted")


@dataclass(frozen=True, slots=True)
class ItemStatus:
    """One item with what everybody says of it now, in the order of names."""

    item: Item
    state: State
    votes: tuple[Vote, ...] = ()
    decision: Adjudication | None = None
    value: str | None = None  # what holds, once that is settled

    @property
    def settled(self) -> bool:
        """Whether it holds and is not in the set yet."""
        return self.state in ("agreed", "decided")

    @property
    def supporters(self) -> tuple[str, ...]:
        """Name all who say what holds: reviewers by name, then the adjudicator."""
        voters = [vote.reviewer for vote in self.votes if vote.value == self.value]
        return tuple(dict.fromkeys([*voters, *([self.decision.by] if self.decision else [])]))

    @property
    def latest(self) -> Vote | Adjudication | None:
        """Give the last word that made it hold."""
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
    """Tell where each item stands; `written` is what the set has taken up, by item."""
    now: dict[str, dict[str, Vote]] = {}
    for vote in votes:
        now.setdefault(vote.item, {})[vote.reviewer] = vote
    decided = {decision.item: decision for decision in decisions}
    least = (rules or ReviewRules()).least
    return tuple(
        _standing(item, _by_name(now.get(item.id, {})), decided.get(item.id), (written or {}).get(item.id), least)
        for item in items
    )


def _by_name(votes: Mapping[str, Vote]) -> tuple[Vote, ...]:
    return tuple(votes[name] for name in sorted(votes))


def _standing(
    item: Item, votes: tuple[Vote, ...], decision: Adjudication | None, written: str | None, least: int
) -> ItemStatus:
    state, value = ("decided", decision.value) if decision else _voted(votes, least)
    if written is not None and value in (written, None) and state != "disputed":
        return ItemStatus(item, "rejected" if written in AGAINST else "accepted", votes, decision, written)
    return ItemStatus(item, state, votes, decision, value)


def _voted(votes: Sequence[Vote], least: int) -> tuple[State, str | None]:
    values = {vote.value for vote in votes}
    if not votes:
        return "open", None
    if len(values) > 1:
        return "disputed", None
    if len(votes) < least:
        return "waiting", None
    return ("disputed", None) if values == {UNSURE} else ("agreed", values.pop())
